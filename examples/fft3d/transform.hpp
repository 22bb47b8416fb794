// Distributed 3D FFT: FFTW or cuFFT along lines, MPI_Alltoall between ranks.
//
// The ranks form a grid of R rows and C columns. Each dimension is complete on one rank while it is
// transformed, and split in the meantime:
//
//   stage X   x complete   y split over the R rows   z split over the C columns
//   stage Y   y complete   x split over the R rows   z split over the C columns
//   stage Z   z complete   x split over the R rows   y split over the C columns
//
// From X to Y the R ranks of a column exchange, from Y to Z the C ranks of a row. This is the pencil
// decomposition. The slab decomposition is the grid 1 x P: its first exchange stays inside a rank.
//
// Extents need not divide the ranks. A part is ceil(n / ranks) long, the last parts are shorter or
// empty, and the blocks of an exchange are padded to the full part, so all have one size.
//
// Example: 4 x 5 x 6 on the grid 1 x 2. z parts {0..2} {3..5}; y parts {0..2} {3..4}. An exchange
// from Y to Z sends blocks of 4 (x) x 3 (z) x 3 (y) numbers; those to rank 1 hold 2 in y, 1 padded.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <memory>

#include "common/engines.hpp"
#include "layout.hpp"

namespace fft3d {

// The process grid. Collective.
struct Grid {
  Grid(MPI_Comm world, int rows, int columns) : rows(rows), columns(columns) {
    MPI_Comm_rank(world, &rank);
    MPI_Comm_split(world, rank / columns, rank % columns, &row);
    MPI_Comm_split(world, rank % columns, rank / columns, &column);
  }
  ~Grid() {
    MPI_Comm_free(&row);
    MPI_Comm_free(&column);
  }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  int rows, columns, rank;
  MPI_Comm row = MPI_COMM_NULL;  // the ranks of this one's row, and of its column
  MPI_Comm column = MPI_COMM_NULL;
};

// The transform of one volume size on one process grid. Not normalised, like FFTW: backward(forward(v)) is v times the
// number of voxels.
class Transform {
 public:
  virtual ~Transform() = default;

  // Copy `count` numbers from and to host memory, in the input layout before forward and after backward, in the layout
  // of the spectrum in between.
  virtual void load(const Complex* data, std::size_t count) = 0;
  virtual void store(Complex* data, std::size_t count) = 0;
  virtual void forward() = 0;
  virtual void backward() = 0;

  // The layout of the spectrum on a rank.
  virtual Layout spectrum_layout(int rank) const = 0;
  virtual std::array<std::size_t, 2> block_bytes() const = 0;
  virtual double take_alltoall_seconds() = 0;
};

// By FFTW on the host (host_transform.cpp), or by cuFFT on the device (device_transform.cpp). Throw this rank's errors.
std::unique_ptr<Transform> transform_on_host(const Extents& extents, const Grid& grid,
                                             const examples::Engines& engines);
std::unique_ptr<Transform> transform_on_device(const Extents& extents, const Grid& grid,
                                               const examples::Engines& engines);

}  // namespace fft3d
