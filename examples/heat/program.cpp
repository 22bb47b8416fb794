#include "program.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

#include "common/command_line.hpp"
#include "common/world.hpp"
#include "exchange.hpp"
#include "image.hpp"
#include "neighbors.hpp"
#include "reference.hpp"
#include "report.hpp"
#include "stencil.hpp"

namespace heat {
namespace {

using examples::World;

// A block and its place in the field. Two arrays alternate: one is read, the other written.
struct Block {
  Box place;
  Layout layout;
  std::array<std::vector<double>, 2> arrays;
  int current = 0;
};

struct Range {
  double min, max;
};

struct Seconds {
  double total = 0;
  double communication = 0;
};

// ---- Input ----

double memory_here() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// The memory on the machine of rank 0, in arrays of the size of the field: the field, two arrays for each block on this
// machine, and the arrays of the final check and output. Collective.
double count_arrays_here(const Options& options, const World& world) {
  MPI_Comm here;
  int ranks_here = 1;
  MPI_Comm_split_type(world.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  MPI_Comm_size(here, &ranks_here);
  MPI_Comm_free(&here);
  const int found = options.check || !options.output.empty() ? 1 : 0;
  const int expected = options.check ? 2 : 0;  // of the sequential program
  return 1 + 2.0 * ranks_here / world.ranks + found + expected;
}

Field read_field(const Kind& kind, const Options& options, double arrays_here) {
  try {
    Field field = kind.read(options);
    if (options.size.empty()) return field;
    const Extents size = parse_product(options.size, kind.dimensions, "size");
    check_memory(size, kind.dimensions, arrays_here, memory_here());
    return resized(field, size);
  } catch (const std::bad_alloc&) {
    throw std::runtime_error("there is not enough memory for the field");
  }
}

Extents choose_grid(const Kind& kind, const Options& options, int ranks) {
  if (!options.grid.empty()) return parse_product(options.grid, kind.dimensions, "grid");
  Extents grid{};
  MPI_Dims_create(ranks, kind.dimensions, grid.data());
  for (int d = kind.dimensions; d < 3; ++d) grid[d] = 1;
  return grid;
}

// ---- Blocks of the field ----

Box place_of(const Extents& field, const ProcessGrid& grid, int rank) {
  return block_of(field, grid.grid, grid.coordinates(rank));
}

// Moves each rank's block between the field on rank 0 and the rank's own array. A datatype on each side
// describes the points, so nothing is packed. `on_block` must not wait, because rank 0 has both ends of
// its own block.
template <typename Send, typename Receive>
void with_blocks(const Extents& extents, const ProcessGrid& grid, int ranks, Send on_field, Receive on_block,
                 const Layout& layout) {
  MPI_Datatype mine = part_type(layout.padded(), own_points(layout), grid.dimensions);
  MPI_Request request;
  on_block(mine, &request);
  for (int rank = 0; grid.rank == 0 && rank < ranks; ++rank) {
    MPI_Datatype part = part_type(extents, place_of(extents, grid, rank), grid.dimensions);
    on_field(part, rank);
    MPI_Type_free(&part);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Type_free(&mine);
}

void scatter(const Field& field, const Extents& extents, const ProcessGrid& grid, int ranks, const Layout& layout,
             double* array) {
  with_blocks(
      extents, grid, ranks,
      [&](MPI_Datatype part, int rank) { MPI_Send(field.values.data(), 1, part, rank, 0, grid.comm); },
      [&](MPI_Datatype mine, MPI_Request* request) { MPI_Irecv(array, 1, mine, 0, 0, grid.comm, request); }, layout);
}

// The whole field on rank 0; elsewhere one without points.
Field gather(const Extents& extents, const ProcessGrid& grid, int ranks, const Block& block) {
  Field field{extents, {}};
  if (grid.rank == 0) field.values.resize(point_count(extents));
  with_blocks(
      extents, grid, ranks,
      [&](MPI_Datatype part, int rank) {
        MPI_Recv(field.values.data(), 1, part, rank, 0, grid.comm, MPI_STATUS_IGNORE);
      },
      [&](MPI_Datatype mine, MPI_Request* request) {
        MPI_Isend(block.arrays[block.current].data(), 1, mine, 0, 0, grid.comm, request);
      },
      block.layout);
  return field;
}

// Both arrays begin alike, because points of a fixed boundary are never written.
Block make_block(const Field& field, const Extents& extents, const ProcessGrid& grid, int ranks) {
  Block block;
  block.place = place_of(extents, grid, grid.rank);
  block.layout = layout_of(block.place.extents, grid.dimensions);
  block.arrays[0].resize(point_count(block.layout.padded()));
  scatter(field, extents, grid, ranks, block.layout, block.arrays[0].data());
  block.arrays[1] = block.arrays[0];
  return block;
}

// Calls use(place in the field, value) for each point of the block.
template <typename Use>
void for_each_point(const Block& block, const Extents& extents, Use use) {
  const Extents padded = block.layout.padded();
  const Box own = own_points(block.layout);
  const double* values = block.arrays[block.current].data();
  const auto index = [](const Extents& array, const Extents& begin, int y, int z) {
    const auto row = static_cast<std::size_t>(begin[2] + z) * array[1] + begin[1] + y;
    return row * array[0] + begin[0];
  };
  for (int z = 0; z < own.extents[2]; ++z) {
    for (int y = 0; y < own.extents[1]; ++y) {
      const std::size_t here = index(padded, own.begin, y, z);
      const std::size_t there = index(extents, block.place.begin, y, z);
      for (int x = 0; x < own.extents[0]; ++x) use(there + x, values[here + x]);
    }
  }
}

// ---- The run ----

Seconds iterate(const Options& options, const Extents& extents, const ProcessGrid& grid, Block& block) {
  const bool evenly = divides_evenly(extents, grid.grid);
  if (collective_of(options.exchange) == std::string("neighbor_alltoall")) {
    check_one_size(block.layout, neighbor_offsets(grid.dimensions, options.stencil), evenly);
  }
  const ExchangeKind kind{options.stencil, options.exchange, options.algorithm, evenly};
  Exchange exchange(grid, block.layout, kind, {block.arrays[0].data(), block.arrays[1].data()});
  const Boundary boundary = grid.periodic ? Boundary::periodic : Boundary::fixed;
  const Box changing = changing_points(extents, block.place, block.layout, boundary);
  // Untimed: the first exchanges on a communicator set it up.
  exchange(0);
  exchange(1);
  Seconds seconds;
  MPI_Barrier(grid.comm);
  const double start = MPI_Wtime();
  for (int i = 0; i < options.iterations; ++i) {
    const double before = MPI_Wtime();
    exchange(block.current);
    seconds.communication += MPI_Wtime() - before;
    step(options.stencil, block.layout, changing, block.arrays[block.current].data(),
         block.arrays[1 - block.current].data());
    block.current = 1 - block.current;
  }
  seconds.total = MPI_Wtime() - start;
  return seconds;
}

void summarize(const Block& block, const Extents& extents, const Seconds& seconds, MPI_Comm comm, Report& report) {
  std::uint64_t checksum = 0;
  double sum = 0;
  Range range{std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()};
  for_each_point(block, extents, [&](std::size_t place, double value) {
    checksum += checksum_of(place, value);
    sum += value;
    range = {std::min(range.min, value), std::max(range.max, value)};
  });
  MPI_Allreduce(&checksum, &report.checksum, 1, MPI_UINT64_T, MPI_SUM, comm);
  MPI_Allreduce(&range.min, &report.min, 1, MPI_DOUBLE, MPI_MIN, comm);
  double most[] = {range.max, seconds.total, seconds.communication};
  MPI_Allreduce(MPI_IN_PLACE, most, 3, MPI_DOUBLE, MPI_MAX, comm);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
  report.max = most[0];
  report.total_seconds = most[1];
  report.communication_seconds = most[2];
  report.mean = sum / static_cast<double>(point_count(extents));
}

Report describe(const Kind& kind, const Options& options, const Extents& extents, const ProcessGrid& grid, int ranks) {
  Report report;
  report.program = kind.name;
  report.dimensions = kind.dimensions;
  report.extents = extents;
  report.grid = grid.grid;
  report.ranks = ranks;
  report.stencil = options.stencil;
  report.iterations = options.iterations;
  report.boundary = options.boundary;
  report.exchange = options.exchange;
  return report;
}

// The grey scale is that of the first field, so that the pictures of a series are comparable.
void write_picture(const Options& options, const Field& start, const Field& field) {
  if (options.output.empty()) return;
  const auto [low, high] = std::minmax_element(start.values.begin(), start.values.end());
  write_pgm(options.output, plane_of(field, field.extents[2] / 2), *low, *high);
}

// On rank 0: the error in the field, or "passed".
std::string check(const Kind& kind, const Options& options, const Field& start, const Field& found) {
  const Boundary boundary = options.boundary == "fixed" ? Boundary::fixed : Boundary::periodic;
  const Field expected = reference(start, kind.dimensions, options.stencil, boundary, options.iterations);
  const std::string wrong = difference(found, expected, kind.dimensions);
  return wrong.empty() ? "passed" : wrong;
}

int run(const Kind& kind, const Options& options, const World& world) {
  if (!options.algorithm.empty() && !calls_quadrille(options.exchange)) {
    throw std::runtime_error("--algorithm has no effect on --exchange " + options.exchange +
                             ": only those whose names begin with quadrille call Quadrille by name");
  }
  // Rejects a wrong name before the work. The algorithm itself is forced on the communicator of the exchange.
  if (!options.algorithm.empty() && !force_algorithm(world.comm, collective_of(options.exchange), options.algorithm))
    return 2;
  Field start;  // on rank 0
  const double arrays_here = count_arrays_here(options, world);
  examples::on_first_rank(world, [&] { start = read_field(kind, options, arrays_here); });
  Extents extents = start.extents;
  MPI_Bcast(extents.data(), 3, MPI_INT, 0, world.comm);
  const Extents shape = choose_grid(kind, options, world.ranks);
  check_grid(extents, shape, kind.dimensions, world.ranks);
  // Also written here, so that an unwritable path fails before the work.
  examples::on_first_rank(world, [&] { write_picture(options, start, start); });

  const ProcessGrid grid(world.comm, shape, kind.dimensions, options.boundary == "periodic");
  Block block = make_block(start, extents, grid, world.ranks);
  const Seconds seconds = iterate(options, extents, grid, block);
  Report report = describe(kind, options, extents, grid, world.ranks);
  summarize(block, extents, seconds, world.comm, report);

  if (options.check || !options.output.empty()) {
    const Field found = gather(extents, grid, world.ranks, block);
    examples::on_first_rank(world, [&] {
      write_picture(options, start, found);
      if (options.check) report.check = check(kind, options, start, found);
    });
  }
  if (world.rank == 0) {
    std::fputs((options.json ? as_json(report) : as_text(report)).c_str(), stdout);
  }
  int status = report.check.empty() || report.check == "passed" ? 0 : 1;
  MPI_Bcast(&status, 1, MPI_INT, 0, world.comm);
  return status;
}

void add_options(examples::CommandLine& line, const Kind& kind, Options& options) {
  const std::string numbers = kind.dimensions == 2 ? "PxQ" : "PxQxR";
  const std::string picture = kind.dimensions == 2 ? "the last field" : "the middle plane of the last field";
  line.text("--input", options.input, kind.input);
  if (kind.dimensions == 2) line.not_negative("--slice", options.slice, "Plane of a scan; default: the middle one");
  line.text("--size", options.size, "Points, " + numbers + ", sampled from the input; default: those of the input");
  line.number("--iterations", options.iterations, 0, 1'000'000'000, "Steps in time");
  line.choice("--stencil", options.stencil, kind.stencils, "Points of the stencil");
  line.choice("--boundary", options.boundary, {"periodic", "fixed"},
              "periodic, or fixed: the outermost points keep their values");
  line.text("--grid", options.grid, "Process grid, " + numbers + "; default: from MPI_Dims_create");
  line.choice("--exchange", options.exchange,
              {"alltoallw", "persistent", "sendrecv", "quadrille", "quadrille-persistent", "alltoallv", "alltoall",
               "quadrille-alltoallv", "quadrille-alltoall"},
              "alltoallw: MPI_Neighbor_alltoallw; persistent: MPI_Neighbor_alltoallw_init; "
              "sendrecv: one MPI_Sendrecv for each neighbour; quadrille, quadrille-persistent: "
              "Quadrille_Neighbor_alltoallw and its persistent form on an isomorphic neighbourhood; alltoallv, "
              "alltoall: MPI_Neighbor_alltoallv with packed blocks, or MPI_Neighbor_alltoall with packed blocks of one "
              "size; quadrille-alltoallv, quadrille-alltoall: the same with Quadrille's functions");
  line.text("--algorithm", options.algorithm,
            "With an --exchange of Quadrille: an algorithm of `quadrille list` for its collective (neighbor_alltoallw; "
            "with packed data neighbor_alltoallv or neighbor_alltoall); default: automatic");
  line.text("--output", options.output, "Write " + picture + " as a PGM image");
  line.flag("--check", options.check, "Compare every bit with the sequential program on rank 0");
  line.flag("--json", options.json, "Print one line of JSON");
}

}  // namespace

int main_of(const Kind& kind, int argc, char** argv) {
  Options options;
  options.stencil = kind.stencils.front();
  examples::CommandLine line(kind.name, kind.title);
  add_options(line, kind, options);
  return line.run(argc, argv, [&](const World& world) { return run(kind, options, world); });
}

}  // namespace heat
