#include "team/processes.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <numeric>
#include <utility>

#include "memory/control_memory.hpp"
#include "memory/device.hpp"
#include "memory/heap.hpp"
#include "memory/leaders.hpp"
#include "mpi/errors.hpp"
#include "sys/sys.hpp"
#include "team/config.hpp"
#include "team/team.hpp"

namespace quadrille::team {
namespace {

// The ranks of a communicator that share memory with this one. They have `comm` for themselves.
struct NodeView {
  MpiComm comm;
  int me;
  int ranks;
};

// ---- Who shares a node ----

// More ranks on this node than processors they may use? Ranks of other communicators count too: the
// launchers tell how many live here.
bool oversubscribed(const NodeView& node) {
  const sys::ProcessorSet mine = sys::allowed_processors();
  sys::ProcessorSet all;
  ours::allreduce(&mine, &all, sizeof mine / 8, mpi().uint64, mpi().op_bor, node.comm);
  const int ranks_here = std::max(node.ranks, sys::launched_here());
  // A rank bound to some processors leaves the others to ranks outside this communicator.
  return node.ranks > sys::count(all) ||
         (ranks_here > node.ranks && ranks_here > sys::count(all) && sys::count(mine) > 1);
}

// An MPI that takes such memory has loaded the driver by now, or the user says what it takes, if anything.
bool expects_devices() { return config().mpi_device.has_value() || memory::device_driver() != nullptr; }

// The label of a node is its lowest rank.
void learn_nodes(MpiComm comm, const NodeView& node, int me, int ranks, Processes& known) {
  Facts mine{me, oversubscribed(node), mpi_device_use(), expects_devices()};
  ours::bcast(&mine.label, 1, mpi().int_type, 0, node.comm);
  known.facts.resize(static_cast<std::size_t>(ranks));
  ours::allgather(&mine, sizeof mine, mpi().byte, known.facts.data(), sizeof mine, mpi().byte, comm);
  std::vector<int> labels;
  for (const Facts& one : known.facts) labels.push_back(one.label);
  known.nodes = plan::node_map_from_labels(labels);
}

// ---- Control memory ----

// A socket of the node's first rank to the others, and of each other to the first; -1 if that failed.
int connect_ranks(const NodeView& node) {
  sys::Address address;
  int socket = -1;
  if (node.me == 0) socket = sys::listen_local(node.ranks, address);
  ours::bcast(&address, sizeof address, mpi().byte, 0, node.comm);
  if (node.me != 0 && address.length > 0) socket = sys::connect_local(address);
  return socket;
}

// Every rank gets every rank's descriptor: all[p], -1 where there is none. `mine` is this rank's.
std::vector<int> share_descriptors(const NodeView& node, int mine) {
  std::vector<int> all(static_cast<std::size_t>(node.ranks), -1);
  all[static_cast<std::size_t>(node.me)] = mine;
  const int socket = connect_ranks(node);
  if (all_true(node.comm, socket >= 0)) {
    if (node.me == 0) {
      sys::collect_and_share(socket, all);
    } else {
      sys::give_and_take(socket, node.me, all);
    }
  }
  sys::close_descriptor(socket);
  return all;
}

// A segment of `bytes`, made by the node's first rank. Null on all ranks if one of them does not get it.
std::byte* make_segment(const NodeView& node, std::size_t bytes, bool may_reserve) {
  const std::vector<int> all = share_descriptors(node, node.me == 0 ? sys::create_segment(bytes, may_reserve) : -1);
  std::byte* base = sys::map_segment(all[0], bytes);
  if (!all_true(node.comm, base != nullptr) && base != nullptr) {
    sys::unmap_segment(base, bytes);
    base = nullptr;
  }
  for (const int descriptor : all) sys::close_descriptor(descriptor);
  return base;
}

// More bytes of addresses that each rank of the node may take.
std::uint64_t least_addresses_left(const NodeView& node) {
  const std::uint64_t mine = sys::address_space_left();
  std::uint64_t least = 0;
  return ours::allreduce(&mine, &least, 1, mpi().uint64, mpi().op_min, node.comm) == mpi_success ? least : 0;
}

// With address space for many communicators, and for the leaders of some, if the limits allow it, else for fewer; and
// for one where all that is not used would be reserved.
void make_pool(const NodeView& node, std::size_t areas, Processes& known) {
  const std::size_t one = control_bytes(node.ranks) + memory::ControlPool::chunk_bytes;
  const std::size_t of_leaders = memory::Leaders::bytes(node.ranks) + memory::ControlPool::chunk_bytes;
  struct Size {
    std::size_t areas, leaders;
    bool may_reserve;
  };
  constexpr std::size_t most_with_leaders = 32;
  const std::uint64_t left = least_addresses_left(node);
  const std::size_t leaders = memory::Leaders::areas_within(left, of_leaders, std::min(areas, most_with_leaders));
  areas = std::max<std::size_t>(1, memory::Leaders::areas_within(left, one, areas));
  for (const Size& size : {Size{areas, leaders, false}, Size{areas, 0, areas == 1}, Size{1, 0, true}}) {
    const std::size_t bytes = one * size.areas + of_leaders * size.leaders;
    const std::size_t segment = memory::ControlPool::segment_bytes(bytes);
    if (std::byte* base = make_segment(node, segment, size.may_reserve); base != nullptr) {
      known.pool = std::make_shared<memory::ControlPool>(base, bytes);
      return;
    }
    if (size.may_reserve) return;
  }
}

// ---- Reach ----

// The word by which a peer knows that it reads the right process: process numbers mean something else in
// another container.
std::uint64_t* make_word() {
  static std::uint64_t word =
      static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) * 0x9e3779b97f4a7c15ULL ^
      static_cast<std::uint64_t>(getpid());
  return &word;
}

bool can_attach(const Card& card) {
  return memory::XpmemPeer(memory::xpmem_here().calls, card.segment).reads_word(card.word_at, card.word);
}

// The heaps of other processes that are mapped here. They stay mapped until the end: a process has one.
struct MappedHeap {
  Card owner;
  std::byte* base;
};
std::vector<MappedHeap>& mapped_heaps() { return sys::immortal<std::vector<MappedHeap>>(); }
constinit std::mutex mapped_heaps_mutex;  // has nothing to destroy

std::byte* mapped(const Card& card) {
  const std::lock_guard lock(mapped_heaps_mutex);
  for (const MappedHeap& heap : mapped_heaps()) {
    if (heap.owner.process == card.process && heap.owner.word == card.word) return heap.base;
  }
  return nullptr;
}

// Whether the library of XPMEM was looked for.
std::atomic<bool> xpmem_used{false};

// Maps the heaps of peers that are not mapped yet. What fails is left out: it is reached in other ways.
void map_heaps(const NodeView& node, const std::vector<Card>& cards) {
  const auto me = static_cast<std::size_t>(node.me);
  // A tool that watches this process would keep notes of the whole heap of each peer.
  const auto is_missing = [&](std::size_t p) {
    return p != me && cards[me].watched == 0 && cards[p].heap_bytes > 0 && mapped(cards[p]) == nullptr;
  };
  bool has_all = true;
  for (std::size_t p = 0; p < cards.size(); ++p) has_all = has_all && !is_missing(p);
  if (all_true(node.comm, has_all)) return;
  const std::vector<int> all = share_descriptors(node, memory::heap_segment().descriptor);
  for (std::size_t p = 0; p < cards.size(); ++p) {
    if (p == me || all[p] < 0) continue;
    if (is_missing(p)) {
      // Two threads that set up two communicators may both map it: then it is mapped twice. No lock is
      // held over a collective, or two threads could wait for each other's peers.
      std::byte* base = memory::heap_map_peer(all[p], cards[p].heap_bytes);
      if (base != nullptr) {
        const std::lock_guard lock(mapped_heaps_mutex);
        mapped_heaps().push_back({cards[p], base});
      }
    }
    sys::close_descriptor(all[p]);
  }
}

Card make_card(const memory::Ways& ways) {
  const std::uint64_t* word = make_word();
  Card card{.process = getpid(), .word_at = reinterpret_cast<std::uintptr_t>(word), .word = *word};
  card.watched = sys::memory_checker() != nullptr ? 1 : 0;
  card.place = sys::place_of(sys::allowed_processors());
  if (ways.heap) {
    memory::heap_start();
    if (memory::heap_active()) card.heap_bytes = memory::heap_segment().bytes;
  }
  // A failed attach ends in a ring, so without rings there is no XPMEM.
  if (ways.xpmem && ways.ring && card.watched == 0) {
    xpmem_used = true;
    card.segment = memory::xpmem_here().segment;
  }
  return card;
}

memory::Abilities abilities(const Card& mine, const Card& card, const memory::Ways& ways) {
  return {.read = ways.cma_read && why_no_cma(card, false).reason == Reason::none,
          .write = ways.cma_write && why_no_cma(card, true).reason == Reason::none,
          .map = card.heap_bytes > 0 && mapped(card) != nullptr,
          .attach = mine.segment != -1 && card.segment != -1 && can_attach(card)};
}

// `known.nodes` is there; fills `known.ranks` for this node's.
void learn_reach(const NodeView& node, int me, const memory::Ways& ways, Processes& known) {
  const auto count = static_cast<std::size_t>(node.ranks);
  const auto self = static_cast<std::size_t>(node.me);
  const Card mine = make_card(ways);
  std::vector<Card> cards(count);
  ours::allgather(&mine, sizeof mine, mpi().byte, cards.data(), sizeof mine, mpi().byte, node.comm);
  map_heaps(node, cards);

  using memory::Abilities;
  std::vector<Abilities> i_can(count, {true, true, true, true}), can_to_me(count);
  for (std::size_t p = 0; p < count; ++p) {
    if (p != self) i_can[p] = abilities(mine, cards[p], ways);
  }
  constexpr int bytes = sizeof(Abilities);
  ours::alltoall(i_can.data(), bytes, mpi().byte, can_to_me.data(), bytes, mpi().byte, node.comm);
  using std::ranges::all_of;
  known.heaps_mapped = all_true(node.comm, mine.heap_bytes > 0 && all_of(i_can, &Abilities::map));
  known.reached = all_true(node.comm, all_of(can_to_me, &Abilities::map) || all_of(can_to_me, &Abilities::attach));

  known.ranks.resize(known.nodes.node_of.size());
  const std::vector<int> members = members_of(known.nodes, me);
  for (std::size_t p = 0; p < count; ++p) {
    std::byte* heap = i_can[p].map ? mapped(cards[p]) : nullptr;
    known.ranks[static_cast<std::size_t>(members[p])] = {
        cards[p], {static_cast<pid_t>(cards[p].process), heap, can_to_me[p], i_can[p]}};
  }
}

// Communicators of our own that live. Of those that MPICH has, two thousand, three quarters are left to the program.
std::atomic<int> private_communicators{0};
int most_private_communicators() { return mpi().is_openmpi() ? 8192 : 512; }

// The group of the communicator's ranks. MPICH 5.0 gives those of the parent where MPI_Cart_create left some out; the
// ranks of the grid come first.
int group_of(MpiComm comm, MpiGroup& group) {
  if (const int error = mpi().Comm_group(comm, &group); error != mpi_success) return error;
  int members = 0, ranks = 0;
  if (mpi().Group_size(group, &members) != mpi_success || mpi().Comm_size(comm, &ranks) != mpi_success ||
      members <= ranks) {
    return mpi_success;
  }
  int first_ones[1][3] = {{0, ranks - 1, 1}};
  MpiGroup all = group;
  const int error = mpi().Group_range_incl(all, 1, first_ones, &group);
  mpi().Group_free(&all);
  return error;
}

// After a failure another rank may have the communicator, send to this rank, and wait for an answer. The revocation
// ends that wait, as long as the communicator exists.
void abandon(MpiComm made) {
  if (watches_faults()) {
    revoke(made);
  } else {
    mpi().Comm_free(&made);
  }
}

}  // namespace

QuietComm::~QuietComm() { free_private(comm); }

int make_private(MpiComm of, MpiComm& made, bool in_init) {
  constexpr int tag = 0;  // of messages between the ranks: in MPI_Init nobody can have begun to receive any
  const ErrorsReturned guard(of);
  made = mpi().comm_null;
  const bool may = private_communicators.load(std::memory_order_relaxed) < most_private_communicators();
  if (!in_init && !all_true(of, may)) return mpi().err_other;
  MpiGroup group;
  if (group_of(of, group) == mpi_success) {
    const int error = in_init ? mpi().Comm_create_group(of, group, tag, &made) : mpi().Comm_create(of, group, &made);
    if (error != mpi_success) made = mpi().comm_null;
    mpi().Group_free(&group);
  }
  const bool have = made != mpi().comm_null && mpi().Comm_set_errhandler(made, mpi().errors_return) == mpi_success;
  if (all_true(of, have)) {
    private_communicators.fetch_add(1, std::memory_order_relaxed);
    return mpi_success;
  }
  if (made != mpi().comm_null) abandon(made);
  made = mpi().comm_null;
  return mpi().err_other;
}

void free_private(MpiComm& made) {
  if (made == mpi().comm_null) return;
  mpi().Comm_free(&made);
  private_communicators.fetch_sub(1, std::memory_order_relaxed);
}

std::size_t control_bytes(int ranks) {
  return memory::inbox_layout(ranks).segment_bytes() + memory::pairs_layout(ranks).segment_bytes() +
         memory::FailedCalls::bytes + memory::DeviceSharing::bytes(ranks);
}

Processes meet(MpiComm comm, const memory::Ways& ways, std::size_t areas, std::shared_ptr<QuietComm> quiet) {
  const ErrorsReturned guard(comm);
  Processes known;
  const int me = rank_in(comm), ranks = size_of(comm);
  NodeView node{mpi().comm_null, 0, 1};
  if (mpi().Comm_split_type(comm, mpi().comm_type_shared, me, mpi().info_null, &node.comm) != mpi_success) {
    node.comm = mpi().comm_null;
  }
  if (!all_true(comm, node.comm != mpi().comm_null)) {
    if (node.comm != mpi().comm_null) mpi().Comm_free(&node.comm);
    return known;
  }
  known.quiet = std::move(quiet);
  node.me = rank_in(node.comm);
  node.ranks = size_of(node.comm);
  learn_nodes(comm, node, me, ranks, known);
  make_pool(node, areas, known);
  learn_reach(node, me, ways, known);
  mpi().Comm_free(&node.comm);
  return known;
}

Processes pick(const Processes& all, std::span<const int> ranks) {
  Processes some;
  for (const int r : ranks) {
    const auto rank = static_cast<std::size_t>(r);
    some.facts.push_back(all.facts[rank]);
    some.ranks.push_back(all.ranks[rank]);
  }
  some.nodes = plan::nodes_of(all.nodes, ranks);
  some.heaps_mapped = all.heaps_mapped;
  some.reached = all.reached;
  some.pool = all.pool;
  some.quiet = all.quiet;
  return some;
}

Why why_no_cma(const Card& card, bool writes) {
  std::uint64_t word = 0;
  auto* const bytes = reinterpret_cast<std::byte*>(&word);
  const auto process = static_cast<pid_t>(card.process);
  errno = 0;
  // Before a process writes, it must have read the right word.
  if (!sys::read_process(process, card.word_at, bytes, sizeof word)) return {Reason::read_failed, std::strerror(errno)};
  if (word != card.word) return {Reason::another_process};
  if (!writes) return {};
  if (card.watched != 0) return {Reason::peer_is_checked};
  if (sys::write_process(process, card.word_at, bytes, sizeof word)) return {};
  return {Reason::write_failed, std::strerror(errno)};
}

std::vector<int> members_of(const plan::NodeMap& nodes, int rank) {
  std::vector<int> members;
  for (int r = 0; r < nodes.ranks(); ++r) {
    if (nodes.node_of[static_cast<std::size_t>(r)] == nodes.node_of[static_cast<std::size_t>(rank)]) {
      members.push_back(r);
    }
  }
  return members;
}

void set_reach(run::Group& group, const Processes& processes, std::span<const int> members, const memory::Ways& ways) {
  run::Reach& reach = group.change_reach();
  reach.rings = ways.ring && group.pairs.has_rings();
  reach.peers.assign(members.size(), {});
  group.attached.clear();
  group.attached.resize(members.size());
  reach.all_map_me = reach.all_attach_me = true;
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (members[m] == group.me) continue;
    const Process& known = processes.ranks[static_cast<std::size_t>(members[m])];
    memory::Peer& peer = reach.peers[m] = known.peer;
    reach.written_to |= peer.can.write && !peer.i_can.read;
    peer.can.attach &= reach.rings;
    reach.all_map_me &= peer.can.map;
    reach.all_attach_me &= peer.can.attach;
    if (reach.rings && peer.i_can.attach) {
      group.attached[m] = memory::XpmemPeer(memory::xpmem_here().calls, known.card.segment);
    }
  }
}

bool crowded_by_launcher() {
  const int processors = sys::count(sys::allowed_processors());
  return processors > 1 && sys::launched_here() > processors;
}

// ---- All processes of MPI_COMM_WORLD ----

namespace {

// Communicators that the control memory of a world has room for; others make their own.
constexpr std::size_t areas_of_world = 64;

struct World {
  std::mutex mutex;
  std::shared_ptr<const Processes> processes;
  std::atomic<bool> met{false};
};
World& the_world() { return sys::immortal<World>(); }

// Null if the MPI cannot make it.
std::shared_ptr<QuietComm> make_quiet(MpiComm of, bool in_init = false) {
  auto quiet = std::make_shared<QuietComm>();
  if (make_private(of, quiet->comm, in_init) != mpi_success) return nullptr;
  quiet->me = rank_in(of);
  quiet->as_world = of == mpi().comm_world;
  return quiet;
}

void keep(Processes processes) {
  const std::lock_guard lock(the_world().mutex);
  if (the_world().processes == nullptr) {
    the_world().processes = std::make_shared<const Processes>(std::move(processes));
  }
}

}  // namespace

bool meet_world(const memory::Ways& ways) {
  const std::shared_ptr<QuietComm> quiet = make_quiet(mpi().comm_world, true);
  if (quiet == nullptr) return false;
  Processes processes = meet(quiet->comm, ways, areas_of_world, quiet);
  if (processes.quiet == nullptr) return false;
  keep(std::move(processes));
  the_world().met = true;
  return true;
}

Processes meet_here(MpiComm comm, const memory::Ways& ways, const std::vector<int>& world_ranks) {
  const std::shared_ptr<QuietComm> quiet = make_quiet(comm);
  if (quiet == nullptr) return {};
  const bool are_all = world_ranks.size() == static_cast<std::size_t>(size_of(mpi().comm_world));
  Processes processes = meet(quiet->comm, ways, are_all ? areas_of_world : areas_of_one, quiet);
  if (!are_all || processes.quiet == nullptr) return processes;
  std::vector<int> here(world_ranks.size());
  for (std::size_t r = 0; r < here.size(); ++r) {
    here[static_cast<std::size_t>(world_ranks[r])] = static_cast<int>(r);
  }
  keep(pick(processes, here));
  return processes;
}

std::shared_ptr<const Processes> world() {
  const std::lock_guard lock(the_world().mutex);
  return the_world().processes;
}

bool world_has_met() { return the_world().met; }

void forget_processes() {
  the_world().met = false;
  {
    const std::lock_guard lock(the_world().mutex);
    the_world().processes.reset();
  }
  if (xpmem_used.exchange(false)) memory::stop_xpmem(memory::xpmem_here());
  const std::lock_guard lock(mapped_heaps_mutex);
  for (const MappedHeap& heap : mapped_heaps()) memory::heap_unmap_peer(heap.base, heap.owner.heap_bytes);
  mapped_heaps().clear();
}

std::vector<int> ranks_in_world(MpiComm comm) {
  const int ranks = size_of(comm);
  MpiGroup group, all;
  mpi().Comm_group(comm, &group);
  mpi().Comm_group(mpi().comm_world, &all);
  std::vector<int> here(static_cast<std::size_t>(ranks)), there(here.size());
  std::iota(here.begin(), here.end(), 0);
  mpi().Group_translate_ranks(group, ranks, here.data(), all, there.data());
  mpi().Group_free(&group);
  mpi().Group_free(&all);
  return there;
}

}  // namespace quadrille::team
