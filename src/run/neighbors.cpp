// Binds a neighbour collective to a schedule. The direct exchange sends the blocks of the user as they are. An
// algorithm that passes blocks on moves bytes: blocks with gaps are packed before and unpacked after or, where no
// message is packed, sent and received where they lie, as bytes with such gaps. Such a receive block may also hold
// blocks of others in transit: they have as many bytes, which come out of it as they went in. No schedule touches the
// block of a neighbour that is not there, so it needs no memory.
#include "run/neighbors.hpp"

#include <algorithm>

#include "run/blocks.hpp"
#include "run/places.hpp"

namespace quadrille::run {
namespace {

constexpr int copy_tag = 2;  // a copy inside the rank begins and ends at once, so all calls may use this one

std::vector<Block> blocks_of(const Side& side, std::span<const int> slots) {
  std::vector<Block> blocks(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] >= 0) blocks[i] = block_of(side, slots[i]);
  }
  return blocks;
}

// An allgather sends its one block to every neighbour.
std::vector<Block> send_blocks(const Call& call, const NeighborSlots& slots, bool as_bytes) {
  if (!is_allgather(call.collective)) return blocks_of(call.send, slots.send);
  return std::vector<Block>(as_bytes ? 1 : std::max<std::size_t>(slots.send.size(), 1),
                            block_of(call.send, 0));
}

bool is_dense(const std::vector<Block>& blocks) {
  return std::all_of(blocks.begin(), blocks.end(),
                     [](const Block& b) { return b.count == 0 || b.info.dense; });
}

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

bool is_uniform(choose::Collective c) {
  return c == choose::Collective::neighbor_alltoall || c == choose::Collective::neighbor_allgather;
}

std::size_t largest_block(const Call& call, const NeighborSlots& slots) {
  const std::size_t send = is_allgather(call.collective) || is_uniform(call.collective)
                               ? bytes_of_one(call.send)
                               : most_bytes(call.send, slots.send);
  const std::size_t recv = is_uniform(call.collective)
                               ? bytes_of_one(call.recv)
                               : most_bytes(call.recv, slots.recv);
  return std::max(send, recv);
}

bool list_sizes(const Call& call, const NeighborSlots& slots, std::vector<std::size_t>& sizes) {
  const std::vector<Block> recv = blocks_of(call.recv, slots.recv);
  if (is_allgather(call.collective)) {
    const std::size_t one = bytes_of_one(call.send);
    sizes = {one};
    return std::all_of(recv.begin(), recv.end(), [one](const Block& b) { return b.bytes() == one; });
  }
  for (const Block& block : blocks_of(call.send, slots.send)) sizes.push_back(block.bytes());
  return std::equal(recv.begin(), recv.end(), sizes.begin(), sizes.end(),
                    [](const Block& b, std::size_t size) { return b.bytes() == size; });
}

NeighborRun::NeighborRun(const Call& call, const plan::Schedule& schedule, const NeighborSlots& slots,
                         const Combining& combining, const NeighborTraffic& traffic, const NeighborPools& pools)
    : schedule_(schedule),
      traffic_(traffic),
      packs_messages_(combining.pack_up_to > 0),
      send_(send_blocks(call, slots, combining.on)),
      recv_(blocks_of(call.recv, slots.recv)),
      transport_(traffic.comm, traffic.me, copy_tag, traffic.tag) {
  if (combining.on) {
    transport_.pack_up_to(combining.pack_up_to);
    binding_.block_bytes = largest_block(call, slots);
    bind_bytes(pools);
    bind_scratch(is_allgather(call.collective) || is_uniform(call.collective), pools.scratch);
  } else {
    send_places_ = own_places(send_, false);
    recv_places_ = own_places(recv_, false);
  }
  binding_.send = send_places_;
  binding_.recv = recv_places_;
}

void NeighborRun::bind_bytes(const NeighborPools& pools) {
  send_places_ = is_dense(send_) ? own_places(send_, true) : places_of_gapped(send_, pools.send, pack_send_);
  recv_places_ = is_dense(recv_) ? own_places(recv_, true) : places_of_gapped(recv_, pools.recv, pack_recv_);
}

std::vector<Place> NeighborRun::places_of_gapped(const std::vector<Block>& blocks, memory::Pool& pool, bool& packed) {
  std::vector<Place> places;
  packed = packs_messages_ || !find_layouts(blocks, places);
  return packed ? packed_places(blocks, pool.take(total_bytes(blocks))) : places;
}

// The blocks where they are, as bytes with gaps. False if the layout of one of them cannot be found.
bool NeighborRun::find_layouts(const std::vector<Block>& blocks, std::vector<Place>& places) {
  places = own_places(blocks, true);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    if (block.bytes() == 0 || block.info.dense) continue;
    MPI_Datatype type;
    if (!byte_types_.find(block.type, type)) return false;
    places[i] = {block.address, block.count, block.bytes(), to_handle(type), false};
  }
  return true;
}

// Scratch blocks k and s + k of an all-to-all hold data of neighbour k only.
void NeighborRun::bind_scratch(bool uniform, memory::Pool& pool) {
  const std::size_t bytes = schedule_.scratch_blocks * binding_.block_bytes;
  std::byte* next = binding_.scratch = bytes > 0 ? pool.take(bytes) : nullptr;
  if (uniform) return;
  scratch_places_.resize(schedule_.scratch_blocks);
  for (std::size_t i = 0; i < scratch_places_.size(); ++i) {
    const std::size_t bytes_of_block = recv_places_[i % recv_places_.size()].bytes;
    scratch_places_[i] = {next, bytes_of_block, bytes_of_block, 0, true};
    next += bytes_of_block;
  }
  binding_.scratch_places = scratch_places_;
}

int NeighborRun::start(bool block) {
  if (pack_send_) {
    const int error = pack_all(send_, send_places_, traffic_.quiet);
    if (error != MPI_SUCCESS) return error;
  }
  transport_.repeat();
  execution_.emplace(schedule_, binding_, transport_);
  return advance(block);
}

int NeighborRun::advance(bool block) {
  if (done()) return MPI_SUCCESS;
  int error = execution_->advance(block);
  if (error == MPI_SUCCESS && !execution_->done()) return error;
  execution_.reset();
  if (error == MPI_SUCCESS && pack_recv_) error = unpack_all(recv_places_, recv_, traffic_.quiet);
  return error;
}

}  // namespace quadrille::run
