#include "run/neighbors.hpp"

#include <algorithm>

#include "run/blocks.hpp"

namespace quadrille::run {
namespace {

// In each call that might be combined, so without looking at more than sizes.
std::size_t most_bytes(const Side& side, std::span<const int> slots) {
  const Blocks blocks(side);
  std::size_t most = 0;
  for (const int slot : slots) {
    if (slot >= 0) most = std::max(most, blocks.bytes_of(slot));
  }
  return most;
}

// A side without blocks may hold anything.
std::size_t bytes_of_one(const Side& side) {
  const std::ptrdiff_t count = side.count_of(0);
  return count > 0 ? static_cast<std::size_t>(count) * type_info(side.type).size : 0;
}

}  // namespace

std::vector<Block> neighbor_blocks(const Side& side, std::span<const int> slots) {
  std::vector<Block> blocks(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] >= 0) blocks[i] = Blocks(side)[slots[i]];
  }
  return blocks;
}

std::vector<Block> neighbor_send_blocks(const Call& call, const NeighborSlots& slots, bool as_bytes) {
  if (!is_allgather(call.collective)) return neighbor_blocks(call.send, slots.send);
  return std::vector<Block>(as_bytes ? 1 : std::max<std::size_t>(slots.send.size(), 1), Blocks(call.send)[0]);
}

std::size_t largest_block(const Call& call, const NeighborSlots& slots) {
  const CollectiveRow& row = row_of(call.collective);
  const std::size_t send = has_arrays(row.send) ? most_bytes(call.send, slots.send) : bytes_of_one(call.send);
  const std::size_t recv = has_arrays(row.recv) ? most_bytes(call.recv, slots.recv) : bytes_of_one(call.recv);
  return std::max(send, recv);
}

bool list_sizes(const Call& call, const NeighborSlots& slots, std::vector<std::size_t>& sizes) {
  const std::vector<Block> recv = neighbor_blocks(call.recv, slots.recv);
  if (is_allgather(call.collective)) {
    const std::size_t one = bytes_of_one(call.send);
    sizes = {one};
    return std::all_of(recv.begin(), recv.end(), [one](const Block& b) { return b.bytes() == one; });
  }
  for (const Block& block : neighbor_blocks(call.send, slots.send)) sizes.push_back(block.bytes());
  return std::equal(recv.begin(), recv.end(), sizes.begin(), sizes.end(),
                    [](const Block& b, std::size_t size) { return b.bytes() == size; });
}

}  // namespace quadrille::run
