#include "transform.hpp"

#include <utility>

namespace fft2d {
namespace {

using examples::copy_rows;
using examples::Lines;
using examples::Rows;
using examples::wait_for;

std::size_t count_of(int mesh, Part part) {
  return static_cast<std::size_t>(mesh) * static_cast<std::size_t>(part.count);
}

std::unique_ptr<examples::LineTransform> plan(const Engines& engines, const Lines& lines, Complex* data) {
  return engines.cufft ? engines.cufft->plan(lines) : examples::plan_with_fftw(lines, data);
}

}  // namespace

examples::Room room_for(int mesh, const World& world, const Engines& engines) {
  const double part = static_cast<double>(count_of(mesh, part_of(mesh, world.ranks, world.rank))) * sizeof(Complex);
  if (!engines.device) return {2 * part, 0};
  // An exchange of device memory may copy both sides to the host. cuFFT may allocate as much as it transforms.
  return {3 * part, (engines.cufft ? 3 : 2) * part};
}

Transform::Transform(int mesh, bool same_size, const World& world, const Engines& engines)
    : mesh_(mesh),
      ranks_(world.ranks),
      same_size_(same_size),
      mine_(part_of(mesh, world.ranks, world.rank)),
      exchange_(world.comm, engines.device.get(), engines.staged),
      device_(engines.device.get()),
      bytes_(count_of(mesh, mine_) * sizeof(Complex)) {
  int rows_before = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    const Part theirs = part_of(mesh, ranks_, rank);
    parts_.push_back(theirs);
    for (Side* side : {&by_rows_, &by_columns_}) {
      side->counts.push_back(mine_.count * theirs.count);
      side->displacements.push_back(mine_.count * rows_before);
    }
    rows_before += theirs.count;
  }
  Device* const of_matrix = engines.cufft ? device_ : nullptr;
  matrix_ = Memory(bytes_, of_matrix);
  packed_ = Memory(bytes_, device_);
  if (of_matrix != device_) arrived_ = Memory(bytes_, device_);
  if (of_matrix != nullptr) host_ = Memory(bytes_, nullptr);
  exchange_.reserve(bytes_);
  along_x_ = plan(engines, {mesh, mine_.count, 1, mesh}, data());
  along_y_ = plan(engines, {mesh, mine_.count, mine_.count, 1}, data());
}

void Transform::move_blocks(bool out) {
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::size_t width = static_cast<std::size_t>(parts_[rank].count) * sizeof(Complex);
    const Rows block{packed_.device(),
                     packed_.data() + static_cast<std::size_t>(by_rows_.displacements[rank]) * sizeof(Complex), width};
    const Rows part{matrix_.device(), matrix_.data() + static_cast<std::size_t>(parts_[rank].begin) * sizeof(Complex),
                    static_cast<std::size_t>(mesh_) * sizeof(Complex)};
    copy_rows(out ? block : part, out ? part : block, width, mine_.count);
  }
  wait_for(device_);
}

void Transform::exchange(const void* from, const Side& out, void* to, const Side& in) {
  if (same_size_) {
    exchange_.alltoall(from, out.counts.front(), to);
  } else {
    exchange_.alltoallv(from, out.blocks(), to, in.blocks());
  }
}

void Transform::forward() {
  along_x_->forward(data());
  move_blocks(true);
  exchange(packed_.data(), by_rows_, arrived(), by_columns_);
  if (arrived_) {
    copy_rows(whole(matrix_), whole(arrived_), bytes_, 1);
    wait_for(device_);
  }
  along_y_->forward(data());
  wait_for(device_);
}

void Transform::backward() {
  along_y_->backward(data());
  if (arrived_) copy_rows(whole(arrived_), whole(matrix_), bytes_, 1);
  wait_for(device_);
  exchange(arrived(), by_columns_, packed_.data(), by_rows_);
  move_blocks(false);
  along_x_->backward(data());
  wait_for(device_);
}

void Transform::load() {
  if (!host_) return;
  copy_rows(whole(matrix_), whole(host_), bytes_, 1);
  wait_for(device_);
}

void Transform::store() {
  if (!host_) return;
  copy_rows(whole(host_), whole(matrix_), bytes_, 1);
  wait_for(device_);
}

}  // namespace fft2d
