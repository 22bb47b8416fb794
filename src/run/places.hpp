// The blocks of a call as the executor's places: where they are, or packed.
#pragma once

#include <vector>

#include "run/call.hpp"

namespace quadrille::run {

// Of one side of a dense call.
std::vector<Block> blocks_of(const Side& side, int ranks);
std::size_t total_bytes(const std::vector<Block>& blocks);
std::size_t largest_of(const std::vector<Block>& blocks);
bool all_dense(const std::vector<Block>& blocks);

// The blocks where they are. An algorithm that passes blocks on moves bytes on all ranks, so its dense
// blocks lose their type.
std::vector<Place> own_places(const std::vector<Block>& blocks, bool as_bytes);

// Places one behind the other from `memory` on.
std::vector<Place> packed_places(const std::vector<Block>& blocks, std::byte* memory);

// Move all blocks to, or from, their packed places. Return an MPI error code.
int pack_all(const std::vector<Block>& blocks, const std::vector<Place>& places, MpiComm comm);
int unpack_all(const std::vector<Place>& places, const std::vector<Block>& blocks, MpiComm comm);

}  // namespace quadrille::run
