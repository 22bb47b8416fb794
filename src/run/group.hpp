// What the engines need of a communicator: a view on team/, which owns all of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "choose/tuning.hpp"
#include "memory/inbox.hpp"
#include "memory/node_copy.hpp"
#include "memory/pairs.hpp"
#include "memory/pool.hpp"
#include "memory/reach.hpp"
#include "memory/xpmem.hpp"
#include "mpi/mpi.hpp"
#include "run/carried.hpp"
#include "run/node_neighbors.hpp"
#include "sys/wait.hpp"

namespace quadrille::run {

// What an exchange inside a node has begun and not yet finished. Kept between calls for its memory.
struct NodeWork {
  struct Stream {
    int peer;
    std::byte* at;
    std::size_t bytes;    // still to move
    std::size_t dropped;  // then still to be taken and dropped: the receiver expected fewer
  };
  struct Packed {
    int peer;
    const std::byte* from;
    std::size_t bytes;
  };
  std::vector<Stream> out, in, to_write;
  std::vector<Packed> packed;  // to be unpacked when all has arrived
  struct Given {
    int peer;
    std::byte* at;
  };
  std::vector<Given> given;  // packed rooms that peers may write to
  std::vector<int> users;      // peers that touch this rank's memory in this call
  std::vector<Stream> offered;  // at an address; goes through the ring if the receiver asks for that
  void clear() {
    out.clear(), in.clear(), to_write.clear(), packed.clear(), given.clear(), users.clear();
    offered.clear();
  }
};

struct Group {
  MPI_Comm comm{};    // private, for messages; null until a call may need one
  MPI_Comm quiet{};   // where nobody sends to another: for MPI_Pack, for looking what arrives, and,
  int quiet_me = 0;   // from this rank to itself
  int own_tag = 0;    // with this tag, for what a rank sends to itself
  unsigned exchanges = 0;  // sparse exchanges by consensus on `comm`; the same on all ranks
  unsigned persistent = 0;  // persistent calls that were made on `comm`; the same on all ranks
  // Whether an exchange may send messages. The same on all ranks.
  bool may_send() const { return !local.empty() || !rings; }
  int me = 0;
  int ranks = 0;
  // Each rank's number among those of this node, -1 for the others. Empty: all ranks share a node.
  std::vector<int> local;
  std::vector<int> members;  // the ranks of this node, in order; empty if `local` is
  int local_of(int rank) const {
    return local.empty() ? rank : local[static_cast<std::size_t>(rank)];
  }
  int member(int number) const { return local.empty() ? number : members[static_cast<std::size_t>(number)]; }
  int ranks_here() const { return local.empty() ? ranks : static_cast<int>(members.size()); }
  int away_steps = 32;  // see run/away.hpp; the same on all ranks
  memory::Inbox inbox;  // and all else below: of the ranks of this node
  std::size_t slot_limit = 0;  // largest block that fits a slot
  sys::Waiter waiter;
  // For blocks that do not fit a slot; valid if `direct`, the same on all ranks.
  bool direct = false;
  bool heaps_mapped = false;  // every rank maps every rank's shared heap; the same on all ranks
  bool load_store = false;  // every rank reaches its node's blocks by load and store; the same on all ranks
  bool all_map_me = false, all_attach_me = false;  // all peers: this rank's shared heap, its memory by XPMEM
  bool written_to = false;  // a peer may write to this rank's memory
  bool rings = false;
  choose::SwitchPoints points = choose::default_switch_points();  // the same on all ranks
  memory::Pairs pairs;
  std::vector<memory::Peer> peers;
  std::vector<memory::XpmemPeer> attached;  // memory of the peers that XPMEM maps; as many as peers
  memory::CopyPlan copying;    // which blocks this rank copies past the cache
  NodeWork node_work;
  std::vector<NeighborProgress> neighbor_progress;  // [pair] of the call that is being carried out
  std::vector<std::uint64_t> popped_seen;  // [rank]: see Ring::Writer
  memory::Pool neighbor_places[2];  // see neighbor_copies.cpp
  unsigned neighbor_calls = 0;
  memory::Pool packed_send, packed_recv, packed_own, away_send, away_recv;
  SureRoom sure;  // of schedules
  CarriedMemory carried;

  // On one node: may each block of private memory that this rank sends or receives be copied by the kernel?
  bool kernel_copies_everywhere() const {
    for (std::size_t p = 0; p < peers.size(); ++p) {
      const memory::Peer& peer = peers[p];
      if (static_cast<int>(p) != me && (peer.attaches_me || (!peer.reads_me && !peer.i_write))) return false;
    }
    return true;
  }

  // Largest block that goes through a slot even if it lies in a shared heap.
  std::size_t inbox_limit(Collective c) const {
    const auto index = static_cast<std::size_t>(c);
    if (!heaps_mapped || index >= points.inbox_limit.size()) return slot_limit;
    return std::min(slot_limit, points.inbox_limit[index]);
  }
};

}  // namespace quadrille::run
