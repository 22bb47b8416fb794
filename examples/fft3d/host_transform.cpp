// The transform by FFTW on the host. The layouts of the stages are
//
//   stage X   [z][y][x]
//   stage Y   [x][z][y]
//   stage Z   [y][x][z]
//
// The last index of a layout is contiguous, so FFTW always works on contiguous lines. With a device, the blocks are
// copied to device memory before an exchange, and back after it.
#include <fftw3.h>

#include <algorithm>
#include <utility>

#include "common/all_to_all.hpp"
#include "transform.hpp"

namespace fft3d {
namespace {

using examples::Device;
using examples::Direction;
using examples::Engines;
using examples::Memory;

fftw_complex* fftw(Complex* numbers) { return reinterpret_cast<fftw_complex*>(numbers); }

// One exchange among the ranks of `group`: [k][b][a] with a complete and b split becomes
// [a][k][b] with b complete and a split. k stays as it is.
class Exchange {
 public:
  Exchange(MPI_Comm group, const Engines& engines, int k_count, int a_extent, int b_extent);

  void forward(const Complex* from, Complex* to);
  void backward(const Complex* from, Complex* to);

  std::size_t block_bytes() const { return ranks_ > 1 ? block_ * sizeof(Complex) : 0; }
  double take_seconds() { return exchange_.take_seconds(); }

 private:
  void alltoall(const Numbers& from, Numbers& to);

  int ranks_ = 1;
  int k_count_, a_extent_, b_extent_;
  int a_length_, b_length_;  // of a padded part
  Part b_mine_, a_mine_;
  std::size_t block_;  // numbers of a block
  Numbers by_a_, by_b_;
  Device* device_;
  Memory out_, in_;  // on the device
  examples::AllToAll exchange_;
};

class HostTransform : public Transform {
 public:
  HostTransform(const Extents& extents, const Grid& grid, const Engines& engines);
  ~HostTransform() override;
  HostTransform(const HostTransform&) = delete;
  HostTransform& operator=(const HostTransform&) = delete;

  void load(const Complex* data, std::size_t count) override { std::copy_n(data, count, data_.get()); }
  void store(Complex* data, std::size_t count) override { std::copy_n(data_.get(), count, data); }
  void forward() override;
  void backward() override;
  Layout spectrum_layout(int rank) const override {
    return fft3d::spectrum_layout(extents_, rows_, columns_, rank, {1, 0, 2});
  }
  std::array<std::size_t, 2> block_bytes() const override;
  double take_alltoall_seconds() override;

 private:
  struct Lines {
    fftw_plan forward = nullptr;
    fftw_plan backward = nullptr;
  };
  Lines plan_lines(Complex* data, int length, std::size_t lines);

  Extents extents_;
  int rows_, columns_;
  Numbers data_, other_;
  std::unique_ptr<Exchange> x_to_y_, y_to_z_;
  std::array<Lines, 3> lines_;  // indexed by axis
};

// ---- Exchange ----

Exchange::Exchange(MPI_Comm group, const Engines& engines, int k_count, int a_extent, int b_extent)
    : k_count_(k_count),
      a_extent_(a_extent),
      b_extent_(b_extent),
      device_(engines.device.get()),
      exchange_(group, engines.device.get(), engines.staged) {
  int rank;
  MPI_Comm_size(group, &ranks_);
  MPI_Comm_rank(group, &rank);
  a_length_ = part_length(a_extent, ranks_);
  b_length_ = part_length(b_extent, ranks_);
  a_mine_ = part_of(a_extent, ranks_, rank);
  b_mine_ = part_of(b_extent, ranks_, rank);
  block_ = static_cast<std::size_t>(k_count) * a_length_ * b_length_;
  by_a_ = allocate(block_ * ranks_);
  by_b_ = allocate(block_ * ranks_);
  if (device_ == nullptr || ranks_ == 1) return;
  const std::size_t bytes = block_ * ranks_ * sizeof(Complex);
  out_ = Memory(bytes, device_);
  in_ = Memory(bytes, device_);
  exchange_.reserve(bytes);
}

// A block holds [k][b][a]. Packing copies runs of a; unpacking transposes. Both directions use the
// same places of a block, so the padding keeps the zeros it was allocated with.
void Exchange::forward(const Complex* from, Complex* to) {
  for (int peer = 0; peer < ranks_; ++peer) {
    const Part a = part_of(a_extent_, ranks_, peer);
    for (int k = 0; k < k_count_; ++k) {
      for (int b = 0; b < b_mine_.count; ++b) {
        const Complex* line = from + (static_cast<std::size_t>(k) * b_mine_.count + b) * a_extent_;
        Complex* run = by_a_.get() + peer * block_ + (static_cast<std::size_t>(k) * b_length_ + b) * a_length_;
        std::copy_n(line + a.begin, a.count, run);
      }
    }
  }
  alltoall(by_a_, by_b_);
  for (int a = 0; a < a_mine_.count; ++a) {
    for (int k = 0; k < k_count_; ++k) {
      Complex* line = to + (static_cast<std::size_t>(a) * k_count_ + k) * b_extent_;
      for (int peer = 0; peer < ranks_; ++peer) {
        const Part b = part_of(b_extent_, ranks_, peer);
        const Complex* run = by_b_.get() + peer * block_ + static_cast<std::size_t>(k) * b_length_ * a_length_ + a;
        for (int i = 0; i < b.count; ++i) {
          line[b.begin + i] = run[static_cast<std::size_t>(i) * a_length_];
        }
      }
    }
  }
}

void Exchange::backward(const Complex* from, Complex* to) {
  for (int a = 0; a < a_mine_.count; ++a) {
    for (int k = 0; k < k_count_; ++k) {
      const Complex* line = from + (static_cast<std::size_t>(a) * k_count_ + k) * b_extent_;
      for (int peer = 0; peer < ranks_; ++peer) {
        const Part b = part_of(b_extent_, ranks_, peer);
        Complex* run = by_b_.get() + peer * block_ + static_cast<std::size_t>(k) * b_length_ * a_length_ + a;
        for (int i = 0; i < b.count; ++i) {
          run[static_cast<std::size_t>(i) * a_length_] = line[b.begin + i];
        }
      }
    }
  }
  alltoall(by_b_, by_a_);
  for (int peer = 0; peer < ranks_; ++peer) {
    const Part a = part_of(a_extent_, ranks_, peer);
    for (int k = 0; k < k_count_; ++k) {
      for (int b = 0; b < b_mine_.count; ++b) {
        Complex* line = to + (static_cast<std::size_t>(k) * b_mine_.count + b) * a_extent_;
        const Complex* run = by_a_.get() + peer * block_ + (static_cast<std::size_t>(k) * b_length_ + b) * a_length_;
        std::copy_n(run, a.count, line + a.begin);
      }
    }
  }
}

void Exchange::alltoall(const Numbers& from, Numbers& to) {
  if (ranks_ == 1) {
    std::copy_n(from.get(), block_, to.get());
    return;
  }
  const int count = static_cast<int>(block_);
  if (device_ == nullptr) {
    exchange_.alltoall(from.get(), count, to.get());
    return;
  }
  const std::size_t bytes = block_ * ranks_ * sizeof(Complex);
  if (bytes > 0) device_->copy(out_.data(), from.get(), bytes, Direction::to_device);
  device_->wait();
  exchange_.alltoall(out_.data(), count, in_.data());
  if (bytes > 0) device_->copy(to.get(), in_.data(), bytes, Direction::to_host);
  device_->wait();
}

// ---- Transform ----

HostTransform::HostTransform(const Extents& extents, const Grid& grid, const Engines& engines)
    : extents_(extents), rows_(grid.rows), columns_(grid.columns) {
  const auto [nx, ny, nz] = extents;
  const Layout before = input_layout(extents, grid.rows, grid.columns, grid.rank);
  const Layout after = spectrum_layout(grid.rank);
  const int z_count = before.parts[2].count;
  const int x_count = after.parts[0].count;
  const std::size_t between = static_cast<std::size_t>(x_count) * ny * z_count;
  const std::size_t largest = std::max({before.count(), between, after.count()});
  data_ = allocate(largest);
  other_ = allocate(largest);
  x_to_y_ = std::make_unique<Exchange>(grid.column, engines, z_count, nx, ny);
  y_to_z_ = std::make_unique<Exchange>(grid.row, engines, x_count, ny, nz);

  // data -> (x to y) -> other -> (y to z) -> data
  lines_[0] = plan_lines(data_.get(), nx, before.count() / nx);
  lines_[1] = plan_lines(other_.get(), ny, between / ny);
  lines_[2] = plan_lines(data_.get(), nz, after.count() / nz);
}

HostTransform::~HostTransform() {
  for (const Lines& lines : lines_) {
    if (lines.forward) fftw_destroy_plan(lines.forward);
    if (lines.backward) fftw_destroy_plan(lines.backward);
  }
}

// FFTW_ESTIMATE makes two runs equal in all bits: measured plans, and with them the last bits, may differ between runs.
HostTransform::Lines HostTransform::plan_lines(Complex* data, int length, std::size_t lines) {
  if (lines == 0) return {};
  const auto plan = [&](int sign) {
    return fftw_plan_many_dft(1, &length, static_cast<int>(lines), fftw(data), nullptr, 1, length, fftw(data), nullptr,
                              1, length, sign, FFTW_ESTIMATE);
  };
  return {plan(FFTW_FORWARD), plan(FFTW_BACKWARD)};
}

void HostTransform::forward() {
  if (lines_[0].forward) fftw_execute(lines_[0].forward);
  x_to_y_->forward(data_.get(), other_.get());
  if (lines_[1].forward) fftw_execute(lines_[1].forward);
  y_to_z_->forward(other_.get(), data_.get());
  if (lines_[2].forward) fftw_execute(lines_[2].forward);
}

void HostTransform::backward() {
  if (lines_[2].backward) fftw_execute(lines_[2].backward);
  y_to_z_->backward(data_.get(), other_.get());
  if (lines_[1].backward) fftw_execute(lines_[1].backward);
  x_to_y_->backward(other_.get(), data_.get());
  if (lines_[0].backward) fftw_execute(lines_[0].backward);
}

std::array<std::size_t, 2> HostTransform::block_bytes() const {
  return {x_to_y_->block_bytes(), y_to_z_->block_bytes()};
}

double HostTransform::take_alltoall_seconds() { return x_to_y_->take_seconds() + y_to_z_->take_seconds(); }

}  // namespace

std::unique_ptr<Transform> transform_on_host(const Extents& extents, const Grid& grid, const Engines& engines) {
  return std::make_unique<HostTransform>(extents, grid, engines);
}

}  // namespace fft3d
