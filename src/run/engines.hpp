// The engines that carry out a call: schedules over messages, and the memory of a node.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "plan/order.hpp"
#include "run/group.hpp"
#include "run/op.hpp"

namespace quadrille::run {

// Of blocking calls.
inline Traffic traffic_of(const Group& group) {
  return {group.messages().comm, group.messages().quiet, group.me, group.ranks};
}

// Carries a blocking call out by messages: a BoundRun of these arguments, the group's traffic and memory. Returns an
// MPI error code. Where a rank may fail, the waiter finds that out, and throws.
template <class... Arguments>
int run_messages(Group& group, const Arguments&... arguments) {
  const BlockingMemory memory(group.scratch.messages);
  BoundRun run(arguments..., traffic_of(group), memory.kept);
  if (!reports_faults()) return run.start(true);
  int error = run.start();
  group.waiter.until([&] {
    keep(error, run.advance());
    return run.done();
  });
  return error;
}

// The blocks of a dense call between this rank and those of other nodes: the messages of a plan
// (plan/node_copies.cpp), in flight while the caller does what is inside the node, or afterwards.
//
// They are a call bound to a schedule (run/bound_run.hpp), without the blocks of the node. In an allgather blocks are
// forwarded from the receive buffer, also those of the node.
class AwayMessages {
 public:
  // `schedule`: its rounds from the first with messages on; if it has scratch, ranks forward blocks. There are other
  // nodes. All of these must outlive it. `eager`: if blocks of different sizes are forwarded, see CarriedLimits.
  AwayMessages(const Call& call, const plan::Schedule& schedule, Group& group, std::size_t eager = 0)
      : waiter_(group.waiter),
        memory_(group.scratch.messages),
        run_(call, schedule, Moving{.as_bytes = schedule.scratch_blocks > 0, .eager = eager}, traffic_of(group),
             memory_.kept, group.reach().local) {}
  AwayMessages& operator=(AwayMessages&&) = delete;
  // No message may be in flight to memory that the caller frees. Where a rank may fail, the transport sees to that.
  ~AwayMessages() {
    if (!reports_faults()) run_.advance(true);
  }

  // May it be begun before what is done inside the node?
  bool is_beside() const { return run_.is_beside(); }
  // Starts the first batch. If blocks are forwarded, the ranks first agree whether all have memory.
  void begin() { keep(error_, run_.start()); }

  // Waits for all messages, batch by batch. Returns an MPI error code. `meanwhile` does what ranks of this node may
  // need of this one: a rank of another node may wait for them before it starts the batch that we wait for. A peer may
  // also wait for a call that this rank has started and left: the waiter keeps it moving.
  template <class Meanwhile>
  int finish(const Meanwhile& meanwhile) {
    waiter_.until([&] {
      keep(error_, run_.advance());
      if (run_.done()) return true;
      meanwhile();
      return false;
    });
    return error_;
  }

 private:
  const sys::Waiter& waiter_;
  const BlockingMemory memory_;
  BoundRun run_;
  int error_ = mpi_success;
};

// ---- Dense calls that wait, in the memory of a node ----

// Runs a call through the inboxes of a node. Blocks above the capacity of a slot travel as messages,
// pair by pair: the slot says so. Returns an MPI error code.
int run_inbox(const Call& call, Group& group);

// The exchange inside a node: small blocks through inboxes, large ones pair by pair by the best way that
// the pair has, if `direct`, else as messages. Blocks between nodes are the messages of the schedule `away`; null: only
// the node's part is to be done. Large blocks that this rank sends go by `way`, as far as their pairs have it. Returns
// an MPI error code.
int run_node(const Call& call, Group& group, bool direct, const plan::Schedule* away = nullptr,
             choose::Way way = choose::Way::measured);

// Runs a schedule of copies between the ranks of a node, who reach each other's memory by load and store, and messages
// between nodes. If a block cannot be reached after all, or a rank may fail, run_node() does the node's part. Blocks
// that not all ranks reach where they are must be copied; with `little` run_node() also takes over where a rank would
// have to copy much. `eager`: of blocks that other ranks pass on, whose sizes travel, see CarriedLimits. Returns an MPI
// error code.
enum class Staging : std::uint8_t { little, any };
int run_copies(const Call& call, const plan::Schedule& schedule, Group& group, Staging staging, std::size_t eager = 0);

// ---- Calls that are started: in control memory that belongs to one request, or to calls that follow each other ----

// The group, the memory and the arrays of the call must outlive the operation.

// As run_node(). `pairs`: null if all ranks know that every block fits a slot. `copying`: that of the group, as it was
// when the request was made.
std::unique_ptr<Op> node_op(const Call& call, Group& group, memory::Inbox& inbox, memory::Pairs* pairs,
                            const memory::CopyPlan& copying, choose::Way way = choose::Way::measured);

// As run_copies() inside a node. `heaps_alone`: by heaps, which every rank maps of every rank, and not by XPMEM, as
// memory is attached for one call at a time.
std::unique_ptr<Op> copies_op(const Call& call, const plan::Schedule& schedule, Group& group, memory::Inbox& inbox,
                              memory::Pairs& pairs, bool heaps_alone = true);

// ---- A neighbour collective inside a node: by rings (node_neighbors.cpp) ----

// What this rank and another exchange: blocks in the user's arrays, in the order in which they travel.
struct NeighborPair {
  int peer;
  std::vector<int> send_blocks, recv_blocks;
};

struct NodeEdges {
  std::vector<NeighborPair> pairs;       // the first is the next higher rank, so that not all meet at one
  std::vector<std::pair<int, int>> own;  // edges from this rank to itself: send block, recv block
};

// The edges of rank `me`, whose ends these are. The k-th edge to a rank is the k-th that this rank has from us.
NodeEdges node_edges(int me, int ranks, const plan::EdgeEnds& sources, const plan::EdgeEnds& destinations);

// Appends the rings of `pairs`: [distance - 1 to any rank]. Changes nothing if it throws, and allocates nothing where
// there is room.
void list_rings(const memory::Pairs& pairs, int me, int ranks, std::vector<PairRings>& rings);

// All ranks of the communicator share a node and have rings (memory/control_memory.hpp). Returns an MPI error code.
int run_node_neighbors(const Call& call, const NodeEdges& edges, Group& group);

// The same as a call that can be started, advanced, and started again. A ring is read in the order in which it was
// written, but ranks may start several such calls in different orders, and make blocking calls between them or not.
// So each has rings of its own: its own starts are in the same order on all ranks. Nonblocking calls, which are started
// in one order, may have common ones, if each begins when the one before has ended.
//
// The edges, the group, the rings and the arrays of the call must outlive it. There is a ring for each pair, or for
// each rank of the communicator.
std::unique_ptr<Op> neighbor_op(const Call& call, const NodeEdges& edges, Group& group, std::span<PairRings> rings);

// ---- By copies between the buffers of its ranks (copies.cpp) ----

// The edges that end at a rank, as it has to know them for a call. The same for all orders.
struct EdgesHere {
  int send_blocks = 0, recv_blocks = 0;        // of the user's arrays, those without a neighbour included
  std::vector<plan::EdgeCopy> sent, received;  // the edges that begin at the rank, and those that end there
};
EdgesHere edges_here(int me, int send_blocks, int recv_blocks, const std::vector<plan::EdgeCopy>& edges);

// All ranks of the communicator share a node and reach each other's memory by load and store. False if not all blocks
// can be reached after all, on all ranks; then the call is still to be done. `error` is an MPI error code.
bool run_neighbor_copies(const Call& call, const plan::Schedule& schedule, const EdgesHere& edges, Group& group,
                         int& error);

// ---- The cores for the commonest calls: plain bytes, blocks that fit a slot. No buffer is null. ----

// A side whose blocks are all of `size` bytes, which all ranks know.
struct EqualSide {
  static constexpr bool all_know_sizes = true;
  std::byte* base;
  std::size_t size;
  std::size_t bytes(int) const { return size; }
  std::byte* place(int block) const { return base + static_cast<std::size_t>(block) * size; }
};
// A side of a v form: counts and displacements in elements of `size` bytes. Both are int, or MPI_Count and MPI_Aint.
template <class Count, class Displacement>
struct VectorSide {
  static constexpr bool all_know_sizes = false;
  std::byte* base;
  const Count* counts;
  const Displacement* displacements;
  std::size_t size;
  std::size_t bytes(int block) const { return static_cast<std::size_t>(counts[block]) * size; }
  std::byte* place(int block) const { return base + displacements[block] * static_cast<std::ptrdiff_t>(size); }
};

// All-to-all. `send` may be `recv`. A rank has as much for itself on both sides. `by_pairs`: some ranks may carry the
// same call out with run_node(..., true).
template <class Side>
int run_inbox_alltoall(const Side& send, const Side& recv, Group& group, bool by_pairs = false);

// Allgather. `send`, which may be this rank's block of `recv`, has as many bytes as `recv` says for this rank.
template <class Side>
int run_inbox_allgather(const std::byte* send, const Side& recv, Group& group);

// Small blocks of plain bytes, all of one size, as a call that can be started: the protocol of the inboxes
// (memory/control_memory.hpp), in an inbox that belongs to one request, or to calls that follow each other.
//
// Idea    A start writes to all peers; progress reads from those peers that have written. A start comes after the end
//         of the one before, so no rank is more than one start ahead, and two slots are enough.
// Cost    P - 1 blocks written and read by each rank (an allgather writes one), each copied twice; nothing is waited
//         for.
//
// Each rank decides by itself to take this way: peers see no difference to node_op() without pairs.
class InboxRun {
 public:
  // A call that is_plain(), whose blocks fit a slot. The group and the inbox must outlive it.
  InboxRun(const Call& call, Group& group, memory::Inbox& inbox);
  InboxRun& operator=(InboxRun&&) = delete;

  // For another call in its place, which may come through another inbox.
  void take(const Call& call, Group& group, memory::Inbox& inbox);
  bool is_in_place() const { return call_.in_place; }

  // Neither waits. Both return an MPI error code.
  int start();
  int advance();
  bool done() const { return next_ == 0; }

 private:
  Call call_;
  Group* group_;
  memory::Inbox* inbox_;
  bool gather_;
  std::size_t bytes_;  // of a block
  int next_ = 0;       // distance to the rank before this one that is read next; 0: none
  int error_ = 0;
};

}  // namespace quadrille::run
