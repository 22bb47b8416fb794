// How many lines the copies of a node's ranks bring into a cache: counted, by running the copies of the schedules
// themselves through caches that are not there. Source: Li, Zhang and Hoefler, "Cache-oblivious MPI all-to-all
// communications based on Morton order", section 2.3 (the ideal distributed-cache model), figure 9, tables 1 and 2.
//
// Each send and each recv buffer begins on a line of its own, and buffers do not touch. A copy of a block uses the
// lines of its source and its destination in turn, from the first to the last. A cache sees all uses, as if it were the
// only one. What another cache holds, and what its writes do to this one, is left out; so are instructions and other
// data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collective/collective.hpp"
#include "plan/schedule.hpp"

namespace quadrille::lab {

// The copies of each rank, in the order in which it makes them.
using CopiesOfRanks = std::vector<std::vector<plan::Copy>>;

// Those of an algorithm inside one node. `domains`: the NUMA domain of each rank; empty: one. Without copies if there
// is no such algorithm.
CopiesOfRanks copies_of(Collective collective, std::string_view algorithm, int ranks, std::span<const int> domains);

struct Cache {
  std::size_t bytes = 0;  // it holds as many whole lines as fit
  std::size_t line_bytes = 64;
  std::vector<int> sharing{};  // [rank] which one a rank has; empty: each its own. Ranks of one take turns, a copy each
};

// What is in the caches at the start.
enum class Start : std::uint8_t {
  empty,
  own_buffers,  // each rank has walked through its send buffer, then its recv buffer (figure 9, lines 6 and 7)
};

struct Buffers {
  std::size_t block_bytes = 0;
  std::size_t send_blocks = 0, recv_blocks = 0;  // of a rank
};
Buffers buffers_of(Collective collective, int ranks, std::size_t block_bytes);

// Lines that were not there, of all ranks together.
std::uint64_t count_misses(const CopiesOfRanks& copies, const Buffers& buffers, const Cache& cache, Start start);

// How many lines of a block a count may take together, as they are used one after the other anyway: a block is 64
// pieces then, or more. A whole cache of them differs by less than one piece (tests hold it).
std::size_t lines_together(std::size_t block_bytes, std::size_t line_bytes);
// The same, in such pieces.
std::uint64_t count_misses_in_pieces(const CopiesOfRanks& copies, const Buffers& buffers, const Cache& cache,
                                     Start start);

}  // namespace quadrille::lab
