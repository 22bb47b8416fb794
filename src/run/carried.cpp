#include "run/carried.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstring>

namespace quadrille::run {
namespace {

using plan::Buffer;
using plan::Message;

// Stands for a size that does not fit 4 bytes.
constexpr std::uint32_t wide_mark = UINT32_MAX;
// Set in the length of a combined message whose sizes have 8 bytes.
constexpr std::uint64_t wide_flag = std::uint64_t{1} << 63;
// Stands for the length of one that does not come, because a block in it was dropped.
constexpr std::uint64_t lost_length = wide_flag - 1;

std::size_t head_bytes(const Message& m) { return m.told * sizeof(std::uint32_t); }

std::uint32_t size_at(const std::byte* head, std::uint32_t index) {
  std::uint32_t size;
  std::memcpy(&size, head + index * sizeof size, sizeof size);
  return size;
}

std::size_t total_spans(std::span<const Message> messages) {
  std::size_t spans = 0;
  for (const Message& m : messages) spans += m.spans.count;
  return spans;
}

std::size_t total_told(std::span<const Message> messages) {
  std::size_t told = 0;
  for (const Message& m : messages) told += m.told;
  return told;
}

// A block that was dropped, or that could not be packed, is nowhere.
bool is_lost(const CarriedMemory::Held& block) { return block.at == nullptr && block.bytes > 0; }

void append(std::byte*& at, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(at, from, bytes);
  at += bytes;
}

}  // namespace

void CarriedMemory::trim() {
  staging.trim();
  sent_heads.trim();
  monolithic.trim();
  for (const auto& pool : heads) pool->trim();
  for (const auto& pool : landing) pool->trim();
}

CarriedExecution::CarriedExecution(const plan::Schedule& schedule, const Binding& binding,
                                   Transport& transport, CarriedMemory& memory,
                                   CarriedLimits limits)
    : schedule_(schedule),
      binding_(binding),
      transport_(transport),
      memory_(memory),
      limits_(limits) {
  memory_.held.assign(schedule.scratch_blocks, {nullptr, 0});
  memory_.known.assign(schedule.scratch_blocks, 0);
  while (memory_.landing.size() < schedule.rounds.size()) {
    memory_.landing.push_back(std::make_unique<memory::Pool>());
    memory_.heads.push_back(std::make_unique<memory::Pool>());
  }
}

int CarriedExecution::advance(bool block) {
  bool waits = false;
  while (!done() && !waits) {
    if (const int error = step(block, waits); error != 0) {
      round_ = schedule_.rounds.size();
      return error;
    }
  }
  return 0;
}

int CarriedExecution::step(bool block, bool& waits) {
  switch (phase_) {
    case Phase::enter:
      return enter();
    case Phase::sizes:
      return wait(block, Phase::wide, waits);
    case Phase::wide:
      return wait(block, Phase::data, waits);
    case Phase::data:
      return wait(block, Phase::leave, waits);
    case Phase::leave:
      break;
  }
  return leave();
}

// Goes on to the next phase when all requests of this one are complete.
int CarriedExecution::wait(bool block, Phase next, bool& waits) {
  bool complete = slots_ == 0;
  if (!complete) {
    if (const int error = transport_.all_done(slots_, block, complete); error != 0) return error;
  }
  waits = !complete;
  if (waits) return 0;
  if (slots_ > 0) look_what_came();
  slots_ = 0;
  phase_ = next;
  if (next == Phase::wide) return start_wide();
  if (next == Phase::data) return start_data();
  return 0;
}

int CarriedExecution::start(bool is_send, std::size_t index, int peer, void* at, std::size_t bytes) {
  if (bytes == 0) return 0;
  const std::size_t slot = 2 * index + (is_send ? 0 : 1);
  slots_ = std::max(slots_, 2 * (index + 1));
  const Place place{static_cast<std::byte*>(at), bytes, bytes, 0, true};
  return is_send ? transport_.start_send(slot, peer, {&place, 1})
                 : transport_.start_receive(slot, peer, {&place, 1});
}

// When the messages of a phase are there. What is shorter than expected holds blocks that were dropped on their way.
void CarriedExecution::look_what_came() {
  if (drops_) {
    drops_ = false;
    transport_.drop_received(false);
    return;
  }
  if (coupled() || phase_ == Phase::wide) return;
  for (std::size_t i = 0; i < receives().size(); ++i) {
    const Message& m = receives()[i];
    const bool has_head = m.told > 0;
    if (phase_ == Phase::sizes) {
      if (has_head) memory_.head_came[i] = transport_.came(2 * i + 1);
    } else if (!came_with_sizes(m, memory_.heads_in[i]) && bytes_of(m) > 0 && !is_lost(m) &&
               transport_.came(2 * i + 1) == 0) {
      lose(m);
    }
  }
}

bool CarriedExecution::is_lost(const Message& m) {
  for (std::uint32_t s = 0; s < m.spans.count; ++s) {
    if (run::is_lost(held(m, s))) return true;
  }
  return false;
}

void CarriedExecution::lose(const Message& m) {
  for (std::uint32_t s = 0; s < m.spans.count; ++s) held(m, s).at = nullptr;
}

int CarriedExecution::enter() {
  for (std::uint32_t i = 0; i < round().before.count; ++i) {
    const plan::Copy& copy = schedule_.copies[round().before.first + i];
    if (copy.to.buffer == Buffer::scratch) {
      keep(copy);
    } else if (const int error = copy_out(copy); error_ == 0) {
      error_ = error;  // the others wait for this rank
    }
  }
  phase_ = Phase::sizes;
  return coupled() ? start_lengths() : start_sizes();
}

// A block of scratch becomes what another block is; nothing moves.
void CarriedExecution::keep(const plan::Copy& copy) {
  Held& to = memory_.held[static_cast<std::size_t>(copy.to.block)];
  if (copy.from.buffer == Buffer::scratch) {
    to = memory_.held[static_cast<std::size_t>(copy.from.block)];
  } else {
    const auto& blocks = copy.from.buffer == Buffer::send ? binding_.send : binding_.recv;
    const Place& from = blocks[static_cast<std::size_t>(copy.from.block)];
    to = {from.address, from.bytes};
  }
}

// To a receive block. More than it has room for is a mistake of the program.
int CarriedExecution::copy_out(const plan::Copy& copy) {
  const Place& to = binding_.recv[static_cast<std::size_t>(copy.to.block)];
  if (copy.from.buffer != Buffer::scratch) {
    const Place& from = binding_.send[static_cast<std::size_t>(copy.from.block)];
    if (to.bytes == 0) return 0;
    if (from.address == nullptr || to.address == nullptr) return MPI_ERR_NO_MEM;
    return from.address == to.address ? 0 : transport_.copy(from, to);
  }
  const Held& from = memory_.held[static_cast<std::size_t>(copy.from.block)];
  const std::size_t bytes = std::min(from.bytes, to.bytes);
  if (bytes > 0 && (run::is_lost(from) || to.address == nullptr)) return MPI_ERR_NO_MEM;
  move(from.at, to.address, bytes);
  return from.bytes > to.bytes ? MPI_ERR_TRUNCATE : 0;
}

int CarriedExecution::leave() {
  if (coupled()) take_combined();
  int first_error = 0;
  for (std::uint32_t i = 0; i < round().after.count; ++i) {
    const plan::Copy& copy = schedule_.copies[round().after.first + i];
    if (copy.to.buffer == Buffer::recv) {
      // The others still wait for what this rank sends on: an error is told at the end.
      const int error = copy_out(copy);
      if (first_error == 0) first_error = error;
      continue;
    }
    keep(copy);
    if (binding_.scratch == nullptr || coupled()) continue;
    Held& kept = memory_.held[static_cast<std::size_t>(copy.to.block)];
    if (run::is_lost(kept)) continue;
    std::byte* slot = binding_.scratch + static_cast<std::size_t>(copy.to.block) * binding_.block_bytes;
    move(kept.at, slot, kept.bytes);
    kept.at = slot;
  }
  if (error_ == 0) error_ = first_error;
  phase_ = Phase::enter;
  ++round_;
  return done() ? error_ : 0;
}

// Large blocks go through the transport, so that a test can move blocks of gibibytes that are not there.
void CarriedExecution::move(std::byte* from, std::byte* to, std::size_t bytes) {
  constexpr std::size_t large = 65536;
  if (bytes == 0) return;
  if (bytes < large) {
    std::memcpy(to, from, bytes);
  } else {
    transport_.copy({from, bytes, bytes, 0, true}, {to, bytes, bytes, 0, true});
  }
}

void CarriedExecution::append_blocks(std::byte*& at, const Message& m) {
  for (std::uint32_t s = 0; s < m.spans.count; ++s) {
    move(held(m, s).at, at, held(m, s).bytes);
    at += held(m, s).bytes;
  }
}

// ---- Sizes ----

std::uint32_t CarriedExecution::narrow(std::size_t bytes) const {
  return bytes < limits_.wide_from ? static_cast<std::uint32_t>(bytes) : wide_mark;
}

std::size_t CarriedExecution::bytes_of(const Message& m) {
  std::size_t bytes = 0;
  for (std::uint32_t s = 0; s < m.spans.count; ++s) bytes += held(m, s).bytes;
  return bytes;
}

bool CarriedExecution::has_wide(const Message& m, const std::byte* head) const {
  for (std::uint32_t t = 0; t < m.told; ++t) {
    if (size_at(head, t) == wide_mark) return true;
  }
  return false;
}

// Do the data of this message follow its sizes? Its blocks are known on the side that asks.
bool CarriedExecution::came_with_sizes(const Message& m, const std::byte* head) {
  return m.told > 0 && !has_wide(m, head) && bytes_of(m) <= limits_.eager;
}

int CarriedExecution::start_sizes() {
  note_known_sizes();
  std::size_t coming = 0, going = 0;
  for (const Message& m : receives()) coming += m.told > 0 ? head_bytes(m) + limits_.eager : 0;
  for (const Message& m : sends()) going += m.told > 0 ? head_bytes(m) + limits_.eager : 0;
  memory_.heads_in.assign(receives().size(), nullptr);
  memory_.heads_out.assign(sends().size(), nullptr);
  memory_.head_came.assign(receives().size(), SIZE_MAX);
  std::byte* at = coming > 0 ? memory_.heads[round_]->take(coming) : nullptr;
  for (std::size_t i = 0; i < receives().size(); ++i) {
    const Message& m = receives()[i];
    if (m.told == 0) continue;
    memory_.heads_in[i] = at;
    at += head_bytes(m) + limits_.eager;
    const int error = start(false, i, m.peer, memory_.heads_in[i], head_bytes(m) + limits_.eager);
    if (error != 0) return error;
  }
  at = going > 0 ? memory_.sent_heads.take(going) : nullptr;
  for (std::size_t i = 0; i < sends().size(); ++i) {
    const Message& m = sends()[i];
    if (m.told == 0) continue;
    std::byte* head = memory_.heads_out[i] = at;
    for (std::uint32_t t = 0; t < m.told; ++t) {
      const std::uint32_t size = narrow(held(m, m.spans.count - m.told + t).bytes);
      append(at, &size, sizeof size);
    }
    if (came_with_sizes(m, head) && !is_lost(m)) append_blocks(at, m);
    const int error = start(true, i, m.peer, head, static_cast<std::size_t>(at - head));
    if (error != 0) return error;
  }
  return 0;
}

// For messages with a size that 4 bytes cannot hold.
int CarriedExecution::start_wide() {
  if (coupled()) return 0;
  memory_.wide_out.resize(total_told(sends()));
  memory_.wide_in.resize(total_told(receives()));
  std::size_t next = 0;
  for (std::size_t i = 0; i < receives().size(); ++i) {
    const Message& m = receives()[i];
    if (has_wide(m, memory_.heads_in[i])) {
      const int error =
          start(false, i, m.peer, memory_.wide_in.data() + next, m.told * sizeof(std::uint64_t));
      if (error != 0) return error;
    }
    next += m.told;
  }
  next = 0;
  for (std::size_t i = 0; i < sends().size(); ++i) {
    const Message& m = sends()[i];
    if (has_wide(m, memory_.heads_out[i])) {
      for (std::uint32_t t = 0; t < m.told; ++t) {
        memory_.wide_out[next + t] = held(m, m.spans.count - m.told + t).bytes;
      }
      const int error =
          start(true, i, m.peer, memory_.wide_out.data() + next, m.told * sizeof(std::uint64_t));
      if (error != 0) return error;
    }
    next += m.told;
  }
  return 0;
}

// Of the blocks that the after-copies of this round take to the receive buffer.
void CarriedExecution::note_known_sizes() {
  for (std::uint32_t i = 0; i < round().after.count; ++i) {
    const plan::Copy& copy = schedule_.copies[round().after.first + i];
    if (copy.to.buffer != Buffer::recv || copy.from.buffer != Buffer::scratch) continue;
    memory_.known[static_cast<std::size_t>(copy.from.block)] =
        binding_.recv[static_cast<std::size_t>(copy.to.block)].bytes;
  }
}

// The sizes of the blocks of a message that comes. `wide` are those told, if they came in 8 bytes.
void CarriedExecution::take_sizes(const Message& m, const std::byte* head, const std::uint64_t* wide) {
  const bool is_wide = has_wide(m, head);
  const std::uint32_t untold = m.spans.count - m.told;
  for (std::uint32_t s = 0; s < m.spans.count; ++s) {
    Held& block = held(m, s);
    if (s < untold) {
      block.bytes = memory_.known[static_cast<std::size_t>(&block - memory_.held.data())];
    } else {
      block.bytes = is_wide ? wide[s - untold] : size_at(head, s - untold);
    }
  }
}

// ---- Data ----

int CarriedExecution::start_data() {
  if (coupled()) return start_combined();
  const int error = start_receives();
  return error != 0 ? error : start_sends();
}

int CarriedExecution::start_receives() {
  std::size_t next = 0, total = 0;
  for (std::size_t i = 0; i < receives().size(); ++i) {
    const Message& m = receives()[i];
    take_sizes(m, memory_.heads_in[i], memory_.wide_in.data() + next);
    next += m.told;
    if (!came_with_sizes(m, memory_.heads_in[i])) total += bytes_of(m);
  }
  std::byte* landing = take_landing(total);
  if (drops_) transport_.drop_received(true);
  for (std::size_t i = 0; i < receives().size(); ++i) {
    const Message& m = receives()[i];
    const bool is_here = came_with_sizes(m, memory_.heads_in[i]);
    const bool is_whole = !is_here || memory_.head_came[i] >= head_bytes(m) + bytes_of(m);
    std::byte* begin = is_here ? memory_.heads_in[i] + head_bytes(m) : landing;
    std::byte* at = begin;
    for (std::uint32_t s = 0; s < m.spans.count; ++s) {
      held(m, s).at = at;
      at += held(m, s).bytes;
    }
    if (!is_whole || (!is_here && drops_)) lose(m);
    if (is_here) continue;
    landing = at;
    const int error = start(false, i, m.peer, begin, static_cast<std::size_t>(at - begin));
    if (error != 0) return error;
  }
  return 0;
}

// Room for what comes now. Without memory it will be dropped.
std::byte* CarriedExecution::take_landing(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  // What moves on is copied out of here in the same round, or stays until the end.
  const bool once = binding_.scratch != nullptr && !coupled();
  try {
    return (once ? memory_.monolithic.recv : *memory_.landing[round_]).take(bytes);
  } catch (const std::bad_alloc&) {
    drops_ = true;
    if (error_ == 0) error_ = MPI_ERR_NO_MEM;
    return nullptr;
  }
}

int CarriedExecution::start_sends() {
  std::size_t total = 0;
  for (std::size_t i = 0; i < sends().size(); ++i) {
    const Message& m = sends()[i];
    if (m.spans.count > 1 && !came_with_sizes(m, memory_.heads_out[i])) total += bytes_of(m);
  }
  std::byte* at = nullptr;
  bool staged = true;
  try {
    const bool once = binding_.scratch != nullptr;
    if (total > 0) at = (once ? memory_.monolithic.send : memory_.staging).take(total);
  } catch (const std::bad_alloc&) {
    staged = false;
  }
  for (std::size_t i = 0; i < sends().size(); ++i) {
    const Message& m = sends()[i];
    if (came_with_sizes(m, memory_.heads_out[i]) || bytes_of(m) == 0) continue;
    int error = 0;
    if (is_lost(m) || (m.spans.count > 1 && !staged)) {
      error = send_scattered(i, m);
    } else {
      // One block is sent from where it is.
      std::byte* begin = m.spans.count == 1 ? held(m, 0).at : at;
      if (m.spans.count > 1) append_blocks(at, m);
      error = start(true, i, m.peer, begin, bytes_of(m));
    }
    if (error != 0) return error;
  }
  return 0;
}

// Without memory to bring its blocks together; if one of them was dropped, an empty message.
int CarriedExecution::send_scattered(std::size_t index, const Message& m) {
  std::vector<Place> places;
  for (std::uint32_t s = 0; s < m.spans.count && !is_lost(m); ++s) {
    const Held& block = held(m, s);
    if (block.bytes > 0) places.push_back({block.at, block.bytes, block.bytes, 0, true});
  }
  if (places.empty()) places.push_back({});
  slots_ = std::max(slots_, 2 * (index + 1));
  return transport_.start_send(2 * index, m.peer, places);
}

// ---- Sizes and data in one message ----

int CarriedExecution::start_lengths() {
  memory_.lengths_out.resize(sends().size());
  memory_.lengths_in.resize(receives().size());
  for (std::size_t i = 0; i < receives().size(); ++i) {
    const int error = start(false, i, receives()[i].peer, &memory_.lengths_in[i], sizeof(std::uint64_t));
    if (error != 0) return error;
  }
  for (std::size_t i = 0; i < sends().size(); ++i) {
    const Message& m = sends()[i];
    std::uint64_t length = 0;
    bool wide = false;
    for (std::uint32_t s = 0; s < m.spans.count; ++s) {
      length += held(m, s).bytes;
      wide = wide || held(m, s).bytes >= limits_.wide_from;
    }
    length += m.told * (wide ? sizeof(std::uint64_t) : sizeof(std::uint32_t));
    memory_.lengths_out[i] = is_lost(m) ? lost_length : length | (wide ? wide_flag : 0);
    const int error = start(true, i, m.peer, &memory_.lengths_out[i], sizeof(std::uint64_t));
    if (error != 0) return error;
  }
  return 0;
}

int CarriedExecution::start_combined() {
  std::size_t coming = 0, going = 0;
  for (const std::uint64_t length : memory_.lengths_in) coming += length == lost_length ? 0 : length & ~wide_flag;
  for (const std::uint64_t length : memory_.lengths_out) going += length == lost_length ? 0 : length & ~wide_flag;
  std::byte* at = take_landing(coming);
  if (drops_) transport_.drop_received(true);
  for (std::size_t i = 0; i < receives().size(); ++i) {
    std::uint64_t& said = memory_.lengths_in[i];
    const std::size_t length = said == lost_length ? 0 : said & ~wide_flag;
    const int error = start(false, i, receives()[i].peer, at, length);
    if (error != 0) return error;
    if (drops_) said = lost_length;
    if (at != nullptr) at += length;
  }
  try {
    at = going > 0 ? memory_.staging.take(going) : nullptr;
  } catch (const std::bad_alloc&) {
    return send_heads_and_blocks();
  }
  for (std::size_t i = 0; i < sends().size(); ++i) {
    const Message& m = sends()[i];
    if (memory_.lengths_out[i] == lost_length) continue;
    std::byte* begin = at;
    append_sizes(at, m, (memory_.lengths_out[i] & wide_flag) != 0);
    append_blocks(at, m);
    const int error = start(true, i, m.peer, begin, static_cast<std::size_t>(at - begin));
    if (error != 0) return error;
  }
  return 0;
}

void CarriedExecution::append_sizes(std::byte*& at, const Message& m, bool wide) {
  for (std::uint32_t s = 0; s < m.spans.count; ++s) {
    const std::uint64_t large = held(m, s).bytes;
    const std::uint32_t small = narrow(large);
    append(at, wide ? static_cast<const void*>(&large) : &small, wide ? sizeof large : sizeof small);
  }
}

// Without memory to bring the blocks of a message together.
int CarriedExecution::send_heads_and_blocks() {
  std::byte* at = memory_.sent_heads.take(total_spans(sends()) * sizeof(std::uint64_t));
  for (std::size_t i = 0; i < sends().size(); ++i) {
    const Message& m = sends()[i];
    if (memory_.lengths_out[i] == lost_length) continue;
    std::byte* const head = at;
    append_sizes(at, m, (memory_.lengths_out[i] & wide_flag) != 0);
    const auto head_size = static_cast<std::size_t>(at - head);
    std::vector<Place> places = {{head, head_size, head_size, 0, true}};
    for (std::uint32_t s = 0; s < m.spans.count; ++s) {
      const Held& block = held(m, s);
      if (block.bytes > 0) places.push_back({block.at, block.bytes, block.bytes, 0, true});
    }
    slots_ = std::max(slots_, 2 * (i + 1));
    if (const int error = transport_.start_send(2 * i, m.peer, places); error != 0) return error;
  }
  return 0;
}

// The messages are there: their heads tell where the blocks are.
void CarriedExecution::take_combined() {
  if (receives().empty()) return;
  const std::byte* at = nullptr;
  for (std::size_t i = 0; i < receives().size(); ++i) {
    const Message& m = receives()[i];
    if (memory_.lengths_in[i] == lost_length) {
      for (std::uint32_t s = 0; s < m.spans.count; ++s) held(m, s) = {nullptr, 1};  // however many there were
      continue;
    }
    if (at == nullptr) at = memory_.landing[round_]->take(0);
    const bool wide = (memory_.lengths_in[i] & wide_flag) != 0;
    const std::size_t each = wide ? sizeof(std::uint64_t) : sizeof(std::uint32_t);
    const std::byte* sizes = at;
    at += m.spans.count * each;
    for (std::uint32_t s = 0; s < m.spans.count; ++s, sizes += each) {
      std::uint64_t large = 0;
      std::uint32_t small = 0;
      std::memcpy(wide ? static_cast<void*>(&large) : &small, sizes, each);
      const std::size_t bytes = wide ? large : small;
      held(m, s) = {const_cast<std::byte*>(at), bytes};
      at += bytes;
    }
  }
}

}  // namespace quadrille::run
