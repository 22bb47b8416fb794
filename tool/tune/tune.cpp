// Idea    For a row of block sizes, batches of calls go one way and the other in turn. A batch
//         takes what its slowest rank takes; of the batches the median counts; best_cut() says where to switch.
//         First the inbox against the single copy (through the shared heap if all ranks reach it,
//         else by the way that private memory takes), then the ring against CMA, with private
//         memory. The send buffer is written before every other call, which is part of the time of both
//         ways.
// Cost    Some seconds. The sizes include some that are not powers of two.
#include "tool/tune/tune.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "abi/functions.hpp"
#include "memory/measured_buffers.hpp"
#include "sys/sys.hpp"
#include "team/config.hpp"
#include "team/switch_points.hpp"
#include "team/team.hpp"
#include "tool/bench/device/session.hpp"
#include "tool/bench/options.hpp"
#include "tool/bench/report.hpp"
#include "tool/bench/status.hpp"
#include "tool/bench/world.hpp"
#include "tool/launch/launcher.hpp"
#include "tool/launch/process.hpp"
#include "tool/line/progress.hpp"
#include "tool/tune/batch.hpp"
#include "tool/tune/tune_algorithms.hpp"
#include "tool/tune/tune_inside.hpp"
#include "tool/tune/tune_model.hpp"
#include "tool/tune/tune_neighbors.hpp"
#include "tool/tune/uniform.hpp"
#include "tuner/contest.hpp"

namespace quadrille::tools {
namespace {

constexpr double tuning_batch_seconds = 0.001;

const std::vector<std::size_t> small_sizes = {256,  384,  512,  768,  1000, 1024, 1536,
                                              2000, 2048, 3000, 3072, 3584, 4000, 4096};
const std::vector<std::size_t> large_sizes = {5000,  6144,  8192,  12000,  16384,  24000, 32768,
                                              48000, 65536, 98304, 131072, 200000, 262144};

class Tuner {
 public:
  Tuner(const TuneOptions& options, team::Team& team)
      : options_(options), team_(team), group_(team.group), progress_(group_.me == 0) {}

  // `crowded` of the entry is known already.
  void run(choose::TuningEntry& entry) {
    const bool shared = group_.reach().heaps_mapped;
    if (group_.me == 0) {
      fmt::print("{} ranks, {}; large blocks {}\n", group_.ranks,
                 entry.crowded ? "more than processors" : "a processor each",
                 shared ? "through the shared heap" : "from private memory");
    }
    entry.ranks = group_.ranks;
    const std::size_t gather = tune_inbox(Collective::allgather, shared);
    const std::size_t all = tune_inbox(Collective::alltoall, shared);
    entry.points.inbox_limit = for_dense(all, gather);  // of one size; it holds for the other forms, too
    entry.points.cma_from = tune_cma();
  }

 private:
  // What calls of the next batches find. The same on all ranks.
  void use(const choose::SwitchPoints& points) {
    team::use_switch_points(team_, points);
    team::forget_selections(team_);
  }

  void call(Collective collective, memory::MeasuredBuffers& buffers, std::size_t bytes) {
    const int count = static_cast<int>(bytes);
    const std::size_t blocks = is_allgather(collective) ? 1 : static_cast<std::size_t>(group_.ranks);
    const std::byte* send = buffers.send(bytes * blocks);
    uniform_function(collective)(send, count, mpi().byte, buffers.recv(), count, mpi().byte, team_.user);
  }

  // Microseconds a call takes the slowest rank.
  double batch(Collective collective, memory::MeasuredBuffers& buffers, std::size_t bytes, int calls) {
    return seconds_of_batch(team_.user, calls, [&] { call(collective, buffers, bytes); }) * 1e6;
  }

  struct Pair {
    double first, second;
  };
  // The medians of two ways at one size.
  Pair compare(Collective collective, std::size_t bytes, bool shared, const choose::SwitchPoints& first,
               const choose::SwitchPoints& second) {
    memory::MeasuredBuffers buffers(bytes * static_cast<std::size_t>(group_.ranks), shared);
    if (!buffers.good()) throw std::bad_alloc();
    const choose::SwitchPoints* ways[2] = {&first, &second};
    double estimate = 0;
    for (const choose::SwitchPoints* way : ways) {
      use(*way);
      batch(collective, buffers, bytes, 3);  // pages are touched
      estimate = std::max(estimate, batch(collective, buffers, bytes, 3));
    }
    const int calls = calls_of_batch(tuning_batch_seconds, estimate * 1e-6);
    tuner::Contest contest(2, {options_.batches, tuner::Counts::median});
    while (!contest.decided()) {
      for (const std::size_t turn : {0U, 1U}) {
        const std::size_t way = (turn + static_cast<std::size_t>(contest.visit())) % 2;  // one, other, other, one, ...
        use(*ways[way]);
        call(collective, buffers, bytes);
        contest.note(way, batch(collective, buffers, bytes, calls));
      }
      contest.end_visit();
    }
    return {contest.median(0), contest.median(1)};
  }

  void show(const char* what, std::size_t bytes, const Pair& times) {
    progress_.show(fmt::format("{}: {} bytes", what, bytes));
    if (group_.me != 0) return;
    progress_.clear();
    fmt::print("  {:>10} {:>12.2f} {:>12.2f}\n", bytes, times.first, times.second);
    std::fflush(stdout);
  }
  void head(const std::string& what, const char* first, const char* second) {
    if (group_.me == 0) fmt::print("{}\n  {:>10} {:>12} {:>12}   us\n", what, "bytes", first, second);
  }

  std::size_t tune_inbox(Collective collective, bool shared) {
    const std::size_t capacity = group_.reach().slot_limit;
    choose::SwitchPoints inbox = choose::default_switch_points(), direct = inbox;
    inbox.inbox_limit.fill(capacity);
    direct.inbox_limit.fill(0);
    head(fmt::format("{}: inboxes or one copy", name_of(collective)), "inbox", "one copy");
    std::vector<double> first, second;
    std::vector<std::size_t> sizes;
    for (const std::size_t bytes : small_sizes) {
      if (bytes > capacity) break;
      const Pair times = compare(collective, bytes, shared, inbox, direct);
      show("inboxes", bytes, times);
      sizes.push_back(bytes);
      first.push_back(times.first);
      second.push_back(times.second);
    }
    return tuner::largest_of_first(sizes, tuner::best_cut(first, second), capacity);
  }

  std::size_t tune_cma() {
    const std::size_t unknown = choose::default_switch_points().cma_from;
    int mine = group_.reach().rings && group_.kernel_copies_everywhere() ? 1 : 0, all = 0;
    mpi().Allreduce(&mine, &all, 1, mpi().int_type, mpi().op_min, team_.user);
    if (all == 0) return unknown;  // there is nothing to choose
    choose::SwitchPoints ring = choose::default_switch_points(), cma = ring;
    ring.cma_from = SIZE_MAX;
    cma.cma_from = 0;
    head("alltoall of private memory: ring or CMA", "ring", "CMA");
    std::vector<double> first, second;
    for (const std::size_t bytes : large_sizes) {
      const Pair times = compare(Collective::alltoall, bytes, false, ring, cma);
      show("ring", bytes, times);
      first.push_back(times.first);
      second.push_back(times.second);
    }
    return tuner::least_of_second(large_sizes, tuner::best_cut(first, second));
  }

  const TuneOptions& options_;
  team::Team& team_;
  run::Group& group_;
  Progress progress_;
};

// Looks before anything is measured. Returns an empty string, or why it cannot be added to.
std::string look_at_old_table(const std::string& path) {
  choose::TuningTable old;
  std::string why;
  const choose::FileState state = choose::read_tuning_file(path, old, why);
  if (state == choose::FileState::bad) {
    return fmt::format("'{}' cannot be added to: {}; remove it", path, why);
  }
  if (state == choose::FileState::absent) return {};
  if (old.machine != team::this_machine()) {
    return fmt::format("'{}' is of another machine ({}); name another file with --file and QUADRILLE_TUNING", path,
                       old.machine.processor);
  }
  return {};
}

// On all ranks, what rank 0 says.
bool agree(const std::string& problem, int rank) {
  int good = problem.empty() ? 1 : 0;
  mpi().Bcast(&good, 1, mpi().int_type, 0, mpi().comm_world);
  if (rank == 0 && good == 0) complain(problem);
  return good == 1;
}

// Collective: the switch points, which rank 0 prints.
choose::TuningEntry tune_points(const TuneOptions& options, team::Team& team) {
  choose::TuningEntry entry;
  entry.crowded = team.crowded;
  Tuner(options, team).run(entry);
  const auto limit = [&](Collective c) { return entry.points.inbox_limit[static_cast<std::size_t>(c)]; };
  if (team.group.me == 0) {
    fmt::print("inboxes up to {} bytes (alltoall), {} (allgather); CMA from {} bytes\n", limit(Collective::alltoall),
               limit(Collective::allgather), entry.points.cma_from);
    std::fflush(stdout);
  }
  return entry;
}

// The model is of messages: where all ranks share a node, each is taken for a node of its own, unless the user says
// where they are. Before Quadrille looks.
void spread_over_nodes(int ranks) {
  MpiComm here = mpi().comm_null;
  int ranks_here = 0, most = 0;
  mpi().Comm_split_type(mpi().comm_world, mpi().comm_type_shared, 0, mpi().info_null, &here);
  mpi().Comm_size(here, &ranks_here);
  mpi().Comm_free(&here);
  mpi().Allreduce(&ranks_here, &most, 1, mpi().int_type, mpi().op_max, mpi().comm_world);
  if (most == ranks) setenv("QUADRILLE_NODES", "blocked:1", 0);
}

// Why `team` cannot be measured; empty if it can.
std::string obstacle_to_tuning(const team::Team* team, const TuneOptions& options) {
  if (team == nullptr || !team->ready()) return "Quadrille must be switched on";
  if (options.algorithms && team->nodes.nodes > 1) return "";
  if (!options.model && !options.neighbors && !team->group.inbox.usable()) return "the ranks must share a node";
  if (options.model && team->nodes.nodes == 1) {
    return "this is measured between several nodes, but QUADRILLE_NODES says that there is one";
  }
  return "";
}

// Collective: inside the node that all ranks share, if they do, and over messages. There each rank is taken for a node
// of its own if they share one, unless the user says where they are.
std::string measure_neighbors(const TuneOptions& options, const std::vector<NamedNeighborhood>& neighborhoods,
                              team::Team& team, choose::TuningTable& table) {
  std::vector<choose::InsideEntry> inside;
  std::vector<choose::NeighborEntry> between;
  const bool one_node = team.nodes.nodes == 1;
  if (one_node && team.group.reach().load_store) {
    inside = tune_inside(team, options.batches, neighborhoods);
  } else if (one_node && team.group.me == 0) {
    fmt::print("nothing to choose inside the node: not all ranks reach each other's memory by load and store\n");
  }
  std::string& nodes = team::config().nodes;  // of the communicators that are set up from now on
  const bool spreads = one_node && nodes.empty();
  if (spreads) nodes = "blocked:1";
  if (spreads || !one_node) between = tune_neighbors(team, options.batches, neighborhoods);
  if (spreads) nodes.clear();
  for (const choose::InsideEntry& entry : inside) put(table.inside, entry);
  for (const choose::NeighborEntry& entry : between) put(table.neighbors, entry);
  if (!inside.empty() || !between.empty()) return "";
  return "these neighbourhoods have nothing to measure with this number of ranks";
}

// Collective: measures what the options say, and adds it to the table. Returns an empty string, or what is wrong.
std::string measure(const TuneOptions& options, const std::vector<NamedNeighborhood>& neighborhoods,
                    const std::shared_ptr<Gpu>& gpu, team::Team& team, choose::TuningTable& table) {
  if (options.algorithms) {
    AlgorithmsOptions wanted{options.batches, {}, gpu};
    if (!options.sizes.empty()) parse_sizes(options.sizes, wanted.sizes);  // checked before
    const std::vector<choose::AlgorithmEntry> entries = tune_algorithms(team, wanted);
    for (const choose::AlgorithmEntry& entry : entries) put(table.algorithms, entry);
    if (entries.empty()) return "not enough memory for blocks of these sizes with this number of ranks";
  } else if (options.model) {
    put(table.models, tune_model(team, options.batches, gpu));
  } else if (options.neighbors) {
    return measure_neighbors(options, neighborhoods, team, table);
  } else {
    put(table.entries, tune_points(options, team));
  }
  return "";
}

int tune(const TuneOptions& options, const std::shared_ptr<Gpu>& gpu) {
  int rank = 0, ranks = 1;
  mpi().Comm_rank(mpi().comm_world, &rank);
  mpi().Comm_size(mpi().comm_world, &ranks);
  if (ranks == 1) {
    complain_once("there is one rank; start more: mpirun -n 4 quadrille tune");
    return bad_options;
  }
  const std::string path = !options.file.empty() ? options.file : choose::tuning_path(sys::environment);
  choose::TuningTable table;
  std::vector<NamedNeighborhood> neighborhoods;
  std::string problem = neighborhoods_to_tune(options.neighborhoods, ranks, neighborhoods);
  if (problem.empty() && options.algorithms) problem = why_no_sizes(options.sizes);
  if (rank == 0 && problem.empty() && !options.dry) {
    problem = path.empty() ? "no place for a table; give one with --file" : look_at_old_table(path);
  }
  if (!agree(problem, rank)) return bad_options;

  // What was measured before must not steer what is measured now.
  setenv("QUADRILLE_TUNING", "none", 1);
  setenv("QUADRILLE_TRIALS", "off", 1);
  if (options.model) spread_over_nodes(ranks);
  team::Team* team = team::team_of(mpi().comm_world);
  std::byte none{};
  std::vector<std::byte> some(static_cast<std::size_t>(ranks));
  Quadrille_Allgather(&none, 1, mpi().byte, some.data(), 1, mpi().byte,
                      mpi().comm_world);  // sets it up
  if (!agree(obstacle_to_tuning(team, options), rank)) return bad_options;
  table.quietness = check_quiet(make_world(mpi().comm_world));
  if (rank == 0) fmt::print("{}\n", quiet_line(*table.quietness));
  if (!agree(measure(options, neighborhoods, gpu, *team, table), rank)) return bad_options;
  problem.clear();
  if (rank == 0 && !options.dry) {
    problem = choose::update_tuning_file(path, team::this_machine(),
                                         [&](choose::TuningTable& old) { choose::put_all(old, table); });
    if (problem.empty()) fmt::print("written to {}\n", path);
    std::fflush(stdout);
  }
  return agree(problem, rank) ? 0 : 1;
}

}  // namespace

namespace {

// Before MPI starts. Empty, or what is wrong with the option.
std::string start_wanted_device(const TuneOptions& options, std::optional<DeviceStart>& device) {
  if (options.device.empty()) return "";
  if (!options.algorithms && !options.model) return "--device requires --algorithms or --model";
  DeviceKind kind = DeviceKind::cuda;
  if (std::string error = parse_device(options.device, kind); !error.empty()) return error;
  device = start_device(kind);
  return "";
}

}  // namespace

int tune_command(const TuneOptions& options) {
  std::optional<DeviceStart> device;
  std::string problem = start_wanted_device(options, device);
  if (problem.empty()) problem = load_mpi(library_of_launcher());
  if (!problem.empty()) {
    complain_once(problem);
    return bad_options;
  }
  mpi().Init(nullptr, nullptr);
  std::shared_ptr<const DeviceRun> devices;
  if (device.has_value()) problem = join_devices(std::move(*device), false, devices);
  int status = bad_options;
  if (problem.empty()) {
    status = tune(options, devices == nullptr ? nullptr : devices->gpu);
  } else {
    int rank = 0;
    mpi().Comm_rank(mpi().comm_world, &rank);
    if (rank == 0) complain_once(problem);
  }
  mpi().Finalize();
  return status;
}

}  // namespace quadrille::tools
