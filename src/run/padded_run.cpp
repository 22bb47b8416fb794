#include "run/padded_run.hpp"

#include <algorithm>

#include "run/places.hpp"

namespace quadrille::run {
namespace {

// More than this for each of the two padded buffers is not worth it: blocks go unpadded then. Also keeps
// counts within MPI's int.
constexpr std::uint64_t most_padded_bytes = std::uint64_t{256} << 20;

std::vector<Place> padded_places(std::size_t ranks, std::size_t bytes, memory::Pool& pool) {
  std::byte* memory = pool.take(ranks * bytes);
  std::vector<Place> places;
  places.reserve(ranks);
  for (std::size_t i = 0; i < ranks; ++i) places.push_back({memory + i * bytes, bytes, bytes, 0, true});
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
      transport_(traffic.comm, traffic.me, 0, traffic.tag),
      agreement_(transport_, traffic.me, traffic.ranks) {
  for (int rank = 0; rank < traffic.ranks; ++rank) {
    send_.push_back(send_block(call_.call(), rank, traffic.me));
    recv_.push_back(block_of(call_.call().recv, rank));
  }
}

int PaddedRun::start(bool block) {
  if (agreement_.done()) return begin(block);  // in a start before: the counts are what they were
  std::uint64_t mine = 0;
  for (const Block& one : send_) mine = std::max<std::uint64_t>(mine, one.bytes());
  agreement_.begin(mine);
  phase_ = Phase::agreeing;
  return advance(block);
}

int PaddedRun::begin(bool block) {
  const std::uint64_t largest = agreement_.largest();
  phase_ = Phase::idle;
  if (largest == 0) return MPI_SUCCESS;
  const auto ranks = static_cast<std::size_t>(traffic_.ranks);
  if (largest > most_padded_bytes / ranks) {
    if (!run_) run_.emplace(call_.call(), direct_, Moving{}, traffic_, memory_);
    phase_ = Phase::unpadded;
    return run_->start(block);
  }
  if (send_places_.empty()) {
    send_places_ = padded_places(ranks, largest, memory_.send);
    recv_places_ = padded_places(ranks, largest, memory_.recv);
  }
  if (const int error = pack_all(send_, send_places_, traffic_.quiet); error != MPI_SUCCESS) return error;
  if (uniform_ == nullptr && block) {
    const int error = mpi().Alltoall(send_places_[0].address, static_cast<int>(largest), mpi().byte,
                                     recv_places_[0].address, static_cast<int>(largest), mpi().byte, traffic_.comm);
    return error != MPI_SUCCESS ? error : unpack_all(recv_places_, recv_, traffic_.quiet);
  }
  if (!run_) {
    const Binding places{send_places_, recv_places_, nullptr, largest};
    run_.emplace(places, uniform_ != nullptr ? *uniform_ : direct_, traffic_, memory_);
  }
  phase_ = Phase::padded;
  return run_->start(block);
}

int PaddedRun::advance(bool block) {
  int error = MPI_SUCCESS;
  if (phase_ == Phase::agreeing) {
    error = agreement_.advance(block);
    if (error == MPI_SUCCESS && !agreement_.done()) return error;
    if (error == MPI_SUCCESS) error = begin(block);
  }
  if (phase_ == Phase::idle) return error;
  if (error == MPI_SUCCESS && !run_->done()) error = run_->advance(block);
  if (error == MPI_SUCCESS && !run_->done()) return error;
  if (error == MPI_SUCCESS && phase_ == Phase::padded) error = unpack_all(recv_places_, recv_, traffic_.quiet);
  phase_ = Phase::idle;
  return error;
}

}  // namespace quadrille::run
