// What the engines need of a communicator: a view on team/, which owns all of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "choose/tuning.hpp"
#include "memory/control_memory.hpp"
#include "memory/device_sharing.hpp"
#include "memory/node_copy.hpp"
#include "memory/reach.hpp"
#include "mpi/mpi.hpp"
#include "run/bound_run.hpp"
#include "sys/sys.hpp"

namespace quadrille::run {

// What an exchange inside a node has begun and not yet finished. Kept between calls for its memory.
struct NodeWork {
  struct Part {
    int peer;
    std::byte* at;
    std::size_t bytes;        // of a stream: still to move
    std::size_t dropped = 0;  // then still to be taken and dropped: the receiver expected fewer
  };
  std::vector<Part> out, in, to_write;
  std::vector<Part> packed;   // to be unpacked when all has arrived
  std::vector<Part> offered;  // at an address; goes through the ring if the receiver asks for that
  std::vector<Part> written;  // by peers; comes through the ring if the peer reports that it cannot write
  std::vector<int> users;     // peers that touch this rank's memory in this call
  // For as many ranks: then nothing throws in an exchange.
  void reserve(std::size_t ranks) {
    for (std::vector<Part>* list : lists()) list->reserve(ranks);
    users.reserve(2 * ranks);
  }
  void clear() {
    for (std::vector<Part>* list : lists()) list->clear();
    users.clear();
  }

 private:
  std::array<std::vector<Part>*, 6> lists() { return {&out, &in, &to_write, &packed, &offered, &written}; }
};

// How far a pair of a neighbour collective has come. Kept between calls for its memory.
struct NeighborProgress {
  std::size_t sent = 0;           // blocks
  std::size_t sent_part = 0;      // bytes of the next one, its head included
  std::size_t least_offered = 0;  // bytes of a block that stays where it is
  std::size_t first_packed = 0;   // if blocks have gaps: number of the first of this pair
  std::size_t taken = 0;
  std::size_t taken_part = 0;
  std::uint64_t coming = 0;   // bytes of the block that is coming
  std::byte* room = nullptr;  // where it goes
  bool offered = false;       // blocks of ours that the peer reads where they are, and has not yet
  bool owes = false;          // we have read such blocks of the peer, and not yet said so
};

// The rings between this rank and a peer, for neighbours.
struct PairRings {
  memory::Ring to, from;
  std::uint64_t seen = 0;  // see memory::Ring::Writer
};

// What a rank reaches of the ranks of its node, and how; no MPI. Written by team/ alone, when it makes the communicator
// ready, and the switch points by use_switch_points() (team/switch_points.hpp).
struct Reach {
  // Each rank's number among those of this node, -1 for the others. Empty: all ranks share a node.
  std::vector<int> local;
  std::vector<int> members;    // the ranks of this node, in order; empty if `local` is
  std::size_t slot_limit = 0;  // largest block that fits a slot
  // For blocks that do not fit a slot.
  bool heaps_mapped = false;  // every rank maps every rank's shared heap; the same on all ranks
  bool load_store = false;    // every rank reaches its node's blocks by load and store; the same on all ranks
  bool all_map_me = false, all_attach_me = false;  // all peers: this rank's shared heap, its memory by XPMEM
  bool written_to = false;                         // a peer may write to this rank's memory
  bool rings = false;
  choose::SwitchPoints points = choose::default_switch_points();  // the same on all ranks
  std::vector<memory::Peer> peers;
};

// Where messages go. Written by team/ alone: `quiet` when it makes the communicator ready, `comm` before the first call
// that may need it.
struct Messages {
  MpiComm comm{};    // private; null until a call may need one
  MpiComm quiet{};   // where nobody sends to another: for MPI_Pack, for looking what arrives, and,
  int quiet_me = 0;  // from this rank to itself
};

// Calls that were made on `comm`; the same on all ranks. Counted by who makes them: api/exchange.cpp, api/making.cpp.
struct Turns {
  unsigned exchanges = 0;  // sparse exchanges by consensus
  unsigned requests = 0;
  unsigned persistent = 0;  // tags of persistent requests
};

// What the engines keep between calls, mostly for its memory. Written by them alone.
struct Scratch {
  NodeWork node_work;
  std::vector<NeighborProgress> neighbor_progress;  // [pair] of the call in flight
  std::vector<PairRings> rings;                     // of neighbours: those of `pairs`, from the first such call on
  memory::Pool neighbor_places[2];                  // see copies.cpp
  unsigned neighbor_calls = 0;
  std::vector<std::size_t> came;  // see copies.cpp
  memory::Packing packing;
  RunMemory messages;  // of a call by them, or of what goes between nodes meanwhile
};

struct Group {
  int me = 0;  // and `ranks`: written by team/
  int ranks = 0;
  // The protocols of the node. Made by team/; then each call of an engine moves them on.
  memory::Inbox inbox;
  sys::Waiter waiter;
  memory::Pairs pairs;
  std::vector<memory::XpmemPeer> attached;         // memory of the peers that XPMEM maps; as many as peers
  std::unique_ptr<memory::DeviceSharing> sharing;  // if all ranks share a node and its memory
  memory::CopyPlan copying;                        // which blocks this rank copies past the cache
  Scratch scratch;
  Turns turns;

  const Reach& reach() const { return reach_; }
  const Messages& messages() const { return messages_; }
  // For team/, and tests that stand in for it (scripts/rooms.py).
  Reach& change_reach() { return reach_; }
  Messages& change_messages() { return messages_; }

  // Whether an exchange may send messages. The same on all ranks.
  bool may_send() const { return !reach_.local.empty() || !reach_.rings; }
  int local_of(int rank) const { return reach_.local.empty() ? rank : reach_.local[static_cast<std::size_t>(rank)]; }
  int member(int number) const {
    return reach_.local.empty() ? number : reach_.members[static_cast<std::size_t>(number)];
  }
  int ranks_here() const { return reach_.local.empty() ? ranks : static_cast<int>(reach_.members.size()); }

  // On one node: may each block of private memory that this rank sends or receives be copied by the kernel?
  bool kernel_copies_everywhere() const {
    for (std::size_t p = 0; p < reach_.peers.size(); ++p) {
      const memory::Peer& peer = reach_.peers[p];
      if (static_cast<int>(p) != me && (peer.can.attach || (!peer.can.read && !peer.i_can.write))) return false;
    }
    return true;
  }

  // Largest block that goes through a slot even if it lies in a shared heap.
  std::size_t inbox_limit(Collective c) const {
    const auto index = static_cast<std::size_t>(c);
    if (!reach_.heaps_mapped || index >= reach_.points.inbox_limit.size()) return reach_.slot_limit;
    return std::min(reach_.slot_limit, reach_.points.inbox_limit[index]);
  }

 private:
  Reach reach_;
  Messages messages_;
};

}  // namespace quadrille::run
