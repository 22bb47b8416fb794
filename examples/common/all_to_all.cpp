#include "all_to_all.hpp"

#include <complex>

namespace examples {
namespace {

constexpr std::size_t number_bytes = sizeof(std::complex<double>);

// Blocks lie one after the other.
std::size_t bytes_of(const Blocks& blocks, MPI_Comm comm) {
  int ranks;
  MPI_Comm_size(comm, &ranks);
  return (static_cast<std::size_t>(blocks.displacements[ranks - 1]) +
          static_cast<std::size_t>(blocks.counts[ranks - 1])) *
         number_bytes;
}

}  // namespace

AllToAll::~AllToAll() {
  if (out_ != nullptr) device_->free_pinned(out_);
  if (in_ != nullptr) device_->free_pinned(in_);
}

void AllToAll::reserve(std::size_t bytes) {
  if (device_ == nullptr || bytes == 0) return;
  out_ = device_->allocate_pinned(bytes);
  in_ = device_->allocate_pinned(bytes);
}

template <typename Call>
void AllToAll::around(const void* from, std::size_t out_bytes, void* to, std::size_t in_bytes, Call call) {
  const double start = MPI_Wtime();
  if (device_ == nullptr) {
    call(from, to);
  } else {
    if (out_bytes > 0) device_->copy(out_, from, out_bytes, Direction::to_host);
    device_->wait();
    call(out_, in_);
    if (in_bytes > 0) device_->copy(to, in_, in_bytes, Direction::to_device);
    device_->wait();
  }
  seconds_ += MPI_Wtime() - start;
}

void AllToAll::alltoall(const void* from, int count, void* to) {
  int ranks;
  MPI_Comm_size(comm_, &ranks);
  const std::size_t bytes = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(count) * number_bytes;
  around(from, bytes, to, bytes, [&](const void* out, void* in) {
    MPI_Alltoall(out, count, MPI_C_DOUBLE_COMPLEX, in, count, MPI_C_DOUBLE_COMPLEX, comm_);
  });
}

void AllToAll::alltoallv(const void* from, const Blocks& out, void* to, const Blocks& in) {
  around(from, bytes_of(out, comm_), to, bytes_of(in, comm_), [&](const void* sent, void* received) {
    MPI_Alltoallv(sent, out.counts, out.displacements, MPI_C_DOUBLE_COMPLEX, received, in.counts, in.displacements,
                  MPI_C_DOUBLE_COMPLEX, comm_);
  });
}

}  // namespace examples
