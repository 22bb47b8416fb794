#include "team/record_tables.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "mpi/generation.hpp"
#include "sys/code.hpp"
#include "sys/python.hpp"
#include "sys/sys.hpp"
#include "team/communicator.hpp"
#include "team/neighbors.hpp"
#include "team/record_parts.hpp"
#include "team/world.hpp"
#include "text/cut.hpp"
#include "text/hash.hpp"

namespace quadrille::record {
namespace {

constexpr std::uint64_t room_of_all = std::uint64_t{64} * 1024, room_of_a_rank = 256;

// Where a longer one may have stood before.
template <std::size_t size>
void write_text(char (&to)[size], std::string_view text) {
  const std::string_view fits = text::beginning_of(text, size - 1);
  std::memcpy(to, fits.data(), fits.size());
  std::memset(to + fits.size(), 0, size - fits.size());
}

// The end of a path says more than its beginning.
std::string_view last_of(std::string_view text, std::size_t most) {
  if (text.size() > most) text.remove_prefix(text.size() - most);
  // Not from within a letter on.
  while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xc0) == 0x80) text.remove_prefix(1);
  return text;
}

}  // namespace

Tables& Tables::here() { return sys::immortal<Tables>(); }

int Tables::make_file(const std::string& folder, int rank, int ranks) {
  const auto drawn = static_cast<std::uint64_t>(std::min(ranks, most_ranks_with_matrix));
  const std::uint64_t room = room_of_all + drawn * room_of_a_rank;
  std::byte* const memory = sys::make_file_memory(fmt::format("{}/rank-{}", folder, rank), sizeof(File) + room);
  if (memory == nullptr) return errno;
  file_ = new (memory) File;
  file_->header.room = room;
  return 0;
}

// One command may start several programs, also at a time. The folder is for the one whose rank 0 comes first: the files
// of two would be read as one.
int Tables::make(const std::string& folder, int rank, int ranks, int node) {
  const bool is_first = rank == 0 && !folder.empty();
  int error = is_first ? make_file(folder, rank, ranks) : 0;
  int claimed = error == EEXIST ? error : 0;  // what else keeps rank 0 from writing tells nothing of other ranks
  mpi().Bcast(&claimed, 1, mpi().int_type, 0, mpi().comm_world);
  if (error == 0) error = folder.empty() ? ENOENT : claimed;
  if (error == 0 && !is_first) error = make_file(folder, rank, ranks);
  if (error != 0) return error;
  Header& header = file_->header;
  header.rank = rank;
  header.ranks = ranks;
  header.node = node;
  write_text(header.host, sys::host_name());
  for (int c = 0; c < collective_count; ++c) file_->entries[c].collective = static_cast<std::uint8_t>(c);
  header.entries = collective_count;
  header.begin = sys::nanoseconds();
  name_of("mpi");
  header.magic = magic;
  return 0;
}

std::uint64_t* Tables::array(std::uint64_t& offset, int numbers) {
  Header& header = file_->header;
  const auto bytes = static_cast<std::uint64_t>(numbers) * sizeof(std::uint64_t);
  if (offset == 0) {
    if (bytes > header.room - header.room_used) return nullptr;
    offset = sizeof(File) + header.room_used;
    header.room_used += bytes;
  }
  return reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(file_) + offset);
}

// ---- Communicators ----

// What is known of them is an attribute.
int Tables::keyval() {
  static constinit FirstAnswer<int> keyval(no_keyval);
  return keyval.get([] { return team::make_keyval(forget); });
}

int Tables::forget(MpiComm, int, void* value, void*) {
  drop_cached_calls();
  const std::unique_ptr<CommunicatorHere> communicator(static_cast<CommunicatorHere*>(value));
  const auto lock = held();
  if (communicator->number >= 0) here().is_there_[communicator->number] = false;
  here().known_.erase(communicator->comm);
  *communicator->there = mpi().comm_null;
  return mpi_success;
}

CommunicatorHere* Tables::communicator_of(MpiComm comm) {
  if (comm == mpi().comm_null) return nullptr;
  CommunicatorHere* known = nullptr;
  if (!team::get_attribute(comm, keyval(), known)) return nullptr;
  return known != nullptr ? known : add_communicator(comm);
}

// Programs make a communicator, use it and free it, and make the next of the same ranks: these are one in the file. All
// ranks make and free them in the same order, so the number of one is the same on all.
int Tables::number_of_group(std::uint64_t group) {
  const auto used = static_cast<int>(file_->header.communicators);
  int turn = 0;
  for (int c = 0; c < used; ++c) {
    if (file_->communicators[c].group != group) continue;
    if (!is_there_[c]) return c;
    ++turn;
  }
  if (used == most_communicators) return -1;
  ++file_->header.communicators;
  file_->communicators[used].group = group;
  file_->communicators[used].turn = turn;
  return used;
}

void Tables::describe(CommunicatorHere& communicator, bool inter, const char* name,
                      const std::vector<int>& world_ranks) {
  Communicator& told = file_->communicators[communicator.number];
  is_there_[communicator.number] = true;
  ++told.made;
  told.ranks = communicator.ranks;
  told.rank = communicator.rank;
  told.is_inter = inter ? 1 : 0;
  if (*name != 0) write_text(told.name, name);
  if (told.world_ranks == 0 && !inter && told.ranks <= most_ranks_with_matrix) {
    if (std::uint64_t* const ranks = array(told.world_ranks, (told.ranks + 1) / 2)) {
      std::memcpy(ranks, world_ranks.data(), world_ranks.size() * sizeof(int));
    }
  }
  if (told.world_ranks != 0) communicator.sent = array(told.sent, told.ranks);
}

// Those that programs make one after the other have one number if this is the same: who is in them, and, as far as all
// ranks know it, who is whose neighbour.
std::uint64_t Tables::group_of(MpiComm comm, bool inter, const std::vector<int>& world_ranks) {
  int topology = mpi().undefined;
  mpi().Topo_test(comm, &topology);
  text::Hash hash;
  hash.add_all(world_ranks).add(inter ? 1 : 0).add(topology);
  plan::Grid grid;
  if (topology == mpi().cart && team::grid_of(comm, grid)) {
    hash.add_all(grid.extents);
    for (const bool periodic : grid.periodic) hash.add(periodic ? 1 : 0);
  }
  return hash.value();
}

CommunicatorHere* Tables::add_communicator(MpiComm comm) {
  auto communicator = std::make_unique<CommunicatorHere>();
  const bool inter = is_inter(comm);
  inter ? mpi().Comm_remote_size(comm, &communicator->ranks) : mpi().Comm_size(comm, &communicator->ranks);
  communicator->rank = team::rank_in(comm);
  communicator->comm = comm;
  communicator->there = std::make_shared<MpiComm>(comm);
  const std::vector<int> world_ranks = team::ranks_in_world(comm);
  const std::uint64_t group = group_of(comm, inter, world_ranks);
  char name[most_mpi_text + 1] = {};
  int length = 0;
  if (mpi().Comm_get_name(comm, name, &length) != mpi_success || length == 0) *name = 0;
  CommunicatorHere* const made = communicator.get();
  {
    const auto lock = held();
    const auto [known, is_new] = known_.try_emplace(comm, made);
    if (!is_new) return known->second;  // another thread has come first
    static_cast<void>(communicator.release());
    made->number = number_of_group(group);
    if (made->number < 0) {
      ++file_->header.communicators_lost;
    } else {
      describe(*made, inter, name, world_ranks);
    }
  }
  // Also if an error handler of the program throws. `made` stays: another thread may use it.
  struct Unless {
    MpiComm comm;
    bool is_set = false;
    ~Unless() {
      if (is_set) return;
      const auto lock = held();
      here().known_.erase(comm);
    }
  } unless{comm};
  unless.is_set = mpi().Comm_set_attr(comm, keyval(), made) == mpi_success;
  return unless.is_set ? made : nullptr;
}

const CommunicatorHere::Neighbors& Tables::neighbors_of(CommunicatorHere& communicator) {
  {
    const auto lock = held();
    if (communicator.neighbors != nullptr) return *communicator.neighbors;
  }
  auto asked = std::make_unique<CommunicatorHere::Neighbors>();
  if (const auto all = team::read_neighbors(communicator.comm)) {
    *asked = {all->sources, all->destinations, all->send_block};
  }
  const auto lock = held();
  // Unless another thread has come first: these stay as they are, and are read without the lock.
  if (communicator.neighbors == nullptr) {
    if (communicator.number >= 0) asked->are_told = tell(file_->communicators[communicator.number], *asked);
    communicator.neighbors = std::move(asked);
  }
  return *communicator.neighbors;
}

// False if there is no room, or if the file has those of an earlier communicator of the same ranks, which had others.
bool Tables::tell(Communicator& told, const CommunicatorHere::Neighbors& neighbors) {
  if (told.world_ranks == 0) return false;
  std::vector<int> both = neighbors.sources;
  both.insert(both.end(), neighbors.destinations.begin(), neighbors.destinations.end());
  const bool is_first = told.neighbors == 0;
  auto* const list = reinterpret_cast<int*>(array(told.neighbors, static_cast<int>((both.size() + 1) / 2)));
  if (list == nullptr) return false;
  const auto sources = static_cast<int>(neighbors.sources.size());
  const auto destinations = static_cast<int>(neighbors.destinations.size());
  if (is_first) {
    told.sources = sources;
    told.destinations = destinations;
    std::copy(both.begin(), both.end(), list);
    return true;
  }
  const bool same =
      told.sources == sources && told.destinations == destinations && std::equal(both.begin(), both.end(), list);
  if (!same) told.neighbors_differ = 1;
  return same;
}

// ---- The other tables ----

namespace {

// The loader may be asked, which has a lock of its own.
Site described(const void* address) {
  Site site;
  if (const sys::PythonPlace* const script = sys::as_python_place(address)) {
    write_text(site.object, last_of(script->file, sizeof site.object - 1));
    write_text(site.symbol, script->function);
    site.line = static_cast<std::uint32_t>(script->line);
  } else {
    const sys::CodePlace place = sys::place_in_code(address);
    write_text(site.object, last_of(place.object, sizeof site.object - 1));
    write_text(site.symbol, place.symbol);
    site.address = place.address;
    site.behind = place.behind;
  }
  return site;
}

}  // namespace

int Tables::site_of(const void* address) {
  const auto number = [&] {
    const auto found = std::find(sites_.begin(), sites_.end(), address);
    return found == sites_.end() ? -1 : static_cast<int>(found - sites_.begin());
  };
  {
    const auto lock = held();
    if (const int known = number(); known >= 0) return known;
  }
  const Site site = described(address);
  const auto lock = held();
  if (const int known = number(); known >= 0) return known;  // another thread has come first
  if (sites_.size() == most_sites) {
    ++file_->header.sites_lost;
    return -1;
  }
  file_->sites[sites_.size()] = site;
  sites_.push_back(address);
  file_->header.sites = static_cast<std::uint32_t>(sites_.size());
  return static_cast<int>(sites_.size()) - 1;
}

Entry* Tables::entry_of(Collective collective, Form form, const CommunicatorHere* communicator, int site,
                        std::uint8_t size_class) {
  const auto c = static_cast<std::uint8_t>(collective);
  const auto number = static_cast<std::int16_t>(communicator != nullptr ? communicator->number : -1);
  const auto used = static_cast<int>(file_->header.entries);
  for (int e = collective_count; e < used; ++e) {
    Entry& entry = file_->entries[e];
    if (entry.collective == c && entry.form == form && entry.communicator == number && entry.site == site &&
        entry.size_class == size_class) {
      return &entry;
    }
  }
  if (number < 0 || used == most_entries) {
    ++file_->header.entries_lost;
    return &file_->entries[c];
  }
  ++file_->header.entries;
  Entry& entry = file_->entries[used];
  entry.collective = c;
  entry.form = form;
  entry.communicator = number;
  entry.site = static_cast<std::int16_t>(site);
  entry.size_class = size_class;
  return &entry;
}

int Tables::name_of(const choose::Choice& choice) {
  for (std::size_t i = 0; i < named_.size(); ++i) {
    const Named& one = named_[i];
    if (one.algorithm == choice.algorithm && one.parameters == choice.parameters) return static_cast<int>(i);
  }
  const std::size_t before = named_.size();
  const int name = name_of(choose::to_string(choice));
  // Unless it was there as a text, or did not fit.
  if (named_.size() > before) named_.back() = {choice.algorithm, choice.parameters};
  return name;
}

int Tables::name_of(choose::Engine engine) {
  int& name = engine_names_[static_cast<std::size_t>(engine)];
  if (name > 0) return name - 1;
  const auto& all = choose::algorithms();
  const auto its = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.engine == engine; });
  name = its != all.end() ? name_of(its->name) + 1 : 0;
  return name - 1;
}

int Tables::name_of(std::string_view text) {
  for (std::size_t i = 0; i < named_.size(); ++i) {
    if (file_->names[i].text == text::beginning_of(text, sizeof(Name) - 1)) return static_cast<int>(i);
  }
  if (named_.size() == most_names) {
    ++file_->header.names_lost;
    return -1;
  }
  write_text(file_->names[named_.size()].text, text);
  named_.push_back({nullptr, {}});
  file_->header.names = static_cast<std::uint32_t>(named_.size());
  return static_cast<int>(named_.size()) - 1;
}

Way* Tables::way_of(Entry& entry, int name) {
  if (name < 0) return ++entry.ways_lost, nullptr;
  for (std::uint32_t w = 0; w < entry.ways_used; ++w) {
    if (entry.ways[w].name == name) return &entry.ways[w];
  }
  if (entry.ways_used == most_ways) return ++entry.ways_lost, nullptr;
  Way& way = entry.ways[entry.ways_used++];
  way.name = name;
  return &way;
}

}  // namespace quadrille::record
