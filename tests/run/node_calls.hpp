// Random calls for the ranks of a node, and what they must bring. All ranks draw the same call from the same seed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "run/call.hpp"

namespace quadrille::test {

// What all ranks know of a call.
struct DrawnCall {
  Collective collective = Collective::alltoallv;
  bool in_place = false;
  std::uint32_t number = 0;
  std::vector<std::size_t> elements;       // [from * ranks + to]: of 4 bytes; of an allgather [from * ranks]
  std::vector<bool> send_gaps, recv_gaps;  // [rank]: the type there
  int ranks = 0;

  std::size_t of(int from, int to) const {
    return elements[static_cast<std::size_t>(from * ranks + (is_allgather(collective) ? 0 : to))];
  }
  bool all_equal() const { return is_regular(collective); }
};

// `most` elements a block.
DrawnCall draw_call(std::mt19937& random, std::uint32_t number, int ranks, Collective collective, bool may_be_in_place,
                    std::size_t most);

// The buffers of one rank, and its arguments.
class RankCall {
 public:
  RankCall(const DrawnCall& drawn, int me);
  RankCall(const RankCall&) = delete;
  RankCall& operator=(const RankCall&) = delete;
  const run::Call& call() const { return call_; }
  // Writes what is to be sent, and what must not be there afterwards. Before each start.
  void fill(std::uint32_t turn = 0);
  // The number of bytes that are not as they must be, in both buffers.
  std::size_t wrong(std::uint32_t turn = 0) const;

 private:
  struct Buffer {
    std::vector<std::byte> bytes;
    std::vector<MpiCount> counts;
    std::vector<MpiAint> displacements;  // in extents
    std::size_t extent = 4;
    bool gaps = false;
    void lay_out(const std::vector<std::size_t>& elements, bool regular, std::mt19937& random);
    std::byte* at(std::size_t block, std::size_t byte);
    const std::byte* at(std::size_t block, std::size_t byte) const {
      return const_cast<Buffer*>(this)->at(block, byte);
    }
    void give(run::Side& side, bool regular, bool arrays);
  };
  void write_sent(Buffer& buffer, bool in_place, std::uint32_t turn) const;

  const DrawnCall& drawn_;
  const int me_;
  Buffer send_, recv_;
  run::Call call_;
};

}  // namespace quadrille::test
