#include "run/places.hpp"

#include <algorithm>

#include "run/blocks.hpp"

namespace quadrille::run {

void list_blocks(const Side& side, int ranks, std::vector<Block>& blocks) {
  const Blocks all(side);
  blocks.clear();
  blocks.reserve(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) blocks.push_back(all[r]);
}

std::size_t total_bytes(const std::vector<Block>& blocks) {
  std::size_t total = 0;
  for (const Block& block : blocks) total += block.bytes();
  return total;
}

std::size_t largest_of(const std::vector<Block>& blocks) {
  std::size_t largest = 0;
  for (const Block& block : blocks) largest = std::max(largest, block.bytes());
  return largest;
}

bool all_dense(const std::vector<Block>& blocks) {
  return std::all_of(blocks.begin(), blocks.end(), [](const Block& b) { return b.info.dense || b.bytes() == 0; });
}

void list_places(const std::vector<Block>& blocks, bool as_bytes, std::vector<Place>& places) {
  places.clear();
  places.reserve(blocks.size());
  for (const Block& block : blocks) {
    places.push_back(as_bytes ? plain_place(block.address, block.bytes()) : typed_place(block));
  }
}

void list_packed(const std::vector<Block>& blocks, std::byte* memory, std::size_t padded, std::vector<Place>& places) {
  places.clear();
  places.reserve(blocks.size());
  for (const Block& block : blocks) {
    const std::size_t bytes = padded > 0 ? padded : block.bytes();
    places.push_back(plain_place(memory, bytes));
    if (memory != nullptr) memory += bytes;
  }
}

int pack_all(const std::vector<Block>& blocks, const std::vector<Place>& places, MpiComm comm) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& b = blocks[i];
    const int error = pack(b.address, b.count, b.type, b.info, places[i].address, comm);
    if (error != mpi_success) return error;
  }
  return mpi_success;
}

int unpack_all(const std::vector<Place>& places, const std::vector<Block>& blocks, MpiComm comm) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& b = blocks[i];
    const int error = unpack(places[i].address, b.address, b.count, b.type, b.info, comm);
    if (error != mpi_success) return error;
  }
  return mpi_success;
}

}  // namespace quadrille::run
