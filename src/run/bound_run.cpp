// Binds a call to a schedule.
//
// A schedule that sends each block from its owner to its receiver moves the user's datatypes as they are. One that
// passes blocks on moves bytes: blocks with gaps are packed before and unpacked after or, among neighbours where no
// message is packed, sent and received where they lie, as bytes with such gaps. Such a receive block may also hold
// blocks of others in transit: they have as many bytes, which come out of it as they went in. No schedule touches the
// block of a neighbour that is not there, so it needs no memory.
//
// An in-place all-to-all needs its blocks twice. An in-place allgather does not: its only send block is a receive block
// that nobody writes to. What is sent packed is received packed: MPICH cuts a large packed message anywhere, and then
// refuses to unpack the part of an element of several basic types.
#include "run/bound_run.hpp"

#include <algorithm>

#include "run/blocks.hpp"
#include "run/neighbors.hpp"
#include "run/places.hpp"

namespace quadrille::run {
namespace {

// Of copies inside the rank: they begin and end at once, so all calls may use one.
constexpr int copy_tag = 2;

bool is_dense(const std::vector<Block>& blocks) {
  return std::all_of(blocks.begin(), blocks.end(), [](const Block& b) { return b.count == 0 || b.info.dense; });
}

std::vector<Block> dense_send_blocks(const Call& call, const Traffic& traffic) {
  std::vector<Block> blocks;
  const int count = is_allgather(call.collective) ? 1 : traffic.ranks;
  blocks.reserve(static_cast<std::size_t>(count));
  for (int to = 0; to < count; ++to) blocks.push_back(send_block(call, to, traffic.me));
  return blocks;
}

std::vector<Block> dense_recv_blocks(const Call& call, const Traffic& traffic) {
  std::vector<Block> blocks;
  blocks.reserve(static_cast<std::size_t>(traffic.ranks));
  for (int from = 0; from < traffic.ranks; ++from) blocks.push_back(block_of(call.recv, from));
  return blocks;
}

std::uint64_t largest_of(std::span<const Place> places) {
  std::uint64_t largest = 0;
  for (const Place& place : places) largest = std::max<std::uint64_t>(largest, place.bytes);
  return largest;
}

}  // namespace

BoundRun::BoundRun(const Call& call, const plan::Schedule& schedule, const Moving& moving, const Traffic& traffic,
                   const RunMemory& memory)
    : schedule_(schedule),
      moving_(moving),
      traffic_(traffic),
      memory_(memory),
      send_(dense_send_blocks(call, traffic)),
      recv_(dense_recv_blocks(call, traffic)),
      transport_(traffic.comm, traffic.me, copy_tag, traffic.tag) {
  bind_dense(call);
  binding_.block_bytes = recv_.empty() ? 0 : recv_.front().bytes();
  bind_scratch();
}

BoundRun::BoundRun(const Call& call, const plan::Schedule& schedule, const NeighborSlots& slots, const Moving& moving,
                   const Traffic& traffic, const RunMemory& memory)
    : schedule_(schedule),
      moving_(moving),
      traffic_(traffic),
      memory_(memory),
      send_(neighbor_send_blocks(call, slots, moving.as_bytes)),
      recv_(neighbor_blocks(call.recv, slots.recv)),
      transport_(traffic.comm, traffic.me, copy_tag, traffic.tag) {
  binding_.block_bytes = moving.as_bytes ? largest_block(call, slots) : 0;
  bind_neighbors(is_allgather(call.collective) || is_uniform(call.collective));
}

BoundRun::BoundRun(const Binding& places, const plan::Schedule& schedule, const Traffic& traffic,
                   const RunMemory& memory)
    : schedule_(schedule),
      traffic_(traffic),
      memory_(memory),
      binding_(places),
      transport_(traffic.comm, traffic.me, copy_tag, traffic.tag) {
  bind_scratch();
}

void BoundRun::bind_dense(const Call& call) {
  const bool whole_in_place = call.in_place && !is_allgather(call.collective);
  const bool as_bytes = moving_.as_bytes || whole_in_place;
  pack_recv_ = as_bytes && !all_dense(recv_);
  pack_send_ = whole_in_place || (moving_.as_bytes && !all_dense(send_));
  recv_places_ = pack_recv_ ? packed_places(recv_, memory_.recv.take(total_bytes(recv_))) : own_places(recv_, as_bytes);
  send_places_ =
      pack_send_ ? packed_places(send_, memory_.send.take(total_bytes(send_))) : own_places(send_, moving_.as_bytes);
  binding_.send = send_places_;
  binding_.recv = recv_places_;
}

void BoundRun::bind_neighbors(bool uniform) {
  if (moving_.as_bytes) {
    transport_.pack_up_to(moving_.pack_up_to);
    send_places_ = is_dense(send_) ? own_places(send_, true) : places_of_gapped(send_, memory_.send, pack_send_);
    recv_places_ = is_dense(recv_) ? own_places(recv_, true) : places_of_gapped(recv_, memory_.recv, pack_recv_);
    bind_neighbor_scratch(uniform);
  } else {
    send_places_ = own_places(send_, false);
    recv_places_ = own_places(recv_, false);
  }
  binding_.send = send_places_;
  binding_.recv = recv_places_;
}

std::vector<Place> BoundRun::places_of_gapped(const std::vector<Block>& blocks, memory::Pool& pool, bool& packed) {
  std::vector<Place> places;
  packed = moving_.pack_up_to > 0 || !find_layouts(blocks, places);
  return packed ? packed_places(blocks, pool.take(total_bytes(blocks))) : places;
}

// The blocks where they are, as bytes with gaps. False if the layout of one of them cannot be found.
bool BoundRun::find_layouts(const std::vector<Block>& blocks, std::vector<Place>& places) {
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
void BoundRun::bind_neighbor_scratch(bool uniform) {
  const std::size_t bytes = schedule_.scratch_blocks * binding_.block_bytes;
  std::byte* next = binding_.scratch = bytes > 0 ? memory_.scratch.take(bytes) : nullptr;
  if (uniform) return;
  scratch_places_.resize(schedule_.scratch_blocks);
  for (std::size_t i = 0; i < scratch_places_.size(); ++i) {
    const std::size_t bytes_of_block = recv_places_[i % recv_places_.size()].bytes;
    scratch_places_[i] = {next, bytes_of_block, bytes_of_block, 0, true};
    next += bytes_of_block;
  }
  binding_.scratch_places = scratch_places_;
}

// Where sizes travel, scratch is taken by need, or when all have agreed how much.
void BoundRun::bind_scratch() {
  if (schedule_.sizes != plan::Sizes::known) return;
  binding_.scratch = memory_.scratch.take(schedule_.scratch_blocks * binding_.block_bytes);
}

int BoundRun::start(bool block) {
  if (pack_send_) {
    const int error = pack_all(send_, send_places_, traffic_.quiet);
    if (error != MPI_SUCCESS) return error;
  }
  if (schedule_.sizes == plan::Sizes::known) transport_.repeat();
  if (schedule_.sizes != plan::Sizes::known && moving_.monolithic) {
    if (!agreement_) agreement_.emplace(transport_, traffic_.me, traffic_.ranks);
    agreement_->begin(largest_of(binding_.send));
    phase_ = Phase::agreeing;
  } else {
    begin_moving();
  }
  return advance(block);
}

int BoundRun::begin_moving() {
  phase_ = Phase::moving;
  if (schedule_.sizes == plan::Sizes::known) {
    if (!known_) known_.emplace(schedule_, binding_, transport_);
    known_->begin();
    return MPI_SUCCESS;
  }
  if (moving_.monolithic) {
    const std::uint64_t largest = agreement_->largest();
    // Known to all alike: then nobody begins.
    if (largest > SIZE_MAX / 2 / binding_.recv.size()) return MPI_ERR_NO_MEM;
    binding_.block_bytes = largest;
    binding_.scratch = memory_.carried.working.take(binding_.recv.size() * largest);
  }
  carried_.emplace(schedule_, binding_, transport_, memory_.carried, CarriedLimits{.eager = moving_.eager});
  return MPI_SUCCESS;
}

int BoundRun::advance_moving(bool block, bool& finished) {
  const int error = known_ ? known_->advance(block) : carried_->advance(block);
  finished = known_ ? known_->done() : carried_->done();
  return error;
}

int BoundRun::advance(bool block) {
  int error = MPI_SUCCESS;
  if (phase_ == Phase::agreeing) {
    error = agreement_->advance(block);
    if (error == MPI_SUCCESS && !agreement_->done()) return error;
    if (error == MPI_SUCCESS) error = begin_moving();
  }
  if (phase_ == Phase::moving && error == MPI_SUCCESS) {
    bool finished = false;
    error = advance_moving(block, finished);
    if (error == MPI_SUCCESS && !finished) return error;
    if (error == MPI_SUCCESS) error = finish();
  }
  phase_ = Phase::idle;
  return error;
}

int BoundRun::finish() { return pack_recv_ ? unpack_all(recv_places_, recv_, traffic_.quiet) : MPI_SUCCESS; }

}  // namespace quadrille::run
