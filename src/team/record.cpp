#include "team/record.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "mpi/generation.hpp"
#include "mpi/thrown.hpp"
#include "mpi/types.hpp"
#include "run/under_way.hpp"
#include "sys/code.hpp"
#include "sys/sys.hpp"
#include "team/communicator.hpp"
#include "team/config.hpp"
#include "team/record_parts.hpp"
#include "team/record_site.hpp"
#include "team/record_tables.hpp"
#include "team/team.hpp"

namespace quadrille::record {
namespace {

// Calls shorter than this are timed now and then: two looks at the clock would be a part of them that counts.
constexpr std::uint64_t short_call = 10'000;
constexpr std::uint64_t timed_first = 8, timed_one_of = 17;
// What recording takes is timed of one call of so many.
constexpr unsigned own_one_of = 64;

// In the place of a name's number; that of one that has no room is by_unknown, too.
constexpr int by_unknown = -1, by_short_way = -2;

// Of the call that a thread is in.
struct Here {
  bool inside = false;
  int name = 0;
  choose::Engine engine{};  // of the short way
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

// The entry of a call that is like an earlier one of a thread, found without a search.
struct Known {
  std::uint64_t generation = 0;
  Key key{};
  Entry* entry = nullptr;
  CommunicatorHere* communicator = nullptr;
  std::size_t type_size = 0;
};
constexpr std::size_t known_places = 16;

// All zeros at first, so that a thread that is not recorded costs nothing.
struct OnThread {
  Here here;
  unsigned own_turn = 0;
  Known known[known_places];
  KnownSites sites;
};
constinit thread_local OnThread on_thread;

std::uint64_t clock_takes = 0;  // nanoseconds

// Has nothing to destroy, and nothing to make: a call may come when there is no memory left, or late.
constinit std::mutex mutex;

// Without the lock: the MPI is asked for what is new. The neighbours of a neighbour call are known from here on.
Known& find(const run::Call& call, Form form, const void* site, OwnTime& own) {
  const run::Side& side = sent_side(call);
  const bool sized = is_regular(call.collective);
  const std::size_t count = sized ? side.count : 0;
  const Key key{call.collective, form, call.comm, side.type, count, site};
  const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(site) >> 2;
  Known& last = on_thread.known[(place + count + static_cast<std::size_t>(key.collective)) % known_places];
  const std::uint64_t generation = cache_generation();
  if (last.entry != nullptr && last.key == key && last.generation == generation) return last;
  own.note_new();
  Tables& tables = Tables::here();
  CommunicatorHere* const communicator = tables.communicator_of(call.comm);
  if (communicator != nullptr && is_neighbor(call.collective)) tables.neighbors_of(*communicator);
  const std::size_t size = !side.types ? type_info(side.type).size : 0;
  const auto size_class = static_cast<std::uint8_t>(sized ? std::bit_width(count * size) : 0);
  const int from = tables.site_of(site);
  const auto lock = held();
  Entry* const entry = tables.entry_of(call.collective, form, communicator, from, size_class);
  last = {generation, key, entry, communicator, size};
  return last;
}

// Blocks of one call, as they are added up. To make a persistent request moves nothing.
struct Blocks {
  bool moves = true;
  std::uint64_t bytes = 0, least = UINT64_MAX, most = 0;
  void add(std::uint64_t block, std::uint64_t times = 1) {
    bytes += block * times;
    least = std::min(least, block);
    most = std::max(most, block);
  }
};

bool arrays_are_there(const run::Side& side) { return side.counts != nullptr || side.counts_large != nullptr; }

// Of the types of what is sent.
struct TypeSizes {
  std::size_t all = 0;
  std::vector<std::size_t> each;  // by block; empty: all blocks have one type
  std::size_t of(int block) const { return each.empty() ? all : each[static_cast<std::size_t>(block)]; }
};

// Without the lock: where each block has a type of its own the MPI is asked.
TypeSizes type_sizes(const run::Call& call, const Known& at) {
  TypeSizes sizes{at.type_size, {}};
  const run::Side& side = sent_side(call);
  if (!side.types || !arrays_are_there(side) || at.communicator == nullptr) return sizes;
  const auto size_of = [&](int block) {
    if (side.count_of(block) <= 0) return std::size_t{0};  // its type may be none
    const MpiType type = side.types[block];
    return type == mpi().datatype_null ? 0 : size_if_committed(type).value_or(0);
  };
  if (has_one_block(call.collective)) {
    sizes.all = size_of(0);
  } else if (is_dense(call.collective)) {
    sizes.each.resize(static_cast<std::size_t>(at.communicator->ranks));
    for (int b = 0; b < at.communicator->ranks; ++b) sizes.each[static_cast<std::size_t>(b)] = size_of(b);
  } else if (const std::vector<int>& numbers = at.communicator->neighbors->numbers; !numbers.empty()) {
    sizes.each.resize(static_cast<std::size_t>(*std::ranges::max_element(numbers)) + 1);
    for (const int number : numbers) sizes.each[static_cast<std::size_t>(number)] = size_of(number);
  }
  return sizes;
}

std::uint64_t bytes_of_block(const run::Side& side, int block, const TypeSizes& sizes) {
  return static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(side.count_of(block), 0)) * sizes.of(block);
}

// Of a dense call in which this rank has one block.
std::uint64_t bytes_of_own_block(const run::Call& call, const Known& at) {
  const std::ptrdiff_t count = std::max<std::ptrdiff_t>(count_of(call, at.communicator->rank), 0);
  return static_cast<std::uint64_t>(count) * at.type_size;
}

// visit(destination, bytes) for each block that this rank sends. None without the arrays.
template <class Visit>
void for_each_sent(const run::Call& call, const Known& at, const TypeSizes& sizes, const Visit& visit) {
  const CommunicatorHere& communicator = *at.communicator;
  const run::Side& side = sent_side(call);
  const bool one = has_one_block(call.collective);
  if (!one && !arrays_are_there(side)) return;
  if (is_dense(call.collective)) {
    const std::uint64_t own = one ? bytes_of_own_block(call, at) : 0;
    for (int b = 0; b < communicator.ranks; ++b) visit(b, one ? own : bytes_of_block(side, b, sizes));
    return;
  }
  const CommunicatorHere::Neighbors& around = *communicator.neighbors;
  for (std::size_t k = 0; k < around.destinations.size(); ++k) {
    visit(around.destinations[k], bytes_of_block(side, one ? 0 : around.numbers[k], sizes));
  }
}

// One block, of a call whose blocks may differ.
void add_block(CommunicatorHere& communicator, int to, std::uint64_t bytes, Blocks& blocks) {
  blocks.add(bytes);
  const bool is_placed = communicator.sent != nullptr && to >= 0 && to < communicator.ranks;
  if (is_placed && blocks.moves) communicator.sent[to] += bytes;
}

// Where nobody knows what went to each rank.
void add_unplaced(const CommunicatorHere& communicator, const Blocks& blocks) {
  if (communicator.sent == nullptr && blocks.moves) Tables::here().file().header.unplaced += blocks.bytes;
}

Blocks blocks_of(const run::Call& call, const Known& at, const TypeSizes& sizes) {
  Blocks blocks;
  blocks.moves = at.key.form != Form::persistent;
  // The blocks of the sparse exchange are told later.
  if (at.communicator == nullptr || call.collective == Collective::exchange) return blocks;
  CommunicatorHere& communicator = *at.communicator;
  if (is_dense(call.collective) && has_one_block(call.collective)) {
    blocks.add(bytes_of_own_block(call, at), static_cast<std::uint64_t>(communicator.ranks));
    return blocks;
  }
  for_each_sent(call, at, sizes, [&](int to, std::uint64_t bytes) { add_block(communicator, to, bytes, blocks); });
  add_unplaced(communicator, blocks);
  return blocks;
}

// Of calls whose ranks do not know all sizes: those number 1, 2, 4, 8 and so on; the last few of these are kept. All
// ranks keep the same ones, as they make the same calls. The others are calls on several communicators, and an array
// has as many numbers as the one that it was made for has ranks.
void keep_sample(const run::Call& call, const Known& at, const TypeSizes& sizes, Entry& entry) {
  if (entry.communicator < 0 || entry.form == Form::persistent) return;
  const bool dense = is_dense(call.collective);
  if ((!dense && !is_neighbor(call.collective)) || is_regular(call.collective)) return;
  if (at.communicator == nullptr || at.communicator->sent == nullptr || !std::has_single_bit(entry.calls)) return;
  int count = at.communicator->ranks;
  if (!dense) {
    const CommunicatorHere::Neighbors& around = *at.communicator->neighbors;
    if (!around.are_told) return;
    count = static_cast<int>(around.destinations.size());
  }
  if (!has_one_block(call.collective) && count > 0 && !arrays_are_there(sent_side(call))) return;
  Sample& sample = entry.samples[std::countr_zero(entry.calls) % most_samples];
  std::uint64_t* next = Tables::here().array(sample.bytes, count);
  if (next == nullptr) return;
  for_each_sent(call, at, sizes, [&](int /*to*/, std::uint64_t bytes) { *next++ = bytes; });
  sample.call = entry.calls;
}

Timed timed_as(const Entry& entry) {
  const Times& times = entry.times;
  const std::uint64_t all = times.timed + times.sampled;
  if (all < timed_first || times.nanoseconds + times.sampled_nanoseconds >= all * short_call) return Timed::as_each;
  // The first of the rest, and then one of so many.
  return (entry.calls - times.timed) % timed_one_of == 1 ? Timed::as_sample : Timed::no;
}

void add_blocks(Entry& entry, const Blocks& blocks) {
  if (blocks.moves) entry.bytes += blocks.bytes;
  if (blocks.least == UINT64_MAX) return;
  entry.least_block = std::min(entry.least_block, blocks.least);
  entry.most_block = std::max(entry.most_block, blocks.most);
}

// One call more.
void add(Entry& entry, const Blocks& blocks) {
  ++entry.calls;
  add_blocks(entry, blocks);
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

std::unique_lock<std::mutex> held() {
  return run::UnderWay::here().has_threads() ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
}

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

void by_the_short_way(choose::Engine engine) { on_thread.here.name = by_short_way, on_thread.here.engine = engine; }

void OwnTime::begin(bool is_sample) {
  if (!is_sample) return;
  how_ = Timed::as_sample;
  begin_ = sys::nanoseconds();
}

void OwnTime::note_new() {
  if (how_ == Timed::no) begin_ = sys::nanoseconds();
  how_ = Timed::as_each;
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
  own_.begin(on_thread.own_turn++ % own_one_of == 0);
}

void Recorded::start_clock() {
  timed_ = timed_as(*entry_);
  own_.pause();
  if (timed_ != Timed::no) begin_ = sys::nanoseconds();
}

void Recorded::begin(const run::Call& call, Form form, const void* site) {
  if (!outermost_) return;
  // Before the lock: it may wait for that of Python.
  const void* const from = site_in_program(on_thread.sites, site, this);
  // What cannot be written down is not.
  static_cast<void>(thrown_by([&] {
    const Known& at = find(call, form, from, own_);
    const TypeSizes sizes = type_sizes(call, at);
    const auto lock = held();
    Entry& entry = *at.entry;
    add(entry, blocks_of(call, at, sizes));
    keep_sample(call, at, sizes, entry);
    entry_ = &entry;
    on_thread.here.communicator = at.communicator;
    start_clock();
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
  Blocks blocks;
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    add_block(*here.communicator, destinations[i], static_cast<std::uint64_t>(counts[i]) * size, blocks);
  }
  add_unplaced(*here.communicator, blocks);
  add_blocks(*here.sparse, blocks);
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
  int name = here.name;
  if (name == by_short_way) {
    name = by_unknown;
    static_cast<void>(thrown_by([&] { name = tables.name_of(here.engine); }));
  }
  Way* const way = tables.way_of(*entry_, name);
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

}  // namespace quadrille::record
