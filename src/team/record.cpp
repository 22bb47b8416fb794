#include "team/record.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mpi/types.hpp"
#include "run/under_way.hpp"
#include "sys/code.hpp"
#include "sys/sys.hpp"
#include "team/config.hpp"
#include "team/record_tables.hpp"
#include "team/team.hpp"

namespace quadrille::record {

// Bytes of the blocks that a call sends, one to each rank or to each neighbour.
struct SentBlocks {
  std::size_t count = 0;
  std::uint64_t each = 0;            // where they have one size
  std::vector<std::uint64_t> bytes;  // where they may differ
  std::uint64_t to(std::size_t destination) const { return bytes.empty() ? each : bytes[destination]; }
};

namespace {

// Calls shorter than this are timed now and then: two looks at the clock would be a part of them that counts.
constexpr std::uint64_t short_call = 10'000;
constexpr std::uint64_t timed_first = 8, timed_one_of = 17;
// What recording takes is timed of one call of so many.
constexpr unsigned own_one_of = 64;

// In the place of the number of a name that has no room.
constexpr int by_unknown = -1;

// ---- Where in the program a call comes from ----

// A function of the MPI that programs in Fortran call. To look through the stack takes longer than many calls do. But
// the frames of such a function are of one size, so what called it is found at the same distance again. What is read
// there is believed if a look through the stack has found it before.
struct Layer {
  std::ptrdiff_t distance = 0;  // from `here` to where it keeps the program's address
  std::array<const void*, 64> sites{};
};

// What is known of an address to which doors return.
struct Return {
  const void* address = nullptr;
  Layer* layer = nullptr;  // null: none, or one in which no site can be found quickly
  bool is_python = false;
};

// What a thread has found out about its calls. All are found again: one that pushed out another would be looked up in
// each call.
struct KnownSites {
  std::array<Return, 256> returns{};
  std::array<Layer, 16> layers{};
  std::size_t layers_used = 0;
};

const void* address_in(const Return& one) { return one.address; }
const void* address_in(const void* site) { return site; }

// Where an address is, or else has room; null if there is none.
template <class Kept, std::size_t size>
Kept* place_for(std::array<Kept, size>& all, const void* address) {
  const std::size_t first = (reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15ULL >> 32) % size;
  for (std::size_t i = 0; i < size; ++i) {
    Kept& one = all[(first + i) % size];
    if (address_in(one) == address || address_in(one) == nullptr) return &one;
  }
  return nullptr;
}

bool is_of_the_mpi(const void* address) {
  const sys::CodePlace at = sys::place_in_code(address);
  const std::string_view object = at.object;
  const std::string_view name = object.substr(object.find_last_of('/') + 1);
  return name.starts_with("libmpi") || name.starts_with("libfmpi");
}

// The first caller outside of the MPI's libraries, from who returns to `returns_to` on.
sys::Caller program_behind(const void* returns_to) {
  const std::vector<sys::Caller> all = sys::callers();
  const auto layer =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.returns_to == returns_to; });
  const auto program = std::find_if(layer, all.end(), [](const auto& one) { return !is_of_the_mpi(one.returns_to); });
  return program != all.end() ? *program : sys::Caller{};
}

// Null if it is no layer, or one of which nothing can be found.
Layer* layer_at(KnownSites& known, const void* returns_to, const std::byte* here) {
  if (known.layers_used == known.layers.size() || !is_of_the_mpi(returns_to)) return nullptr;
  const sys::Caller program = program_behind(returns_to);
  if (program.kept_at == nullptr) return nullptr;
  Layer& layer = known.layers[known.layers_used++];
  layer.distance = program.kept_at - here;
  *place_for(layer.sites, program.returns_to) = program.returns_to;
  return &layer;
}

// `layer` becomes null if it has too many sites, or frames of several sizes.
const void* site_behind(Layer*& layer, const void* returns_to, const std::byte* here) {
  const void* site = nullptr;
  std::memcpy(&site, here + layer->distance, sizeof site);
  const void** const seen = site != nullptr ? place_for(layer->sites, site) : nullptr;
  if (seen != nullptr && *seen == site) return site;
  if (seen != nullptr && program_behind(returns_to).returns_to == site) return *seen = site;
  layer = nullptr;
  return returns_to;
}

const void* seek_site(KnownSites& known, const void* returns_to, const std::byte* here) {
  Return* const at = place_for(known.returns, returns_to);
  if (at == nullptr) return returns_to;
  if (std::exchange(at->address, returns_to) == nullptr) {
    at->is_python = sys::is_called_by_python(returns_to);
    at->layer = layer_at(known, returns_to, here);
  }
  if (!at->is_python) return at->layer != nullptr ? site_behind(at->layer, returns_to, here) : returns_to;
  const sys::PythonPlace* const place = sys::python_place();
  return place != nullptr ? place : returns_to;
}

// `returns_to` is the address to which a door returns. For a call from Fortran that is in a library of the MPI, the
// same for all calls; then this is where the program called that library, if it can be found: else `returns_to`. `here`
// is an address in the stack, at the same distance from the door in all calls that return to there. For a call from
// Python it is the address of a sys::PythonPlace, if the line is known.
const void* site_in_program(KnownSites& known, const void* returns_to, const void* here) {
  const void* site = returns_to;
  static_cast<void>(thrown_by([&] { site = seek_site(known, returns_to, static_cast<const std::byte*>(here)); }));
  return site;
}

// ---- The calls of a thread ----

// Of the call that a thread is in.
struct Here {
  bool inside = false;
  int name = 0;
  Entry* sparse = nullptr;  // of a sparse exchange, as long as it lasts
  CommunicatorHere* communicator = nullptr;
};

// What calls have in common that need not be looked at again.
struct Key {
  Collective collective;
  Form form;
  MpiComm comm;
  MpiType type;  // of what is sent
  std::size_t count;
  const void* site;  // in the program
  friend bool operator==(const Key&, const Key&) = default;
};

// Where in the tables a call is written down, as a search found it for an earlier call of the thread. Says nothing of
// how the call is served.
struct FoundEntry {
  std::uint64_t generation = 0;
  Key key{};
  Entry* entry = nullptr;
  CommunicatorHere* communicator = nullptr;
  std::size_t type_size = 0;
};
constexpr std::size_t found_places = 16;

// All zeros at first, so that a thread that is not recorded costs nothing.
struct OnThread {
  Here here;
  unsigned own_turn = 0;
  FoundEntry found[found_places];
  KnownSites sites;
};
constinit thread_local OnThread on_thread;

std::uint64_t clock_takes = 0;  // nanoseconds

// Has nothing to destroy, and nothing to make: a call may come when there is no memory left, or late.
constinit std::mutex mutex;

// The side that says what this rank sends.
const run::Side& sent_side(const run::Call& call) { return call.in_place ? call.recv : call.send; }

// Zero where each block has a type of its own.
std::size_t type_size_of(const run::Call& call) {
  const run::Side& side = sent_side(call);
  return side.types ? 0 : type_info(side.type).size;
}

// Without the lock: the MPI is asked for what is new. The neighbours of a neighbour call are known from here on.
FoundEntry& find(const run::Call& call, Form form, const void* site, OwnTime& own) {
  const run::Side& side = sent_side(call);
  const bool sized = is_regular(call.collective);
  const std::size_t count = sized ? side.count : 0;
  const Key key{call.collective, form, call.comm, side.type, count, site};
  const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(site) >> 2;
  FoundEntry& last = on_thread.found[(place + count + static_cast<std::size_t>(key.collective)) % found_places];
  const std::uint64_t generation = cache_generation();
  if (last.entry != nullptr && last.key == key && last.generation == generation) return last;
  own.begin(Timed::as_each);
  Tables& tables = Tables::here();
  CommunicatorHere* const communicator = tables.communicator_of(call.comm);
  if (communicator != nullptr && is_neighbor(call.collective)) tables.neighbors_of(*communicator);
  const std::size_t size = type_size_of(call);
  const auto size_class = static_cast<std::uint8_t>(sized ? std::bit_width(count * size) : 0);
  const int from = tables.site_of(site);
  const auto lock = held();
  Entry* const entry = tables.entry_of(call.collective, form, communicator, from, size_class);
  last = {generation, key, entry, communicator, size};
  return last;
}

// ---- The blocks of a call ----

bool has_one_block(Collective collective) { return !has_arrays(row_of(collective).send); }

std::size_t destinations_of(Collective collective, const CommunicatorHere& communicator) {
  return is_neighbor(collective) ? communicator.neighbors->destinations.peers.size()
                                 : static_cast<std::size_t>(communicator.ranks);
}

std::uint64_t bytes_of_block(const run::Side& side, int block, std::size_t type_size) {
  const std::ptrdiff_t count = side.count_of(block);
  if (count <= 0) return 0;  // its type may be none
  if (side.types) {
    const MpiType type = side.types[static_cast<std::size_t>(block)];
    type_size = type == mpi().datatype_null ? 0 : size_if_committed(type).value_or(0);
  }
  return static_cast<std::uint64_t>(count) * type_size;
}

// Without the lock: where each block has a type of its own the MPI is asked. No blocks without the arrays; those of the
// sparse exchange are told later.
SentBlocks sent_by(const run::Call& call, const CommunicatorHere& communicator, std::size_t type_size) {
  const run::Side& side = sent_side(call);
  const bool dense = is_dense(call.collective), one = has_one_block(call.collective);
  const bool is_told = one || side.counts != nullptr || side.counts_large != nullptr;
  SentBlocks sent;
  if ((!dense && !is_neighbor(call.collective)) || !is_told) return sent;
  sent.count = destinations_of(call.collective, communicator);
  if (one) {
    // In an Allgatherv in place it is the own one of the array.
    sent.each = bytes_of_block(side, dense && call.in_place ? communicator.rank : 0, type_size);
    return sent;
  }
  sent.bytes.reserve(sent.count);
  for (std::size_t d = 0; d < sent.count; ++d) {
    const int block = dense ? static_cast<int>(d) : communicator.neighbors->destinations.blocks[d];
    sent.bytes.push_back(bytes_of_block(side, block, type_size));
  }
  return sent;
}

// So many blocks of one size. To make a persistent request moves nothing.
void add_blocks(Entry& entry, bool moves, std::uint64_t bytes, std::size_t count = 1) {
  if (moves) entry.bytes += bytes * count;
  entry.least_block = std::min(entry.least_block, bytes);
  entry.most_block = std::max(entry.most_block, bytes);
}

// One block, of a call whose blocks may differ.
void add_block(Entry& entry, CommunicatorHere& communicator, bool moves, int to, std::uint64_t bytes) {
  add_blocks(entry, moves, bytes);
  if (!moves) return;
  if (communicator.sent == nullptr) {
    Tables::here().file().header.unplaced += bytes;  // nobody knows what went to each rank
  } else if (to >= 0 && to < communicator.ranks) {
    communicator.sent[to] += bytes;
  }
}

void add_sent(const FoundEntry& at, const SentBlocks& sent) {
  const bool moves = at.key.form != Form::persistent, dense = is_dense(at.key.collective);
  if (dense && has_one_block(at.key.collective)) {
    if (sent.count > 0) add_blocks(*at.entry, moves, sent.each, sent.count);
    return;
  }
  CommunicatorHere& communicator = *at.communicator;
  for (std::size_t d = 0; d < sent.count; ++d) {
    const int to = dense ? static_cast<int>(d) : communicator.neighbors->destinations.peers[d];
    add_block(*at.entry, communicator, moves, to, sent.to(d));
  }
}

// Of calls whose ranks do not know all sizes: those number 1, 2, 4, 8 and so on; the last few of these are kept. All
// ranks keep the same ones, as they make the same calls. The others are calls on several communicators, and an array
// has as many numbers as the one that it was made for has ranks.
void keep_sample(const FoundEntry& at, const SentBlocks& sent) {
  Entry& entry = *at.entry;
  const Collective collective = at.key.collective;
  if (entry.communicator < 0 || entry.form == Form::persistent || is_regular(collective)) return;
  const CommunicatorHere& communicator = *at.communicator;
  if (communicator.sent == nullptr || !std::has_single_bit(entry.calls)) return;
  if (is_neighbor(collective) && !communicator.neighbors_are_told) return;
  if (sent.count != destinations_of(collective, communicator)) return;
  Sample& sample = entry.samples[std::countr_zero(entry.calls) % most_samples];
  std::uint64_t* const bytes = Tables::here().array(sample.bytes, static_cast<int>(sent.count));
  if (bytes == nullptr) return;
  for (std::size_t d = 0; d < sent.count; ++d) bytes[d] = sent.to(d);
  sample.call = entry.calls;
}

// ---- Times ----

Timed timed_as(const Entry& entry) {
  const Times& times = entry.times;
  const std::uint64_t all = times.timed + times.sampled;
  if (all < timed_first || times.nanoseconds + times.sampled_nanoseconds >= all * short_call) return Timed::as_each;
  // The first of the rest, and then one of so many.
  return (entry.calls - times.timed) % timed_one_of == 1 ? Timed::as_sample : Timed::no;
}

void add(Times& times, Timed how, std::uint64_t took) {
  if (how == Timed::as_each) {
    ++times.timed;
    times.nanoseconds += took;
  } else {
    ++times.sampled;
    times.sampled_nanoseconds += took;
    times.sampled_squares += static_cast<double>(took) * static_cast<double>(took);
  }
}

// The least of a few.
std::uint64_t time_of_clock() {
  std::uint64_t least = UINT64_MAX, before = sys::nanoseconds();
  for (int look = 0; look < 100; ++look) {
    const std::uint64_t now = sys::nanoseconds();
    least = std::min(least, now - before);
    before = now;
  }
  return least;
}

void finish() {
  on = false;
  File& file = Tables::here().file();
  file.header.end = sys::nanoseconds();
  sys::flush_file_memory(&file, sizeof(File) + file.header.room_used);
}

}  // namespace

std::unique_lock<std::mutex> held() { return run::UnderWay::here().locked(mutex); }

void begin() {
  // An MPI_Init of a tool calls PMPI_Init: both come here.
  static bool done = false;
  if (std::exchange(done, true) || !team::config().some_recorded) return;
  const std::string folder = team::config().record;
  const int rank = team::rank_in(mpi().comm_world);
  const team::Team* const world = team::find_team(mpi().comm_world);
  const int node = world != nullptr && world->ready() ? world->nodes.node_of[static_cast<std::size_t>(rank)] : -1;
  if (const int error = Tables::here().make(folder, rank, team::size_of(mpi().comm_world), node); error != 0) {
    if (rank != 0 || folder.empty()) return;
    team::say(error == EEXIST ? "calls are not recorded: another program has left its record in " + folder
                              : "calls are not recorded: cannot write in " + folder + ": " + std::strerror(error));
    return;
  }
  clock_takes = time_of_clock();
  team::before_end(team::AtEnd::record, finish);
  on = true;
}

namespace {

// A name that there is no memory for is not written down.
template <class Name>
void by_name(const Name& name) {
  if (!on_thread.here.inside) return;
  const auto lock = held();
  int found = by_unknown;
  static_cast<void>(thrown_by([&] { found = Tables::here().name_of(name); }));
  on_thread.here.name = found;
}

}  // namespace

void by(const choose::Choice& choice) { by_name(choice); }

void by(std::string_view name) { by_name(name); }

void by_the_short_way(choose::Engine engine) {
  on_thread.here.name = engine == choose::Engine::inbox ? Tables::name_of_inbox : Tables::name_of_exchange;
}

void OwnTime::begin(Timed how) {
  if (how_ == Timed::no) begin_ = sys::nanoseconds();
  how_ = how;
}

void OwnTime::pause() {
  if (how_ == Timed::no) return;
  const std::uint64_t took = sys::nanoseconds() - begin_;
  took_ = took - std::min(took, clock_takes);
}

void OwnTime::end(Times& all, std::uint64_t call_ended) {
  if (how_ == Timed::no) return;
  const std::uint64_t took = sys::nanoseconds() - call_ended;
  add(all, how_, took_ + took - std::min(took, clock_takes));
}

Recorded::Recorded() : outermost_(!on_thread.here.inside) {
  if (!outermost_) return;
  on_thread.here = {true, Tables::name_of_mpi};
  if (on_thread.own_turn++ % own_one_of == 0) own_.begin(Timed::as_sample);
}

void Recorded::begin(const run::Call& call, Form form, const void* site, const SentBlocks* known) {
  if (!outermost_) return;
  // Before the lock: it may wait for that of Python.
  const void* const from = site_in_program(on_thread.sites, site, this);
  // What cannot be written down is not.
  static_cast<void>(thrown_by([&] {
    const FoundEntry& at = find(call, form, from, own_);
    SentBlocks found;
    if (known == nullptr && at.communicator != nullptr) found = sent_by(call, *at.communicator, at.type_size);
    const SentBlocks& sent = known != nullptr ? *known : found;
    const auto lock = held();
    ++at.entry->calls;
    if (at.communicator != nullptr) {
      add_sent(at, sent);
      keep_sample(at, sent);
    }
    entry_ = at.entry;
    on_thread.here.communicator = at.communicator;
    timed_ = timed_as(*entry_);
    own_.pause();
    if (timed_ != Timed::no) begin_ = sys::nanoseconds();
  }));
}

void Recorded::begin_sparse(MpiComm comm, const void* site) {
  if (!outermost_) return;
  run::Call call;
  call.collective = Collective::exchange;
  call.comm = comm;
  call.send.type = mpi().byte;  // the call's own has not been looked at
  begin(call, Form::blocking, site);
  on_thread.here.sparse = entry_;
}

void sparse_blocks(std::span<const int> destinations, const MpiCount* counts, std::size_t size) {
  const Here& here = on_thread.here;
  if (here.sparse == nullptr || here.communicator == nullptr) return;
  const auto lock = held();
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    add_block(*here.sparse, *here.communicator, true, destinations[i], static_cast<std::uint64_t>(counts[i]) * size);
  }
}

Recorded::~Recorded() {
  if (!outermost_) return;
  const std::uint64_t end = timed_ != Timed::no || own_.is_timed() ? sys::nanoseconds() : 0;
  Here& here = on_thread.here;
  here.inside = false;
  here.sparse = nullptr;
  if (entry_ == nullptr) return;
  const auto lock = held();
  Tables& tables = Tables::here();
  Way* const way = tables.way_of(*entry_, here.name);
  if (way != nullptr) ++way->calls;
  if (timed_ != Timed::no) {
    const std::uint64_t took = end - begin_;
    add(entry_->times, timed_, took);
    entry_->longest = std::max(entry_->longest, took);
    tables.file().header.latest = end;
    if (way != nullptr) add(way->times, timed_, took);
  }
  own_.end(tables.file().header.own, end);
}

// ---- Persistent requests ----

namespace {

// What a start of a request sends: in bytes, with numbers of its own, since the program may free its datatypes and
// change its arrays.
struct Start {
  run::Call call;  // as far as its entry depends on it; without arrays
  SentBlocks sent;
  std::shared_ptr<const MpiComm> comm;  // MPI_COMM_NULL once the program has freed it
  const char* by;                       // what carries it out
};

// Outliving all destructors: a program may free a request late. How many there are can be seen without the lock, so
// that a program without any pays for one look when it starts or frees others.
struct Made {
  std::mutex mutex;
  std::unordered_map<MpiRequest, std::shared_ptr<const Start>> all;
  std::atomic<std::size_t> count = 0;

  static Made& here() { return sys::immortal<Made>(); }
};

// Null if the MPI cannot tell.
std::shared_ptr<const Start> start_of(const run::Call& call, const char* by) {
  CommunicatorHere* const communicator = Tables::here().communicator_of(call.comm);
  if (communicator == nullptr) return nullptr;
  if (is_neighbor(call.collective)) Tables::here().neighbors_of(*communicator);
  auto start = std::make_shared<Start>();
  start->sent = sent_by(call, *communicator, type_size_of(call));
  start->comm = communicator->comm;
  start->by = by;
  start->call.collective = call.collective;
  start->call.send.type = mpi().byte;
  start->call.send.count = start->sent.each;
  return start;
}

}  // namespace

void keep_made(MpiRequest request, const run::Call& call, const char* by) {
  static_cast<void>(thrown_by([&] {
    std::shared_ptr<const Start> start = start_of(call, by);
    Made& made = Made::here();
    const std::scoped_lock lock(made.mutex);
    made.all[request] = std::move(start);
    made.count = made.all.size();
  }));
}

void forget_made(MpiRequest request) {
  Made& made = Made::here();
  if (made.count == 0) return;
  const std::scoped_lock lock(made.mutex);
  made.all.erase(request);
  made.count = made.all.size();
}

void Recorded::begin_start(MpiRequest request, Form form, const void* site) {
  Made& made = Made::here();
  if (made.count == 0) return;
  // Finding the site may wait for Python's lock: not under ours.
  std::shared_ptr<const Start> start;
  {
    const std::scoped_lock lock(made.mutex);
    if (const auto found = made.all.find(request); found != made.all.end()) start = found->second;
  }
  if (start == nullptr) return;
  run::Call call = start->call;
  call.comm = *start->comm;
  begin(call, form, site, &start->sent);
  by(start->by);
}

}  // namespace quadrille::record
