#include "team/reach.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>

#include "memory/heap.hpp"
#include "memory/xpmem.hpp"
#include "sys/descriptors.hpp"
#include "sys/process_memory.hpp"
#include "sys/sys.hpp"

namespace quadrille::team {
namespace {

// What a rank tells the others of itself.
struct Card {
  std::int64_t process;
  std::uint64_t word_at;  // address of a word, and what it holds
  std::uint64_t word;
  std::uint64_t heap_bytes;  // 0: it has no shared heap
  std::int64_t segment;      // of XPMEM; -1: none
};

// The word by which a peer knows that it reads the right process: process numbers mean something else in
// another container.
std::uint64_t* make_word() {
  static std::uint64_t word =
      static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) *
          0x9e3779b97f4a7c15ULL ^
      static_cast<std::uint64_t>(getpid());
  return &word;
}

bool can_read(const Card& card) {
  std::uint64_t word = 0;
  return sys::read_process(static_cast<pid_t>(card.process), card.word_at,
                           reinterpret_cast<std::byte*>(&word), sizeof word) &&
         word == card.word;
}

// Writes what is there already.
bool can_write(const Card& card) {
  return sys::write_process(static_cast<pid_t>(card.process), card.word_at,
                            reinterpret_cast<const std::byte*>(&card.word), sizeof card.word);
}

enum Ability : unsigned char { reads = 1, writes = 2, maps = 4, attaches = 8 };

// The heaps of other processes that are mapped here. They stay mapped until the end: a process has one.
struct MappedHeap {
  std::int64_t process;
  std::uint64_t word;
  std::byte* base;
  std::size_t bytes;
};
std::vector<MappedHeap>& mapped_heaps() {
  static auto* list = new std::vector<MappedHeap>;  // outlives all destructors
  return *list;
}
std::mutex& mapped_heaps_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

std::byte* mapped(const Card& card) {
  const std::lock_guard lock(mapped_heaps_mutex());
  for (const MappedHeap& heap : mapped_heaps()) {
    if (heap.process == card.process && heap.word == card.word) return heap.base;
  }
  return nullptr;
}

// Whether the library of XPMEM was looked for.
std::atomic<bool> xpmem_used{false};

bool any_true(MPI_Comm comm, bool mine) {
  int value = mine ? 1 : 0, most = 0;
  mpi().Allreduce(&value, &most, 1, mpi().int_type, mpi().op_max, comm);
  return most == 1;
}

// Every rank gets every rank's heap descriptor: all[p], -1 where there is none.
std::vector<int> share_descriptors(const NodeView& node) {
  std::vector<int> all(static_cast<std::size_t>(node.ranks), -1);
  const int mine = memory::heap_segment().descriptor;
  all[static_cast<std::size_t>(node.me)] = mine;
  sys::Address address;
  int socket = -1;
  if (node.me == 0) socket = sys::listen_local(node.ranks, address);
  mpi().Bcast(&address, sizeof address, mpi().byte, 0, node.comm);
  if (node.me != 0 && address.length > 0) socket = sys::connect_local(address);
  if (!any_true(node.comm, socket < 0)) {
    if (node.me == 0) {
      sys::collect_and_share(socket, all);
    } else {
      sys::give_and_take(socket, node.me, all);
    }
  }
  sys::close_descriptor(socket);
  return all;
}

// Maps the heaps of peers that are not mapped yet. What fails is left out: it is reached in other ways.
void map_heaps(const NodeView& node, const std::vector<Card>& cards) {
  const auto me = static_cast<std::size_t>(node.me);
  bool missing = false;
  for (std::size_t p = 0; p < cards.size(); ++p) {
    missing |= p != me && cards[p].heap_bytes > 0 && mapped(cards[p]) == nullptr;
  }
  if (!any_true(node.comm, missing)) return;
  const std::vector<int> all = share_descriptors(node);
  for (std::size_t p = 0; p < cards.size(); ++p) {
    if (p == me || all[p] < 0) continue;
    if (cards[p].heap_bytes > 0 && mapped(cards[p]) == nullptr) {
      // Two threads that set up two communicators may both map it: then it is mapped twice. No lock is
      // held over a collective, or two threads could wait for each other's peers.
      std::byte* base = memory::heap_map_peer(all[p], cards[p].heap_bytes);
      if (base != nullptr) {
        const std::lock_guard lock(mapped_heaps_mutex());
        mapped_heaps().push_back({cards[p].process, cards[p].word, base, cards[p].heap_bytes});
      }
    }
    sys::close_descriptor(all[p]);
  }
}

}  // namespace

void forget_reach() {
  if (xpmem_used.exchange(false)) memory::stop_xpmem(memory::xpmem_here());
  const std::lock_guard lock(mapped_heaps_mutex());
  for (const MappedHeap& heap : mapped_heaps()) memory::heap_unmap_peer(heap.base, heap.bytes);
  mapped_heaps().clear();
}

void find_reach(const NodeView& node, run::Group& group, const memory::Ways& ways) {
  const auto count = static_cast<std::size_t>(node.ranks);
  const std::uint64_t* word = make_word();
  if (ways.heap) memory::heap_start();
  const std::size_t heap_bytes =
      ways.heap && memory::heap_active() ? memory::heap_segment().bytes : 0;
  // A failed attach ends in a ring, so without rings there is no XPMEM.
  group.rings = ways.ring && group.pairs.has_rings();
  const bool xpmem = ways.xpmem && group.rings;
  if (xpmem) xpmem_used = true;
  const Card mine{getpid(), reinterpret_cast<std::uintptr_t>(word), *word, heap_bytes,
                  xpmem ? memory::xpmem_here().segment : -1};
  std::vector<Card> cards(count);
  mpi().Allgather(&mine, sizeof mine, mpi().byte, cards.data(), sizeof mine, mpi().byte, node.comm);

  map_heaps(node, cards);
  std::vector<unsigned char> i_can(count, 0), can_to_me(count, 0);
  for (std::size_t p = 0; p < count && (ways.cma_read || ways.cma_write); ++p) {
    if (static_cast<int>(p) == node.me || !can_read(cards[p])) continue;
    if (ways.cma_read) i_can[p] |= reads;
    if (ways.cma_write && can_write(cards[p])) i_can[p] |= writes;
  }
  group.attached.clear();
  group.attached.resize(count);
  for (std::size_t p = 0; p < count && mine.segment != -1; ++p) {
    if (static_cast<int>(p) == node.me || cards[p].segment == -1) continue;
    memory::XpmemPeer memory(memory::xpmem_here().calls, cards[p].segment);
    if (!memory.reads_word(cards[p].word_at, cards[p].word)) continue;
    group.attached[p] = std::move(memory);
    i_can[p] |= attaches;
  }
  for (std::size_t p = 0; p < count; ++p) {
    if (cards[p].heap_bytes > 0 && mapped(cards[p]) != nullptr) i_can[p] |= maps;
  }
  mpi().Alltoall(i_can.data(), 1, mpi().byte, can_to_me.data(), 1, mpi().byte, node.comm);

  group.peers.assign(count, {});
  for (std::size_t p = 0; p < count; ++p) {
    memory::Peer& peer = group.peers[p];
    peer.process = static_cast<pid_t>(cards[p].process);
    peer.heap = (i_can[p] & maps) != 0 ? mapped(cards[p]) : nullptr;
    peer.maps_my_heap = heap_bytes > 0 && (can_to_me[p] & maps) != 0;
    peer.i_read = (i_can[p] & reads) != 0;
    peer.i_write = (i_can[p] & writes) != 0;
    peer.reads_me = (can_to_me[p] & reads) != 0;
    group.written_to |= (can_to_me[p] & writes) != 0 && !peer.i_read;
    peer.writes_me = (can_to_me[p] & writes) != 0;
    peer.attaches_me = (can_to_me[p] & attaches) != 0;
  }
  bool all_mapped = heap_bytes > 0;
  for (std::size_t p = 0; p < count; ++p) {
    all_mapped = all_mapped && (static_cast<int>(p) == node.me || group.peers[p].heap != nullptr);
  }
  group.load_store = !any_true(node.comm, !all_mapped);
  group.direct = true;
}

}  // namespace quadrille::team
