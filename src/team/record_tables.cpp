#include "team/record_tables.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "sys/code.hpp"
#include "sys/sys.hpp"
#include "team/processes.hpp"
#include "team/team.hpp"
#include "text/hash.hpp"
#include "text/text.hpp"

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

// The first of the `used` rows that is_it(), or one more; null if there is no room, and one more is `lost`.
template <class Row, std::size_t size, class IsIt>
Row* row_for(Row (&rows)[size], std::uint32_t& used, std::uint32_t& lost, const IsIt& is_it) {
  Row* const end = rows + used;
  if (Row* const found = std::find_if(rows, end, is_it); found != end) return found;
  if (used == size) return ++lost, nullptr;
  ++used;
  return end;
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
  for (const choose::Engine engine : {choose::Engine::inbox, choose::Engine::exchange}) {
    name_of(std::ranges::find(choose::algorithms(), engine, &choose::Algorithm::engine)->name);
  }
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
int Tables::keyval() { return team::keyval_of<forget>(); }

int Tables::forget(MpiComm, int, void* value, void*) {
  drop_cached_calls();
  const std::unique_ptr<CommunicatorHere> communicator(static_cast<CommunicatorHere*>(value));
  const auto lock = held();
  if (communicator->number >= 0) here().is_there_[communicator->number] = false;
  *communicator->comm = mpi().comm_null;
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
  Header& header = file_->header;
  Communicator* const first = file_->communicators;
  const auto is_free = [&](const Communicator& one) { return one.group == group && !is_there_[&one - first]; };
  Communicator* const row = row_for(file_->communicators, header.communicators, header.communicators_lost, is_free);
  if (row == nullptr) return -1;
  row->group = group;
  row->turn = static_cast<int>(std::count_if(first, row, [&](const Communicator& one) { return one.group == group; }));
  return static_cast<int>(row - first);
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
  const int topology = team::topology_of(comm);
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
  communicator->comm = std::make_shared<MpiComm>(comm);
  const std::vector<int> world_ranks = team::ranks_in_world(comm);
  const std::uint64_t group = group_of(comm, inter, world_ranks);
  char name[most_mpi_text + 1] = {};
  int length = 0;
  if (mpi().Comm_get_name(comm, name, &length) != mpi_success || length == 0) *name = 0;
  if (mpi().Comm_set_attr(comm, keyval(), communicator.get()) != mpi_success) return nullptr;
  CommunicatorHere* const made = communicator.release();
  const auto lock = held();
  made->number = number_of_group(group);
  if (made->number >= 0) describe(*made, inter, name, world_ranks);
  return made;
}

const team::Neighbors& Tables::neighbors_of(CommunicatorHere& communicator) {
  if (communicator.neighbors != nullptr) return *communicator.neighbors;
  std::shared_ptr<team::Neighbors> asked = team::read_neighbors(*communicator.comm);
  if (asked == nullptr) asked = std::make_shared<team::Neighbors>();  // there is no topology
  const auto lock = held();
  communicator.neighbors_are_told = communicator.number >= 0 && tell(file_->communicators[communicator.number], *asked);
  communicator.neighbors = std::move(asked);
  return *communicator.neighbors;
}

// False if there is no room, or if the file has those of an earlier communicator of the same ranks, which had others.
bool Tables::tell(Communicator& told, const team::Neighbors& neighbors) {
  if (told.world_ranks == 0) return false;
  std::vector<int> both = neighbors.sources.peers;
  both.insert(both.end(), neighbors.destinations.peers.begin(), neighbors.destinations.peers.end());
  const bool is_first = told.neighbors == 0;
  auto* const list = reinterpret_cast<int*>(array(told.neighbors, static_cast<int>((both.size() + 1) / 2)));
  if (list == nullptr) return false;
  const auto sources = static_cast<int>(neighbors.sources.peers.size());
  const auto destinations = static_cast<int>(neighbors.destinations.peers.size());
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
  Header& header = file_->header;
  {
    const auto lock = held();
    const void** const end = sites_ + header.sites;
    if (const void** const known = std::find(sites_, end, address); known != end)
      return static_cast<int>(known - sites_);
  }
  const Site site = described(address);
  const auto lock = held();
  // Another thread may have come first.
  const void** const place =
      row_for(sites_, header.sites, header.sites_lost, [&](const void* known) { return known == address; });
  if (place == nullptr) return -1;
  *place = address;
  file_->sites[place - sites_] = site;
  return static_cast<int>(place - sites_);
}

Entry* Tables::entry_of(Collective collective, Form form, const CommunicatorHere* communicator, int site,
                        std::uint8_t size_class) {
  const auto c = static_cast<std::uint8_t>(collective);
  const auto number = static_cast<std::int16_t>(communicator != nullptr ? communicator->number : -1);
  Header& header = file_->header;
  if (number < 0) return ++header.entries_lost, &file_->entries[c];
  Entry* const entry = row_for(file_->entries, header.entries, header.entries_lost, [&](const Entry& one) {
    return one.collective == c && one.form == form && one.communicator == number && one.site == site &&
           one.size_class == size_class;
  });
  if (entry == nullptr) return &file_->entries[c];
  entry->collective = c;
  entry->form = form;
  entry->communicator = number;
  entry->site = static_cast<std::int16_t>(site);
  entry->size_class = size_class;
  return entry;
}

int Tables::name_of(const choose::Choice& choice) {
  const auto known = std::ranges::find_if(named_, [&](const Named& one) {
    return one.algorithm == choice.algorithm && one.parameters == choice.parameters;
  });
  if (known != std::end(named_)) return static_cast<int>(known - named_);
  const int name = name_of(choose::to_string(choice));
  if (name >= 0 && named_[name].algorithm == nullptr) named_[name] = {choice.algorithm, choice.parameters};
  return name;
}

int Tables::name_of(std::string_view text) {
  Header& header = file_->header;
  const std::string_view fits = text::beginning_of(text, sizeof(Name) - 1);
  Name* const name =
      row_for(file_->names, header.names, header.names_lost, [&](const Name& one) { return one.text == fits; });
  if (name == nullptr) return -1;
  write_text(name->text, fits);
  return static_cast<int>(name - file_->names);
}

Way* Tables::way_of(Entry& entry, int name) {
  if (name < 0) return ++entry.ways_lost, nullptr;
  Way* const way =
      row_for(entry.ways, entry.ways_used, entry.ways_lost, [&](const Way& one) { return one.name == name; });
  if (way != nullptr) way->name = name;
  return way;
}

}  // namespace quadrille::record
