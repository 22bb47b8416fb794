#include "run/places.hpp"

#include <algorithm>

#include "run/blocks.hpp"

namespace quadrille::run {

std::vector<Block> blocks_of(const Side& side, int ranks) {
  const Blocks all(side);
  std::vector<Block> blocks;
  blocks.reserve(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) blocks.push_back(all[r]);
  return blocks;
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

std::vector<Place> own_places(const std::vector<Block>& blocks, bool as_bytes) {
  std::vector<Place> places;
  places.reserve(blocks.size());
  for (const Block& block : blocks) {
    places.push_back(as_bytes ? plain_place(block.address, block.bytes()) : typed_place(block));
  }
  return places;
}

std::vector<Place> packed_places(const std::vector<Block>& blocks, std::byte* memory) {
  std::vector<Place> places;
  places.reserve(blocks.size());
  for (const Block& block : blocks) {
    places.push_back(plain_place(memory, block.bytes()));
    memory += block.bytes();
  }
  return places;
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
