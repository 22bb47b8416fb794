#include "mesh.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fft2d {
namespace {

// exp(2 i pi part / whole)
Complex turn(long part, long whole) {
  return std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

Part part_of(int mesh, int ranks, int rank) {
  const auto begin = [&](int of) { return static_cast<int>(static_cast<long>(mesh) * of / ranks); };
  return {begin(rank), begin(rank + 1) - begin(rank)};
}

int weak_mesh(int base, int ranks) {
  return static_cast<int>(std::floor(std::sqrt(static_cast<double>(ranks)) * base));
}

Chirp chirp(int length, int shift) {
  Chirp made;
  const long n = length;
  const bool even = n % 2 == 0;
  // Whole numbers, so that angles are exact however long the line is.
  const long whole = even ? 2 * n : n;
  const long half = even ? 1 : (n + 1) / 2;
  Complex factor = std::sqrt(static_cast<double>(n));
  if (even) factor *= turn(1, 8);
  if (n % 4 == 3) factor *= Complex(0, 1);
  for (long i = 0; i < n; ++i) {
    made.line.push_back(turn(i * i % whole, whole) * turn(i * shift % n, n));
    const long k = ((i - shift) % n + n) % n;
    const long square = (half * k % whole) * (half * k % whole) % whole;
    made.transform.push_back(factor * turn(whole - square, whole));
  }
  return made;
}

void Difference::add(Complex found, Complex expected) {
  const double difference = std::abs(found - expected);
  // This form keeps NaN, so that the final check sees it.
  if (!(difference <= max)) max = difference;
  squares += difference * difference;
}

}  // namespace fft2d
