#include "tool/bench/bench.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <utility>

#include "abi/abi.hpp"
#include "abi/functions.hpp"
#include "choose/engines.hpp"
#include "sys/sys.hpp"
#include "team/team.hpp"
#include "tool/bench/device/session.hpp"
#include "tool/bench/line_exchange.hpp"
#include "tool/bench/neighborhood_text.hpp"
#include "tool/bench/overlap.hpp"
#include "tool/bench/report.hpp"
#include "tool/bench/stack.hpp"
#include "tool/bench/status.hpp"
#include "tool/bench/timing.hpp"
#include "tool/bench/world.hpp"
#include "tool/launch/launcher.hpp"
#include "tool/launch/process.hpp"
#include "tool/launch/program_mpi.hpp"
#include "tool/line/progress.hpp"
#include "tool/machine/machine.hpp"

namespace quadrille::tools {
namespace {

std::vector<Implementation> make_implementations(const World& world, const BenchPlan& plan,
                                                 const BenchNeighbors* neighbors) {
  const auto make = [&](bool native) {
    if (neighbors == nullptr) return make_comm(world);
    return native ? make_graph_comm(world.comm, *neighbors) : make_isomorphic_comm(world.comm, *neighbors);
  };
  std::vector<Implementation> all = {{"mpi", true, make(true)}};
  const std::string collective(name_of(plan.collective));
  std::vector<Variant> variants = plan.variants;
  for (const std::string& name : plan.algorithms) variants.push_back({name, name, {}});
  for (const Variant& variant : variants) {
    all.push_back({variant.label, false, make(false), variant.copying});
    if (variant.algorithm != "default") {
      Quadrille_Set_algorithm(all.back().comm, collective.c_str(), variant.algorithm.c_str());
    }
  }
  return all;
}

bool sends_messages(const choose::Algorithm& algorithm) {
  const choose::Plans plans = choose::row_of(algorithm.engine).plans;
  return plans == choose::Plans::messages || plans == choose::Plans::neighbor_messages;
}

// The environment is what the core reads; it has to be set before MPI starts.
void set_node_map(const BenchOptions& options) {
  if (options.no_node) setenv("QUADRILLE_NODES", "blocked:1", 1);
  if (!options.nodes.empty()) setenv("QUADRILLE_NODES", options.nodes.c_str(), 1);
}

constexpr const char *straight = "straight", *over_host = "over host", *in_chunks = "in chunks";

class Bench {
 public:
  Bench(const BenchOptions& options, const BenchPlan& plan, MpiComm comm)
      : options_(options),
        plan_(plan),
        world_(make_world(comm)),
        progress_(world_.rank == 0 && !options.silent),
        header_(make_header()) {
    if (is_neighbor(plan_.collective)) {
      const Distribution kind = plan_.traffic.kind;
      neighbors_ = make_neighbors(plan_.neighborhood, plan_.extents, world_.ranks, world_.rank,
                                  kind == Distribution::equal || kind == Distribution::stencil);
    }
    if (plan_.device_run != nullptr) {
      gpu_ = plan_.device_run->gpu;
      header_.device = find_facts(*gpu_, plan_.stages_mpi, plan_.device_run->rates, world_);
    }
  }

  int run() {
    problem_ = why_impossible();
    if (!problem_.empty()) return bad_options;
    header_.quiet = check_quiet(world_);
    implementations_ = make_implementations(world_, plan_, neighbors_.get());
    if (options_.counters) try_counters();
    if (neighbors_ != nullptr) header_.setup = measure_setup(world_.comm, *neighbors_);
    print((options_.overlap ? overlap_head(header_, case_of(0), options_.tests)
                            : table_head(header_, case_of(0), options_.cold, plan_.late, options_.touch)) +
          setup_line(header_.setup));
    int step = 0;
    for (const std::size_t bytes : plan_.sizes) {
      progress_.show(fmt::format("[{}/{}] {} {} bytes", ++step, plan_.sizes.size(), options_.collective, bytes));
      on_stack(frame_bytes(case_of(bytes)), [&](std::byte* frame) { measure_size(bytes, frame); });
    }
    for (Implementation& implementation : implementations_) mpi().Comm_free(&implementation.comm);
    return finish();
  }
  BenchResults results() const { return {header_, rows_, world_.rank, world_.ranks, problem_, too_large_}; }

 private:
  BenchCase case_of(std::size_t bytes) const {
    return {plan_.collective,  bytes,        plan_.element, plan_.traffic,
            options_.in_place, plan_.memory, options_.seed, world_.ranks,
            world_.rank,       neighbors_,   gpu_,          header_.device && header_.device->stages_mpi};
  }

  // Reasons that are only known when MPI runs; the same on all ranks.
  std::string why_impossible() {
    if (std::string error = why_ranks_differ(world_.ranks); !error.empty()) return error;
    if (options_.layout.nodes > world_.ranks) return too_few_ranks(world_.ranks, options_.layout.nodes);
    plan::NodeMap map;
    if (!options_.nodes.empty()) {
      std::string error = plan::parse_node_map(options_.nodes, world_.ranks, map);
      if (!error.empty()) return error;
    }
    if (plan_.traffic.kind == Distribution::file) {
      std::string error = share_matrix(plan_.traffic, world_);
      if (!error.empty()) return error;
      if (plan_.sizes.empty()) plan_.sizes = {plan_.traffic.matrix->largest};
    }
    if (neighbors_ != nullptr && neighbors_->grid.ranks() != world_.ranks) {
      return fmt::format("the grid {} has {} processes, and there are {} ranks", to_text(neighbors_->grid),
                         neighbors_->grid.ranks(), world_.ranks);
    }
    if (plan_.late && plan_.late->rank >= world_.ranks) {
      return fmt::format("--late names rank {}, and there are {} ranks", plan_.late->rank, world_.ranks);
    }
    const std::size_t largest = *std::max_element(plan_.sizes.begin(), plan_.sizes.end());
    std::string large = why_too_large(case_of(largest));
    if (large.empty()) large = why_not_on_stack(largest);
    if (large.empty()) large = why_not_enough_memory(largest);
    too_large_ = !large.empty();
    if (too_large_) return large;
    // Only rank 0 looks at the files; the others learn that there is a problem, not which.
    std::string error = world_.rank == 0 ? why_not_writable() : "";
    if (sum_over_ranks(error.empty() ? 0 : 1, world_) == 0) return "";
    return world_.rank == 0 ? error : "rank 0 cannot write its files";
  }

  // Of a GPU's memory: the buffers alone.
  std::string why_not_enough_on_gpu(std::size_t largest) const {
    if (gpu_ == nullptr) return "";
    const std::size_t need = buffer_bytes(case_of(largest)) * static_cast<std::size_t>(header_.device->ranks_a_gpu);
    const std::size_t have = gpu_->free_bytes();
    if (sum_over_ranks(have > 0 && need > have / 10 * 9 ? 1 : 0, world_) == 0) return "";
    return fmt::format(
        "blocks of {} bytes need about {} MiB on a GPU of {} ranks, and {} MiB are free; take smaller --sizes "
        "or fewer ranks",
        largest, need >> 20, header_.device->ranks_a_gpu, have >> 20);
  }

  // Buffers, the same again for Quadrille's scratch blocks and packing, and for the MPI's own; of data on a GPU also
  // what they are compared with.
  std::string why_not_enough_memory(std::size_t largest) const {
    if (std::string problem = why_not_enough_on_gpu(largest); !problem.empty()) return problem;
    const std::size_t copies = gpu_ != nullptr ? 4 : 3;
    const std::size_t one = copies * buffer_bytes(case_of(largest)) + (options_.cold ? evict_bytes() : 0);
    const std::size_t need = one * static_cast<std::size_t>(world_.ranks_here);
    const std::size_t have = available_memory();
    const bool short_of = have > 0 && need > have / 10 * 9;
    if (sum_over_ranks(short_of ? 1 : 0, world_) == 0) return "";
    return fmt::format(
        "blocks of {} bytes need about {} MiB on a machine of {} ranks, and {} MiB "
        "are free; take smaller --sizes or fewer ranks",
        largest, need >> 20, world_.ranks_here, have >> 20);
  }

  std::string why_not_on_stack(std::size_t largest) const {
    const std::size_t need = frame_bytes(case_of(largest));
    if (sum_over_ranks(stack_holds(need) ? 0 : 1, world_) == 0) return "";
    return fmt::format(
        "blocks of {} bytes need {} MiB of the stack, which holds {} MiB, or less where 'ulimit -Hs' says so; take "
        "smaller --sizes or fewer ranks",
        largest, (need >> 20) + 1, most_on_stack >> 20);
  }

  std::string why_not_writable() const {
    for (const std::string& file : {options_.json_file, options_.csv_file}) {
      if (!file.empty() && !std::ofstream(file, std::ios::app)) {
        return fmt::format("cannot write '{}'; give a file in a directory that exists", file);
      }
    }
    return "";
  }

  // The ranks of a machine together walk through twice its last cache.
  std::size_t evict_bytes() const { return twice_the_caches(world_.ranks_here); }
  // So many ranks or processors share the last cache.
  static std::size_t twice_the_caches(int sharers) {
    // A machine that does not tell has caches all the same.
    const std::size_t second = std::max(sys::cache_bytes(2), std::size_t{1} << 20);
    const std::size_t told = sys::cache_bytes(3);
    const std::size_t last = std::max(told == 0 ? std::size_t{32} << 20 : told, second);
    return std::max(2 * last / static_cast<std::size_t>(sharers), 2 * second);
  }

  // Says once if nothing can be counted; the run goes on without.
  void try_counters() {
    Counters counters(memory_events());
    counters.start();
    counters.stop();
    header_.no_counters = why_no_events(counters.read());
    if (!header_.no_counters.empty()) print("# " + header_.no_counters + "\n");
  }

  void print(const std::string& text) {
    if (world_.rank != 0 || options_.silent) return;
    progress_.clear();
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }

  // One call in the form that is measured.
  void call(BenchData& data, const Implementation& implementation) const {
    options_.overlap ? start_and_wait(data, implementation) : call_times(1, data, implementation);
  }

  // One call with checked data; adds this rank's wrong bytes to `errors`.
  void check(BenchData& data, std::vector<std::uint64_t>& errors) {
    for (std::size_t i = 0; i < implementations_.size(); ++i) {
      data.fill(++calls_);
      call(data, implementations_[i]);
      set_copying(implementations_[i]);
      errors[i] += data.mismatches(calls_);
    }
  }

  // The first call has set the communicator up.
  static void set_copying(const Implementation& implementation) {
    team::Team* team = implementation.copying ? team::team_of(implementation.comm) : nullptr;
    if (team != nullptr && team->ready()) team->group.copying = *implementation.copying;
  }

  // What served the last call; null: the MPI, or nobody knows. The same on all ranks.
  const team::CachedSelection* selection_of(const Implementation& implementation) const {
    const team::Team* team = implementation.native ? nullptr : team::team_of(implementation.comm);
    if (team == nullptr || !team->ready()) return nullptr;
    return team->chosen.selections[static_cast<std::size_t>(plan_.collective)].last();
  }

  void call_as_measured(long times, BenchData& data, const Implementation& implementation) const {
    options_.touch ? static_cast<void>(call_touched(times, data, implementation))
                   : call_times(times, data, implementation);
  }

  // What is measured is what remains when Quadrille has seen that the load is another, and tried what to take.
  void end_trials(BenchData& data) {
    for (const Implementation& implementation : implementations_) {
      call_as_measured(calls_until_asked(implementation), data, implementation);
      const team::CachedSelection* const used = selection_of(implementation);
      const int most = used != nullptr ? choose::most_calls_of_trial(1 + used->selection.rivals.size()) : 0;
      for (int call = 0; call < most && !team::is_decided(*selection_of(implementation)); ++call) {
        call_as_measured(1, data, implementation);
      }
    }
  }
  // After so many the ranks know the load.
  long calls_until_asked(const Implementation& implementation) const {
    const team::CachedSelection* used = selection_of(implementation);
    if (used == nullptr || !used->follows_load) return 0;
    return 1 + team::team_of(implementation.comm)->asked.load_of(plan_.collective, *used).unasked;
  }

  TimingOptions timing_options() const {
    TimingOptions timing;
    timing.world = world_.comm;
    timing.iterations = plan_.iterations;
    timing.seconds = plan_.seconds;
    timing.warmup = options_.warmup;
    timing.cold = options_.cold;
    timing.touch = options_.touch;
    if (gpu_ != nullptr) timing.batch = batch_seconds_on_devices;
    timing.late = plan_.late;
    timing.evict_bytes = options_.cold ? evict_bytes() : 0;
    timing.ranks_a_processor = (world_.ranks_here + world_.processors - 1) / world_.processors;
    timing.shared_bytes = twice_the_caches(world_.processors);
    if (options_.counters) timing.events = memory_events();
    return timing;
  }

  void measure_size(std::size_t bytes, std::byte* frame) {
    BenchCase measured = case_of(bytes);
    measured.frame = frame;
    BenchData data(measured);
    std::vector<std::uint64_t> errors(implementations_.size());
    check(data, errors);
    const std::vector<BenchRow> rows =
        options_.overlap ? rows_of_overlap(data, errors) : rows_of_calls(data, bytes, errors);
    check(data, errors);
    native_errors_ += sum_over_ranks(errors[0], world_);
    for (std::size_t i = 1; i < implementations_.size(); ++i) {
      BenchRow row = rows[i - 1];
      add_case(row, data, case_of(bytes));
      row.errors = sum_over_ranks(errors[i], world_);
      print((options_.overlap ? overlap_line(row) : table_line(row)) + events_line(row));
      rows_.push_back(row);
    }
  }

  // What was measured in blocking calls, for each implementation but the MPI's.
  std::vector<BenchRow> rows_of_calls(BenchData& data, std::size_t bytes, std::vector<std::uint64_t>& errors) {
    end_trials(data);
    const TimingOptions options = timing_options();
    Ceiling ceiling;
    const team::Team* const lines = team_for_lines(data, bytes);
    if (lines != nullptr) {
      ceiling = measure_exchange(data.largest_sent(), *lines, options);
    } else if (copies_are_ceiling(data, bytes)) {
      ceiling = measure_ceiling(data, options);
    }
    const RunChecks checks{calls_, errors};
    std::vector<BenchRow> rows =
        rows_of(measure(data, implementations_, options, plan_.checks_timed_calls ? &checks : nullptr));
    for (BenchRow& row : rows) {
      if (gpu_ != nullptr) {
        row.ceiling = ceiling_of_gpus(data, row.path);
      } else if (lines != nullptr || copies_directly(row)) {
        row.ceiling = ceiling;
      }
    }
    return rows;
  }

  // What was measured in nonblocking calls. They try nothing out, so there are no trials to end.
  std::vector<BenchRow> rows_of_overlap(BenchData& data, std::vector<std::uint64_t>& errors) {
    const OverlapTiming timing = measure_overlap(data, implementations_, timing_options(), options_.tests, calls_);
    std::vector<BenchRow> rows = rows_of(timing.alone);
    for (std::size_t i = 0; i < errors.size(); ++i) errors[i] += timing.errors[i];
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].overlap = overlap_columns(timing, i + 1, options_.tests);
    return rows;
  }

  std::vector<BenchRow> rows_of(const Timing& timing) const {
    std::vector<BenchRow> rows;
    const Summary native = summarize(timing.microseconds[0]);
    for (std::size_t i = 1; i < implementations_.size(); ++i) {
      BenchRow& row = rows.emplace_back();
      row.algorithm = implementations_[i].name;
      row.mpi = native;
      row.quadrille = summarize(timing.microseconds[i]);
      row.ratio = native.median > 0 ? row.quadrille.median / native.median : 0;
      row.pair_ratio = median_of_ratios(timing.microseconds[i], timing.microseconds[0]);
      row.samples = timing.microseconds[i];
      if (i == 1) row.mpi_samples = timing.microseconds[0];
      row.batches = timing.batches;
      row.mpi_calls_per_batch = timing.calls_per_batch[0];
      row.calls_per_batch = timing.calls_per_batch[i];
      row.cold = options_.cold;
      if (!timing.steps.empty()) row.step = step_columns(timing.steps[0], timing.steps[i]);
      if (plan_.late) row.late = {*plan_.late, summarize(timing.others[0]), summarize(timing.others[i])};
      row.mpi_events = timing.events[0];
      row.quadrille_events = timing.events[i];
      look_up(implementations_[i], row);
    }
    return rows;
  }

  // What the row tells of the data.
  void add_case(BenchRow& row, const BenchData& data, const BenchCase& measured) const {
    const auto ranks = static_cast<std::uint64_t>(world_.ranks);
    const std::uint64_t sent = sum_over_ranks(data.bytes_sent(), world_);
    row.measured = measured;
    row.bytes_sent = sent / ranks;
    row.mean_bytes =
        static_cast<double>(sent) / static_cast<double>(ranks * static_cast<std::uint64_t>(measured.peers()));
    row.max_bytes = static_cast<std::size_t>(max_over_ranks(static_cast<double>(data.largest_sent()), world_.comm));
  }

  // Whether plain copies or cache lines may bound the calls. The same on all ranks.
  bool may_have_ceiling(const BenchData& data, std::size_t bytes) const {
    return !options_.no_ceiling && !options_.touch && !plan_.late && gpu_ == nullptr && neighbors_ == nullptr &&
           data.plain() && bytes > 0 && world_.ranks_here == world_.ranks;
  }
  // A team whose memory can serve an exchange of cache lines where that bounds the calls: small blocks between two
  // ranks that have a processor each. Null on all ranks otherwise.
  const team::Team* team_for_lines(const BenchData& data, std::size_t bytes) const {
    const bool small = data.largest_sent() <= LineExchange::most_bytes && plan_.traffic.kind == Distribution::equal;
    if (!may_have_ceiling(data, bytes) || !small || options_.cold || world_.ranks != 2 || world_.processors < 2) {
      return nullptr;
    }
    for (std::size_t i = 1; i < implementations_.size(); ++i) {
      const team::Team* team = team::team_of(implementations_[i].comm);
      if (team != nullptr && team->ready() && team->nodes.nodes == 1 && team->area.is_there()) return team;
    }
    return nullptr;
  }

  // Blocks that go through inboxes are bound by latency, and those between nodes by the network.
  static bool copies_directly(const BenchRow& row) {
    return row.nodes == 1 && row.served_by != "mpi" && row.served_by != "inbox";
  }
  // The same on all ranks, because they agree on what serves a call. The calls have been made once.
  bool copies_are_ceiling(const BenchData& data, std::size_t bytes) const {
    if (!may_have_ceiling(data, bytes)) return false;
    for (std::size_t i = 1; i < implementations_.size(); ++i) {
      BenchRow row;
      look_up(implementations_[i], row);
      if (copies_directly(row)) {
        return sum_over_ranks(data.has_source() ? 0 : 1, world_) == 0;
      }
    }
    return false;
  }

  // What the data of a GPU's ranks need where they only go through its bus, or to another place of its memory. In
  // chunks a rank's own block stays in the device; of a gather's one block the other ranks need a copy all the same.
  // Collective.
  Ceiling ceiling_of_gpus(const BenchData& data, std::string_view path) const {
    const bool is_straight = path == straight, stays = path == in_chunks;
    const std::size_t own = stays ? data.bytes_own() : 0, own_held = is_allgather(plan_.collective) ? 0 : own;
    const double held = max_over_ranks(static_cast<double>(data.bytes_held() - own_held), world_.comm);
    const double received = max_over_ranks(static_cast<double>(data.bytes_received() - own), world_.comm);
    const GpuRates& rates = header_.device->rates;
    if (!rates.are_measured() || (is_straight && header_.device->gpus > 1)) return {};
    const double bytes_a_us = 1e3 / header_.device->ranks_a_gpu;  // of a rank, for each 10^9 bytes a second
    if (is_straight) return {received / (rates.device_copy * bytes_a_us), "device copy"};
    if (rates.both_ways == 0) return {};
    return {
        std::max({held / rates.to_host, received / rates.to_device, (held + received) / rates.both_ways}) / bytes_a_us,
        stays ? "bus, without own blocks" : "bus"};
  }

  // Whether the data of a GPU stay there. Of the MPI's own algorithm it is the MPI's affair, if it is given them.
  std::string path_of(const team::Team& team, const team::CachedSelection* used) const {
    const DeviceUse use = team.agreed().mpi_device;
    if (used == nullptr) return use == DeviceUse::all ? straight : over_host;
    const choose::Choice& choice = used->selection.choice;
    if (is_of_the_mpi(*choice.algorithm)) {
      return use == DeviceUse::all && choice.buffers == choose::HostBuffers::as_suits ? straight : over_host;
    }
    const choose::Engine engine = choice.algorithm->engine;
    const Reason way = team.counted.device_way;
    if (engine == choose::Engine::pull) return way == Reason::pulled ? straight : over_host;
    if (engine == choose::Engine::pipeline)
      return way == Reason::in_chunks || way == Reason::in_rounds ? in_chunks : over_host;
    // Blocks with gaps and calls in place go over the host (docs/gpu.md).
    const bool plain = plan_.element != ElementKind::strided && !options_.in_place;
    return plain && may_stay_on_device(team, choice) ? straight : over_host;
  }

  // What carried the calls out, and on how many nodes Quadrille believes to be.
  void look_up(const Implementation& implementation, BenchRow& row) const {
    row.served_by = "mpi";
    team::Team* team = team::team_of(implementation.comm);
    if (team == nullptr || !team->ready()) {
      if (gpu_ != nullptr) row.path = team::mpi_device_use() == DeviceUse::all ? straight : over_host;
      return;
    }
    row.nodes = team->nodes.nodes;
    const auto place = static_cast<std::size_t>(plan_.collective);
    const team::CachedSelection* used = team->chosen.selections[place].last();
    if (used != nullptr) row.served_by = choose::to_string(used->selection.choice);
    if (gpu_ != nullptr) row.path = path_of(*team, used);
    if (!options_.overlap) return;
    // A request that goes by messages runs what was selected, if that goes by messages, too; copies are in its order,
    // and pulling is what it says.
    const std::string_view by = run::to_string(team->request_by);
    const bool selected = used != nullptr && (by == "copies" || by == "pull" ||
                                              (by == "messages" && sends_messages(*used->selection.choice.algorithm)));
    if (!selected) row.served_by = by;
  }

  int finish() {
    progress_.clear();
    std::uint64_t errors = native_errors_;
    for (const BenchRow& row : rows_) errors += row.errors;
    std::string problem;
    if (world_.rank == 0) {
      if (!options_.json_file.empty()) problem = write_json(options_.json_file, header_, rows_);
      if (problem.empty() && !options_.csv_file.empty()) {
        problem = write_csv(options_.csv_file, rows_);
      }
      if (problem.empty() && native_errors_ > 0) {
        problem = fmt::format("the MPI's own {} delivered {} wrong bytes", options_.collective, native_errors_);
      } else if (problem.empty() && errors > 0) {
        problem = fmt::format("{} wrong bytes were delivered, see the column 'errors'", errors);
      }
      if (!problem.empty()) complain(problem);
    }
    return sum_over_ranks(problem.empty() ? 0 : 1, world_) == 0 ? 0 : wrong_result;
  }

  const BenchOptions& options_;
  BenchPlan plan_;  // a copy, because a traffic matrix comes later
  World world_;
  std::shared_ptr<const BenchNeighbors> neighbors_;  // null for other collectives
  std::shared_ptr<Gpu> gpu_;                         // null: the buffers are the host's
  Progress progress_;
  BenchHeader header_;
  std::vector<Implementation> implementations_;
  std::vector<BenchRow> rows_;
  std::string problem_;
  bool too_large_ = false;
  std::uint64_t calls_ = 0, native_errors_ = 0;
};

}  // namespace

BenchHeader make_header() {
  BenchHeader header;
  header.version = abi::version_text();
  std::vector<char> text(most_mpi_text + 1, '\0');
  int length = 0;
  mpi().Get_library_version(text.data(), &length);
  header.mpi = first_words_of_version(text.data());
  header.mpi_library = mpi().library;
  header.cpu = processor_name();
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  header.date = date;
  return header;
}

std::string why_ranks_differ(int ranks) {
  const int expected = ranks_of_launcher();
  if (ranks > 1 || expected <= 1) return "";
  return fmt::format(
      "the launcher started {} ranks, but {} sees one; name the library of the launcher's MPI in QUADRILLE_LIBMPI",
      expected, mpi().library);
}

int bench_command(const BenchOptions& options) {
  BenchPlan plan;
  // Before MPI starts: a rank that leaves here keeps nobody waiting, and all ranks leave.
  if (std::string problem = understand(options, plan); !problem.empty()) {
    complain_once(problem);
    return bad_options;
  }
  set_node_map(options);
  DeviceStart device;
  if (plan.device) device = start_device(*plan.device);
  if (std::string problem = start_mpi(); !problem.empty()) {
    complain_once(problem);
    return bad_options;
  }
  BenchResults results;
  int status = bad_options;
  if (plan.device) results.problem = join_devices(std::move(device), !options.no_ceiling, plan.device_run);
  if (results.problem.empty()) {
    status = measure_plan(options, plan, results);
  } else {
    mpi().Comm_rank(mpi().comm_world, &results.rank);
  }
  // Ranks that the MPI did not join are all rank 0; the launcher knows better.
  if (!results.problem.empty() && results.rank == 0) complain_once(results.problem);
  mpi().Finalize();
  return status;
}

std::string start_mpi(const std::string& program, Abi abi) {
  std::string problem = load_mpi(program.empty() ? library_of_launcher() : library_in_place_of(program, abi));
  if (problem.empty()) mpi().Init(nullptr, nullptr);
  return problem;
}

int measure_plan(const BenchOptions& options, const BenchPlan& plan, BenchResults& results) {
  return measure_plan(options, plan, results, mpi().comm_world);
}

int measure_plan(const BenchOptions& options, const BenchPlan& plan, BenchResults& results, MpiComm comm) {
  Bench bench(options, plan, comm);
  const int status = bench.run();
  results = bench.results();
  return status;
}

}  // namespace quadrille::tools
