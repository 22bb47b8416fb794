// A distributed 3D FFT of a real scan, forward and back. It is an ordinary MPI program, linked to the MPI alone, and
// sends with MPI_Alltoall. See transform.hpp for the method.
#include <fftw3.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/engines.hpp"
#include "common/world.hpp"
#include "report.hpp"
#include "transform.hpp"
#include "volume.hpp"

namespace fft3d {
namespace {

// Errors above this are reported with a non-zero exit status. Double precision gives about 1e-15.
constexpr double kErrorLimit = 1e-12;

struct Options {
  std::string input;
  std::string decomposition = "slab";
  std::string size;
  std::string grid;
  int repeat = 10;
  int warmup = 3;
  double max_seconds = 60;
  bool verify = false;
  examples::EngineOptions engines;
};

using examples::World;

// Reads numbers joined by 'x', for example 64x64x64.
bool parse_product(const std::string& text, int* numbers, int count) {
  const std::string pattern = count == 3 ? "%dx%dx%d%n" : "%dx%d%n";
  int end = 0;
  const int got = count == 3 ? std::sscanf(text.c_str(), pattern.c_str(), numbers, numbers + 1, numbers + 2, &end)
                             : std::sscanf(text.c_str(), pattern.c_str(), numbers, numbers + 1, &end);
  return got == count && end == static_cast<int>(text.size()) &&
         std::all_of(numbers, numbers + count, [](int n) { return n >= 1; });
}

// The process grid: rows, columns.
std::array<int, 2> choose_grid(const Options& options, int ranks) {
  std::array<int, 2> grid{0, 0};
  if (options.decomposition == "slab") {
    if (!options.grid.empty()) throw std::runtime_error("--grid is for --decomposition pencil");
    return {1, ranks};
  }
  if (options.grid.empty()) {
    MPI_Dims_create(ranks, 2, grid.data());
    return grid;
  }
  if (!parse_product(options.grid, grid.data(), 2)) {
    throw std::runtime_error("'" + options.grid + "' is not a grid such as 2x4");
  }
  const long places = static_cast<long>(grid[0]) * grid[1];
  if (places != ranks) {
    throw std::runtime_error("the grid " + options.grid + " has " + std::to_string(places) + " places, but there are " +
                             std::to_string(ranks) + " ranks");
  }
  return grid;
}

// MPI_Alltoall and MPI_Send count with int. Every rank checks rank 0's part, the largest, and so comes to the same
// result.
void check_counts(const Extents& extents, int rows, int columns) {
  const std::size_t largest = std::max(input_layout(extents, rows, columns, 0).count(),
                                       spectrum_layout(extents, rows, columns, 0, {2, 1, 0}).count());
  if (largest > INT_MAX) {
    throw std::runtime_error("a part of " + std::to_string(largest) +
                             " numbers is more than MPI can count in one call; use more ranks");
  }
}

// Reads the scan and resamples it to the requested size. On rank 0 only.
Volume load_volume(const Options& options) {
  Extents wanted{};
  if (!options.size.empty() && !parse_product(options.size, wanted.data(), 3)) {
    throw std::runtime_error("'" + options.size + "' is not a size such as 64x64x64");
  }
  Volume volume = read_nifti(options.input);
  if (!options.size.empty()) volume = resample(volume, wanted);
  const auto filled = [](double voxel) { return voxel != 0; };
  if (!std::any_of(volume.voxels.begin(), volume.voxels.end(), filled)) {
    throw std::runtime_error(options.input + ": all voxels are zero at this size");
  }
  return volume;
}

// Rank 0 does work that can fail. Its failure throws on every rank, with the message on rank 0 only.
template <class Work>
void on_rank_0(const World& world, Work work) {
  std::string trouble;
  int failed = 0;
  if (world.rank == 0) {
    try {
      work();
    } catch (const std::exception& error) {
      trouble = error.what();
      failed = 1;
    }
  }
  MPI_Bcast(&failed, 1, MPI_INT, 0, world.comm);
  if (failed) throw std::runtime_error(trouble);
}

// Rank 0 sends every rank its part of the volume, in the layout of the first stage.
void distribute(const Volume& volume, const Extents& extents, int rows, int columns, const World& world,
                Complex* mine) {
  if (world.rank != 0) {
    const std::size_t count = input_layout(extents, rows, columns, world.rank).count();
    MPI_Recv(mine, static_cast<int>(count), MPI_C_DOUBLE_COMPLEX, 0, 0, world.comm, MPI_STATUS_IGNORE);
    return;
  }
  for (int rank = world.ranks - 1; rank >= 0; --rank) {
    const Layout layout = input_layout(extents, rows, columns, rank);
    std::vector<Complex> part(layout.count());
    for_each_number(layout, extents,
                    [&](std::size_t local, std::size_t global) { part[local] = volume.voxels[global]; });
    if (rank == 0) {
      std::copy(part.begin(), part.end(), mine);
    } else {
      MPI_Send(part.data(), static_cast<int>(part.size()), MPI_C_DOUBLE_COMPLEX, rank, 0, world.comm);
    }
  }
}

// Rank 0 transforms the whole volume with FFTW alone and sends every rank the expected part of the spectrum.
Difference verify(const Volume& volume, const Extents& extents, const Transform& transform, const World& world,
                  const Complex* spectrum) {
  const std::size_t count = transform.spectrum_layout(world.rank).count();
  std::vector<Complex> expected(count);
  if (world.rank == 0) {
    Numbers whole = allocate(voxel_count(extents));
    auto* numbers = reinterpret_cast<fftw_complex*>(whole.get());
    // FFTW counts the last dimension fastest.
    fftw_plan plan =
        fftw_plan_dft_3d(extents[2], extents[1], extents[0], numbers, numbers, FFTW_FORWARD, FFTW_ESTIMATE);
    std::copy(volume.voxels.begin(), volume.voxels.end(), whole.get());
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    for (int rank = world.ranks - 1; rank >= 0; --rank) {
      const Layout layout = transform.spectrum_layout(rank);
      expected.resize(layout.count());
      for_each_number(layout, extents, [&](std::size_t local, std::size_t global) { expected[local] = whole[global]; });
      if (rank == 0) break;
      MPI_Send(expected.data(), static_cast<int>(expected.size()), MPI_C_DOUBLE_COMPLEX, rank, 0, world.comm);
    }
  } else {
    MPI_Recv(expected.data(), static_cast<int>(count), MPI_C_DOUBLE_COMPLEX, 0, 0, world.comm, MPI_STATUS_IGNORE);
  }
  return compare(spectrum, expected.data(), count, world.comm);
}

struct Seconds {
  double total = 0;
  double alltoall = 0;
};

Seconds round_trip(Transform& transform, const std::vector<Complex>& input, const World& world) {
  transform.load(input.data(), input.size());
  MPI_Barrier(world.comm);
  transform.take_alltoall_seconds();
  const double start = MPI_Wtime();
  transform.forward();
  transform.backward();
  const double total = MPI_Wtime() - start;
  return {total, transform.take_alltoall_seconds()};
}

// Warms up. Returns the number of timed round trips: fewer than --repeat if, at the pace of the warm-up, they would
// exceed --max-seconds.
int warm_up(Transform& transform, const std::vector<Complex>& input, const Options& options, const World& world) {
  const double start = MPI_Wtime();
  for (int i = 0; i < options.warmup; ++i) round_trip(transform, input, world);
  const double each = (MPI_Wtime() - start) / std::max(options.warmup, 1);
  int repeat = options.repeat;
  if (options.warmup > 0 && repeat * each > options.max_seconds) {
    repeat = std::max(static_cast<int>(options.max_seconds / each), 1);
  }
  MPI_Bcast(&repeat, 1, MPI_INT, 0, world.comm);
  return repeat;
}

// Repeats the round trip and records, for each repetition, the maximum over the ranks.
void measure(Transform& transform, const std::vector<Complex>& input, const Options& options, const World& world,
             Report& report) {
  const int repeat = warm_up(transform, input, options, world);
  std::vector<double> total, alltoall;
  for (int i = 0; i < repeat; ++i) {
    const Seconds seconds = round_trip(transform, input, world);
    total.push_back(seconds.total);
    alltoall.push_back(seconds.alltoall);
  }
  report.total_seconds.resize(total.size());
  report.alltoall_seconds.resize(total.size());
  MPI_Allreduce(total.data(), report.total_seconds.data(), repeat, MPI_DOUBLE, MPI_MAX, world.comm);
  MPI_Allreduce(alltoall.data(), report.alltoall_seconds.data(), repeat, MPI_DOUBLE, MPI_MAX, world.comm);
}

Report run(const Options& options, const World& world) {
  const auto [rows, columns] = choose_grid(options, world.ranks);
  Volume volume;
  on_rank_0(world, [&] { volume = load_volume(options); });
  Extents extents = volume.extents;
  MPI_Bcast(extents.data(), 3, MPI_INT, 0, world.comm);

  check_counts(extents, rows, columns);
  const examples::Engines engines = examples::open_engines(options.engines, world);
  const Grid grid(world.comm, rows, columns);
  std::unique_ptr<Transform> transform;
  examples::on_every_rank(
      world, [&] { transform = (engines.cufft ? transform_on_device : transform_on_host)(extents, grid, engines); });
  const Layout before = input_layout(extents, rows, columns, world.rank);
  const Layout after = transform->spectrum_layout(world.rank);
  const double voxels = static_cast<double>(voxel_count(extents));
  Report report;
  report.ranks = world.ranks;
  report.rows = rows;
  report.columns = columns;
  report.decomposition = options.decomposition;
  report.device = options.engines.device;
  report.fft = engines.fft();
  report.exchanged_by = engines.exchanged_by;
  report.extents = extents;
  report.block_bytes = transform->block_bytes();
  // Rank 0's own parts are never smaller than another's, so its block sizes are the largest.
  MPI_Bcast(report.block_bytes.data(), sizeof report.block_bytes, MPI_BYTE, 0, world.comm);

  std::vector<Complex> input(before.count());
  distribute(volume, extents, rows, columns, world, input.data());
  measure(*transform, input, options, world, report);

  // The last repetition left the round trip of the input in place.
  Numbers data = allocate(std::max(before.count(), after.count()));
  transform->store(data.get(), before.count());
  for (std::size_t i = 0; i < before.count(); ++i) data[i] /= voxels;
  report.round_trip = compare(data.get(), input.data(), before.count(), world.comm);

  transform->load(input.data(), before.count());
  transform->forward();
  transform->store(data.get(), after.count());
  const double energy_in = energy(input.data(), before.count(), world.comm);
  const double energy_out = energy(data.get(), after.count(), world.comm) / voxels;
  report.parseval = std::abs(energy_out - energy_in) / energy_in;
  report.checksum = checksum(data.get(), after, extents, world.comm);
  if (options.verify) report.verified = verify(volume, extents, *transform, world, data.get());
  return report;
}

void add_options(examples::CommandLine& line, Options& options) {
  line.text("--input", options.input, "The scan, a NIfTI-1 file (.nii or .nii.gz)", {.required = true});
  line.choice("--decomposition", options.decomposition, {"slab", "pencil"}, "slab or pencil");
  line.text("--grid", options.grid, "Process grid of pencils, RxC; default: from MPI_Dims_create");
  line.text("--size", options.size, "Size after resampling, NxNxN; default: the size of the scan");
  line.number("--repeat", options.repeat, 1, 1'000'000, "Round trips to time");
  line.number("--warmup", options.warmup, 0, 1'000'000, "Round trips before the timed ones");
  line.positive("--max-seconds", options.max_seconds, "Time fewer round trips than --repeat if they would last longer");
  line.flag("--verify", options.verify, "Compare the spectrum with a serial 3D transform on rank 0");
  examples::add_engine_options(line, options.engines);
}

int program(const Options& options, const World& world) {
  const Report report = run(options, world);
  if (world.rank == 0) std::printf("%s%s\n", as_text(report).c_str(), as_json(report).c_str());
  if (within(report, kErrorLimit)) return 0;
  if (world.rank == 0) std::fprintf(stderr, "fft3d: the error is above %g\n", kErrorLimit);
  return 1;
}

}  // namespace
}  // namespace fft3d

int main(int argc, char** argv) {
  fft3d::Options options;
  examples::CommandLine line("fft3d", "Distributed 3D FFT of a scan, forward and back.");
  fft3d::add_options(line, options);
  return line.run(argc, argv, [&](const examples::World& world) { return fft3d::program(options, world); });
}
