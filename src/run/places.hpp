// The blocks of a call as the executor's places: where they are, or packed.
#pragma once

#include <vector>

#include "run/call.hpp"

namespace quadrille::run {

// What a call that is bound to a schedule consists of, [block of the schedule]. Kept between calls for its memory.
struct RunLists {
  std::vector<Block> send, recv;
  std::vector<Place> send_places, recv_places;
};

// Those of one side of a dense call.
void list_blocks(const Side& side, int ranks, std::vector<Block>& blocks);
std::size_t total_bytes(const std::vector<Block>& blocks);
std::size_t largest_of(const std::vector<Block>& blocks);
bool all_dense(const std::vector<Block>& blocks);

// The blocks where they are. An algorithm that passes blocks on moves bytes on all ranks, so its dense
// blocks lose their type.
void list_places(const std::vector<Block>& blocks, bool as_bytes, std::vector<Place>& places);

// Places one behind the other from `memory` on, or nowhere if that is null. Each has `padded` bytes, or, if that is 0,
// as many as its block.
void list_packed(const std::vector<Block>& blocks, std::byte* memory, std::size_t padded, std::vector<Place>& places);

// Move all blocks to, or from, their packed places. Return an MPI error code.
int pack_all(const std::vector<Block>& blocks, const std::vector<Place>& places, MpiComm comm);
int unpack_all(const std::vector<Place>& places, const std::vector<Block>& blocks, MpiComm comm);

}  // namespace quadrille::run
