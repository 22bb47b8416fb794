// Small blocks of plain bytes, all of one size, as a call that can be started: the protocol of the inboxes
// (memory/inbox.hpp), in an inbox that belongs to one request, or to calls that follow each other.
//
// Idea    A start writes to all peers; progress reads from those peers that have written. A start comes after the end
//         of the one before, so no rank is more than one start ahead, and two slots are enough.
// Cost    P - 1 blocks written and read by each rank (an allgather writes one), each copied twice; nothing is waited
//         for.
//
// Each rank decides by itself to take this way: peers see no difference to NodeRun without pairs.
#pragma once

#include "memory/inbox.hpp"
#include "run/call.hpp"

namespace quadrille::run {

struct Group;

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
  bool calls_mpi() const { return false; }
  // Peers need no more of this rank than its start.
  bool sends_all_at_start() const { return true; }

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
