// What schedules whose sizes travel have in common: blocks that are held where they lie.
#include "run/carried.hpp"

#include <algorithm>

namespace quadrille::run {

using plan::Buffer;

void CarriedMemory::trim() {
  staging.trim();
  sent_heads.trim();
  monolithic.trim();
  std::size_t kept = 0;
  for (const auto& pool : heads) kept += pool->size();
  for (const auto& pool : landing) kept += pool->size();
  if (kept > memory::Pool::most_kept) heads.clear(), landing.clear();
  single.clear();
}

std::unique_ptr<CarriedBlocks> CarriedBlocks::of(const plan::Schedule& schedule, const Binding& binding,
                                                 Transport& transport, CarriedMemory& memory,
                                                 const CarriedLimits& limits) {
  const auto make = schedule.sizes == plan::Sizes::coupled ? sizes_at_head : sizes_ahead;
  return make(schedule, binding, transport, memory, limits);
}

void CarriedBlocks::begin() {
  memory_.held.assign(schedule_.scratch_blocks, {nullptr, 0});
  while (memory_.landing.size() < schedule_.rounds.size()) {
    memory_.landing.push_back(std::make_unique<memory::Pool>());
    memory_.heads.push_back(std::make_unique<memory::Pool>());
  }
}

int CarriedBlocks::begin_step(std::size_t round, int step) {
  round_ = round;
  step_ = step;
  error_ = 0;
  prepare();
  if (drops_) transport_.drop_received(true);
  return error_;
}

void CarriedBlocks::end_step() {
  if (drops_) transport_.drop_received(false);
  drops_ = false;
  conclude();
}

// ---- Copies ----

int CarriedBlocks::copy(const plan::Copy& copy, bool after) {
  if (copy.to.buffer == Buffer::recv) return copy_out(copy);
  keep(copy);
  if (after && has_slots()) move_to_slot(copy.to.block);
  return 0;
}

// A block of scratch becomes what another block is; nothing moves.
void CarriedBlocks::keep(const plan::Copy& copy) {
  Held& to = memory_.held[static_cast<std::size_t>(copy.to.block)];
  if (copy.from.buffer == Buffer::scratch) {
    to = memory_.held[static_cast<std::size_t>(copy.from.block)];
  } else {
    const auto& blocks = copy.from.buffer == Buffer::send ? binding_.send : binding_.recv;
    const Place& from = blocks[static_cast<std::size_t>(copy.from.block)];
    to = {from.address, from.bytes};
  }
}

void CarriedBlocks::move_to_slot(std::int32_t block) {
  Held& kept = memory_.held[static_cast<std::size_t>(block)];
  if (is_lost(kept)) return;
  std::byte* const slot = binding_.scratch + static_cast<std::size_t>(block) * binding_.block_bytes;
  move(kept.at, slot, kept.bytes);
  kept.at = slot;
}

// To a receive block. More than it has room for is a mistake of the program.
int CarriedBlocks::copy_out(const plan::Copy& copy) {
  const Place& to = binding_.recv[static_cast<std::size_t>(copy.to.block)];
  if (copy.from.buffer != Buffer::scratch) {
    const Place& from = binding_.send[static_cast<std::size_t>(copy.from.block)];
    if (to.bytes == 0) return 0;
    if (from.address == nullptr || to.address == nullptr) return mpi().err_no_mem;
    return from.address == to.address ? 0 : transport_.copy(from, to);
  }
  const Held& from = memory_.held[static_cast<std::size_t>(copy.from.block)];
  const std::size_t bytes = std::min(from.bytes, to.bytes);
  if (bytes > 0 && (is_lost(from) || to.address == nullptr)) return mpi().err_no_mem;
  move(from.at, to.address, bytes);
  return from.bytes > to.bytes && from.bytes != unknown_bytes ? mpi().err_truncate : 0;
}

// Large blocks go through the transport, so that a test can move blocks of gibibytes that are not there.
void CarriedBlocks::move(std::byte* from, std::byte* to, std::size_t bytes) {
  constexpr std::size_t large = 65536;
  if (bytes == 0) return;
  if (bytes < large) {
    std::memcpy(to, from, bytes);
  } else {
    transport_.copy(plain_place(from, bytes), plain_place(to, bytes));
  }
}

void CarriedBlocks::append_blocks(std::byte*& at, const Message& m) {
  for (std::uint32_t s = 0; s < m.spans.count; ++s) {
    move(held(m, s).at, at, held(m, s).bytes);
    at += held(m, s).bytes;
  }
}

// ---- The blocks of a message ----

bool CarriedBlocks::is_lost(const Message& m) {
  for (std::uint32_t s = 0; s < m.spans.count; ++s) {
    if (is_lost(held(m, s))) return true;
  }
  return false;
}

bool CarriedBlocks::has_unknown(const Message& m) {
  for (std::uint32_t s = 0; s < m.spans.count; ++s) {
    if (held(m, s).bytes == unknown_bytes) return true;
  }
  return false;
}

void CarriedBlocks::lose(const Message& m) {
  for (std::uint32_t s = 0; s < m.spans.count; ++s) held(m, s).at = nullptr;
}

std::size_t CarriedBlocks::bytes_of(const Message& m) {
  std::size_t bytes = 0;
  for (std::uint32_t s = 0; s < m.spans.count; ++s) bytes += held(m, s).bytes;
  return bytes;
}

// ---- Places ----

std::byte* CarriedBlocks::take_landing(memory::Pool& pool, std::size_t bytes) {
  std::byte* landing = nullptr;
  if (bytes > 0) error_ = thrown_by([&] { landing = pool.take(bytes); });
  drops_ = error_ != mpi_success;
  return landing;
}

std::span<const Place> CarriedBlocks::one(void* at, std::size_t bytes) {
  memory_.going.assign(1, plain_place(static_cast<std::byte*>(at), bytes));
  return memory_.going;
}

// Where they lie, behind what goes already.
void CarriedBlocks::also_send_blocks(const Message& m) {
  for (std::uint32_t s = 0; s < m.spans.count; ++s) {
    const Held& block = held(m, s);
    if (block.bytes > 0) memory_.going.push_back(plain_place(block.at, block.bytes));
  }
}

}  // namespace quadrille::run
