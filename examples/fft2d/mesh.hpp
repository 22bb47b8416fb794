// The mesh, its parts, and test data with a known spectrum. Without MPI.
#pragma once

#include <string>
#include <vector>

#include "common/lines.hpp"

namespace fft2d {

using examples::Complex;

// The indices [begin, begin + count) of a dimension.
struct Part {
  int begin;
  int count;
};

// Part `rank` of the `mesh` rows or columns. The sizes of the parts differ by at most one.
Part part_of(int mesh, int ranks, int rank);

// The side of the mesh in weak scaling: `base` on one rank, with a constant number of points per rank.
int weak_mesh(int base, int ranks);

// A line of numbers of absolute value 1, and its transform, whose numbers also have one absolute value. No two parts
// are alike, so that a number at a wrong place shows.
//
//   u(n) = exp(i pi n^2 / N)      its transform for even N: sqrt(N) exp(i pi / 4) exp(-i pi k^2 / N)
//   u(n) = exp(2 i pi n^2 / N)    for odd N: exp(-2 i pi (h k)^2 / N) times sqrt(N), or i sqrt(N) if N = 3 modulo 4,
//   where
//                                 h = (N + 1) / 2, the half of 1 modulo N. Both by completing the square.
//
// u(n) = u(-n), so a factor exp(2 i pi s n / N) distinguishes them; it moves the transform by s.
struct Chirp {
  std::vector<Complex> line;
  std::vector<Complex> transform;
};
Chirp chirp(int length, int shift);

// The numbers on the mesh are products of two such lines, and so is the spectrum.
struct Wave {
  explicit Wave(int mesh) : x(chirp(mesh, 1)), y(chirp(mesh, 2)) {}
  Chirp x, y;
};

// Largest and root-mean-square difference, relative to the absolute value that all expected numbers have.
struct Difference {
  double max = 0;
  double squares = 0;  // their sum
  void add(Complex found, Complex expected);
};

}  // namespace fft2d
