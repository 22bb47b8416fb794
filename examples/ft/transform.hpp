// A distributed 3D FFT over slabs, with one MPI_Alltoall a transform.
//
//   planes    a rank has nz / P planes; x and y are complete     layout [z][y][x]
//   columns   a rank has ny / P rows of every plane; z is        layout [z][y][x]
//
// x and y are transformed in planes, z in columns. The last index of a layout is contiguous. A
// block of the exchange is [nz / P][ny / P][nx]. The blocks of all ranks, one after the other, are
// the layout of columns already, so only planes are packed and unpacked.
//
// Example: 8 x 4 x 2 points on 2 ranks. Each has one plane of 4 x 8, sends 2 rows of it to either
// rank, and has 2 rows of both planes then: z is complete.
#pragma once

#include <fftw3.h>
#include <mpi.h>

#include <array>
#include <complex>
#include <cstddef>
#include <memory>

namespace ft {

using Complex = std::complex<double>;

// FFTW's own allocation is aligned as its vector code wants it.
struct FftwFree {
  void operator()(Complex* numbers) const { fftw_free(numbers); }
};
using Numbers = std::unique_ptr<Complex[], FftwFree>;

// `count` zeros. Throws std::bad_alloc.
Numbers allocate(std::size_t count);

// Seconds of one rank.
struct Seconds {
  double exchange = 0;  // in MPI_Alltoall
  double fft = 0;       // in FFTW
};

// Not normalised, like FFTW: backward(forward(v)) is v times the number of points.
class Transform {
 public:
  // `extents` are x, y, z; the ranks of `world` must divide y and z.
  Transform(std::array<int, 3> extents, MPI_Comm world);
  ~Transform();
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;

  // Numbers of a rank, the same in both layouts.
  std::size_t count() const { return count_; }
  int first_plane() const { return planes_ * rank_; }
  int planes() const { return planes_; }
  int first_row() const { return rows_ * rank_; }
  int rows() const { return rows_; }
  std::size_t block_bytes() const { return count_ / ranks_ * sizeof(Complex); }

  // Both work on data(): planes before forward and after backward, columns in between.
  void forward();
  void backward();
  Complex* data() { return data_.get(); }

  Seconds seconds;  // of all transforms so far; the caller may reset it

 private:
  void pack();
  void unpack();
  void execute(fftw_plan plan);
  void exchange(const Complex* from, Complex* to);

  std::array<int, 3> extents_;
  MPI_Comm world_;
  int ranks_, rank_;
  int planes_, rows_;
  std::size_t count_;
  Numbers data_, other_;
  fftw_plan plane_forward_, plane_backward_, column_forward_, column_backward_;
};

}  // namespace ft
