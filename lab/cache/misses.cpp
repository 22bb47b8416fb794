#include "lab/cache/misses.hpp"

#include <algorithm>

#include "choose/registry.hpp"
#include "lab/cache/lru.hpp"
#include "plan/problem.hpp"

namespace quadrille::lab {
namespace {

// Further apart than any buffer is long, and a multiple of all lines that are powers of two. Any other begins on a line
// too: see lines_of().
constexpr std::uint64_t lines_apart = std::uint64_t{1} << 40;

struct Lines {
  std::uint64_t first, count;
};

Lines lines_of(const plan::Span& span, std::size_t block_bytes, std::size_t line_bytes) {
  if (block_bytes == 0) return {0, 0};
  const auto buffer = static_cast<std::uint64_t>(span.owner) * 2 + (span.buffer == plan::Buffer::send ? 0 : 1);
  const std::uint64_t begin = static_cast<std::uint64_t>(span.block) * block_bytes, end = begin + block_bytes;
  const std::uint64_t first = begin / line_bytes;
  return {buffer * lines_apart + first, (end - 1) / line_bytes - first + 1};
}

class Counting {
 public:
  Counting(const Buffers& buffers, const Cache& cache)
      : buffers_(buffers), line_bytes_(cache.line_bytes), lru_(cache.bytes / cache.line_bytes) {}

  void copy(const plan::Copy& copy) {
    const Lines from = lines_of(copy.from, buffers_.block_bytes, line_bytes_);
    const Lines to = lines_of(copy.to, buffers_.block_bytes, line_bytes_);
    for (std::uint64_t i = 0; i < std::max(from.count, to.count); ++i) {
      if (i < from.count) use(from.first + i);
      if (i < to.count) use(to.first + i);
    }
  }
  void walk(const plan::Span& first_block, std::size_t blocks) {
    const Lines lines = lines_of(first_block, blocks * buffers_.block_bytes, line_bytes_);
    for (std::uint64_t i = 0; i < lines.count; ++i) lru_.use(lines.first + i);
  }
  std::uint64_t misses() const { return misses_; }

 private:
  void use(std::uint64_t line) { misses_ += lru_.use(line) ? 0 : 1; }

  const Buffers& buffers_;
  const std::size_t line_bytes_;
  LruCache lru_;
  std::uint64_t misses_ = 0;
};

// Of ranks with one cache.
std::uint64_t count_of(const CopiesOfRanks& copies, const std::vector<int>& ranks, const Buffers& buffers,
                       const Cache& cache, Start start) {
  Counting counting(buffers, cache);
  std::size_t longest = 0;
  for (const int rank : ranks) {
    longest = std::max(longest, copies[static_cast<std::size_t>(rank)].size());
    if (start == Start::empty) continue;
    counting.walk({rank, 0, plan::Buffer::send}, buffers.send_blocks);
    counting.walk({rank, 0, plan::Buffer::recv}, buffers.recv_blocks);
  }
  for (std::size_t i = 0; i < longest; ++i) {
    for (const int rank : ranks) {
      const auto& of_rank = copies[static_cast<std::size_t>(rank)];
      if (i < of_rank.size()) counting.copy(of_rank[i]);
    }
  }
  return counting.misses();
}

}  // namespace

CopiesOfRanks copies_of(Collective collective, std::string_view algorithm, int ranks, std::span<const int> domains) {
  choose::Choice choice;
  if (!choose::parse_choice(collective, algorithm, choice).empty()) return {};
  const plan::NodeMap nodes = plan::one_node(ranks);
  CopiesOfRanks all;
  for (int me = 0; me < ranks; ++me) {
    all.push_back(choice.algorithm->build({ranks, me, &nodes, choice.parameters, domains}).copies);
  }
  return all;
}

Buffers buffers_of(Collective collective, int ranks, std::size_t block_bytes) {
  const auto all = static_cast<std::size_t>(ranks);
  return {block_bytes, is_allgather(collective) ? 1 : all, all};
}

std::uint64_t count_misses(const CopiesOfRanks& copies, const Buffers& buffers, const Cache& cache, Start start) {
  std::vector<std::vector<int>> crews;  // of each cache
  for (std::size_t rank = 0; rank < copies.size(); ++rank) {
    const std::size_t which = cache.sharing.empty() ? rank : static_cast<std::size_t>(cache.sharing[rank]);
    crews.resize(std::max(crews.size(), which + 1));
    crews[which].push_back(static_cast<int>(rank));
  }
  std::uint64_t misses = 0;
  for (const std::vector<int>& ranks : crews) misses += count_of(copies, ranks, buffers, cache, start);
  return misses;
}

std::size_t lines_together(std::size_t block_bytes, std::size_t line_bytes) {
  constexpr std::size_t pieces = 64, most = 64;
  std::size_t together = 1;
  while (together < most && block_bytes % (2 * together * line_bytes) == 0 &&
         block_bytes / (2 * together * line_bytes) >= pieces) {
    together *= 2;
  }
  return together;
}

std::uint64_t count_misses_in_pieces(const CopiesOfRanks& copies, const Buffers& buffers, const Cache& cache,
                                     Start start) {
  const std::size_t together = lines_together(buffers.block_bytes, cache.line_bytes);
  Cache of_pieces = cache;
  of_pieces.line_bytes *= together;
  return together * count_misses(copies, buffers, of_pieces, start);
}

}  // namespace quadrille::lab
