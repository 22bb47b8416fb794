#include "run/pipeline_seat.hpp"

#include <algorithm>
#include <cstring>

#include "run/device_elements.hpp"

namespace quadrille::run {

using memory::Owned;

void PipelineSeat::copy_own() {
  const int to = means_.gathers ? 0 : rank_;
  const std::size_t bytes = std::min(bytes_of(Owned::send, to), bytes_of(Owned::recv, rank_));
  std::byte* const there = recv_at(rank_);
  const std::byte* const here = send_at(rank_);
  if (bytes == 0 || here == there) return;
  if (!memory_.sends_from_device && !memory_.receives_on_device) {
    std::memmove(there, here, bytes);
    return;
  }
  means_.copies.copy(memory_.receives_on_device ? means_.in : means_.out, there, here, bytes);
}

bool PipelineSeat::move() {
  bool moved = false;
  while (publish_one()) moved = true;
  while (release_one()) moved = true;
  while (put_one()) moved = true;
  while (take_some()) moved = true;
  bool all = exchange_.has_published_all() && takings_ == 0;
  for (int from = 0; from < means_.ranks && all; ++from) all = from == rank_ || exchange_.has_all_of(from);
  moved = moved || all != is_over_;
  is_over_ = all;
  return moved;
}

// ---- Into its ring ----

bool PipelineSeat::put_one() {
  if (exchange_.has_put_all()) return false;
  const auto taken = [&](int by) { return means_.rings.taken(by, rank_).load(std::memory_order_acquire); };
  const std::uint64_t number = exchange_.next_put();
  if (number - exchange_.next_published() >= means_.depth || !exchange_.may_put(taken)) return false;
  list_chunk(number);
  const std::uint64_t bit = std::uint64_t{1} << number % means_.depth;
  const bool is_marked = means_.copies.submit(means_.batch, means_.out, mark_of(number));
  unmarked_ = is_marked ? unmarked_ & ~bit : unmarked_ | bit;
  exchange_.put();
  return true;
}

// What lies side by side in the buffer, too, is one copy: so small blocks are few. The processor copies what is on the
// host.
void PipelineSeat::list_chunk(std::uint64_t chunk) {
  std::byte* const place = place_of(rank_, chunk);
  means_.batch.clear();
  exchange_.for_each_part(chunk, [&](int to, const plan::ChunkPiece& piece) {
    const std::byte* const from = send_at(to) + piece.in_block;
    if (memory_.sends_from_device) {
      means_.batch.add_behind(number(place + piece.in_chunk), number(from), piece.bytes);
    } else {
      std::memcpy(place + piece.in_chunk, from, piece.bytes);
    }
  });
}

bool PipelineSeat::publish_one() {
  const std::uint64_t number = exchange_.next_published();
  if (number == exchange_.next_put()) return false;
  const bool is_marked = (unmarked_ >> number % means_.depth & 1U) == 0;
  if (!means_.copies.is_done(means_.out, mark_of(number), is_marked)) return false;
  exchange_.publish();
  means_.rings.published(rank_).store(exchange_.next_published(), std::memory_order_release);
  return true;
}

// ---- From those of the others ----

// Small pieces that are there go together. What is taken together is given back together, so large ones do not.
bool PipelineSeat::take_some() {
  if (takings_ == takes) return false;
  const std::uint64_t enough = means_.chunk / 4;
  const std::size_t before = takings_;
  std::uint64_t bytes = 0;
  means_.batch.clear();
  for (int round = 0; round < means_.ranks; ++round) {
    const int from = plan::partner_in_round(rank_, round, means_.ranks);
    if (from == rank_ || exchange_.has_all_of(from)) continue;
    const std::uint64_t published = means_.rings.published(from).load(std::memory_order_acquire);
    while (takings_ < takes && bytes < enough && exchange_.may_take(from, published)) bytes += take_piece(from);
  }
  if (takings_ == before) return false;
  const std::uint64_t mark = number_ * takes + marks_ % takes;
  const bool is_marked = means_.copies.submit(means_.batch, means_.in, mark);
  if (is_marked) ++marks_;
  for (std::size_t i = before; i < takings_; ++i) {
    Taking& one = taking_[(first_taking_ + i) % takes];
    one.mark = mark, one.is_marked = is_marked;
  }
  return true;
}

std::uint64_t PipelineSeat::take_piece(int from) {
  const plan::ChunkPiece piece = exchange_.next_piece(from);
  const std::uint64_t block = bytes_of(Owned::recv, from);
  const std::uint64_t fits = std::min(piece.bytes, block - std::min(piece.in_block, block));
  const std::byte* const place = place_of(from, exchange_.next_take(from)) + piece.in_chunk;
  std::byte* const to = recv_at(from) + piece.in_block;
  if (fits > 0 && !memory_.receives_on_device) {
    std::memcpy(to, place, fits);
  } else if (fits > 0) {
    means_.batch.add(number(to), number(place), fits);
  }
  exchange_.take(from);
  taking_[(first_taking_ + takings_++) % takes] = {from, exchange_.next_take(from), 0, false};
  return fits;
}

bool PipelineSeat::release_one() {
  if (takings_ == 0) return false;
  const Taking& first = taking_[first_taking_];
  if (!means_.copies.is_done(means_.in, first.mark, first.is_marked)) return false;
  means_.rings.taken(rank_, first.from).store(first.next, std::memory_order_release);
  first_taking_ = (first_taking_ + 1) % takes;
  --takings_;
  return true;
}

}  // namespace quadrille::run
