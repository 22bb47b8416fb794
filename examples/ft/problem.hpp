// The FT problem of the NAS Parallel Benchmarks (NPB): its sizes, its initial data, its time step
// and the checksums that NASA published for it. Without MPI.
//
// Source: D. Bailey and others, "The NAS Parallel Benchmarks", RNR-94-007, sections 2.2 (the
// generator) and 2.7 (the 3D FFT benchmark); the checksums are those of NPB 3.
//
// The problem solves du/dt = alpha * laplace(u) with alpha = 1e-6 by Fourier transform. Step t
// multiplies the spectrum of the initial data by exp(-4 alpha pi^2 (i^2 + j^2 + k^2) t), transforms
// it back and sums 1,024 of its points.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ft {

using Complex = std::complex<double>;

constexpr char kOwn = '-';

struct Problem {
  char name;                           // S, W, A or B; kOwn: a custom size
  std::array<int, 3> extents;          // x, y, z
  std::span<const Complex> checksums;  // the published ones, one a step
};

// The problem of a class; empty for an unknown class.
std::optional<Problem> problem_of(const std::string& name);

// A problem of "XxYxZ" points, each from 1 to 65,536, without checksums. Throws std::runtime_error of one line.
Problem own_problem(const std::string& size);

std::size_t point_count(const Problem& problem);

// ---- Initial data ----
//
// x' = 5^13 x mod 2^46, from 314159265; a number is x' / 2^46. The points get their real and
// imaginary parts in turn, x fastest, z slowest.
//
// Example: the third number of the sequence is 5^39 * 314159265 mod 2^46, so a rank that begins at
// number n needs no other rank: it raises 5^13 to the power n by squaring.
class Generator {
 public:
  // Starts at number `skipped` of the sequence, counted from 0.
  explicit Generator(std::uint64_t skipped);
  double next();

 private:
  std::uint64_t state_;
};

// The initial values of the planes z = `first_plane` and on, in order.
void fill_initial(const Problem& problem, int first_plane, std::span<Complex> points);

// ---- Time step ----

// exp(-4 alpha pi^2 k^2) for the `extent` indices of one dimension. Index n stands for the wave
// number n below the middle and n - extent from there on. The factor of a point is the product of
// those of its three indices.
std::vector<double> step_factors(int extent);

// ---- Checksum ----

// The points that a checksum sums: (j mod nx, 3j mod ny, 5j mod nz) for j from 1 to 1,024.
constexpr int kChecksumPoints = 1024;
std::array<int, 3> checksum_point(const Problem& problem, int j);

// The relative tolerance of a checksum: NPB's own.
constexpr double kTolerance = 1e-12;

// The first step, counted from 1, with a wrong checksum; 0 if all are right. NaN is wrong. There may be fewer checksums
// than published ones.
int first_wrong_step(const Problem& problem, std::span<const Complex> found);

// Millions of operations that NPB counts for this number of steps.
double million_operations(const Problem& problem, int steps);

}  // namespace ft
