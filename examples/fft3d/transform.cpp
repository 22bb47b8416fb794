#include "transform.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace fft3d {
namespace {

fftw_complex* fftw(Complex* numbers) { return reinterpret_cast<fftw_complex*>(numbers); }

Layout make_layout(std::array<int, 3> axes, Part x, Part y, Part z) {
  return Layout{axes, {x, y, z}};
}

}  // namespace

int part_length(int extent, int parts) { return (extent + parts - 1) / parts; }

Part part_of(int extent, int parts, int index) {
  const int length = part_length(extent, parts);
  const int begin = static_cast<int>(std::min<long>(extent, static_cast<long>(length) * index));
  return {begin, std::min(length, extent - begin)};
}

Numbers allocate(std::size_t count) {
  // FFTW may return null for zero numbers; an idle rank still needs an address.
  count = std::max<std::size_t>(count, 1);
  auto* memory = static_cast<Complex*>(fftw_malloc(count * sizeof(Complex)));
  if (!memory) throw std::bad_alloc();
  std::fill(memory, memory + count, Complex{});
  return Numbers(memory);
}

std::size_t Layout::count() const {
  return static_cast<std::size_t>(parts[0].count) * parts[1].count * parts[2].count;
}

Layout input_layout(const Extents& extents, int rows, int columns, int rank) {
  return make_layout({2, 1, 0}, {0, extents[0]}, part_of(extents[1], rows, rank / columns),
                     part_of(extents[2], columns, rank % columns));
}

Layout spectrum_layout(const Extents& extents, int rows, int columns, int rank) {
  return make_layout({1, 0, 2}, part_of(extents[0], rows, rank / columns),
                     part_of(extents[1], columns, rank % columns), {0, extents[2]});
}

// ---- Exchange ----

Exchange::Exchange(MPI_Comm group, int k_count, int a_extent, int b_extent)
    : group_(group), k_count_(k_count), a_extent_(a_extent), b_extent_(b_extent) {
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
}

// A block holds [k][b][a]. Packing copies runs of a; unpacking transposes. Both directions use the
// same places of a block, so the padding keeps the zeros it was allocated with.
void Exchange::forward(const Complex* from, Complex* to) {
  for (int peer = 0; peer < ranks_; ++peer) {
    const Part a = part_of(a_extent_, ranks_, peer);
    for (int k = 0; k < k_count_; ++k) {
      for (int b = 0; b < b_mine_.count; ++b) {
        const Complex* line = from + (static_cast<std::size_t>(k) * b_mine_.count + b) * a_extent_;
        Complex* run =
            by_a_.get() + peer * block_ + (static_cast<std::size_t>(k) * b_length_ + b) * a_length_;
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
        const Complex* run =
            by_b_.get() + peer * block_ + static_cast<std::size_t>(k) * b_length_ * a_length_ + a;
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
        Complex* run =
            by_b_.get() + peer * block_ + static_cast<std::size_t>(k) * b_length_ * a_length_ + a;
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
        const Complex* run =
            by_a_.get() + peer * block_ + (static_cast<std::size_t>(k) * b_length_ + b) * a_length_;
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
  const double start = MPI_Wtime();
  MPI_Alltoall(from.get(), count, MPI_C_DOUBLE_COMPLEX, to.get(), count, MPI_C_DOUBLE_COMPLEX,
               group_);
  seconds_ += MPI_Wtime() - start;
}

double Exchange::take_seconds() { return std::exchange(seconds_, 0.0); }

// ---- Transform ----

Transform::Transform(const Extents& extents, int rows, int columns, MPI_Comm world) {
  int rank;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_split(world, rank / columns, rank % columns, &row_);
  MPI_Comm_split(world, rank % columns, rank / columns, &column_);

  const auto [nx, ny, nz] = extents;
  const Layout before = input_layout(extents, rows, columns, rank);
  const Layout after = spectrum_layout(extents, rows, columns, rank);
  const int z_count = before.parts[2].count;
  const int x_count = after.parts[0].count;
  const std::size_t between = static_cast<std::size_t>(x_count) * ny * z_count;
  const std::size_t largest = std::max({before.count(), between, after.count()});
  data_ = allocate(largest);
  other_ = allocate(largest);
  x_to_y_ = std::make_unique<Exchange>(column_, z_count, nx, ny);
  y_to_z_ = std::make_unique<Exchange>(row_, x_count, ny, nz);

  // data -> (x to y) -> other -> (y to z) -> data
  lines_[0] = plan_lines(data_.get(), nx, before.count() / nx);
  lines_[1] = plan_lines(other_.get(), ny, between / ny);
  lines_[2] = plan_lines(data_.get(), nz, after.count() / nz);
}

Transform::~Transform() {
  for (const Lines& lines : lines_) {
    if (lines.forward) fftw_destroy_plan(lines.forward);
    if (lines.backward) fftw_destroy_plan(lines.backward);
  }
  MPI_Comm_free(&row_);
  MPI_Comm_free(&column_);
}

// FFTW_ESTIMATE, because a measured plan may differ from run to run, and with it the last bits of
// the result. Two runs of this program can so be compared bit for bit.
Transform::Lines Transform::plan_lines(Complex* data, int length, std::size_t lines) {
  if (lines == 0) return {};
  const auto plan = [&](int sign) {
    return fftw_plan_many_dft(1, &length, static_cast<int>(lines), fftw(data), nullptr, 1, length,
                              fftw(data), nullptr, 1, length, sign, FFTW_ESTIMATE);
  };
  return {plan(FFTW_FORWARD), plan(FFTW_BACKWARD)};
}

void Transform::forward() {
  if (lines_[0].forward) fftw_execute(lines_[0].forward);
  x_to_y_->forward(data_.get(), other_.get());
  if (lines_[1].forward) fftw_execute(lines_[1].forward);
  y_to_z_->forward(other_.get(), data_.get());
  if (lines_[2].forward) fftw_execute(lines_[2].forward);
}

void Transform::backward() {
  if (lines_[2].backward) fftw_execute(lines_[2].backward);
  y_to_z_->backward(data_.get(), other_.get());
  if (lines_[1].backward) fftw_execute(lines_[1].backward);
  x_to_y_->backward(other_.get(), data_.get());
  if (lines_[0].backward) fftw_execute(lines_[0].backward);
}

std::array<std::size_t, 2> Transform::block_bytes() const {
  return {x_to_y_->block_bytes(), y_to_z_->block_bytes()};
}

double Transform::take_alltoall_seconds() {
  return x_to_y_->take_seconds() + y_to_z_->take_seconds();
}

}  // namespace fft3d
