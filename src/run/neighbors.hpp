// A call of a neighbour collective bound to a schedule: it can be started, advanced, and started again.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "memory/pool.hpp"
#include "mpi/byte_type.hpp"
#include "plan/schedule.hpp"
#include "run/call.hpp"
#include "run/executor.hpp"
#include "run/group.hpp"
#include "run/mpi_transport.hpp"

namespace quadrille::run {

// The block in the user's arrays for each block of the schedule, -1 where this rank has none: a neighbour
// that is not there. Of an allgather only `recv` counts: it sends block 0.
struct NeighborSlots {
  std::span<const int> send, recv;
};

// How the messages of a schedule that passes blocks on are made: its blocks must be plain bytes, and block i has
// one size on all ranks. Messages of several blocks are packed up to `pack_up_to` bytes; larger ones go from and to
// where their blocks lie, as derived datatypes (the paper's zero-copy). If none is packed, blocks with gaps are part of
// these datatypes, too; else they are made plain before and after.
struct Combining {
  bool on = false;
  std::size_t pack_up_to = 0;
};

// Memory for blocks that are packed or pass through. Not shared by calls that are under way together.
struct NeighborPools {
  memory::Pool& scratch;
  memory::Pool& send;
  memory::Pool& recv;
};

// Where the messages of a call go: `comm` is private, and no other call under way uses `tag` on it.
// MPI packs on `quiet`.
struct NeighborTraffic {
  MPI_Comm comm;
  MPI_Comm quiet;
  int me;
  int tag;
};

// Bytes of the largest block of either side. In the forms with one count that is the block, also on a rank that
// has no neighbour and only passes blocks on.
std::size_t largest_block(const Call& call, const NeighborSlots& slots);

// Has the call one size for all of its blocks by its form?
bool is_uniform(choose::Collective collective);

// The sizes in bytes of the blocks of a v or w call; of an allgather, that of all. False if what is sent and what is
// received have not the same sizes, as they must where block i has one size on all ranks.
bool list_sizes(const Call& call, const NeighborSlots& slots, std::vector<std::size_t>& sizes);

class NeighborRun {
 public:
  // The schedule and the pools must outlive the run; the arrays of the call need not.
  NeighborRun(const Call& call, const plan::Schedule& schedule, const NeighborSlots& slots,
              const Combining& combining, const NeighborTraffic& traffic, const NeighborPools& pools);
  NeighborRun(const NeighborRun&) = delete;
  NeighborRun& operator=(const NeighborRun&) = delete;

  // Both return an MPI error code; after an error the run is over.
  int start(bool block);    // and goes on, as advance()
  int advance(bool block);  // as far as is possible without waiting, or to the end
  bool done() const { return !execution_.has_value(); }

 private:
  void bind_bytes(const NeighborPools& pools);
  // Of blocks of which some have gaps. `packed` tells whether they must be moved there and back.
  std::vector<Place> places_of_gapped(const std::vector<Block>& blocks, memory::Pool& pool, bool& packed);
  bool find_layouts(const std::vector<Block>& blocks, std::vector<Place>& places);
  void bind_scratch(bool uniform, memory::Pool& pool);

  const plan::Schedule& schedule_;
  NeighborTraffic traffic_;
  bool packs_messages_;
  ByteTypes byte_types_;
  std::vector<Block> send_, recv_;  // [block of the schedule]
  std::vector<Place> send_places_, recv_places_, scratch_places_;
  bool pack_send_ = false, pack_recv_ = false;
  Binding binding_;
  MpiTransport transport_;
  std::optional<Execution> execution_;
};

}  // namespace quadrille::run
