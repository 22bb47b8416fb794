// Idea    The calls are made by the MPI, by Quadrille as it chooses, and by every algorithm that may be worth it, in
//         turns. What was the fastest of many is partly lucky: it meets the MPI and Quadrille's choice again, in
//         several repeats.
// Cost    About 4 s a case; less than two minutes in all, unless single calls take seconds.
#include "tools/report/replay.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "choose/candidates.hpp"
#include "mpi/errors.hpp"
#include "quadrille.h"
#include "team/same_plans.hpp"
#include "team/selections.hpp"
#include "team/team.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/data.hpp"
#include "tools/bench/statistics.hpp"
#include "tools/bench/status.hpp"
#include "tools/bench/timing.hpp"
#include "tools/bench/world.hpp"
#include "tools/launch/launcher.hpp"
#include "tools/launch/process.hpp"
#include "tools/machine/machine.hpp"

namespace quadrille::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr double seconds_of_screening = 0.06, seconds_of_repeat = 0.25, seconds_in_all = 120;
constexpr int repeats = 3;
constexpr std::size_t most_contenders = 12;

constexpr const char* no_communicator = "the MPI has no communicator left";

// With these Quadrille would not choose, or would have more to do than in a run without them. What was set, as
// "QUADRILLE=off"; before anything reads it.
std::vector<std::string> take_settings_away() {
  std::vector<std::string> taken;
  for (const char* const name : {"QUADRILLE", "QUADRILLE_ALGORITHM", "QUADRILLE_CHECK", "QUADRILLE_EXPLAIN"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr) continue;
    taken.push_back(fmt::format("{}={}", name, value));
    unsetenv(name);
  }
  return taken;
}

// The communicator that `make` makes of `comm`, with its error handler. Null where there is none left.
template <class Make>
MPI_Comm made_of(MPI_Comm comm, const Make& make) {
  MPI_Comm made = mpi().comm_null;
  {
    const ErrorsReturned returned(comm);
    made = make();
  }
  MPI_Errhandler handler;
  if (made != mpi().comm_null && mpi().Comm_get_errhandler(comm, &handler) == MPI_SUCCESS) {
    mpi().Comm_set_errhandler(made, handler);
    mpi().Errhandler_free(&handler);
  }
  return made;
}

// A text that rank `root` has.
void share_text(std::string& text, int root, const World& world) {
  std::uint64_t length = text.size();
  mpi().Bcast(&length, 1, mpi().uint64, root, world.comm);
  text.resize(length);
  mpi().Bcast(text.data(), static_cast<int>(length), mpi().byte, root, world.comm);
}

// One case on this rank.
class Case {
 public:
  Case(const Json& work, const World& world) : world_(world) {
    choose::collective_from_name(work["collective"].get<std::string>(), collective_);
    int group = 0, mine = -1, at = 0;
    for (const auto& ranks : work["groups"]) {
      const auto found = std::find(ranks.begin(), ranks.end(), world.rank);
      if (found != ranks.end()) mine = group, at = static_cast<int>(found - ranks.begin());
      ++group;
    }
    root_ = work["groups"][0][0];
    comm_ = made_of(world.comm, [&] {
      MPI_Comm comm = mpi().comm_null;
      const int error = mpi().Comm_split(world.comm, mine < 0 ? MPI_UNDEFINED : mine, at, &comm);
      return error == MPI_SUCCESS ? comm : mpi().comm_null;
    });
    is_split_ = have_all(mine < 0 || is_member());
    if (!is_split_) comm_ = mpi().comm_null;  // to free it takes all of its ranks
    case_.collective = collective_;
    case_.ranks = static_cast<int>(work["groups"][0].size());
    case_.me = at;
    if (work.contains("block")) {
      case_.bytes = work["block"];
    } else {
      take_matrix(work["bytes"]);
    }
  }
  ~Case() {
    for (const Implementation& one : all_) free_comm(one.comm);
    free_comm(comm_);
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  // The same on all ranks; empty if the case can be measured.
  std::string prepare() {
    if (!is_split_) return no_communicator;
    const std::size_t have = available_memory();
    const std::size_t need = is_member() ? 3 * buffer_bytes(case_) * static_cast<std::size_t>(world_.ranks_here) : 0;
    const bool fits = why_too_large(case_).empty() && (have == 0 || need < have / 10 * 9);
    if (sum_over_ranks(fits ? 0 : 1, world_) > 0) return "there is not enough memory for it";
    if (is_member()) data_.emplace(case_);
    if (!add("mpi") || !add("default")) return no_communicator;
    return wrong_bytes() > 0 ? "wrong bytes were delivered" : "";
  }

  // Adds what may be faster; those that the ranks of the first group would measure.
  void add_contenders() {
    std::string text;
    if (is_member()) {
      for (const choose::Choice& one : contenders()) text += choose::to_string(one) + "\n";
    }
    share_text(text, root_, world_);
    const double call = seconds_of_call();
    const double there_is_time_for = 3.0 / (8 * std::max(call, 1e-9));
    const auto most = static_cast<std::size_t>(std::clamp<double>(there_is_time_for, 2, most_contenders));
    for (std::size_t at = 0; at < text.size() && names_.size() < most + 2;) {
      const std::size_t end = text.find('\n', at);
      if (!add(text.substr(at, end - at))) break;
      at = end + 1;
    }
  }

  // Ends what the first calls try out.
  void end_trials() {
    if (!is_member()) return;
    for (int call = 0; call < 100; ++call) {
      const team::CachedSelection* const used = selection();
      if (used == nullptr || used->selection.rivals.empty()) return;
      call_times(1, *data_, all_[1]);
    }
  }

  Timing time(const std::vector<std::size_t>& who, double seconds) {
    std::vector<Timed> things;
    for (const std::size_t one : who) {
      things.push_back({[this, one](long calls) {
        if (is_member()) call_times(calls, *data_, all_[one]);
      }});
    }
    TimingOptions options;
    options.world = world_.comm;
    options.seconds = seconds;
    options.warmup = 3;
    return time_by_turns(things, options);
  }

  // What Quadrille chose, on the first group.
  std::string chosen() {
    std::string text;
    const team::CachedSelection* const used = is_member() ? selection() : nullptr;
    if (used != nullptr) text = choose::to_string(used->selection.choice);
    if (text.empty()) text = "mpi";
    share_text(text, root_, world_);
    return text;
  }

  const std::vector<std::string>& names() const { return names_; }

  // "mpi", "default", or an algorithm. Collective over all groups. False on all ranks if there is no communicator.
  bool add(const std::string& name) {
    Implementation made{name, all_.empty(), mpi().comm_null};
    if (is_member()) {
      World group = world_;
      group.comm = comm_;
      made.comm = made_of(comm_, [&] { return make_comm(group); });
    }
    if (!have_all(!is_member() || made.comm != mpi().comm_null)) return false;
    if (is_member() && !made.native) {
      const char* const forced = name == "default" ? "" : name.c_str();
      Quadrille_Set_algorithm(made.comm, std::string(name_of(collective_)).c_str(), forced);
    }
    all_.push_back(made);
    names_.push_back(name);
    return true;
  }

 private:
  static void free_comm(MPI_Comm comm) {
    if (comm != mpi().comm_null) mpi().Comm_free(&comm);
  }
  bool is_member() const { return comm_ != mpi().comm_null; }
  bool have_all(bool mine) const { return sum_over_ranks(mine ? 0 : 1, world_) == 0; }

  void take_matrix(const Json& rows) {
    auto matrix = std::make_shared<TrafficMatrix>();
    matrix->ranks = rows.size();
    for (const auto& row : rows) {
      for (const auto& bytes : row) {
        matrix->bytes.push_back(bytes);
        matrix->largest = std::max(matrix->largest, matrix->bytes.back());
      }
    }
    case_.bytes = matrix->largest;
    case_.traffic.kind = Distribution::file;
    case_.traffic.matrix = std::move(matrix);
  }

  std::vector<choose::Choice> contenders() {
    team::Team* const team = team::team_of(all_[1].comm);
    if (team == nullptr || !team->ready) return {};
    const plan::NodeMap& nodes = team->nodes;
    return team::without_twins(
        *team, collective_,
        choose::measured_candidates(collective_, team->group.ranks, nodes.nodes, nodes.ranks_on_fullest_node()));
  }

  const team::CachedSelection* selection() const {
    const team::Team* const team = team::team_of(all_[1].comm);
    if (team == nullptr || !team->ready) return nullptr;
    return team->chosen.selections[static_cast<std::size_t>(collective_)].last();
  }

  // Of one call of each, over all ranks.
  std::uint64_t wrong_bytes() {
    std::uint64_t wrong = 0, call = 0;
    for (const Implementation& one : all_) {
      ++call;
      if (!is_member()) continue;
      data_->fill(call);
      call_times(1, *data_, one);
      wrong += data_->mismatches(call);
    }
    return sum_over_ranks(wrong, world_);
  }

  double seconds_of_call() {
    const Timed native{[this](long calls) {
      if (is_member()) call_times(calls, *data_, all_[0]);
    }};
    return max_over_ranks(time_batch(native, 1, world_.comm), world_.comm);
  }

  const World& world_;
  Collective collective_{};
  int root_ = 0;
  MPI_Comm comm_ = mpi().comm_null;
  bool is_split_ = false;
  BenchCase case_;
  std::optional<BenchData> data_;
  std::vector<Implementation> all_;
  std::vector<std::string> names_;
};

Json three(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {*least, quantile(values, 0.5), *most};
}

class Replay {
 public:
  Replay(const Json& cases, const World& world)
      : cases_(cases), world_(world), end_(mpi().Wtime() + seconds_in_all) {}

  Json run() {
    std::vector<Json> found;
    for (std::size_t c = 0; c < cases_.size(); ++c) {
      tell(fmt::format("comparing algorithms, call {} of {}", c + 1, cases_.size()));
      screen(cases_[c]);
    }
    pick();
    for (std::size_t c = 0; c < cases_.size(); ++c) {
      tell(fmt::format("measuring the best, call {} of {}", c + 1, cases_.size()));
      found.push_back(measure(cases_[c], screened_[c]));
    }
    return {{"cases", found}};
  }

 private:
  // What is known after the first look.
  struct Screened {
    std::string why, collective, best;  // best: other than what Quadrille chose; empty: none
    std::map<std::string, double> microseconds;
  };

  void tell(const std::string& text) const {
    if (world_.rank != 0) return;
    fmt::print("{}\n", text);
    std::fflush(stdout);
  }
  bool is_late() const {
    int late = mpi().Wtime() > end_ ? 1 : 0;
    mpi().Bcast(&late, 1, mpi().int_type, 0, world_.comm);
    return late != 0;
  }

  void screen(const Json& work) {
    Screened& one = screened_.emplace_back();
    one.collective = work["collective"];
    if (is_late()) {
      one.why = "there was no time left for it";
      return;
    }
    Case replayed(work, world_);
    if (one.why = replayed.prepare(); !one.why.empty()) return;
    replayed.end_trials();
    replayed.add_contenders();
    std::vector<std::size_t> who(replayed.names().size());
    for (std::size_t i = 0; i < who.size(); ++i) who[i] = i;
    const Timing timing = replayed.time(who, seconds_of_screening);
    const std::string chosen = replayed.chosen();
    double least = 0;
    for (std::size_t i = 2; i < who.size(); ++i) {
      const std::string& name = replayed.names()[i];
      const double median = quantile(timing.microseconds[i], 0.5);
      one.microseconds[name] = median;
      // Both of these are measured in any case.
      if (name == chosen || name == replayed.names().front() || (!one.best.empty() && median >= least)) continue;
      one.best = name;
      least = median;
    }
  }

  // For each collective what would be the best of all its cases; all calls count alike in relation to the fastest way.
  void pick() {
    std::map<std::string, std::map<std::string, double>> sums;
    std::map<std::string, std::map<std::string, int>> counts;
    std::map<std::string, int> cases;
    for (const Screened& one : screened_) {
      if (!one.why.empty() || one.microseconds.empty()) continue;
      ++cases[one.collective];
      double least = one.microseconds.begin()->second;
      for (const auto& [name, time] : one.microseconds) least = std::min(least, time);
      for (const auto& [name, time] : one.microseconds) {
        sums[one.collective][name] += time / std::max(least, 1e-9);
        ++counts[one.collective][name];
      }
    }
    for (const auto& [collective, those] : sums) {
      double least = 0;
      for (const auto& [name, sum] : those) {
        std::string& best = picked_[collective];
        if (counts[collective][name] == cases[collective] && (best.empty() || sum < least)) best = name, least = sum;
      }
    }
  }

  Json measure(const Json& work, const Screened& screened) {
    if (!screened.why.empty()) return {{"why", screened.why}};
    if (is_late()) return {{"why", "there was no time left for it"}};
    Case replayed(work, world_);
    if (std::string why = replayed.prepare(); !why.empty()) return {{"why", why}};
    replayed.end_trials();
    if (!add_finalists(replayed, screened)) return {{"why", no_communicator}};
    std::vector<std::size_t> who(replayed.names().size());
    for (std::size_t i = 0; i < who.size(); ++i) who[i] = i;
    std::vector<std::vector<double>> micros(who.size()), to_mpi(who.size()), to_default(who.size());
    for (int repeat = 0; repeat < repeats; ++repeat) {
      const Timing timing = replayed.time(who, seconds_of_repeat);
      for (std::size_t i = 0; i < who.size(); ++i) {
        micros[i].push_back(quantile(timing.microseconds[i], 0.5));
        to_mpi[i].push_back(median_of_ratios(timing.microseconds[i], timing.microseconds[0]));
        to_default[i].push_back(median_of_ratios(timing.microseconds[i], timing.microseconds[1]));
      }
    }
    Json times = Json::array();
    for (std::size_t i = 0; i < who.size(); ++i) {
      Json time = {{"name", replayed.names()[i]}};
      if (i == 1) time["by"] = replayed.chosen();
      time["microseconds"] = quantile(micros[i], 0.5);
      if (i > 0) time["to_mpi"] = three(to_mpi[i]);
      if (i > 1) time["to_default"] = three(to_default[i]);
      times.push_back(std::move(time));
    }
    return {{"times", std::move(times)}};
  }

  // Beside the MPI and Quadrille's choice what was the best here, and of all cases of the collective. False on all
  // ranks if there is no communicator for one of them.
  bool add_finalists(Case& replayed, const Screened& screened) const {
    const auto picked = picked_.find(screened.collective);
    for (const std::string& name : {screened.best, picked != picked_.end() ? picked->second : std::string()}) {
      const auto& names = replayed.names();
      if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) continue;
      if (!replayed.add(name)) return false;
    }
    return true;
  }

  const Json& cases_;
  const World& world_;
  const double end_;
  std::vector<Screened> screened_;
  std::map<std::string, std::string> picked_;
};

}  // namespace

int replay_command(const std::string& cases, const std::string& times) {
  const std::vector<std::string> without = take_settings_away();
  if (const std::string problem = start_mpi(); !problem.empty()) {
    complain_once(problem);
    return bad_options;
  }
  const World world = make_world(mpi().comm_world);
  std::string text, problem = why_ranks_differ(world.ranks);
  if (problem.empty() && world.rank == 0) problem = read_whole(cases, text);
  int status = bad_options;
  if (sum_over_ranks(problem.empty() ? 0 : 1, world) == 0) {
    share_text(text, 0, world);
    const Json work = Json::parse(text);
    Json told = Replay(work["cases"], world).run();
    told["without"] = without;
    status = 0;
    if (world.rank == 0) {
      std::ofstream out(times);
      out << told.dump(-1, ' ', false, Json::error_handler_t::replace);
      out.close();
      if (!out) status = wrong_result;
    }
  } else if (!problem.empty()) {
    complain_once(problem);
  }
  mpi().Finalize();
  return status;
}

}  // namespace quadrille::tools
