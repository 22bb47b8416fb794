// Distributed 2D FFT of a square mesh in slabs: lines of each rank by FFTW or cuFFT, one MPI_Alltoallv in each
// direction.
//
//   rows      a rank has some rows, [y][x], complete along x
//   columns   a rank has some columns, [y][x], complete along y
//
// Forward: the lines along x are transformed, and the rows of each peer's columns are packed into a block. The received
// blocks, one below the other, are the rank's columns in place. So nothing is unpacked, and the lines along y are
// transformed with a stride. Backward is the reverse.
//
// Example: 5 x 5 on 2 ranks. Rank 0 has rows 0, 1 and later columns 0, 1; rank 1 has 2, 3, 4. Rank 0 sends rank 1 a
// block of 2 x 3 numbers and gets one of 3 x 2.
//
// Memory:   --device host   matrix and blocks on the host
//           FFTW            matrix on the host, blocks on the device: packing copies them to the device
//           cuFFT           matrix and blocks on the device
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "common/all_to_all.hpp"
#include "common/engines.hpp"
#include "mesh.hpp"

namespace fft2d {

using examples::Device;
using examples::Engines;
using examples::Memory;
using examples::World;

// The memory that a rank needs for the transform.
examples::Room room_for(int mesh, const World& world, const Engines& engines);

// Not normalised: backward of forward is the data times the number of points.
class Transform {
 public:
  // `same_size`: with MPI_Alltoall, for which the ranks must divide the mesh. Throws this rank's errors.
  Transform(int mesh, bool same_size, const World& world, const Engines& engines);

  void forward();
  void backward();

  // The data on the host: [y][x] with the rank's rows before forward, with its columns after it. load() takes the data
  // from host(), store() writes them to host().
  Complex* host() { return reinterpret_cast<Complex*>(on_host().data()); }
  void load();
  void store();

  Part mine() const { return mine_; }
  double take_alltoall_seconds() { return exchange_.take_seconds(); }

 private:
  struct Side {
    std::vector<int> counts, displacements;
    examples::Blocks blocks() const { return {counts.data(), displacements.data()}; }
  };
  Complex* data() { return reinterpret_cast<Complex*>(matrix_.data()); }
  char* arrived() const { return arrived_ ? arrived_.data() : matrix_.data(); }
  Memory& on_host() { return host_ ? host_ : matrix_; }
  void exchange(const void* from, const Side& out, void* to, const Side& in);
  // From the rank's rows to the blocks in packed_, or back.
  void move_blocks(bool out);
  examples::Rows whole(const Memory& memory) const { return {memory.device(), memory.data(), bytes_}; }

  int mesh_, ranks_;
  bool same_size_;
  Part mine_;
  std::vector<Part> parts_;
  Side by_rows_, by_columns_;  // the blocks of rows that others have as columns, and of columns that they have as rows
  examples::AllToAll exchange_;
  Device* device_;
  std::size_t bytes_;
  Memory matrix_, packed_;
  Memory arrived_;  // received blocks, if the matrix is in other memory
  Memory host_;     // the host's copy of the matrix, if it is on the device
  std::unique_ptr<examples::LineTransform> along_x_, along_y_;
};

}  // namespace fft2d
