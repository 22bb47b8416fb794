// The FT problem of the NAS Parallel Benchmarks, as an ordinary MPI program: all communication is MPI_Alltoall. See
// problem.hpp for the problem and transform.hpp for the method.
//
// Exit status: 0 the checksums are the published ones, or those of one process, 1 a checksum is wrong, 2 wrong
// arguments.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/world.hpp"
#include "problem.hpp"
#include "transform.hpp"

namespace ft {
namespace {

struct Options {
  std::string name = "S";
  std::string size;    // if not empty, instead of the class
  int iterations = 0;  // 0: those of the class
  bool check = true;   // of a custom size
};

using examples::World;

struct Result {
  std::vector<Complex> checksums;
  double total = 0;  // seconds; the largest of the ranks, as the two of `part`
  Seconds part;
  std::size_t block_bytes = 0;
};

Problem choose_problem(const Options& options, const World& world) {
  const bool is_own = !options.size.empty();
  const Problem problem = is_own ? own_problem(options.size) : *problem_of(options.name);
  const auto [nx, ny, nz] = problem.extents;
  if (ny % world.ranks != 0 || nz % world.ranks != 0) {
    throw std::runtime_error(std::to_string(world.ranks) + " ranks do not divide the " + std::to_string(ny) +
                             " rows and " + std::to_string(nz) + " planes of " +
                             (is_own ? options.size : "class " + options.name));
  }
  if (is_own) return problem;
  const int most = static_cast<int>(problem.checksums.size());
  if (options.iterations > most) {
    throw std::runtime_error("class " + options.name + " has " + std::to_string(most) + " iterations, not " +
                             std::to_string(options.iterations));
  }
  return problem;
}

// Initial data, and their spectrum in transform.data().
void begin(const Problem& problem, Transform& transform) {
  fill_initial(problem, transform.first_plane(), {transform.data(), transform.count()});
  transform.forward();
}

// One step further: `spectrum` is multiplied by the factors of a step and copied to `data`.
void evolve(const Problem& problem, const Transform& transform, Complex* spectrum, Complex* data) {
  const auto [nx, ny, nz] = problem.extents;
  const std::vector<double> along_x = step_factors(nx);
  const std::vector<double> along_y = step_factors(ny);
  const std::vector<double> along_z = step_factors(nz);
  std::size_t at = 0;
  for (int z = 0; z < nz; ++z) {
    for (int row = 0; row < transform.rows(); ++row) {
      const double line = along_z[z] * along_y[transform.first_row() + row];
      for (int x = 0; x < nx; ++x, ++at) {
        spectrum[at] *= line * along_x[x];
        data[at] = spectrum[at];
      }
    }
  }
}

// The sum of the chosen points over all ranks, normalised; the same on every rank.
Complex checksum(const Problem& problem, Transform& transform, const World& world) {
  const auto [nx, ny, nz] = problem.extents;
  Complex mine{}, sum{};
  for (int j = 1; j <= kChecksumPoints; ++j) {
    const auto [x, y, z] = checksum_point(problem, j);
    const int plane = z - transform.first_plane();
    if (plane < 0 || plane >= transform.planes()) continue;
    mine += transform.data()[(static_cast<std::size_t>(plane) * ny + y) * nx + x];
  }
  MPI_Allreduce(&mine, &sum, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, world.comm);
  return sum / static_cast<double>(point_count(problem));
}

Result run(const Problem& problem, int iterations, const World& world) {
  Transform transform(problem.extents, world.comm);
  Numbers spectrum = allocate(transform.count());
  begin(problem, transform);  // untimed: touches the memory and opens the connections

  Result result;
  transform.seconds = {};
  MPI_Barrier(world.comm);
  const double start = MPI_Wtime();
  begin(problem, transform);
  std::copy_n(transform.data(), transform.count(), spectrum.get());
  for (int step = 1; step <= iterations; ++step) {
    evolve(problem, transform, spectrum.get(), transform.data());
    transform.backward();
    result.checksums.push_back(checksum(problem, transform, world));
  }
  const double mine[] = {MPI_Wtime() - start, transform.seconds.exchange, transform.seconds.fft};
  double most[3];
  MPI_Allreduce(mine, most, 3, MPI_DOUBLE, MPI_MAX, world.comm);
  result.total = most[0];
  result.part = {most[1], most[2]};
  result.block_bytes = transform.block_bytes();
  return result;
}

// The checksums of one process.
std::vector<Complex> serial_checksums(const Problem& problem, int iterations) {
  return run(problem, iterations, {MPI_COMM_SELF, 0, 1}).checksums;
}

void print(const Problem& problem, const Result& result, const World& world) {
  const auto [nx, ny, nz] = problem.extents;
  const std::string kind = problem.name == kOwn ? " of a size of its own" : std::string(" class ") + problem.name;
  std::printf("NPB FT%s: %d x %d x %d, %zu iterations, ranks: %d, blocks of %zu B\n", kind.c_str(), nx, ny, nz,
              result.checksums.size(), world.ranks, result.block_bytes);
  for (std::size_t i = 0; i < result.checksums.size(); ++i) {
    std::printf("step %2zu  checksum %.12e %.12e\n", i + 1, result.checksums[i].real(), result.checksums[i].imag());
  }
  const double operations = million_operations(problem, static_cast<int>(result.checksums.size()));
  std::printf("total %.6f s, MPI_Alltoall %.6f s, FFT %.6f s, %.1f Mop/s\n", result.total, result.part.exchange,
              result.part.fft, operations / result.total);
}

// Compares the checksums with the published ones, or with those of one process. Returns the exit status.
int verify(const Problem& problem, const std::vector<Complex>& found) {
  const int wrong = first_wrong_step(problem, found);
  if (wrong == 0) {
    std::printf("verification successful: %zu of %zu %s\n", found.size(), problem.checksums.size(),
                problem.name == kOwn ? "checksums as one process finds them" : "published checksums");
    return 0;
  }
  const Complex published = problem.checksums[wrong - 1];
  std::printf("verification failed: the checksum of step %d should be %.12e %.12e\n", wrong, published.real(),
              published.imag());
  return 1;
}

void add_options(examples::CommandLine& line, Options& options) {
  line.choice("--class", options.name, {"S", "W", "A", "B"}, "Size of the problem: S, W, A or B");
  line.number("--iterations", options.iterations, 1, 1'000'000,
              "Steps to run, each with a checksum; default: all of the class");
  line.text("--size", options.size, "Instead of a class: XxYxZ points; rank 0 also computes the checksums alone",
            {.excludes = {"--class"}});
  line.flag("!--no-check", options.check, "With --size: skip this check of the checksums", {.needs = "--size"});
}

int program(const Options& options, const World& world) {
  Problem problem = choose_problem(options, world);
  const int all = problem.name == kOwn ? 6 : static_cast<int>(problem.checksums.size());
  const int iterations = options.iterations == 0 ? all : options.iterations;
  const Result result = run(problem, iterations, world);
  if (world.rank == 0) print(problem, result, world);
  std::vector<Complex> expected;
  if (problem.name == kOwn) {
    if (!options.check) return 0;
    expected.resize(iterations);
    if (world.rank == 0) expected = serial_checksums(problem, iterations);
    MPI_Bcast(expected.data(), iterations, MPI_C_DOUBLE_COMPLEX, 0, world.comm);
    problem.checksums = expected;
  }
  // The checksums are the same on every rank, so all ranks end with the same status.
  if (world.rank == 0) return verify(problem, result.checksums);
  return first_wrong_step(problem, result.checksums) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ft

int main(int argc, char** argv) {
  ft::Options options;
  examples::CommandLine line("ft", "The FT problem of the NAS Parallel Benchmarks.");
  ft::add_options(line, options);
  return line.run(argc, argv, [&](const examples::World& world) { return ft::program(options, world); });
}
