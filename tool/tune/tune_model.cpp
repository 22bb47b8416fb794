// Idea    Calls of few algorithms that differ in what they have much of: messages, bytes, rounds, copies, messages of a
//         window; with several ranks a node also of leaders and of copies in shared memory. What a call has of each
//         term is counted as for a choice (choose/model.hpp); least squares find the constants. Of the MPI's own
//         those of what it is taken for, which the constants decide in turn: some rounds of both. Before that the
//         length of messages is found for which the MPI asks the receiver (eager_limit.hpp). With the data in a
//         device's memory likewise, by what moves them straight, and then the bus: what the ranks take together to
//         bring a little, and much, to the host and back.
// Cost    About 20 algorithms * 9 sizes * batches * 2 ms; where a call takes longer, that of a call.
#include "tool/tune/tune_model.hpp"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "abi/functions.hpp"
#include "choose/model.hpp"
#include "team/switch_points.hpp"
#include "tool/bench/report.hpp"
#include "tool/bench/statistics.hpp"
#include "tool/line/progress.hpp"
#include "tool/tune/batch.hpp"
#include "tool/tune/eager_limit.hpp"
#include "tool/tune/fit.hpp"
#include "tool/tune/tuned_buffers.hpp"
#include "tool/tune/uniform.hpp"

namespace quadrille::tools {
namespace {

constexpr double model_batch_seconds = 0.002;
constexpr std::size_t most_bytes = std::size_t{64} << 20;  // of a rank's buffer
const std::vector<std::size_t> sizes = {8, 32, 100, 256, 700, 2048, 6000, 16384, 100000};
constexpr int rounds_of_mpi = 10;
constexpr int all_ranks_up_to = 512;

struct Case {
  choose::Choice choice;
  Collective collective;
  std::size_t bytes;
  Sample sample{};
};

// What moves a device's memory straight.
std::vector<std::string> device_contenders(Collective collective) {
  if (is_allgather(collective)) return {"cuda-aware-mpi", "ring", "spread-out"};
  if (is_sized(collective)) return {"cuda-aware-mpi", "pairwise", "waitany-stride:stride=4"};
  return {"cuda-aware-mpi", "spread-out", "pairwise", "waitany-stride:stride=2"};
}

// What is measured of a collective.
std::vector<std::string> contenders(Collective collective, int per_node) {
  std::vector<std::string> names;
  const auto add = [&](std::initializer_list<const char*> more) {
    names.insert(names.end(), more.begin(), more.end());
  };
  if (is_allgather(collective)) {
    add({"mpi", "ring", "bruck:radix=2"});
  } else if (is_sized(collective)) {
    add({"mpi", "zero-rotation-bruck:radix=2", "waitall-stride:stride=4"});
  } else {
    add({"mpi", "spread-out", "pairwise", "two-phase-bruck:radix=2", "two-phase-bruck:radix=4",
         "two-phase-bruck:radix=8"});
  }
  if (per_node == 1) return names;
  if (!is_sized(collective)) add({"single-copy", "hint-row"});
  names.push_back("leaders:leaders=1");
  if (!is_allgather(collective)) names.push_back(fmt::format("leaders:leaders={}", per_node));
  return names;
}

class ModelTuner {
 public:
  ModelTuner(team::Team& team, int batches, const std::shared_ptr<Gpu>& gpu)
      : team_(team), batches_(batches), gpu_(gpu), progress_(team.group.me == 0) {}

  choose::Model run() {
    choose::Model model;
    model.eager = static_cast<double>(eager_limit(team_));
    if (team_.crowded) model.processors = std::min(processors(), per_node());
    std::vector<Case> own, mpis;
    for (const Collective collective : {Collective::alltoallv, Collective::alltoall, Collective::allgather}) {
      make_costs(collective, model.processors);
      for (const std::size_t bytes : sizes) {
        if (bytes * ranks() > most_bytes) break;
        measure(collective, bytes, own, mpis);
      }
      use(collective, {});
    }
    for (Case& c : own) c.sample.amounts = priced(c, model).ours;
    if (!own.empty()) model.quadrille = model.mpi = fitted(own);
    if (mpis.empty()) model.mpi = {};
    for (int round = 0; round < rounds_of_mpi && !mpis.empty(); ++round) {
      for (Case& c : mpis) c.sample.amounts = priced(c, model).mpis;
      model.mpi = fitted(mpis);
    }
    if (team_.group.me == 0 && model.eager > 0) {
      progress_.clear();
      fmt::print("  the MPI sends messages of up to {:.0f} bytes without asking the receiver\n", model.eager);
    }
    show(own, model.quadrille, "");
    show(mpis, model.mpi, "the MPI's own: ");
    return model;
  }

 private:
  std::size_t ranks() const { return static_cast<std::size_t>(team_.group.ranks); }
  int per_node() const { return team_.nodes.ranks_on_fullest_node(); }
  // Of the node of rank 0.
  int processors() const {
    int count = team::this_machine().cores;
    mpi().Bcast(&count, 1, mpi().int_type, 0, team_.user);
    return count;
  }

  void make_costs(Collective collective, double processors) {
    choose::CostsSetting setting{processors, {4, 8}, team_.agreed().away_steps};
    if (team_.group.ranks <= all_ranks_up_to) setting.limits = {all_ranks_up_to, all_ranks_up_to};
    costs_[collective] = std::make_unique<choose::Costs>(collective, team_.nodes, setting);
  }
  choose::Priced priced(const Case& c, const choose::Model& model) {
    const auto bytes = static_cast<double>(c.bytes);
    const bool own = is_of_the_mpi(*c.choice.algorithm);
    return price(own ? choose::plain(c.collective, "mpi") : c.choice, {bytes, bytes}, model, *costs_[c.collective]);
  }

  static plan::Machine fitted(const std::vector<Case>& cases) {
    const std::vector<Sample> list = samples(cases);
    plan::Machine machine = fit(list);
    fill_unknown(machine, list);
    return machine;
  }
  static std::vector<Sample> samples(const std::vector<Case>& cases) {
    std::vector<Sample> list;
    list.reserve(cases.size());
    for (const Case& c : cases) list.push_back(c.sample);
    return list;
  }

  void use(Collective collective, const choose::Choice& choice) { team::force(team_, collective, choice); }
  // The same on all ranks.
  bool can_serve(Collective collective, const choose::Choice& choice, std::size_t bytes) {
    if (gpu_ != nullptr && team_.agreed().mpi_device == DeviceUse::none) return false;  // nothing goes straight
    use(collective, choice);
    const std::size_t known = is_sized(collective) ? bytes : 0;
    return team::selection_of(team_, collective, known, 0).selection.choice.algorithm == choice.algorithm;
  }

  // Seconds a call takes the slowest rank.
  double batch(Collective collective, std::size_t bytes, int calls) {
    return seconds_of_batch(team_.user, calls, [&] {
      const int count = static_cast<int>(bytes);
      if (const UniformFunction function = uniform_function(collective); function != nullptr) {
        function(send(), count, mpi().byte, recv(), count, mpi().byte, team_.user);
      } else {
        Quadrille_Alltoallv(send(), counts_.data(), places_.data(), mpi().byte, recv(), counts_.data(), places_.data(),
                            mpi().byte, team_.user);
      }
    });
  }

  void prepare(std::size_t bytes) {
    if (gpu_ != nullptr) {
      on_device_.reset();  // before the next are allocated
      on_device_ = std::make_unique<TunedBuffers>(ranks() * bytes, false, gpu_);
      if (!team::all_true(team_.user, on_device_->good())) throw std::runtime_error("a GPU has no memory left");
    } else {
      send_.assign(ranks() * bytes, std::byte{1});
      recv_.assign(ranks() * bytes, std::byte{0});
    }
    counts_.assign(ranks(), static_cast<int>(bytes));
    places_.resize(ranks());
    for (std::size_t r = 0; r < ranks(); ++r) places_[r] = static_cast<int>(r * bytes);
  }

  const std::byte* send() { return gpu_ != nullptr ? on_device_->send(0) : send_.data(); }
  std::byte* recv() { return gpu_ != nullptr ? on_device_->recv() : recv_.data(); }

  void measure(Collective collective, std::size_t bytes, std::vector<Case>& own, std::vector<Case>& mpis) {
    prepare(bytes);
    std::vector<Case> cases;
    for (const std::string& text :
         gpu_ != nullptr ? device_contenders(collective) : contenders(collective, per_node())) {
      Case c{{}, collective, bytes};
      parse_choice(collective, text, c.choice);
      if (plan::value_of(c.choice.parameters, "radix", 2) > std::max(team_.group.ranks, 2)) continue;
      if (can_serve(collective, c.choice, bytes)) cases.push_back(c);
    }
    double estimate = 0;
    for (const Case& c : cases) {
      use(collective, c.choice);
      batch(collective, bytes, 1);
      estimate = std::max(estimate, batch(collective, bytes, 2));
    }
    const int calls = calls_of_batch(model_batch_seconds, estimate);
    std::vector<std::vector<double>> times(cases.size());
    for (int b = 0; b < batches_; ++b) {
      progress_.show(fmt::format("{}, {} bytes: batch {} of {}", name_of(collective), bytes, b + 1, batches_));
      for (std::size_t i = 0; i < cases.size(); ++i) {
        const std::size_t turn = (i + static_cast<std::size_t>(b)) % cases.size();
        use(collective, cases[turn].choice);
        batch(collective, bytes, 1);
        times[turn].push_back(batch(collective, bytes, calls));
      }
    }
    for (std::size_t i = 0; i < cases.size(); ++i) {
      cases[i].sample.seconds = std::max(summarize(times[i]).median, 1e-9);
      (is_of_the_mpi(*cases[i].choice.algorithm) ? mpis : own).push_back(cases[i]);
    }
  }

  static std::string short_name(const Case& c) {
    std::string text(c.choice.algorithm->name);
    for (const char* parameter : {"radix", "stride", "leaders"}) {
      const std::int64_t value = plan::value_of(c.choice.parameters, parameter, 0);
      if (value == 0 || (text.starts_with("leaders") && parameter[0] != 'l')) continue;
      text += fmt::format("{}{}={}", text.find(':') == std::string::npos ? ":" : ",", parameter, value);
    }
    return text;
  }

  void show(const std::vector<Case>& cases, const plan::Machine& machine, const char* whose) {
    if (team_.group.me != 0 || cases.empty()) return;
    progress_.clear();
    fmt::print("  {:>10} {:>8}  {:<28} {:>12} {:>12}\n", "", "bytes", "algorithm", "measured us", "model us");
    for (const Case& c : cases) {
      fmt::print("  {:>10} {:>8}  {:<28} {:>12.2f} {:>12.2f}\n", name_of(c.collective), c.bytes, short_name(c),
                 c.sample.seconds * 1e6, plan::time(c.sample.amounts, machine) * 1e6);
    }
    std::string constants;
    for (const plan::TermRow& row : plan::term_rows) {
      constants += fmt::format("{}{} {:.3f} ns", constants.empty() ? "" : ", ", row.name, machine.*row.constant * 1e9);
    }
    fmt::print("  {}{}; median error {:.0f}%\n", whose, constants, median_error(samples(cases), machine) * 100);
    const std::vector<std::string> unknown = not_told_apart(samples(cases));
    if (!unknown.empty()) fmt::print("  {}{}\n", whose, fmt::join(unknown, "; "));
    std::fflush(stdout);
  }

  team::Team& team_;
  int batches_;
  std::shared_ptr<Gpu> gpu_;  // in whose memory the data are; null: the host's
  std::unique_ptr<TunedBuffers> on_device_;
  Progress progress_;
  std::map<Collective, std::unique_ptr<choose::Costs>> costs_;
  std::vector<std::byte> send_, recv_;
  std::vector<int> counts_, places_;
};

// Collective: of the slowest rank, while all are at it.
choose::Bus measure_bus(team::Team& team, int batches, const std::shared_ptr<Gpu>& gpu) {
  constexpr std::size_t little = 64, much = std::size_t{8} << 20;
  const TunedBuffers on_device(much, false, gpu);
  const GpuBytes on_host = pin_for(gpu, much);
  if (!team::all_true(team.user, on_device.good() && on_host != nullptr)) {
    throw std::runtime_error("a GPU, or the host for it, has no memory left");
  }
  const auto there_and_back = [&](std::size_t bytes) {
    std::vector<double> times;
    for (int b = 0; b <= batches; ++b) {
      const double seconds = seconds_of_batch(team.user, bytes == much ? 1 : 20, [&] {
        gpu->copy(on_host.get(), on_device.recv(), bytes);
        gpu->copy(on_device.recv(), on_host.get(), bytes);
      });
      if (b > 0) times.push_back(seconds);  // pages are touched in the first
    }
    return summarize(times).median;
  };
  const double call = there_and_back(little), more = there_and_back(much) - call;
  return {std::max(more, 0.0) / static_cast<double>(2 * (much - little)), call};
}

choose::ModelEntry tune_on_host(team::Team& team, int batches) {
  choose::ModelEntry entry{team.group.ranks, team.nodes.ranks_on_fullest_node(), team.crowded, {}};
  entry.model = ModelTuner(team, batches, nullptr).run();
  return entry;
}

choose::ModelEntry tune_on_devices(team::Team& team, int batches, const std::shared_ptr<Gpu>& gpu) {
  choose::ModelEntry entry{team.group.ranks, team.nodes.ranks_on_fullest_node(), team.crowded, {}, true};
  const bool straight = team.agreed().mpi_device != DeviceUse::none, speaks = team.group.me == 0;
  if (speaks) {
    fmt::print("data in the memory of {}{}\n{}", gpu->name(),
               gpu->is_standin() ? "; a stand-in, not a GPU: the times are meaningless" : "",
               straight ? "" : "the MPI reports no support for device memory: only the bus is measured\n");
  }
  if (straight) entry.model = ModelTuner(team, batches, gpu).run();
  entry.bus = measure_bus(team, batches, gpu);
  if (speaks) {
    fmt::print("  to the host and back: {:.2f} us, and {:.3f} ns a byte and way ({:.1f} GB/s)\n", entry.bus.call * 1e6,
               entry.bus.byte * 1e9, entry.bus.byte > 0 ? 1e-9 / entry.bus.byte : 0.0);
  }
  return entry;
}

}  // namespace

choose::ModelEntry tune_model(team::Team& team, int batches, const std::shared_ptr<Gpu>& gpu) {
  if (team.group.me == 0) {
    fmt::print("{} ranks, at most {} on a node, {}; between {} nodes\n", team.group.ranks,
               team.nodes.ranks_on_fullest_node(), team.crowded ? "more than processors" : "a processor each",
               team.nodes.nodes);
  }
  // Times differ between ranks by nothing: all have the same maxima, so all have the same model.
  return gpu == nullptr ? tune_on_host(team, batches) : tune_on_devices(team, batches, gpu);
}

}  // namespace quadrille::tools
