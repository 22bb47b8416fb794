// Distributed 3D FFT: serial FFTW along lines, MPI_Alltoall between ranks.
//
// The ranks form a grid of R rows and C columns. Each dimension is complete on one rank while it is
// transformed, and split in the meantime:
//
//   stage X   x complete   y split over the R rows      z split over the C columns   layout
//   [z][y][x] stage Y   y complete   x split over the R rows      z split over the C columns layout
//   [x][z][y] stage Z   z complete   x split over the R rows      y split over the C columns layout
//   [y][x][z]
//
// From X to Y the R ranks of a column exchange, from Y to Z the C ranks of a row. The last index of
// a layout is contiguous, so FFTW always works on contiguous lines. This is the pencil
// decomposition. The slab decomposition is the grid 1 x P: its first exchange stays inside a rank.
//
// Extents need not divide the ranks. A part is ceil(n / ranks) long, the last parts are shorter or
// empty, and the blocks of an exchange are padded to the full part, so all have one size.
//
// Example: 4 x 5 x 6 on the grid 1 x 2. z parts {0..2} {3..5}; y parts {0..2} {3..4}. An exchange
// from Y to Z sends blocks of 4 (x) x 3 (z) x 3 (y) numbers; those to rank 1 hold 2 in y, 1 padded.
#pragma once

#include <fftw3.h>
#include <mpi.h>

#include <array>
#include <complex>
#include <cstddef>
#include <memory>

#include "volume.hpp"

namespace fft3d {

using Complex = std::complex<double>;

// The indices [begin, begin + count) of a dimension.
struct Part {
  int begin;
  int count;
};

int part_length(int extent, int parts);
Part part_of(int extent, int parts, int index);

// FFTW's own allocation is aligned as its vector code wants it.
struct FftwFree {
  void operator()(Complex* numbers) const { fftw_free(numbers); }
};
using Numbers = std::unique_ptr<Complex[], FftwFree>;
Numbers allocate(std::size_t count);

// An array distributed in one stage: it holds the global indices of `parts` (x, y, z).
// Local number (a, b, c), in the axis order of the stage, is at [(a * size(b) + b) * size(c) + c].
struct Layout {
  std::array<int, 3> axes;    // outermost to contiguous: 0 is x, 1 is y, 2 is z
  std::array<Part, 3> parts;  // indexed by axis
  std::size_t count() const;
};

// The stage X layout of a rank: where the volume is before the forward transform.
Layout input_layout(const Extents& extents, int rows, int columns, int rank);
// The stage Z layout of a rank: where the spectrum is after it.
Layout spectrum_layout(const Extents& extents, int rows, int columns, int rank);

// One exchange among the ranks of `group`: [k][b][a] with a complete and b split becomes
// [a][k][b] with b complete and a split. k stays as it is.
class Exchange {
 public:
  Exchange(MPI_Comm group, int k_count, int a_extent, int b_extent);

  void forward(const Complex* from, Complex* to);
  void backward(const Complex* from, Complex* to);

  std::size_t block_bytes() const { return ranks_ > 1 ? block_ * sizeof(Complex) : 0; }
  // Seconds spent in MPI_Alltoall since the last call of this function.
  double take_seconds();

 private:
  void alltoall(const Numbers& from, Numbers& to);

  MPI_Comm group_;
  int ranks_;
  int k_count_, a_extent_, b_extent_;
  int a_length_, b_length_;  // of a padded part
  Part b_mine_, a_mine_;
  std::size_t block_;  // numbers of a block
  Numbers by_a_, by_b_;
  double seconds_ = 0;
};

// The transform of one volume size on one process grid. Not normalised, like FFTW:
// backward(forward(v)) is v times the number of voxels.
class Transform {
 public:
  Transform(const Extents& extents, int rows, int columns, MPI_Comm world);
  ~Transform();
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;

  // Both work on data(): in the stage X layout before forward, in stage Z after it.
  void forward();
  void backward();
  Complex* data() { return data_.get(); }

  std::array<std::size_t, 2> block_bytes() const;
  double take_alltoall_seconds();

 private:
  struct Lines {
    fftw_plan forward = nullptr;
    fftw_plan backward = nullptr;
  };
  Lines plan_lines(Complex* data, int length, std::size_t lines);

  MPI_Comm row_ = MPI_COMM_NULL;
  MPI_Comm column_ = MPI_COMM_NULL;
  Numbers data_, other_;
  std::unique_ptr<Exchange> x_to_y_, y_to_z_;
  std::array<Lines, 3> lines_;  // indexed by axis
};

}  // namespace fft3d
