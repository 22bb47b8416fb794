#include "run/padded_run.hpp"

#include <algorithm>

#include "mpi/tags.hpp"
#include "mpi/thrown.hpp"
#include "run/places.hpp"

namespace quadrille::run {
namespace {

// More than this for each of the two padded buffers is not worth it: blocks go unpadded then. Also keeps
// counts within MPI's int.
constexpr std::uint64_t most_padded_bytes = std::uint64_t{256} << 20;

std::vector<Place> padded_places(std::size_t ranks, std::size_t bytes, std::byte* memory) {
  std::vector<Place> places;
  places.reserve(ranks);
  for (std::size_t i = 0; i < ranks; ++i) places.push_back(plain_place(memory + i * bytes, bytes));
  return places;
}

}  // namespace

PaddedRun::PaddedRun(const Call& call, const plan::Schedule* uniform, const plan::Schedule& direct,
                     const Traffic& traffic, const RunMemory& memory)
    : call_(call, traffic.ranks, traffic.ranks),
      uniform_(uniform),
      direct_(direct),
      traffic_(traffic),
      memory_(memory),
      send_(blocks_of(call_.call().in_place ? call_.call().recv : call_.call().send, traffic.ranks)),
      recv_(blocks_of(call_.call().recv, traffic.ranks)),
      transport_(traffic.comm, traffic.me, traffic.tag),
      agreement_(transport_, traffic.me, traffic.ranks) {}

int PaddedRun::start(bool block) {
  if (known_) return begin(block);  // in a start before: the counts are what they were
  agreement_.begin(largest_of(send_));
  phase_ = Phase::agreeing;
  return advance(block);
}

// The largest block is known. If that needs more room than all ranks are sure to have, they ask each other.
int PaddedRun::lay_out(bool block) {
  largest_ = agreement_.largest();
  known_ = true;
  if (largest_ == 0 || largest_ > most_padded_bytes / send_.size()) return begin(block);
  const bool sure = memory_.sure.is_enough(room_bytes());
  const bool has_room = take_room();
  if (sure) return has_room ? begin(block) : mpi().err_no_mem;
  known_ = false;
  agreement_.begin(has_room ? 0 : 1);
  phase_ = Phase::asking;
  return mpi_success;
}

// Bytes that no room of any rank exceeds.
std::size_t PaddedRun::room_bytes() const {
  return largest_ *
         (uniform_ != nullptr ? std::max<std::size_t>(send_.size(), uniform_->scratch_blocks) : send_.size());
}

bool PaddedRun::take_room() {
  const std::size_t bytes = room_bytes();
  return thrown_by([&] {
           std::byte* const send = memory_.sure.send.take(bytes);
           std::byte* const recv = memory_.sure.recv.take(bytes);
           if (uniform_ != nullptr && uniform_->scratch_blocks > 0) memory_.sure.scratch.take(bytes);
           if (bytes <= memory::Pool::most_kept) memory_.sure.scratch.take(bytes);
           send_places_ = padded_places(send_.size(), largest_, send);
           recv_places_ = padded_places(send_.size(), largest_, recv);
         }) == mpi_success;
}

int PaddedRun::begin(bool block) {
  phase_ = Phase::idle;
  if (largest_ == 0) return mpi_success;
  if (largest_ > most_padded_bytes / send_.size()) {
    if (!run_) run_.emplace(call_.call(), direct_, Moving{}, traffic_, memory_);
    phase_ = Phase::unpadded;
    return run_->start(block);
  }
  if (const int error = pack_all(send_, send_places_, traffic_.quiet); error != mpi_success) return error;
  if (uniform_ == nullptr && block) {
    const int error = mpi().Alltoall(send_places_[0].address, static_cast<int>(largest_), mpi().byte,
                                     recv_places_[0].address, static_cast<int>(largest_), mpi().byte, traffic_.comm);
    return error != mpi_success ? error : unpack_all(recv_places_, recv_, traffic_.quiet);
  }
  if (!run_) {
    const Binding places{send_places_, recv_places_, nullptr, largest_};
    run_.emplace(places, uniform_ != nullptr ? *uniform_ : direct_, traffic_, memory_);
  }
  phase_ = Phase::padded;
  return run_->start(block);
}

int PaddedRun::advance(bool block) {
  int error = mpi_success;
  while ((phase_ == Phase::agreeing || phase_ == Phase::asking) && error == mpi_success) {
    error = agreement_.advance(block);
    if (error == mpi_success && !agreement_.done()) return error;
    if (error != mpi_success) break;
    if (phase_ == Phase::agreeing) {
      error = lay_out(block);
      continue;
    }
    known_ = agreement_.largest() == 0;
    memory_.sure.note(known_ ? room_bytes() : 0);
    error = known_ ? begin(block) : mpi().err_no_mem;
  }
  if (phase_ == Phase::idle) return error;
  if (error == mpi_success && !run_->done()) error = run_->advance(block);
  if (error == mpi_success && !run_->done()) return error;
  if (error == mpi_success && phase_ == Phase::padded) error = unpack_all(recv_places_, recv_, traffic_.quiet);
  phase_ = Phase::idle;
  return error;
}

}  // namespace quadrille::run
