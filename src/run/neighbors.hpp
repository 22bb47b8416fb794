// The blocks of a neighbour collective.
#pragma once

#include <vector>

#include "run/bound_run.hpp"
#include "run/call.hpp"

namespace quadrille::run {

// The blocks of one side, [block of the schedule].
std::vector<Block> neighbor_blocks(const Side& side, std::span<const int> slots);

// Those that are sent. An allgather sends its one block to every neighbour; a schedule that passes blocks on has it
// once.
std::vector<Block> neighbor_send_blocks(const Call& call, const NeighborSlots& slots, bool as_bytes);

// Bytes of the largest block of either side. In the forms with one count that is the block, also on a rank that
// has no neighbour and only passes blocks on.
std::size_t largest_block(const Call& call, const NeighborSlots& slots);

// The sizes in bytes of the blocks of a v or w call; of an allgather, that of all. False if what is sent and what is
// received have not the same sizes, as they must where block i has one size on all ranks.
bool list_sizes(const Call& call, const NeighborSlots& slots, std::vector<std::size_t>& sizes);

}  // namespace quadrille::run
