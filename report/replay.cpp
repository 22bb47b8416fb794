// Idea    The calls are made by the MPI, by Quadrille as it chooses, and by every algorithm that may be worth it, in
//         turns. What was the fastest of many is partly lucky: it meets the MPI and Quadrille's choice again, in
//         several repeats.
// Cost    About 4 s a case, and never more than the budget, but for the call that is being made when it ends: each case
//         has its part, and what would not fit is not begun. With less time fewer contenders and repeats are measured,
//         for a shorter time; where not even the least fits into a part, the first cases take theirs from the last
//         ones.
#include "report/replay.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/budget.hpp"
#include "report/replay_case.hpp"
#include "tool/bench/bench.hpp"
#include "tool/bench/statistics.hpp"
#include "tool/bench/status.hpp"
#include "tool/bench/world.hpp"
#include "tool/launch/launcher.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr double seconds_of_screening = 0.06, seconds_of_repeat = 0.25;
constexpr int repeats = 3;
constexpr double share_of_screening = 0.4, share_of_trials = 0.3;
constexpr const char* no_time = "no time was left";
// A case takes that many calls before something is measured: by the MPI and Quadrille, twice each.
constexpr double calls_before_measuring = 4;

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

// The command may have started a script, which started a world of its own.
std::string why_another_world(int ranks, int of_program) {
  if (ranks == of_program) return "";
  return fmt::format(
      "the program had {1} ranks, but the launcher in the command starts {0}; "
      "give the launcher of these ranks itself, as in 'quadrille report -- mpirun -n {1} ./app'",
      ranks, of_program);
}

Json three(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {*least, quantile(values, 0.5), *most};
}

class Replay {
 public:
  Replay(const Json& work, const World& world)
      : cases_(work["cases"]),
        world_(world),
        budget_(work.value("seconds", usual_seconds_of_replay), world.comm),
        batch_(batch_length(measure_skew(world.comm), {})),
        share_(std::min(1.0, work.value("seconds", usual_seconds_of_replay) / usual_seconds_of_replay)) {}

  Json run() {
    std::vector<Json> found;
    const auto count = static_cast<double>(cases_.size());
    const Budget screening = budget_.part(share_of_screening);
    for (std::size_t c = 0; c < cases_.size(); ++c) {
      tell(fmt::format("comparing algorithms, call {} of {}", c + 1, cases_.size()));
      screen(cases_[c], {screening, screening.part(1 / (count - static_cast<double>(c)))});
    }
    pick();
    for (std::size_t c = 0; c < cases_.size(); ++c) {
      tell(fmt::format("measuring the best, call {} of {}", c + 1, cases_.size()));
      found.push_back(measure(cases_[c], screened_[c], {budget_, budget_.part(1 / (count - static_cast<double>(c)))}));
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
  // By what a call took in the run: a call that is made cannot be given up.
  static bool has_time(const Json& work, const Budget& budget) {
    return budget.left() > calls_before_measuring * work.value("seconds_of_call", 0.0);
  }
  // The engine of a request is not chosen among algorithms.
  static bool has_rivals(const Json& work) { return work.value("form", "blocking") == "blocking"; }
  static bool end_trials(ReplayCase& replayed, const Budget& budget) {
    return budget.left() > 0 && replayed.end_trials(budget.part(share_of_trials));
  }

  // What does not fit is left out; the case may still be measured.
  void screen(const Json& work, const BudgetOfCase& budget) {
    Screened& one = screened_.emplace_back();
    one.collective = work["collective"];
    if (!has_rivals(work) || !has_time(work, budget.all)) return;
    ReplayCase replayed(work, world_);
    if (one.why = replayed.prepare(); !one.why.empty()) return;
    if (!end_trials(replayed, budget.all)) return;
    replayed.add_contenders(budget, batch_);
    std::vector<std::size_t> who(replayed.names().size());
    for (std::size_t i = 0; i < who.size(); ++i) who[i] = i;
    if (who.size() <= 2) return;
    const Timing timing =
        replayed.time(who, seconds_for(seconds_of_screening, budget.all.left(), who.size()), budget.all);
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

  // For each of so many implementations.
  double seconds_for(double usual, double left, std::size_t count) const {
    return std::max(std::min(share_ * usual, left / static_cast<double>(count)), 1e-3);
  }

  Json measure(const Json& work, const Screened& screened, const BudgetOfCase& budget) {
    if (!screened.why.empty()) return {{"why", screened.why}};
    if (!has_time(work, budget.all)) return {{"why", no_time}};
    ReplayCase replayed(work, world_);
    if (std::string why = replayed.prepare(); !why.empty()) return {{"why", why}};
    if (!end_trials(replayed, budget.all)) return {{"why", no_time}};
    const TurnCosts costs = replayed.costs(batch_);
    if (fitting(budget.all.left(), costs) < 2) return {{"why", no_time}};
    const std::size_t most = budget.fitting(costs, repeats, 3);
    if (has_rivals(work) && !add_finalists(replayed, screened, most)) return {{"why", no_communicator}};
    std::vector<std::size_t> who(replayed.names().size());
    for (std::size_t i = 0; i < who.size(); ++i) who[i] = i;
    std::vector<std::vector<double>> micros(who.size()), to_mpi(who.size()), to_default(who.size());
    double before = budget.part.left();
    for (int repeat = 0; repeat < repeats; ++repeat) {
      const Timing timing =
          replayed.time(who, seconds_for(seconds_of_repeat, before / (repeats - repeat), who.size()), budget.all);
      for (std::size_t i = 0; i < who.size(); ++i) {
        micros[i].push_back(quantile(timing.microseconds[i], 0.5));
        to_mpi[i].push_back(median_of_ratios(timing.microseconds[i], timing.microseconds[0]));
        to_default[i].push_back(median_of_ratios(timing.microseconds[i], timing.microseconds[1]));
      }
      const double left = budget.part.left();
      if (left <= 0 || left < before - left) break;  // the next one would take as long
      before = left;
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

  // Beside the MPI and Quadrille's choice what was the best here, and of all cases of the collective; `most` with
  // those. False on all ranks if there is no communicator for one of them.
  bool add_finalists(ReplayCase& replayed, const Screened& screened, std::size_t most) const {
    const auto picked = picked_.find(screened.collective);
    for (const std::string& name : {screened.best, picked != picked_.end() ? picked->second : std::string()}) {
      const auto& names = replayed.names();
      if (name.empty() || names.size() >= most || std::find(names.begin(), names.end(), name) != names.end()) continue;
      if (!replayed.add(name)) return false;
    }
    return true;
  }

  const Json& cases_;
  const World& world_;
  const Budget budget_;
  const double batch_;  // seconds of a batch, at least
  const double share_;  // of the usual time of a measurement
  std::vector<Screened> screened_;
  std::map<std::string, std::string> picked_;
};

}  // namespace

int replay_command(const std::string& cases, const std::string& times, const std::string& program, Abi abi) {
  const std::vector<std::string> without = take_settings_away();
  if (const std::string problem = start_mpi(program, abi); !problem.empty()) {
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
    const Quietness quiet = check_quiet(world);
    Json told = {{"problem", why_another_world(world.ranks, work["ranks"])}};
    if (told["problem"] == "") {
      told = Replay(work, world).run();
      told["without"] = without;
      told["quiet"] = to_json(quiet);
      told["library"] = mpi().library;
    }
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
