// A distributed 2D FFT of a square mesh, forward and back, on the meshes of Namugwanya et al. It is an ordinary MPI
// program, linked to the MPI alone. See transform.hpp for the method.
#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/engines.hpp"
#include "common/text.hpp"
#include "common/world.hpp"
#include "mesh.hpp"
#include "report.hpp"
#include "transform.hpp"

namespace fft2d {
namespace {

// Errors above this are reported with a non-zero exit status. Double precision gives about 1e-15.
constexpr double kErrorLimit = 1e-12;
constexpr int kStrongMesh = 12288;

struct Options {
  int mesh = 0;
  bool weak = false;
  bool strong = false;
  int base = 4096;
  std::string collective = "alltoallv";
  int repeat = 5;
  int warmup = 1;
  double max_seconds = 60;
  examples::EngineOptions engines;
};

int choose_mesh(const Options& options, int ranks) {
  if (options.strong) return kStrongMesh;
  return options.mesh > 0 ? options.mesh : weak_mesh(options.base, ranks);
}

const char* scaling_of(const Options& options) {
  if (options.strong) return "strong";
  return options.mesh > 0 ? "mesh" : "weak";
}

std::string mesh_text(int mesh) { return examples::format("a mesh of %d x %d", mesh, mesh); }

// Checks that need no memory for the mesh.
void check_mesh(int mesh, const Options& options, const World& world) {
  if (mesh < world.ranks) {
    throw std::runtime_error(mesh_text(mesh) + " has fewer rows than there are ranks (" + std::to_string(world.ranks) +
                             ")");
  }
  if (options.collective == "alltoall" && mesh % world.ranks != 0) {
    throw std::runtime_error(std::to_string(world.ranks) + " ranks do not divide " + mesh_text(mesh) +
                             ", as --collective alltoall wants it");
  }
}

// MPI counts with int; the last rank's part is never smaller than another's.
void check_counts(int mesh, const World& world) {
  const long largest = static_cast<long>(mesh) * part_of(mesh, world.ranks, world.ranks - 1).count;
  if (largest > INT_MAX) {
    throw std::runtime_error("a part of " + std::to_string(largest) +
                             " numbers is more than MPI can count in one call; use more ranks");
  }
}

void fill(Transform& transform, const Wave& wave, int mesh) {
  Complex* at = transform.host();
  const Part rows = transform.mine();
  for (int y = rows.begin; y < rows.begin + rows.count; ++y) {
    for (int x = 0; x < mesh; ++x) *at++ = wave.y.line[y] * wave.x.line[x];
  }
  transform.load();
}

// Collective. `squares` and `max` are this rank's sum and maximum.
Errors over_all(const Difference& mine, double expected, int mesh, const World& world) {
  double max = mine.max, squares = mine.squares;
  // MPI_MAX may lose NaN.
  if (!(max <= 1e300)) max = INFINITY;
  MPI_Allreduce(MPI_IN_PLACE, &max, 1, MPI_DOUBLE, MPI_MAX, world.comm);
  MPI_Allreduce(MPI_IN_PLACE, &squares, 1, MPI_DOUBLE, MPI_SUM, world.comm);
  return {max / expected, std::sqrt(squares) / mesh / expected};
}

Errors check_spectrum(Transform& transform, const Wave& wave, int mesh, const World& world) {
  transform.store();
  Difference difference;
  const Complex* at = transform.host();
  const Part columns = transform.mine();
  for (int y = 0; y < mesh; ++y) {
    for (int x = columns.begin; x < columns.begin + columns.count; ++x) {
      difference.add(*at++, wave.y.transform[y] * wave.x.transform[x]);
    }
  }
  return over_all(difference, mesh, mesh, world);
}

Errors check_round_trip(Transform& transform, const Wave& wave, int mesh, const World& world) {
  transform.store();
  Difference difference;
  const Complex* at = transform.host();
  const Part rows = transform.mine();
  const double points = static_cast<double>(mesh) * mesh;
  for (int y = rows.begin; y < rows.begin + rows.count; ++y) {
    for (int x = 0; x < mesh; ++x) difference.add(*at++ / points, wave.y.line[y] * wave.x.line[x]);
  }
  return over_all(difference, 1, mesh, world);
}

void keep_larger(Errors& kept, const Errors& found) {
  // This form keeps NaN.
  if (!(found.max <= kept.max)) kept.max = found.max;
  if (!(found.rms <= kept.rms)) kept.rms = found.rms;
}

struct Seconds {
  double total = 0;
  double alltoall = 0;
};

Seconds round_trip(Transform& transform, const World& world) {
  transform.take_alltoall_seconds();
  MPI_Barrier(world.comm);
  const double start = MPI_Wtime();
  transform.forward();
  transform.backward();
  const double total = MPI_Wtime() - start;
  return {total, transform.take_alltoall_seconds()};
}

// The number of timed round trips: fewer than --repeat if, at the pace of the warm-up, they would exceed --max-seconds.
int affordable(const Options& options, double warm_up_seconds, const World& world) {
  const double each = warm_up_seconds / std::max(options.warmup, 1);
  int repeat = options.repeat;
  if (options.warmup > 0 && repeat * each > options.max_seconds) {
    repeat = std::max(static_cast<int>(options.max_seconds / each), 1);
  }
  MPI_Bcast(&repeat, 1, MPI_INT, 0, world.comm);
  return repeat;
}

// Checks the spectrum before and after the timed round trips, because exchanges may change their algorithm in between.
void measure(Transform& transform, const Wave& wave, const Options& options, const World& world, Report& report) {
  const auto check_forward = [&] {
    fill(transform, wave, report.mesh);
    transform.forward();
    keep_larger(report.spectrum, check_spectrum(transform, wave, report.mesh, world));
  };
  check_forward();
  double warm_up_seconds = 0;
  std::vector<double> total, alltoall;
  int repeat = options.repeat;
  for (int i = 0; i < options.warmup + repeat; ++i) {
    if (i == options.warmup) repeat = affordable(options, warm_up_seconds, world);
    fill(transform, wave, report.mesh);
    const Seconds seconds = round_trip(transform, world);
    keep_larger(report.round_trip, check_round_trip(transform, wave, report.mesh, world));
    if (i < options.warmup) {
      warm_up_seconds += seconds.total;
    } else {
      total.push_back(seconds.total);
      alltoall.push_back(seconds.alltoall);
    }
  }
  check_forward();

  report.total_seconds.resize(total.size());
  report.alltoall_seconds.resize(total.size());
  report.alltoall_seconds_of_rank.resize(world.ranks);
  MPI_Allreduce(total.data(), report.total_seconds.data(), repeat, MPI_DOUBLE, MPI_MAX, world.comm);
  MPI_Allreduce(alltoall.data(), report.alltoall_seconds.data(), repeat, MPI_DOUBLE, MPI_MAX, world.comm);
  const double mine = examples::median(alltoall);
  MPI_Allgather(&mine, 1, MPI_DOUBLE, report.alltoall_seconds_of_rank.data(), 1, MPI_DOUBLE, world.comm);
}

Report run(const Options& options, const World& world) {
  Report report;
  report.mesh = choose_mesh(options, world.ranks);
  check_mesh(report.mesh, options, world);
  const Engines engines = examples::open_engines(options.engines, world);
  examples::check_room(room_for(report.mesh, world, engines), engines.device.get(),
                       mesh_text(report.mesh) + " on " + std::to_string(world.ranks) + " ranks", world);
  check_counts(report.mesh, world);
  report.ranks = world.ranks;
  report.scaling = scaling_of(options);
  report.collective = options.collective;
  report.device = options.engines.device;
  report.device_name = engines.device_name();
  report.fft = engines.fft();
  report.exchanged_by = engines.exchanged_by;
  const std::size_t least = part_of(report.mesh, world.ranks, 0).count;
  const std::size_t most = part_of(report.mesh, world.ranks, world.ranks - 1).count;
  report.block_bytes[0] = least * least * sizeof(Complex);
  report.block_bytes[1] = most * most * sizeof(Complex);

  const Wave wave(report.mesh);
  std::unique_ptr<Transform> transform;
  examples::on_every_rank(world, [&] {
    transform = std::make_unique<Transform>(report.mesh, options.collective == "alltoall", world, engines);
  });
  measure(*transform, wave, options, world, report);
  return report;
}

void add_options(examples::CommandLine& line, Options& options) {
  line.number("--mesh", options.mesh, 1, INT_MAX, "Points along each side of the mesh");
  line.flag("--weak", options.weak,
            "A constant number of points per rank: sides of sqrt(ranks) x --base points (the default)",
            {.excludes = {"--mesh"}});
  line.flag("--strong", options.strong, "12288 x 12288 points", {.excludes = {"--mesh", "--weak"}});
  line.number("--base", options.base, 1, 1'000'000, "With --weak: points along a side for one rank",
              {.excludes = {"--mesh", "--strong"}});
  line.choice("--collective", options.collective, {"alltoallv", "alltoall"},
              "alltoallv, or alltoall, for which the ranks must divide the mesh");
  line.number("--repeat", options.repeat, 1, 1'000'000, "Round trips to time");
  line.number("--warmup", options.warmup, 0, 1'000'000, "Round trips before the timed ones");
  line.positive("--max-seconds", options.max_seconds, "Time fewer round trips than --repeat if they would last longer");
  examples::add_engine_options(line, options.engines);
}

int program(const Options& options, const World& world) {
  const Report report = run(options, world);
  if (world.rank == 0) std::printf("%s%s\n", as_text(report).c_str(), as_json(report).c_str());
  if (within(report, kErrorLimit)) return 0;
  if (world.rank == 0) std::fprintf(stderr, "fft2d: the error is above %g\n", kErrorLimit);
  return 1;
}

}  // namespace
}  // namespace fft2d

int main(int argc, char** argv) {
  fft2d::Options options;
  examples::CommandLine line("fft2d", "Distributed 2D FFT of a square mesh, forward and back.");
  fft2d::add_options(line, options);
  return line.run(argc, argv, [&](const examples::World& world) { return fft2d::program(options, world); });
}
