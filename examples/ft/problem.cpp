#include "problem.hpp"

#include <charconv>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <system_error>

namespace ft {
namespace {

constexpr Complex kClassS[] = {
    {5.546087004964e+02, 4.845363331978e+02}, {5.546385409189e+02, 4.865304269511e+02},
    {5.546148406171e+02, 4.883910722336e+02}, {5.545423607415e+02, 4.901273169046e+02},
    {5.544255039624e+02, 4.917475857993e+02}, {5.542683411902e+02, 4.932597244941e+02},
};
constexpr Complex kClassW[] = {
    {5.673612178944e+02, 5.293246849175e+02}, {5.631436885271e+02, 5.282149986629e+02},
    {5.594024089970e+02, 5.270996558037e+02}, {5.560698047020e+02, 5.260027904925e+02},
    {5.530898991250e+02, 5.249400845633e+02}, {5.504159734538e+02, 5.239212247086e+02},
};
constexpr Complex kClassA[] = {
    {5.046735008193e+02, 5.114047905510e+02}, {5.059412319734e+02, 5.098809666433e+02},
    {5.069376896287e+02, 5.098144042213e+02}, {5.077892868474e+02, 5.101336130759e+02},
    {5.085233095391e+02, 5.104914655194e+02}, {5.091487099959e+02, 5.107917842803e+02},
};
constexpr Complex kClassB[] = {
    {5.177643571579e+02, 5.077803458597e+02}, {5.154521291263e+02, 5.088249431599e+02},
    {5.146409228649e+02, 5.096208912659e+02}, {5.142378756213e+02, 5.101023387619e+02},
    {5.139626667737e+02, 5.103976610617e+02}, {5.137423460082e+02, 5.105948019802e+02},
    {5.135547056878e+02, 5.107404165783e+02}, {5.133910925466e+02, 5.108576573661e+02},
    {5.132470705390e+02, 5.109577278523e+02}, {5.131197729984e+02, 5.110460304483e+02},
    {5.130070319283e+02, 5.111252433800e+02}, {5.129070537032e+02, 5.111968077718e+02},
    {5.128182883502e+02, 5.112616233064e+02}, {5.127393733383e+02, 5.113203605551e+02},
    {5.126691062020e+02, 5.113735928093e+02}, {5.126064276004e+02, 5.114218460548e+02},
    {5.125504076570e+02, 5.114656139760e+02}, {5.125002331720e+02, 5.115053595966e+02},
    {5.124551951846e+02, 5.115415130407e+02}, {5.124146770029e+02, 5.115744692211e+02},
};

constexpr Problem kProblems[] = {
    {'S', {64, 64, 64}, kClassS},
    {'W', {128, 128, 32}, kClassW},
    {'A', {256, 256, 128}, kClassA},
    {'B', {512, 256, 256}, kClassB},
};

constexpr std::uint64_t kMultiplier = 1220703125;  // 5^13
constexpr std::uint64_t kSeed = 314159265;
constexpr int kBits = 46;
constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;

// Products may wrap at 2^64: 2^46 divides it, so the lower 46 bits stay right.
std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = result * base & kMask;
    base = base * base & kMask;
  }
  return result;
}

}  // namespace

std::optional<Problem> problem_of(const std::string& name) {
  for (const Problem& problem : kProblems) {
    if (name == std::string(1, problem.name)) return problem;
  }
  return std::nullopt;
}

Problem own_problem(const std::string& size) {
  Problem problem{kOwn, {}, {}};
  const char* next = size.data();
  const char* const end = next + size.size();
  bool right = true;
  for (int d = 0; d < 3 && right; ++d) {
    if (d > 0) right = next != end && *next++ == 'x';
    const auto [after, error] = std::from_chars(next, end, problem.extents[d]);
    right = right && error == std::errc() && problem.extents[d] >= 1 && problem.extents[d] <= 65536;
    next = after;
  }
  if (!right || next != end) throw std::runtime_error("'" + size + "' is not XxYxZ, of numbers from 1 to 65536");
  return problem;
}

std::size_t point_count(const Problem& problem) {
  const auto [nx, ny, nz] = problem.extents;
  return static_cast<std::size_t>(nx) * ny * nz;
}

Generator::Generator(std::uint64_t skipped) : state_(power(kMultiplier, skipped) * kSeed & kMask) {}

double Generator::next() {
  state_ = state_ * kMultiplier & kMask;
  return std::ldexp(static_cast<double>(state_), -kBits);
}

void fill_initial(const Problem& problem, int first_plane, std::span<Complex> points) {
  const auto [nx, ny, nz] = problem.extents;
  Generator generator(std::uint64_t{2} * nx * ny * first_plane);
  for (Complex& point : points) {
    const double real = generator.next();
    point = {real, generator.next()};
  }
}

std::vector<double> step_factors(int extent) {
  constexpr double alpha = 1e-6;
  constexpr double rate = 4 * alpha * std::numbers::pi * std::numbers::pi;
  std::vector<double> factors(extent);
  for (int n = 0; n < extent; ++n) {
    const double k = n < extent / 2 ? n : n - extent;
    factors[n] = std::exp(-rate * k * k);
  }
  return factors;
}

std::array<int, 3> checksum_point(const Problem& problem, int j) {
  const auto [nx, ny, nz] = problem.extents;
  return {j % nx, 3 * j % ny, 5 * j % nz};
}

int first_wrong_step(const Problem& problem, std::span<const Complex> found) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i >= problem.checksums.size()) return static_cast<int>(i) + 1;
    const Complex published = problem.checksums[i];
    const double error = std::abs(found[i] - published) / std::abs(published);
    if (!(error <= kTolerance)) return static_cast<int>(i) + 1;
  }
  return 0;
}

double million_operations(const Problem& problem, int steps) {
  const double points = static_cast<double>(point_count(problem));
  const double log_points = std::log(points);
  const double first = 14.8157 + 7.19641 * log_points;
  const double step = 5.23518 + 7.21113 * log_points;
  return 1e-6 * points * (first + step * steps);
}

}  // namespace ft
