#include "lab/figure/bruck_points.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <future>
#include <map>
#include <tuple>
#include <utility>

#include "lab/simulate/crowd.hpp"
#include "lab/simulate/engine.hpp"
#include "lab/simulate/network.hpp"
#include "lab/simulate/rivals.hpp"

namespace quadrille::tools {
namespace {

constexpr double bytes_of_memory = 6e9;

// What is simulated at a point, if its line is not one and the same for all.
std::string algorithm_of(const SimulatedLine& line, int ranks, std::size_t bytes) {
  if (!line.algorithm.empty()) return line.algorithm;
  const Collective chosen_for = line.padded ? Collective::alltoall : line.collective;
  return (line.padded ? "padded-" : "") +
         simulate::rival_choice("mpich", chosen_for, ranks, static_cast<double>(bytes)).algorithm;
}

void drop_rotations(simulate::Program& program) {
  for (simulate::Stage& stage : program.stages) {
    // A copy alone is a rank's block for itself.
    if (stage.sends.count > 0 || stage.receives.count > 0 || stage.before.own + stage.after.own <= 1) continue;
    stage.before.own = stage.after.own = 0;
  }
}

// What all ranks do, as a number: programs that differ have others.
class Print {
 public:
  explicit Print(const simulate::Crowd& crowd, bool with_windows) {
    for (const simulate::Program& program : crowd.programs) {
      add(program.stages.size());
      for (const simulate::Stage& stage : program.stages) add_stage(stage, with_windows);
      for (const simulate::Note& note : program.notes) {
        add(static_cast<std::uint64_t>(note.peer)), add(note.blocks), add(note.told);
      }
      for (const bool one : program.scattered) add(one ? 1 : 0);
      add(static_cast<std::uint64_t>(program.sizes));
      for (const double one : {program.with_sizes, program.size_beside, program.piece, program.scattered_copies})
        add(std::bit_cast<std::uint64_t>(one));
      add(static_cast<std::uint64_t>(program.fence_first)), add(static_cast<std::uint64_t>(program.fence_ranks));
    }
  }
  std::uint64_t number() const { return number_; }

 private:
  void add(std::uint64_t value) { number_ = (number_ ^ value) * 0x9e3779b97f4a7c15ULL, number_ ^= number_ >> 29; }
  void add_stage(const simulate::Stage& stage, bool with_windows) {
    for (const simulate::Copies& copies : {stage.before, stage.after})
      add(copies.own), add(copies.shared), add(copies.shared_blocks);
    for (const plan::Range& range : {stage.sends, stage.receives}) add(range.first), add(range.count);
    if (with_windows) add(static_cast<std::uint64_t>(stage.window.wait)), add(stage.window.pairs);
    add(stage.fence ? 1 : 0), add(stage.beside ? 1 : 0), add(std::bit_cast<std::uint64_t>(stage.up_to));
  }

  std::uint64_t number_ = 0;
};

// A schedule on a number of ranks, for blocks of all sizes.
class Prepared {
 public:
  Prepared(const SimulatedLine& line, const std::string& algorithm, int ranks, int per_node) {
    choose::Choice choice;
    why_not_ = choose::parse_choice(line.collective, algorithm, choice);
    if (why_not_.empty())
      why_not_ = plan::parse_node_map(fmt::format("blocked:{}", std::min(per_node, ranks)), ranks, map_);
    if (why_not_.empty()) why_not_ = simulate::why_not(choice, map_);
    if (!why_not_.empty()) return;
    simulate::Asked asked{line.collective, choice, map_, false, bytes_of_memory};
    asked.agrees = line.agrees;
    why_not_ = simulate::gather(asked, crowd_);
    if (!why_not_.empty()) return;
    if (line.without_rotations) std::for_each(crowd_.programs.begin(), crowd_.programs.end(), drop_rotations);
    prints_ = {Print(crowd_, true).number(), Print(crowd_, false).number()};
  }

  // In the usual one, and at its ends.
  void simulate(const std::array<simulate::Network, 1 + network_ends.size()>& networks, double mean, double largest,
                SimulatedPoint& point) {
    point.why_not = why_not_;
    if (!point.why_not.empty()) return;
    const simulate::Engine engine(crowd_);
    point.why_not = engine.problem();
    if (!point.why_not.empty()) return;
    std::vector<std::future<simulate::Outcome>> outcomes;
    for (const simulate::Network& network : networks) {
      outcomes.push_back(std::async(std::launch::async, [&] { return engine.run(network, {mean, largest}); }));
    }
    for (std::size_t i = 0; i < networks.size(); ++i) {
      const simulate::Outcome outcome = outcomes[i].get();
      if (point.why_not.empty()) point.why_not = outcome.problem;
      (i == 0 ? point.microseconds : point.at_ends[i - 1]) = outcome.seconds * 1e6;
    }
    point.one_node = crowd_.one_node;
  }
  // What is done, and the same whatever the windows.
  std::pair<std::uint64_t, std::uint64_t> prints() const { return prints_; }

 private:
  std::string why_not_;
  std::pair<std::uint64_t, std::uint64_t> prints_{};
  plan::NodeMap map_;
  simulate::Crowd crowd_;
};

// Each with the first line that it is like.
void mark_same(const std::vector<SimulatedPanel>& panels,
               const std::vector<std::pair<std::uint64_t, std::uint64_t>>& prints,
               std::vector<SimulatedPoint>& points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    SimulatedPoint& point = points[i];
    for (std::size_t j = 0; j < i && point.why_not.empty(); ++j) {
      const SimulatedPoint& other = points[j];
      const bool same_place = other.panel == point.panel && other.ranks == point.ranks && other.bytes == point.bytes;
      if (!same_place || other.mean != point.mean || !other.why_not.empty() || prints[j].second != prints[i].second)
        continue;
      (prints[j].first == prints[i].first ? point.identical_to : point.same_messages_as) =
          panels[other.panel].lines[other.line].label;
      break;
    }
  }
}

}  // namespace

MeanOf uniform_mean() {
  return [](double largest, int) { return largest / 2; };
}
MeanOf window_mean(double percent) {
  return [percent](double largest, int) { return largest * (1 - percent / 200); };
}
MeanOf power_mean(double base) {
  return [base](double largest, int ranks) {
    double sum = 0;
    for (double size = largest, left = ranks; left > 0; --left, size *= base) sum += std::floor(size);
    return sum / ranks;
  };
}
MeanOf equal_mean() {
  return [](double largest, int) { return largest; };
}

std::vector<SimulatedPoint> simulate_points(const std::vector<SimulatedPanel>& panels, const std::string& name) {
  std::array<simulate::Network, 1 + network_ends.size()> networks;
  for (std::size_t i = 0; i < networks.size(); ++i) {
    const std::string text = i == 0 ? name : name + ':' + network_ends[i - 1];
    if (!simulate::read_network(text, networks[i]).empty()) return {};
  }
  std::vector<SimulatedPoint> points;
  for (std::size_t panel = 0; panel < panels.size(); ++panel) {
    for (std::size_t line = 0; line < panels[panel].lines.size(); ++line) {
      for (const int ranks : panels[panel].ranks) {
        for (const std::size_t bytes : panels[panel].sizes) {
          const SimulatedLine& of = panels[panel].lines[line];
          const auto largest = static_cast<double>(bytes);
          points.push_back({panel, line, ranks, bytes, of.padded ? largest : panels[panel].mean(largest, ranks),
                            algorithm_of(of, ranks, bytes)});
        }
      }
    }
  }
  // Points of one schedule follow each other, the largest schedules last.
  std::map<std::tuple<int, std::string, int, int, bool, bool>, std::vector<std::size_t>> of_schedule;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const SimulatedLine& line = panels[points[i].panel].lines[points[i].line];
    const int per_node = panels[points[i].panel].per_node, collective = static_cast<int>(line.collective);
    of_schedule[{points[i].ranks, points[i].algorithm, collective, per_node, line.without_rotations, line.agrees}]
        .push_back(i);
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> prints(points.size());
  std::size_t done = 0;
  for (const auto& [key, which] : of_schedule) {
    const SimulatedPoint& first = points[which[0]];
    Prepared prepared(panels[first.panel].lines[first.line], first.algorithm, first.ranks,
                      panels[first.panel].per_node);
    std::map<double, SimulatedPoint> known;  // by the mean: panels may ask for the same
    for (const std::size_t i : which) {
      SimulatedPoint& point = points[i];
      prints[i] = prepared.prints();
      const double key_of_load = point.mean * 65536 + static_cast<double>(point.bytes);
      if (const auto found = known.find(key_of_load); found != known.end()) {
        point.microseconds = found->second.microseconds;
        point.at_ends = found->second.at_ends;
        point.one_node = found->second.one_node;
        point.why_not = found->second.why_not;
        continue;
      }
      prepared.simulate(networks, point.mean, static_cast<double>(point.bytes), point);
      known.emplace(key_of_load, point);
    }
    done += which.size();
    fmt::print(stderr, "# {} of {} points: {} on {} ranks\n", done, points.size(), first.algorithm, first.ranks);
  }
  mark_same(panels, prints, points);
  return points;
}

}  // namespace quadrille::tools
