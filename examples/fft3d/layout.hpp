// The parts of a volume on the ranks. Without MPI.
#pragma once

#include <fftw3.h>

#include <array>
#include <cstddef>
#include <memory>

#include "common/lines.hpp"
#include "volume.hpp"

namespace fft3d {

using examples::Complex;

// The indices [begin, begin + count) of a dimension.
struct Part {
  int begin;
  int count;
};

int part_length(int extent, int parts);
Part part_of(int extent, int parts, int index);

// FFTW's own allocation has the alignment that its vector code requires.
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

// The layout of a rank before the forward transform: [z][y][x], x complete, y over the rows and z over the columns of
// the process grid.
Layout input_layout(const Extents& extents, int rows, int columns, int rank);
// The part of the spectrum on a rank: z complete, x over the rows, y over the columns. The order is `axes`.
Layout spectrum_layout(const Extents& extents, int rows, int columns, int rank, const std::array<int, 3>& axes);

}  // namespace fft3d
