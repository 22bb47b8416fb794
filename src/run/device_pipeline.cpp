#include "run/device_pipeline.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace quadrille::run {
namespace {

using memory::Owned;

std::uintptr_t at_number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// What a rank says beside whether it can take part.
constexpr std::uint64_t has_device = 1, never_can = 2, is_overwritten = 4;

}  // namespace

DevicePipeline::DevicePipeline(const Call& call, Group& group, const PipelineMeans& means,
                               const memory::DeviceDriver* driver, const PipelineWays& ways)
    : call_(call),
      group_(group),
      means_(means),
      meeting_(means.pairs.meeting()),
      driver_(driver),
      ways_(ways),
      gather_(is_allgather(call.collective)),
      send_(call.in_place ? call.recv : call.send),
      recv_(call.recv),
      copies_(driver),
      exchange_(means.room.exchange),
      batch_(means.room.batch) {
  exchange_.begin({group.me, group.ranks, ways.chunk, ways.depth, gather_, overwrites()});
}

DevicePipeline::Outcome DevicePipeline::run() {
  bool offered = false;
  try {
    offered = offer();
  } catch (const std::bad_alloc&) {
    // The others wait for what this rank says.
  }
  meeting_.begin();
  write_down();
  meeting_.come(offered, said_);
  phase_ = Phase::entering;
  while (phase_ != Phase::over) group_.waiter.until([&] { return advance(); });
  return outcome_;
}

// ---- What this rank offers ----

void DevicePipeline::look_at_ends() {
  received_ = look_at_end(recv_, group_.ranks, -1, driver_);
  sent_ = call_.in_place ? look_at_end(recv_, group_.ranks, gather_ ? group_.me : -1, driver_)
                         : look_at_end(send_, sends(), -1, driver_);
}

bool DevicePipeline::offer() {
  look_at_ends();
  said_ = (sent_.on_device || received_.on_device ? has_device : 0U) | (overwrites() ? is_overwritten : 0U);
  if (sent_.has_gaps || received_.has_gaps) return false;
  if (!sent_.on_device && !received_.on_device) return true;
  if (!take_lanes()) {
    said_ |= never_can;
    return false;
  }
  const bool settled = !sent_.on_device || settle(*driver_, sent_.place);
  const bool is_other = received_.on_device && !(sent_.on_device && sent_.place == received_.place);
  return settled && (!is_other || settle(*driver_, received_.place));
}

bool DevicePipeline::take_lanes() {
  const memory::DevicePlace& place = sent_.on_device ? sent_.place : received_.place;
  if (!means_.rings.register_with(*driver_, place)) return false;
  return (!sent_.on_device || means_.out.take(*driver_, sent_.place, ways_.depth)) &&
         (!received_.on_device || means_.in.take(*driver_, received_.place, takes));
}

void DevicePipeline::write_down() {
  exchange_.send(means_.rings.next, [&](int to) { return std::uint64_t{send_at(gather_ ? 0 : to).bytes()}; });
  for (int to = 0; to < group_.ranks; ++to) {
    const plan::ChunkSpan& span = exchange_.sent_to(to);
    memory::BlockPlace& place = means_.pairs.places(Owned::send, group_.me)[to];
    place.at = span.at;
    place.bytes = span.bytes;
    place.by_address = 0;
  }
}

// ---- The steps ----

// True if it got further.
bool DevicePipeline::advance() {
  if (phase_ == Phase::moving) return move();
  if (phase_ == Phase::settling) return has_settled();
  const bool moved = meeting_.advance();
  if (!meeting_.met()) return moved;
  if (phase_ == Phase::entering) {
    entered();
  } else {
    end(meeting_.all_say_so());
  }
  return true;
}

void DevicePipeline::entered() {
  std::uint64_t said = 0;
  for (int rank = 0; rank < group_.ranks; ++rank) said |= meeting_.generation_of(rank);
  if ((said & never_can) != 0) outcome_ = Outcome::never;
  overwritten_ = (said & is_overwritten) != 0;
  if (!meeting_.all_say_so() || (said & has_device) == 0) return finish(false);
  begun_ = true;
  for (int from = 0; from < group_.ranks; ++from) {
    if (from == group_.me) continue;
    const memory::BlockPlace place = means_.pairs.places(Owned::send, from)[group_.me];
    exchange_.receive(from, {place.at, place.bytes});
    // A peer that sent more than this rank expects made a mistake that the MPI reports as well.
    keep(error_, error_if_long(place.bytes, recv_.bytes_of(from), call_.collective));
  }
  means_.rings.next = exchange_.end();
  copy_own();
  phase_ = Phase::moving;
}

// The block that this rank sends to itself, beside the others.
void DevicePipeline::copy_own() {
  if (call_.in_place) return;
  const Block from = send_at(gather_ ? 0 : group_.me), to = recv_[group_.me];
  const std::size_t bytes = std::min(from.bytes(), to.bytes());
  keep(error_, error_if_long(from.bytes(), to.bytes(), call_.collective));
  if (bytes == 0 || from.address == to.address) return;
  if (!sent_.on_device && !received_.on_device) {
    std::memmove(to.address, from.address, bytes);
    return;
  }
  copies_.copy(received_.on_device ? means_.in : means_.out, to.address, from.address, bytes);
}

bool DevicePipeline::move() {
  bool moved = false;
  while (publish_one()) moved = true;
  while (release_one()) moved = true;
  while (put_one()) moved = true;
  bool all = exchange_.has_published_all() && takings_ == 0;
  for (int round = 0; round < group_.ranks; ++round) {
    const int from = plan::partner_in_round(group_.me, round, group_.ranks);
    if (from == group_.me) continue;
    while (take_one(from)) moved = true;
    all = all && exchange_.has_all_of(from);
  }
  if (!all || takings_ != 0) return moved;
  phase_ = Phase::settling;
  return true;
}

bool DevicePipeline::put_one() {
  if (exchange_.has_put_all()) return false;
  const auto taken = [&](int by) { return means_.rings.taken(by, group_.me).load(std::memory_order_acquire); };
  const std::uint64_t number = exchange_.next_put();
  if (number - exchange_.next_published() >= ways_.depth || !exchange_.may_put(taken)) return false;
  std::byte* const place = place_of(group_.me, number);
  batch_.clear();
  // What lies side by side in the buffer, too, is one copy: so small blocks are few.
  const std::byte* from = nullptr;
  std::uint64_t in_chunk = 0, bytes = 0;
  const auto copy = [&] {
    if (bytes == 0) return;
    if (sent_.on_device) {
      batch_.add(at_number(place + in_chunk), at_number(from), bytes);
    } else {
      std::memcpy(place + in_chunk, from, bytes);
    }
  };
  exchange_.for_each_part(number, [&](int to, const plan::ChunkPiece& piece) {
    const std::byte* const next = send_at(gather_ ? 0 : to).address + piece.in_block;
    if (bytes == 0 || next != from + bytes) {
      copy();
      from = next, in_chunk = piece.in_chunk, bytes = 0;
    }
    bytes += piece.bytes;
  });
  copy();
  const std::uint64_t mark = number % ways_.depth;
  const std::uint64_t bit = std::uint64_t{1} << mark;
  unmarked_ = copies_.submit(batch_, means_.out, mark) ? unmarked_ & ~bit : unmarked_ | bit;
  exchange_.put();
  return true;
}

bool DevicePipeline::publish_one() {
  const std::uint64_t number = exchange_.next_published();
  if (number == exchange_.next_put()) return false;
  const std::uint64_t mark = number % ways_.depth;
  if (!copies_.is_done(means_.out, mark, (unmarked_ >> mark & 1U) == 0)) return false;
  exchange_.publish();
  means_.rings.published(group_.me).store(exchange_.next_published(), std::memory_order_release);
  return true;
}

bool DevicePipeline::take_one(int from) {
  if (takings_ == takes || exchange_.has_all_of(from)) return false;
  if (!exchange_.may_take(from, means_.rings.published(from).load(std::memory_order_acquire))) return false;
  const plan::ChunkPiece piece = exchange_.next_piece(from);
  const Block block = recv_[from];
  const std::uint64_t room = block.bytes() - std::min<std::uint64_t>(piece.in_block, block.bytes());
  const std::uint64_t fits = std::min(piece.bytes, room);
  const std::byte* const place = place_of(from, exchange_.next_take(from)) + piece.in_chunk;
  batch_.clear();
  if (fits > 0 && !received_.on_device) {
    std::memcpy(block.address + piece.in_block, place, fits);
  } else if (fits > 0) {
    batch_.add(at_number(block.address + piece.in_block), at_number(place), fits);
  }
  const std::uint64_t mark = marks_ % takes;
  const bool is_marked = copies_.submit(batch_, means_.in, mark);
  if (is_marked) ++marks_;
  exchange_.take(from);
  taking_[(first_taking_ + takings_++) % takes] = {from, exchange_.next_take(from), mark, is_marked};
  return true;
}

bool DevicePipeline::release_one() {
  if (takings_ == 0) return false;
  const Taking& first = taking_[first_taking_];
  if (!copies_.is_done(means_.in, first.mark, first.is_marked)) return false;
  means_.rings.taken(group_.me, first.from).store(first.next, std::memory_order_release);
  first_taking_ = (first_taking_ + 1) % takes;
  --takings_;
  return true;
}

// Nothing may be under way when the others are told that this rank is done, also after an error.
bool DevicePipeline::has_settled() {
  for (const auto& [end, lane] : {std::pair(&sent_, &means_.out), std::pair(&received_, &means_.in)}) {
    if (end->on_device && !copies_.is_at_rest(*lane)) return false;
  }
  finish(!copies_.failed());
  return true;
}

void DevicePipeline::finish(bool yes) {
  meeting_.finish(yes, memory::Fenced::nothing_streamed());
  phase_ = Phase::finishing;
}

void DevicePipeline::end(bool all) {
  phase_ = Phase::over;
  if (all) {
    outcome_ = Outcome::done;
    return;
  }
  error_ = MPI_SUCCESS;  // who makes the call in another way finds it again
  if (begun_ && overwritten_) outcome_ = Outcome::lost;
}

}  // namespace quadrille::run
