// The results of a run (errors, times, a checksum of the spectrum), and their output.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout.hpp"

namespace fft3d {

// Largest and root-mean-square difference, both relative to the same measure of the reference.
struct Difference {
  double max = 0;
  double rms = 0;
};

struct Report {
  int ranks = 0;
  int rows = 0;
  int columns = 0;
  std::string decomposition;
  std::string device = "host";  // the memory of the exchanged data
  std::string fft;
  std::string exchanged_by;
  Extents extents{};
  std::array<std::size_t, 2> block_bytes{};  // of the exchanges x-y and y-z; 0: stays in a rank
  std::vector<double> total_seconds;         // per repetition, maximum over the ranks
  std::vector<double> alltoall_seconds;
  Difference round_trip;
  double parseval = 0;                 // relative difference of the energies
  std::optional<Difference> verified;  // against FFTW's serial 3D transform
  std::uint64_t checksum = 0;          // of the bits of the spectrum
};

// Collective over `world`; the result is the same on every rank. `found` and `expected` are this
// rank's numbers.
Difference compare(const Complex* found, const Complex* expected, std::size_t count, MPI_Comm world);

// The sum of |number|^2 over all ranks.
double energy(const Complex* numbers, std::size_t count, MPI_Comm world);

// A sum of hashes of (global index, bits), so the order of ranks and numbers does not matter.
std::uint64_t checksum(const Complex* spectrum, const Layout& layout, const Extents& extents, MPI_Comm world);

// Calls visit(local number, global index) for each number of a layout. The global index counts x
// fastest, as the voxels of a Volume do.
template <class Visit>
void for_each_number(const Layout& layout, const Extents& extents, Visit visit) {
  const std::array<std::size_t, 3> stride = {1, static_cast<std::size_t>(extents[0]),
                                             static_cast<std::size_t>(extents[0]) * extents[1]};
  const auto [outer, middle, inner] = layout.axes;
  std::size_t local = 0;
  for (int i = 0; i < layout.parts[outer].count; ++i) {
    for (int j = 0; j < layout.parts[middle].count; ++j) {
      for (int k = 0; k < layout.parts[inner].count; ++k) {
        visit(local++, (layout.parts[outer].begin + i) * stride[outer] +
                           (layout.parts[middle].begin + j) * stride[middle] +
                           (layout.parts[inner].begin + k) * stride[inner]);
      }
    }
  }
}

// True if every error is below `limit`; false for NaN.
bool within(const Report& report, double limit);

std::string as_text(const Report& report);
std::string as_json(const Report& report);  // one line

}  // namespace fft3d
