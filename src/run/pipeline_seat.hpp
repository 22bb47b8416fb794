// One rank's part in an exchange over rings of chunks (run/device_pipeline.hpp): what goes from its send blocks into
// its ring, and what of the other ranks' rings is for it. Another rank, on the same device, may have the seat in its
// place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/chunk_rings.hpp"
#include "memory/device_batch.hpp"
#include "plan/chunks.hpp"
#include "run/lane_copies.hpp"

namespace quadrille::run {

// What all seats that a rank has in a call share.
struct SeatMeans {
  memory::ChunkRings& rings;
  memory::CopyLane &out, &in;
  LaneCopies& copies;
  memory::DeviceBatch& batch;  // has room for a part for each rank, and for all that may be on their way in
  std::size_t chunk, depth;
  int ranks;
  bool gathers;
};

// Where the seat's rank has its blocks, which are listed as distances from this in ChunkRings::blocks().
struct SeatMemory {
  std::uintptr_t send = 0, recv = 0;
  bool sends_from_device = false, receives_on_device = false;
};

class PipelineSeat {
 public:
  static constexpr std::size_t takes = 16;  // at most so many pieces are on their way in: a stream is kept busy by two
  // Marks that seats need in the two lanes.
  static std::size_t marks_out(std::size_t seats, std::size_t depth) { return seats * depth; }
  static std::size_t marks_in(std::size_t seats) { return seats * takes; }

  // `number`: of the seat, among those of who has it. `exchange` knows what is sent and received; all must outlive it.
  PipelineSeat(const SeatMeans& means, int rank, std::size_t number, plan::ChunkExchange& exchange,
               const SeatMemory& memory)
      : means_(means), rank_(rank), number_(number), exchange_(exchange), memory_(memory) {}

  // The block that the rank sends to itself, beside the others.
  void copy_own();
  // True if it got further.
  bool move();
  // Is all of it where it belongs, as far as the marks tell?
  bool is_over() const { return is_over_; }

 private:
  // Pieces that are on their way out of a ring, and what is taken when they are done.
  struct Taking {
    int from = 0;
    std::uint64_t next = 0;
    std::uint64_t mark = 0;
    bool is_marked = false;
  };

  std::byte* send_at(int to) const { return at(memory_.send, memory::Owned::send, means_.gathers ? 0 : to); }
  std::byte* recv_at(int from) const { return at(memory_.recv, memory::Owned::recv, from); }
  std::byte* at(std::uintptr_t base, memory::Owned side, int block) const {
    return reinterpret_cast<std::byte*>(base + means_.rings.blocks(side, rank_)[block].at);
  }
  std::uint64_t bytes_of(memory::Owned side, int block) const { return means_.rings.blocks(side, rank_)[block].bytes; }
  std::byte* place_of(int rank, std::uint64_t number) const {
    return means_.rings.ring(rank) + number % means_.depth * means_.chunk;
  }
  std::uint64_t mark_of(std::uint64_t chunk) const { return number_ * means_.depth + chunk % means_.depth; }

  bool put_one();
  void list_chunk(std::uint64_t chunk);
  bool publish_one();
  bool take_some();
  std::uint64_t take_piece(int from);
  bool release_one();

  const SeatMeans means_;
  const int rank_;
  const std::size_t number_;
  plan::ChunkExchange& exchange_;
  const SeatMemory memory_;
  std::uint64_t marks_ = 0;             // of copies in
  std::uint64_t unmarked_ = 0;          // chunks that were put so far without a mark: bits by place
  std::array<Taking, takes> taking_{};  // those on their way in, in a ring
  std::size_t first_taking_ = 0, takings_ = 0;
  bool is_over_ = false;
};

}  // namespace quadrille::run
