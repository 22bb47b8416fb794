// A call that is cut in rounds: round k moves bytes [k * piece, (k + 1) * piece) of every block, which lie in a slot of
// memory meanwhile. Slots are used in turn.
//
// Example, blocks of 10 and 3 bytes, pieces of 4: round 0 moves 4 and 3 bytes, round 1 moves 4 and 0, round 2 moves 2
// and 0.
#pragma once

#include <algorithm>
#include <cstdint>

namespace quadrille::plan {

struct ChunkRounds {
  std::uint64_t piece = 1;

  // As many are needed, if no block has more bytes than that. All ranks must go by the same.
  std::uint64_t rounds(std::uint64_t largest) const { return largest / piece + (largest % piece != 0 ? 1 : 0); }
  // Of a block of so many bytes.
  std::uint64_t begin(std::uint64_t round) const { return round * piece; }
  std::uint64_t bytes(std::uint64_t round, std::uint64_t block) const {
    return begin(round) >= block ? 0 : std::min(piece, block - begin(round));
  }
};

// Where nobody says how many bytes. An estimate: not measured between nodes with devices.
constexpr std::uint64_t suiting_piece = std::uint64_t{512} << 10;

// The piece of a block in a round: as was asked for, but so that the slots of a rank, `depth` of them for each side of
// the call, have room in `most` bytes; and never so little that a copy is not worth while.
constexpr std::uint64_t piece_within(std::uint64_t chunk, std::uint64_t depth, std::uint64_t ranks,
                                     std::uint64_t most) {
  constexpr std::uint64_t least = 4096;
  return std::max(std::min(chunk, most / (2 * depth * ranks) / least * least), least);
}

}  // namespace quadrille::plan
