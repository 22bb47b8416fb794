// A dense collective with small blocks inside a node as a call that can be started: the protocol of the inboxes
// (memory/inbox.hpp), in an inbox that belongs to one request, or to calls that follow each other.
//
// Idea    To start means to write to all peers; to go on means to read from those peers that have written. A start
// comes
//         after the end of the one before, so no rank is more than one start ahead, and two slots are enough.
// Cost    P - 1 blocks written and read by each rank (an allgather writes one), each copied twice; nothing is waited
// for.
//
// Which calls come this way all ranks know: those whose blocks have a size that all know, and fit a slot.
#pragma once

#include "memory/inbox.hpp"
#include "memory/pool.hpp"
#include "run/call.hpp"

namespace quadrille::run {

struct Group;

class InboxRun {
 public:
  // An alltoall, allgather or allgatherv. The group and the inbox must outlive it; the arrays of the call need not.
  InboxRun(const Call& call, Group& group, memory::Inbox& inbox);
  InboxRun(const InboxRun&) = delete;
  InboxRun& operator=(const InboxRun&) = delete;

  // For another call in its place, which may come through another inbox. Both are plain, and not in place.
  void take(const Call& call, Group& group, memory::Inbox& inbox);
  // Plain bytes, in blocks of one size.
  bool is_plain() const { return plain_; }
  bool is_in_place() const { return call_.call().in_place; }

  // Neither waits. Both return an MPI error code.
  int start();
  int advance();
  bool done() const { return next_ == 0; }
  bool calls_mpi() const { return !plain_; }  // to unpack

 private:
  void send_plain();
  int send_blocks();
  int take_plain(int from, const memory::Slot& slot);
  int take_block(int from, const memory::Slot& slot);

  StoredCall call_;
  Group* group_;
  memory::Inbox* inbox_;
  memory::Pool own_;
  bool gather_;
  bool plain_ = false;  // plain bytes of one size: `bytes_` each
  std::size_t bytes_ = 0;
  int next_ = 0;  // distance to the rank before this one that is read next; 0: none
  int error_ = 0;
};

}  // namespace quadrille::run
