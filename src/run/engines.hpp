// The engines that carry out a call: schedules over messages, and the memory of a node.
#pragma once

#include "mpi/mpi.hpp"
#include "plan/schedule.hpp"
#include "run/bound_run.hpp"
#include "run/call.hpp"
#include "run/group.hpp"

namespace quadrille::run {

// Carries a blocking call out by messages: a BoundRun of these arguments, the group's traffic and memory. Returns an
// MPI error code. Where a rank may fail, the waiter finds that out, and throws.
template <class... Arguments>
int run_messages(Group& group, const Arguments&... arguments) {
  const BlockingMemory memory({group.scratch.sure, group.scratch.packing, group.scratch.carried, group.scratch.lists});
  const Traffic traffic{group.messages().comm, group.messages().quiet, group.me, group.ranks};
  BoundRun run(arguments..., traffic, memory);
  if (!reports_faults()) return run.start(true);
  int error = run.start();
  group.waiter.until([&] {
    if (!run.done()) keep(error, run.advance());
    return run.done();
  });
  return error;
}

// Runs a call through the inboxes of a node. Blocks above the capacity of a slot travel as messages,
// pair by pair: the slot says so. Returns an MPI error code.
int run_inbox(const Call& call, Group& group);

// The exchange inside a node: small blocks through inboxes, large ones pair by pair by the best way that
// the pair has, if `direct`, else as messages. Blocks between nodes are the messages of the schedule `away`; null: only
// the node's part is to be done. Returns an MPI error code.
int run_node(const Call& call, Group& group, bool direct, const plan::Schedule* away = nullptr);

// Runs a schedule of copies between the ranks of a node, who reach each other's memory by load and store, and messages
// between nodes. If a block cannot be reached after all, run_node() does the node's part. Blocks that not all ranks
// reach where they are must be copied; with `little` run_node() also takes over where a rank would have to copy much.
// `eager`: of blocks that other ranks pass on, whose sizes travel, see CarriedLimits. Returns an MPI error code.
enum class Staging : std::uint8_t { little, any };
int run_copies(const Call& call, const plan::Schedule& schedule, Group& group, Staging staging, std::size_t eager = 0);

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

}  // namespace quadrille::run
