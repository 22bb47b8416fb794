// The mesh, its parts, and numbers on it whose spectrum is known. No MPI here.
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

// Part `rank` of `mesh` rows, or columns, over the ranks: all parts are of one size, or of two that differ by one.
Part part_of(int mesh, int ranks, int rank);

// The side of the mesh in weak scaling: `base` on one rank, and as many points for each rank as there.
int weak_mesh(int base, int ranks);

// A line of numbers of absolute value 1, no two parts of which are alike, and its transform, the numbers of which all
// have one absolute value as well: a number at a wrong place, of either of them, shows.
//
//   u(n) = exp(i pi n^2 / N)      its transform for even N: sqrt(N) exp(i pi / 4) exp(-i pi k^2 / N)
//   u(n) = exp(2 i pi n^2 / N)    for odd N: exp(-2 i pi (h k)^2 / N) times sqrt(N), or i sqrt(N) if N = 3 modulo 4,
//   where
//                                 h = (N + 1) / 2, the half of 1 modulo N. Both by completing the square.
//
// u(n) = u(-n), so a factor exp(2 i pi s n / N) tells them apart; it moves the transform by s.
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
