// An exchange in chunks through rings, one ring a rank: what a rank may do next, given how far the others are.
//
// Idea    The blocks of a rank lie one behind the other in a stream, which is cut into chunks of one size. Chunk n lies
//         in place n mod `depth` of the rank's ring. The rank puts its chunks there in their order, and publishes each
//         when it is there. Who has bytes in a chunk takes them, in the order of chunks. A place is used again when all
//         who have bytes in it have taken them. So small blocks share a chunk, and a chunk of an allgather is there
//         once for all.
// Order   In round t rank r sends its block to rank (t - r) mod P, which sends its own to r in the same round.
// Place   What was sent in place is overwritten by what comes from the same rank. So bytes of a block are taken when
//         this rank has published the same bytes of its own block for that rank.
// Proof   That nothing waits for ever: order all bytes by round, then by their place in the block. A chunk waits for
//         its place, thus for takers of an earlier chunk of the same rank, all bytes of which come before its own. In
//         place a taker waits for a chunk of its own that has the same bytes of the same round; its first byte is no
//         later than these. So each wait goes from a chunk to one whose first byte comes before, and whoever has the
//         first of all that are left can go on.
// Cost    P x depth x chunk bytes of memory; one copy in and one out for each byte, for an allgather one in and P - 1
//         out.
//
// Example, 3 ranks, blocks of 3 bytes, chunks of 4: rank 0 sends to 0 in round 0, which does not count, to 1 in round
// 1, to 2 in round 2. Its chunks are 111 2, 22.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quadrille::plan {

// Bytes of a chunk where nobody says how many. What a copy costs beside its bytes is little then: chunks of 512 KiB
// took 1.2 times as long on an H100 (docs/results/gpu.md). With many ranks it is less, so that all rings together take
// 256 MiB at most, but no less than is worth a copy.
constexpr std::uint64_t least_suiting_chunk = std::uint64_t{64} << 10;
constexpr std::uint64_t suiting_chunk(std::uint64_t depth, std::uint64_t ranks) {
  constexpr std::uint64_t MiB = std::uint64_t{1} << 20, page = 4096, all_rings = 256 * MiB;
  return std::clamp(all_rings / (depth * ranks) / page * page, least_suiting_chunk, 2 * MiB);
}

constexpr int partner_in_round(int me, int round, int ranks) { return ((round - me) % ranks + ranks) % ranks; }

// What of a block lies in a chunk.
struct ChunkPiece {
  std::uint64_t in_block = 0, in_chunk = 0, bytes = 0;
};

// Where a block lies in the stream of its rank.
struct ChunkSpan {
  std::uint64_t at = 0, bytes = 0;
  std::uint64_t first(std::uint64_t chunk) const { return at / chunk; }
  std::uint64_t end(std::uint64_t chunk) const { return bytes == 0 ? first(chunk) : (at + bytes - 1) / chunk + 1; }
  // Of one of these chunks.
  ChunkPiece piece(std::uint64_t number, std::uint64_t chunk) const {
    const std::uint64_t begin = std::max(at, number * chunk), stop = std::min(at + bytes, (number + 1) * chunk);
    return {begin - at, begin - number * chunk, stop - begin};
  }
};

// One rank's side of it. Numbers of chunks go on from call to call.
class ChunkExchange {
 public:
  struct Shape {
    int me = 0, ranks = 1;
    std::uint64_t chunk = 1;
    std::uint64_t depth = 1;
    bool gathers = false;     // one block for all others
    bool overwrites = false;  // in place: what comes from a rank overwrites what it is sent
  };
  static constexpr int everybody = -1;
  // Has room for so many ranks, and needs no more memory. Throws std::bad_alloc.
  explicit ChunkExchange(int ranks)
      : sent_(static_cast<std::size_t>(ranks)), sources_(static_cast<std::size_t>(ranks)) {
    parts_.reserve(sent_.size());
  }
  explicit ChunkExchange(const Shape& shape) : ChunkExchange(shape.ranks) { begin(shape); }
  void begin(const Shape& shape) { shape_ = shape; }

  // This rank's chunks begin with number `first`; bytes_to(rank) is how large its block for that one is.
  template <class BytesTo>
  void send(std::uint64_t first, BytesTo&& bytes_to) {
    parts_.clear();
    first_ = put_ = published_ = first;
    std::uint64_t at = first * shape_.chunk;
    for (int round = 0; round < shape_.ranks; ++round) {
      const int to = partner_in_round(shape_.me, round, shape_.ranks);
      ChunkSpan& span = sent_[static_cast<std::size_t>(to)];
      span = {at, 0};
      if (to == shape_.me) continue;
      if (shape_.gathers && !parts_.empty()) {
        span = parts_.front().span;
        continue;
      }
      span.bytes = bytes_to(to);
      if (span.bytes == 0) continue;
      parts_.push_back({shape_.gathers ? everybody : to, span});
      at += span.bytes;
    }
    end_ = parts_.empty() ? first : parts_.back().span.end(shape_.chunk);
  }
  const ChunkSpan& sent_to(int to) const { return sent_[static_cast<std::size_t>(to)]; }
  // What another rank says that it sends to this one, when all have said it.
  void receive(int from, const ChunkSpan& span) {
    Source& source = source_of(from);
    source = {span, span.first(shape_.chunk), span.end(shape_.chunk)};
  }

  // ---- What it puts into its ring ----

  std::uint64_t end() const { return end_; }
  bool has_put_all() const { return put_ == end_; }
  std::uint64_t next_put() const { return put_; }
  // Is there a place? taken(rank): the number of the first chunk that this rank has not taken yet.
  template <class Taken>
  bool may_put(Taken&& taken) const {
    if (put_ - first_ < shape_.depth) return true;
    const std::uint64_t before = put_ - shape_.depth;
    bool free = true;
    for_each_part(before, [&](int to, const ChunkPiece&) { free = free && has_taken(to, before, taken); });
    return free;
  }
  // work(rank or everybody, piece) for all that is in a chunk.
  template <class Work>
  void for_each_part(std::uint64_t number, Work&& work) const {
    auto part = std::partition_point(parts_.begin(), parts_.end(),
                                     [&](const Part& one) { return one.span.end(shape_.chunk) <= number; });
    for (; part != parts_.end() && part->span.first(shape_.chunk) <= number; ++part) {
      work(part->to, part->span.piece(number, shape_.chunk));
    }
  }
  void put() { ++put_; }
  // The first that was put and is not published.
  bool has_published_all() const { return published_ == end_; }
  std::uint64_t next_published() const { return published_; }
  void publish() { ++published_; }

  // ---- What it takes from the rings of others ----

  bool has_all_of(int from) const { return source_of(from).next == source_of(from).end; }
  std::uint64_t next_take(int from) const { return source_of(from).next; }
  ChunkPiece next_piece(int from) const { return source_of(from).span.piece(next_take(from), shape_.chunk); }
  // `published`: the number of the first chunk that the source has not published yet.
  bool may_take(int from, std::uint64_t published) const {
    if (has_all_of(from) || published <= next_take(from)) return false;
    if (!shape_.overwrites) return true;
    const ChunkSpan& own = sent_to(from);
    const ChunkPiece piece = next_piece(from);
    const std::uint64_t last = std::min(piece.in_block + piece.bytes, own.bytes);
    return last == 0 || (own.at + last - 1) / shape_.chunk < published_;
  }
  void take(int from) { ++source_of(from).next; }

 private:
  struct Part {
    int to;
    ChunkSpan span;
  };
  struct Source {
    ChunkSpan span;
    std::uint64_t next = 0, end = 0;
  };
  Source& source_of(int from) { return sources_[static_cast<std::size_t>(from)]; }
  const Source& source_of(int from) const { return sources_[static_cast<std::size_t>(from)]; }
  template <class Taken>
  bool has_taken(int to, std::uint64_t number, Taken&& taken) const {
    if (to != everybody) return taken(to) > number;
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      if (rank != shape_.me && taken(rank) <= number) return false;
    }
    return true;
  }

  Shape shape_;
  std::vector<Part> parts_;      // that have bytes, in their order
  std::vector<ChunkSpan> sent_;  // [rank]
  std::vector<Source> sources_;  // [rank]
  std::uint64_t first_ = 0, end_ = 0, put_ = 0, published_ = 0;
};

// ---- In rounds, between nodes ----

// A call that is cut in rounds: round k moves bytes [k * piece, (k + 1) * piece) of every block, which lie in a slot of
// memory meanwhile. Slots are used in turn.
//
// Example, blocks of 10 and 3 bytes, pieces of 4: round 0 moves 4 and 3 bytes, round 1 moves 4 and 0, round 2 moves 2
// and 0.
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
