#include "tools/tune/tune_model.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "plan/closed_forms.hpp"
#include "quadrille.h"
#include "tools/bench/report.hpp"
#include "tools/bench/statistics.hpp"
#include "tools/tune/batch.hpp"
#include "tools/tune/fit.hpp"

namespace quadrille::tools {
namespace {


constexpr double model_batch_seconds = 0.002;
constexpr std::size_t most_bytes = std::size_t{64} << 20;  // of a rank's buffer
const std::vector<std::size_t> sizes = {8, 32, 100, 256, 700, 2048, 6000, 16384};

struct Case {
  choose::Choice choice;
  std::size_t bytes;
  Sample sample;
};

// In the units of the model, as choose::predict() counts.
Sample sample_of(const choose::Choice& choice, int ranks, double bytes) {
  const std::string_view name = choice.algorithm->name;
  const std::int64_t radix = plan::value_of(choice.parameters, "radix", 2);
  plan::Counts counts = plan::count_spread_out(ranks);
  double again = 0;
  if (name == "pairwise") counts.rounds = counts.messages;
  if (name == "two-phase-bruck") {
    counts = plan::count_two_phase_bruck(ranks, radix);
    const auto eager = static_cast<double>(plan::value_of(choice.parameters, "eager", 0));
    counts.size_messages = plan::count_sizes_alone(ranks, radix, bytes, eager);
    again = counts.size_messages > 0 ? static_cast<double>(counts.rounds) : 0;
  }
  // Amounts are what the model says if one constant is 1 and the others are 0.
  const auto amount = [&](double plan::Machine::*constant) {
    plan::Machine unit{};
    unit.*constant = 1;
    return plan::time(counts, unit, bytes);
  };
  return {amount(&plan::Machine::alpha),       amount(&plan::Machine::beta),
          amount(&plan::Machine::gamma),       amount(&plan::Machine::delta),
          amount(&plan::Machine::rho) + again, 0};
}

class ModelTuner {
 public:
  ModelTuner(team::Team& team, int batches)
      : team_(team), batches_(batches), progress_(team.group.me == 0) {}

  choose::Model run() {
    const std::size_t ranks = static_cast<std::size_t>(team_.group.ranks);
    std::vector<Case> own, mpis;
    for (const std::size_t bytes : sizes) {
      if (bytes * ranks > most_bytes) break;
      measure(bytes, own, mpis);
    }
    forget();
    choose::Model model;
    model.quadrille = fitted(own);
    // All at one number of ranks: waiting cannot be told from sending.
    for (Case& c : mpis) c.sample.rounds = c.sample.copied_bytes = c.sample.copied_blocks = 0;
    model.mpi = fitted(mpis);
    show(own, model.quadrille);
    show(mpis, model.mpi);
    return model;
  }

 private:
  static plan::Machine fitted(const std::vector<Case>& cases) { return fit(samples(cases)); }
  static std::vector<Sample> samples(const std::vector<Case>& cases) {
    std::vector<Sample> list;
    for (const Case& c : cases) list.push_back(c.sample);
    return list;
  }

  void use(const choose::Choice& choice) {
    team::force(team_, Collective::alltoallv, choice);
  }
  void forget() { use({}); }

  // Seconds a call takes the slowest rank.
  double batch(int calls) {
    return seconds_of_batch(team_.user, calls, [&] {
      Quadrille_Alltoallv(send_.data(), counts_.data(), places_.data(), mpi().byte, recv_.data(), counts_.data(),
                          places_.data(), mpi().byte, team_.user);
    });
  }

  void prepare(std::size_t bytes) {
    const std::size_t ranks = static_cast<std::size_t>(team_.group.ranks);
    send_.assign(ranks * bytes, std::byte{1});
    recv_.assign(ranks * bytes, std::byte{0});
    counts_.assign(ranks, static_cast<int>(bytes));
    places_.resize(ranks);
    for (std::size_t r = 0; r < ranks; ++r) places_[r] = static_cast<int>(r * bytes);
  }

  void measure(std::size_t bytes, std::vector<Case>& own, std::vector<Case>& mpis) {
    prepare(bytes);
    std::vector<Case> cases;
    for (const char* text :
         {"mpi", "spread-out", "pairwise", "two-phase-bruck:radix=2", "two-phase-bruck:radix=3",
          "two-phase-bruck:radix=4", "two-phase-bruck:radix=8"}) {
      Case c;
      choose::parse_choice(Collective::alltoallv, text, c.choice);
      if (plan::value_of(c.choice.parameters, "radix", 2) > std::max(team_.group.ranks, 2))
        continue;
      c.bytes = bytes;
      c.sample = sample_of(c.choice, team_.group.ranks, static_cast<double>(bytes));
      cases.push_back(c);
    }
    double estimate = 0;
    for (const Case& c : cases) {
      use(c.choice);
      batch(2);
      estimate = std::max(estimate, batch(2));
    }
    const int calls = calls_of_batch(model_batch_seconds, estimate);
    std::vector<std::vector<double>> times(cases.size());
    for (int b = 0; b < batches_; ++b) {
      progress_.show(fmt::format("{} bytes: batch {} of {}", bytes, b + 1, batches_));
      for (std::size_t i = 0; i < cases.size(); ++i) {
        const std::size_t turn = (i + static_cast<std::size_t>(b)) % cases.size();
        use(cases[turn].choice);
        batch(1);
        times[turn].push_back(batch(calls));
      }
    }
    for (std::size_t i = 0; i < cases.size(); ++i) {
      cases[i].sample.seconds = std::max(summarize(times[i]).median, 1e-9);
      (is_of_the_mpi(*cases[i].choice.algorithm) ? mpis : own).push_back(cases[i]);
    }
  }

  void show(const std::vector<Case>& cases, const plan::Machine& machine) {
    if (team_.group.me != 0) return;
    progress_.clear();
    fmt::print("  {:>8}  {:<28} {:>12} {:>12}\n", "bytes", "algorithm", "measured us", "model us");
    for (const Case& c : cases) {
      const std::string_view name = c.choice.algorithm->name;
      const std::int64_t radix = plan::value_of(c.choice.parameters, "radix", 0);
      fmt::print("  {:>8}  {:<28} {:>12.2f} {:>12.2f}\n", c.bytes,
                 radix == 0 ? std::string(name) : fmt::format("{}:radix={}", name, radix),
                 c.sample.seconds * 1e6, modelled(c.sample, machine) * 1e6);
    }
    fmt::print(
        "  message {:.1f} ns, byte {:.3f} ns, copied byte {:.3f} ns, copied block {:.1f} ns, "
        "round {:.1f} ns; median error {:.0f}%\n",
        machine.alpha * 1e9, machine.beta * 1e9, machine.gamma * 1e9, machine.delta * 1e9,
        machine.rho * 1e9, median_error(samples(cases), machine) * 100);
    std::fflush(stdout);
  }

  team::Team& team_;
  int batches_;
  Progress progress_;
  std::vector<std::byte> send_, recv_;
  std::vector<int> counts_, places_;
};

}  // namespace

choose::ModelEntry tune_model(team::Team& team, int batches) {
  if (team.group.me == 0) {
    fmt::print("{} ranks, at most {} on a node, {}; Alltoallv over messages\n", team.group.ranks,
               team.nodes.ranks_on_fullest_node(),
               team.crowded ? "more than processors" : "a processor each");
  }
  choose::Model model = ModelTuner(team, batches).run();
  // Times differ between ranks by nothing: all have the same maxima, so all have the same model.
  return {team.group.ranks, team.nodes.ranks_on_fullest_node(), team.crowded, model};
}

}  // namespace quadrille::tools
