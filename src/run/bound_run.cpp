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
//
// Padded blocks (Fan et al., HPDC 2022, section 3.1: padded Bruck, padded all-to-all) cost the agreement on the largest
// block, the rounds of a schedule with blocks of that size, and two copies of all data; P * N bytes twice. Example, 3
// ranks with blocks of 1 to 4 bytes: all learn "4", lay their blocks out every 4 bytes, exchange these, and each takes
// as many bytes of each as it was told to receive.
#include "run/bound_run.hpp"

#include <algorithm>

#include "mpi/mpi.hpp"
#include "run/blocks.hpp"

namespace quadrille::run {
namespace {

// More than this for each of the two padded buffers is not worth it. Also keeps counts within MPI's int.
constexpr std::uint64_t most_padded_bytes = std::uint64_t{256} << 20;

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

// The blocks where they are. An algorithm that passes blocks on moves bytes on all ranks, so its dense
// blocks lose their type.
void list_places(const std::vector<Block>& blocks, bool as_bytes, std::vector<Place>& places) {
  places.clear();
  places.reserve(blocks.size());
  for (const Block& block : blocks) {
    places.push_back(as_bytes ? plain_place(block.address, block.bytes()) : typed_place(block));
  }
}

// Places one behind the other from `memory` on, or nowhere if that is null. Each has `padded` bytes, or, if that is 0,
// as many as its block.
void list_packed(const std::vector<Block>& blocks, std::byte* memory, std::size_t padded, std::vector<Place>& places) {
  places.clear();
  places.reserve(blocks.size());
  for (const Block& block : blocks) {
    const std::size_t bytes = padded > 0 ? padded : block.bytes();
    places.push_back(plain_place(memory, bytes));
    if (memory != nullptr) memory += bytes;
  }
}

enum class Moves : std::uint8_t { in, out };
// Moves all blocks into their packed places, or out of them. Returns an MPI error code.
int move_all(Moves moves, const std::vector<Block>& blocks, const std::vector<Place>& packed, MpiComm comm) {
  int error = mpi_success;
  for (std::size_t i = 0; i < blocks.size() && error == mpi_success; ++i) {
    const auto& [address, count, type, info] = blocks[i];
    error = moves == Moves::in ? pack(address, count, type, info, packed[i].address, comm)
                               : unpack(packed[i].address, address, count, type, info, comm);
  }
  return error;
}

// Those of the own node are empty.
void list_dense(const Side& side, const Traffic& traffic, BetweenNodes part, std::vector<Block>& blocks) {
  const Blocks all(side);
  blocks.clear();
  blocks.reserve(static_cast<std::size_t>(traffic.ranks));
  for (int r = 0; r < traffic.ranks; ++r) blocks.push_back(all[r]);
  for (std::size_t rank = 0; rank < part.size(); ++rank) {
    if (part[rank] >= 0) blocks[rank].count = 0;
  }
}

void list_dense(const Call& call, const Traffic& traffic, BetweenNodes part, RunLists& lists) {
  const bool gathers = is_allgather(call.collective);
  list_dense(call.recv, traffic, gathers ? BetweenNodes{} : part, lists.recv);
  if (!gathers) return list_dense(call.in_place ? call.recv : call.send, traffic, part, lists.send);
  lists.send.assign(1, call.in_place ? Blocks(call.recv)[traffic.me] : Blocks(call.send)[0]);
}

std::size_t round_of_messages(const plan::Schedule& schedule) {
  const auto found = std::ranges::find_if(schedule.rounds, [](const plan::Round& one) { return pairs_of(one) > 0; });
  return static_cast<std::size_t>(found - schedule.rounds.begin());
}

// The most blocks that a round sends, or brings.
std::size_t blocks_of_a_round(const plan::Schedule& schedule, bool sent) {
  std::size_t most = 0;
  for (const plan::Round& round : schedule.rounds) {
    std::size_t blocks = 0;
    for (const plan::Message& m : schedule.messages_of(sent ? round.sends : round.receives)) blocks += m.spans.count;
    most = std::max(most, blocks);
  }
  return most;
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

// The blocks of one side, [block of the schedule].
std::vector<Block> neighbor_blocks(const Side& side, std::span<const int> slots) {
  std::vector<Block> blocks(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] >= 0) blocks[i] = Blocks(side)[slots[i]];
  }
  return blocks;
}

// Those that are sent. An allgather sends its one block to every neighbour; a schedule that passes blocks on has it
// once.
std::vector<Block> neighbor_send_blocks(const Call& call, const NeighborSlots& slots, bool as_bytes) {
  if (!is_allgather(call.collective)) return neighbor_blocks(call.send, slots.send);
  return std::vector<Block>(as_bytes ? 1 : std::max<std::size_t>(slots.send.size(), 1), Blocks(call.send)[0]);
}

}  // namespace

// ---- Blocks of a neighbour collective ----

std::size_t largest_block(const Call& call, const NeighborSlots& slots) {
  // A side without blocks may hold anything.
  const CollectiveRow& row = row_of(call.collective);
  const std::size_t send = has_arrays(row.send) ? most_bytes(call.send, slots.send) : call.send.bytes_of(0);
  const std::size_t recv = has_arrays(row.recv) ? most_bytes(call.recv, slots.recv) : call.recv.bytes_of(0);
  return std::max(send, recv);
}

bool list_sizes(const Call& call, const NeighborSlots& slots, std::vector<std::size_t>& sizes) {
  const std::vector<Block> recv = neighbor_blocks(call.recv, slots.recv);
  if (is_allgather(call.collective)) {
    const std::size_t one = call.send.bytes_of(0);
    sizes = {one};
    return std::all_of(recv.begin(), recv.end(), [one](const Block& b) { return b.bytes() == one; });
  }
  for (const Block& block : neighbor_blocks(call.send, slots.send)) sizes.push_back(block.bytes());
  return std::equal(recv.begin(), recv.end(), sizes.begin(), sizes.end(),
                    [](const Block& b, std::size_t size) { return b.bytes() == size; });
}

// ---- A call and a schedule ----

BoundRun::BoundRun(const Call& call, const plan::Schedule& schedule, const Moving& moving, const Traffic& traffic,
                   RunMemory& memory, BetweenNodes part)
    : schedule_(&schedule),
      moving_(moving),
      traffic_(traffic),
      first_round_(part.empty() ? 0 : round_of_messages(schedule)),
      memory_(memory) {
  list_dense(call, traffic, part, memory_.lists);
  binding_.block_bytes = recv_.empty() ? 0 : part.empty() ? recv_.front().bytes() : largest_of(recv_);
  // Else all would ask each other for room: with ranks of other communicators, or where no block is forwarded.
  sized_ = is_sized(call.collective) && traffic.numbers == nullptr && (moving.as_bytes || part.empty());
  whole_in_place_ = call.in_place && !is_allgather(call.collective);
  if (sized_ && (moving.as_bytes || whole_in_place_)) {
    wanted_ = std::max(recv_.size(), std::size_t{schedule.scratch_blocks}) * largest_of(recv_);
  }
  use_device(call);
  bind();
}

BoundRun::BoundRun(const Call& call, const plan::Schedule& schedule, const NeighborSlots& slots, const Moving& moving,
                   const Traffic& traffic, RunMemory& memory)
    : schedule_(&schedule),
      moving_(moving),
      traffic_(traffic),
      memory_(memory),
      sized_(moving.as_bytes),
      keeps_gaps_(moving.as_bytes && moving.pack_up_to == 0) {
  send_ = neighbor_send_blocks(call, slots, moving.as_bytes);
  recv_ = neighbor_blocks(call.recv, slots.recv);
  binding_.block_bytes = moving.as_bytes ? largest_block(call, slots) : 0;
  uniform_scratch_ = !has_arrays(row_of(call.collective).send);
  // Not all ranks have the same neighbours, but none has more blocks, and scratch is for two blocks each.
  wanted_ = 2 * std::max(recv_.size(), send_.size()) * binding_.block_bytes;
  use_device(call);
  bind();
}

BoundRun::BoundRun(const Call& call, const plan::Schedule* uniform, const plan::Schedule& direct,
                   const Traffic& traffic, RunMemory& memory)
    : schedule_(uniform != nullptr ? uniform : &direct),
      moving_{.as_bytes = true},
      traffic_(traffic),
      memory_(memory),
      pack_send_(true),
      pack_recv_(true),
      sized_(true),
      by_mpi_(uniform == nullptr),
      lacks_padding_(true),
      unpadded_(&direct) {
  whole_in_place_ = call.in_place;
  list_dense(call, traffic, {}, memory_.lists);
  send_places_.reserve(send_.size());  // which may not fail once the others wait
  recv_places_.reserve(recv_.size());
}

// A round must not send a forwarded block before the block has arrived.
void BoundRun::use_device(const Call& call) {
  if (!call.on_device) return;
  bool passes_on = schedule_->scratch_blocks > 0;
  for (const plan::Round& round : schedule_->rounds) {
    for (const plan::Message& message : schedule_->messages_of(round.sends)) {
      for (const plan::Span& sent : schedule_->spans_of(message)) {
        passes_on = passes_on || sent.buffer != plan::Buffer::send;
      }
    }
  }
  transport_.use_device(*call.on_device, !passes_on);
}

void BoundRun::bind() {
  if (moving_.as_bytes) transport_.pack_up_to(moving_.pack_up_to);
  pack_recv_ = !find_places(recv_, moving_.as_bytes || whole_in_place_, recv_places_);
  pack_send_ = whole_in_place_ || !find_places(send_, moving_.as_bytes, send_places_);
  has_room_ = take_room();
}

// The blocks where they are. False if they must be packed: they are to move as bytes, and one of them has gaps that
// cannot move along.
bool BoundRun::find_places(const std::vector<Block>& blocks, bool as_bytes, std::vector<Place>& places) {
  list_places(blocks, as_bytes, places);
  for (std::size_t i = 0; as_bytes && i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    if (block.bytes() == 0 || block.info.dense) continue;
    MpiType type;
    if (!keeps_gaps_ || !byte_types_.find(block.type, type)) return false;
    places[i] = {block.address, block.count, block.bytes(), type.word, false};
  }
  return true;
}

// Scratch blocks k and s + k of an all-to-all hold data of neighbour k only.
void BoundRun::bind_neighbor_scratch() {
  if (uniform_scratch_) return;
  std::byte* next = binding_.scratch;
  scratch_places_.resize(schedule_->scratch_blocks);
  for (std::size_t i = 0; i < scratch_places_.size(); ++i) {
    const std::size_t bytes_of_block = recv_places_[i % recv_places_.size()].bytes;
    scratch_places_[i] = plain_place(next, bytes_of_block);
    next += bytes_of_block;
  }
  binding_.scratch_places = scratch_places_;
}

// ---- Memory ----

// Places of packed blocks. Without memory they are nowhere.
bool BoundRun::take_own_room(memory::Pool& pool, const std::vector<Block>& blocks, std::vector<Place>& places) {
  std::byte* room = nullptr;
  const bool found = thrown_by([&] {
                       const std::size_t bytes = padded_ > 0 ? padded_ * blocks.size() : total_bytes(blocks);
                       room = pool.take(must_ask() ? std::max(bytes, memory_.sure.each(bytes, wanted_)) : bytes);
                     }) == mpi_success;
  list_packed(blocks, room, padded_, places);
  return found;
}

bool BoundRun::take_room() {
  bool good = true;
  if (pack_recv_) good = take_own_room(sized_ ? memory_.sure.recv : memory_.packing.recv, recv_, recv_places_);
  if (pack_send_) good = take_own_room(sized_ ? memory_.sure.send : memory_.packing.send, send_, send_places_) && good;
  if (sized_) good = take_sure_room() && good;
  binding_.send = send_places_;
  binding_.recv = recv_places_;
  if (good) bind_neighbor_scratch();
  return good;
}

// Where sizes travel, scratch is taken by need, or when all have agreed how much. When all ranks take more, each takes
// what its blocks may need in a later call, too.
bool BoundRun::take_sure_room() {
  SureRoom& sure = memory_.sure;
  const std::size_t scratch =
      schedule_->sizes == plan::Sizes::known ? schedule_->scratch_blocks * binding_.block_bytes : 0;
  return thrown_by([&] {
           if (must_ask() && wanted_ <= memory::Pool::most_kept) sure.send.take(wanted_), sure.recv.take(wanted_);
           binding_.scratch = sure.scratch.take(must_ask() ? sure.each(scratch, wanted_) : scratch);
         }) == mpi_success;
}

// The working buffer, what a round sends, and what it brings: the largest of the three.
std::size_t BoundRun::monolithic_bytes() const {
  const std::size_t waiting = plan::waiting_slots(*schedule_);
  const std::size_t moved = std::max(blocks_of_a_round(*schedule_, true), blocks_of_a_round(*schedule_, false));
  return std::max(waiting, moved) * binding_.block_bytes;
}

bool BoundRun::take_monolithic_room() {
  SureRoom& sure = memory_.carried.monolithic;
  const std::size_t most = monolithic_bytes(), block = binding_.block_bytes;
  return thrown_by([&] {
           binding_.scratch = sure.scratch.take(sure.each(plan::waiting_slots(*schedule_) * block, most));
           sure.send.take(sure.each(blocks_of_a_round(*schedule_, true) * block, most));
           sure.recv.take(sure.each(blocks_of_a_round(*schedule_, false) * block, most));
         }) == mpi_success;
}

// ---- Agreement ----

void BoundRun::ask(Phase question, std::uint64_t mine) {
  agreement_.begin(mine);
  phase_ = question;
}

int BoundRun::answered() {
  if (phase_ == Phase::asking_for_largest) return largest_known();
  const bool all = agreement_.largest() == 0;
  if (schedule_->sizes == plan::Sizes::known) {
    all_have_room_ = all;
    memory_.sure.note(all ? wanted_ : 0);
  } else {
    memory_.carried.monolithic.note(all ? monolithic_bytes() : 0);
  }
  return all ? begin_moving() : mpi().err_no_mem;
}

int BoundRun::largest_known() {
  const std::uint64_t largest = agreement_.largest();
  if (lacks_padding_) return pad_to(largest);
  // Known to all alike: then nobody begins.
  if (largest > SIZE_MAX / 2 / binding_.recv.size()) return mpi().err_no_mem;
  binding_.block_bytes = largest;
  const bool sure = memory_.carried.monolithic.is_enough(monolithic_bytes());
  const bool good = take_monolithic_room();
  if (sure) return begin_moving();
  ask(Phase::asking_for_room, good ? 0 : 1);
  return mpi_success;
}

int BoundRun::pad_to(std::size_t bytes) {
  lacks_padding_ = false;
  if (bytes > most_padded_bytes / recv_.size()) {
    schedule_ = unpadded_;
    moving_ = {};
    sized_ = false;
    bind();
    return begin_moving();
  }
  padded_ = binding_.block_bytes = bytes;
  wanted_ = bytes * std::max(recv_.size(), std::size_t{schedule_->scratch_blocks});
  has_room_ = take_room();
  if (!must_ask()) return begin_moving();
  ask(Phase::asking_for_room, has_room_ ? 0 : 1);
  return mpi_success;
}

// ---- A start ----

int BoundRun::start(bool block) {
  if (!has_room_) has_room_ = take_room();  // there may be some now
  if (schedule_->sizes == plan::Sizes::known && has_room_) transport_.repeat();
  if (lacks_padding_ || (schedule_->sizes != plan::Sizes::known && moving_.monolithic)) {
    ask(Phase::asking_for_largest, largest_of(send_));
  } else if (schedule_->sizes == plan::Sizes::known && must_ask()) {
    ask(Phase::asking_for_room, has_room_ ? 0 : 1);
  } else if (const int error = begin_moving(); error != mpi_success) {
    phase_ = Phase::idle;
    return error;
  }
  return advance(block);
}

// Sends its blocks from where they lie, and receives none: so what is sent in place is not received over.
void BoundRun::take_part_without_room() {
  transport_.drop_received(true);
  list_places(recv_, all_dense(recv_), recv_places_);
  send_places_ = recv_places_;
  binding_.send = send_places_;
  binding_.recv = recv_places_;
}

int BoundRun::begin_moving() {
  phase_ = Phase::moving;
  transport_.drop_received(false);  // as a start may have left it that ended in an error
  const bool known = schedule_->sizes == plan::Sizes::known;
  if (!has_room_ && known) {
    if (moving_.as_bytes || send_.empty()) return mpi().err_no_mem;  // even the reserve is used up
    take_part_without_room();
  }
  if (pack_send_ && (has_room_ || (!known && send_places_.front().address != nullptr))) {
    if (const int error = move_all(Moves::in, send_, send_places_, traffic_.quiet); error != mpi_success) return error;
  }
  if (!run_ && known) run_.emplace(*schedule_, binding_, transport_);
  if (!run_) run_.emplace(*schedule_, binding_, transport_, memory_.carried, CarriedLimits{.eager = moving_.eager});
  run_->begin(first_round_);
  return mpi_success;
}

int BoundRun::exchange_by_mpi() {
  run_->begin(schedule_->rounds.size());  // nothing is left to do for it
  const int bytes = static_cast<int>(padded_);
  return mpi().Alltoall(send_places_[0].address, bytes, mpi().byte, recv_places_[0].address, bytes, mpi().byte,
                        traffic_.comm);
}

int BoundRun::advance(bool block) {
  int error = mpi_success;
  while (is_asking() && error == mpi_success) {
    error = agreement_.advance(block);
    if (error == mpi_success && !agreement_.done()) return error;
    if (error == mpi_success) error = answered();
  }
  if (phase_ == Phase::moving && error == mpi_success) {
    error = by_mpi_ && block && padded_ > 0 ? exchange_by_mpi() : run_->advance(block);
    if (error == mpi_success && !run_->done()) return error;
    if (error == mpi_success) error = finish();
  }
  phase_ = Phase::idle;
  return error;
}

int BoundRun::finish() {
  transport_.drop_received(false);
  if (const int error = transport_.finish_copies(); error != mpi_success) return error;
  if (!has_room_) return mpi().err_no_mem;
  return pack_recv_ ? move_all(Moves::out, recv_, recv_places_, traffic_.quiet) : mpi_success;
}

}  // namespace quadrille::run
