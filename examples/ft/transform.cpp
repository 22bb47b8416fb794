#include "transform.hpp"

#include <algorithm>
#include <new>

namespace ft {
namespace {

fftw_complex* fftw(Complex* numbers) { return reinterpret_cast<fftw_complex*>(numbers); }

// FFTW_ESTIMATE makes two runs equal in all digits: measured plans, and with them the last bits, may differ between
// runs.
fftw_plan plan_planes(Complex* data, int nx, int ny, int planes, int sign) {
  const int extents[] = {ny, nx};
  return fftw_plan_many_dft(2, extents, planes, fftw(data), nullptr, 1, ny * nx, fftw(data), nullptr, 1, ny * nx, sign,
                            FFTW_ESTIMATE);
}

fftw_plan plan_columns(Complex* data, int nz, int columns, int sign) {
  return fftw_plan_many_dft(1, &nz, columns, fftw(data), nullptr, columns, 1, fftw(data), nullptr, columns, 1, sign,
                            FFTW_ESTIMATE);
}

}  // namespace

Numbers allocate(std::size_t count) {
  auto* memory = static_cast<Complex*>(fftw_malloc(count * sizeof(Complex)));
  if (!memory) throw std::bad_alloc();
  std::fill(memory, memory + count, Complex{});
  return Numbers(memory);
}

Transform::Transform(std::array<int, 3> extents, MPI_Comm world) : extents_(extents), world_(world) {
  MPI_Comm_size(world, &ranks_);
  MPI_Comm_rank(world, &rank_);
  const auto [nx, ny, nz] = extents;
  planes_ = nz / ranks_;
  rows_ = ny / ranks_;
  count_ = static_cast<std::size_t>(planes_) * ny * nx;
  data_ = allocate(count_);
  other_ = allocate(count_);
  plane_forward_ = plan_planes(data_.get(), nx, ny, planes_, FFTW_FORWARD);
  plane_backward_ = plan_planes(data_.get(), nx, ny, planes_, FFTW_BACKWARD);
  column_forward_ = plan_columns(data_.get(), nz, rows_ * nx, FFTW_FORWARD);
  column_backward_ = plan_columns(data_.get(), nz, rows_ * nx, FFTW_BACKWARD);
}

Transform::~Transform() {
  for (fftw_plan plan : {plane_forward_, plane_backward_, column_forward_, column_backward_}) {
    fftw_destroy_plan(plan);
  }
}

void Transform::forward() {
  execute(plane_forward_);
  pack();
  exchange(other_.get(), data_.get());
  execute(column_forward_);
}

void Transform::backward() {
  execute(column_backward_);
  exchange(data_.get(), other_.get());
  unpack();
  execute(plane_backward_);
}

// The rows of a peer in one plane are adjacent, both in the plane and in the block.
void Transform::pack() {
  const std::size_t run = static_cast<std::size_t>(rows_) * extents_[0];
  for (int peer = 0; peer < ranks_; ++peer) {
    for (int z = 0; z < planes_; ++z) {
      const std::size_t in_plane = (static_cast<std::size_t>(z) * ranks_ + peer) * run;
      const std::size_t in_block = (static_cast<std::size_t>(peer) * planes_ + z) * run;
      std::copy_n(data_.get() + in_plane, run, other_.get() + in_block);
    }
  }
}

void Transform::unpack() {
  const std::size_t run = static_cast<std::size_t>(rows_) * extents_[0];
  for (int z = 0; z < planes_; ++z) {
    for (int peer = 0; peer < ranks_; ++peer) {
      const std::size_t in_plane = (static_cast<std::size_t>(z) * ranks_ + peer) * run;
      const std::size_t in_block = (static_cast<std::size_t>(peer) * planes_ + z) * run;
      std::copy_n(other_.get() + in_block, run, data_.get() + in_plane);
    }
  }
}

void Transform::execute(fftw_plan plan) {
  const double start = MPI_Wtime();
  fftw_execute(plan);
  seconds.fft += MPI_Wtime() - start;
}

void Transform::exchange(const Complex* from, Complex* to) {
  const int block = static_cast<int>(count_ / ranks_);
  const double start = MPI_Wtime();
  MPI_Alltoall(from, block, MPI_C_DOUBLE_COMPLEX, to, block, MPI_C_DOUBLE_COMPLEX, world_);
  seconds.exchange += MPI_Wtime() - start;
}

}  // namespace ft
