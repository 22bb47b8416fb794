// Idea    At each block size batches of calls go by each algorithm, in an order that is drawn for each round, as bench
//         has it. A batch takes what its slowest rank takes; of the batches the median counts. The best other algorithm
//         then meets the usual way once more, alone: the best of many is partly lucky. The usual way is, on one node,
//         the better of inboxes and one copy, between which the switch points choose, and over several the MPI's own.
//         Before every other call the send buffer is written, and after it the receive buffer is read, as programs do
//         with some of their data. It counts: an order decides in whose cache a block is when its receiver looks at it.
// Source  Ramesh et al., HINT, section V.D: the offline choice.
// Cost    algorithms * sizes * batches * 2 ms at most, and half as much again where something is faster; where a call
//         takes longer, fewer batches.
#include "tool/tune/tune_algorithms.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <span>
#include <utility>

#include "abi/functions.hpp"
#include "choose/select.hpp"
#include "memory/heap.hpp"
#include "sys/sys.hpp"
#include "team/switch_points.hpp"
#include "tool/bench/options.hpp"
#include "tool/bench/report.hpp"
#include "tool/bench/turns.hpp"
#include "tool/line/progress.hpp"
#include "tool/tune/batch.hpp"
#include "tool/tune/contenders.hpp"
#include "tool/tune/tuned_buffers.hpp"
#include "tool/tune/uniform.hpp"
#include "tool/tune/winners.hpp"
#include "tuner/contest.hpp"

namespace quadrille::tools {
namespace {

constexpr double algorithm_batch_seconds = 0.002;
constexpr double most_seconds_of_size = 10;
constexpr int fewest_batches = 3;
constexpr std::size_t most_block = std::size_t{1} << 30;
constexpr std::size_t most_node_bytes = std::size_t{2} << 30;             // of all buffers of a node
constexpr std::size_t most_tuned_sizes = choose::most_sized_choices - 1;  // one more range lies below them
constexpr double never = std::numeric_limits<double>::infinity();
const std::vector<std::size_t> ladder = {8,     64,    256,   700,   1024,   3000,   4096,
                                         12000, 16384, 50000, 65536, 200000, 262144, 1048576};

class AlgorithmTuner {
 public:
  AlgorithmTuner(team::Team& team, Collective collective, const AlgorithmsOptions& options)
      : team_(team),
        group_(team.group),
        collective_(collective),
        batches_(options.batches),
        gpu_(options.gpu),
        shared_(all(memory::heap_active())),
        contenders_(gpu_ == nullptr ? contenders_on_host(team, collective) : contenders_on_devices(team, collective)),
        rests_(contenders_.size()),
        points_(group_.reach().points),
        progress_(group_.me == 0) {}
  ~AlgorithmTuner() {
    team::use_switch_points(team_, points_);
    force({});
  }
  AlgorithmTuner(const AlgorithmTuner&) = delete;
  AlgorithmTuner& operator=(const AlgorithmTuner&) = delete;

  // Empty if no size could be measured.
  choose::SizedChoices run(std::vector<std::size_t> sizes) {
    while (!sizes.empty() && !fits(sizes.back())) sizes.pop_back();
    for (const std::size_t bytes : sizes) {
      if (!measure(bytes)) break;  // there is no memory
    }
    show();
    return ranges_of(winners_);
  }

 private:
  bool all(bool mine) const { return team::all_true(team_.user, mine); }

  // Do the buffers of a node's ranks leave most of its memory, and of its devices', alone? The same on all ranks.
  bool fits(std::size_t bytes) const {
    const std::size_t memory = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * sys::page_size();
    const std::size_t most = std::min(most_node_bytes, std::min(memory, device_bytes_) / 4);
    const auto here = static_cast<std::size_t>(team_.nodes.ranks_on_fullest_node());
    return all(bytes <= most / 2 / here / static_cast<std::size_t>(group_.ranks));
  }

  void force(const choose::Choice& choice) { team::force(team_, collective_, choice); }

  // What calls of the next batches find. The same on all ranks.
  void use(const Contender& contender) {
    choose::SwitchPoints points = points_;
    if (contender.choice.algorithm == nullptr && gpu_ == nullptr) points.inbox_limit.fill(contender.inbox_limit);
    team::use_switch_points(team_, points);
    force(contender.choice);
  }

  // The same on all ranks.
  bool can_serve(const Contender& contender, std::size_t bytes) {
    if (contender.choice.algorithm != nullptr && !makes_a_difference(contender.choice, bytes)) return false;
    if (contender.choice.algorithm == nullptr && gpu_ != nullptr) return true;
    use(contender);
    const choose::Algorithm* algorithm = team::selection_of(team_, collective_, bytes).selection.choice.algorithm;
    return contender.choice.algorithm == nullptr ? algorithm->name == contender.name
                                                 : algorithm == contender.choice.algorithm;
  }

  void call(TunedBuffers& buffers, std::size_t bytes) {
    const int count = static_cast<int>(bytes);
    const std::size_t blocks = is_allgather(collective_) ? 1 : static_cast<std::size_t>(group_.ranks);
    const std::byte* send = buffers.send(bytes * blocks);
    uniform_function(collective_)(send, count, mpi().byte, buffers.recv(), count, mpi().byte, team_.user);
    reads_ = !reads_;
    if (reads_) buffers.read(bytes * static_cast<std::size_t>(group_.ranks));
  }

  // The seconds of these contenders; the first must be beaten by the margin. The same on all ranks.
  tuner::Contest race(std::span<const std::size_t> who, TunedBuffers& buffers, std::size_t bytes) {
    const auto batch = [&](int calls) { return seconds_of_batch(team_.user, calls, [&] { call(buffers, bytes); }); };
    std::vector<int> calls;
    double round = 0;
    for (const std::size_t one : who) {
      use(contenders_[one]);
      batch(2);  // pages are touched
      const double estimate = batch(2);
      calls.push_back(calls_of_batch(algorithm_batch_seconds, estimate));
      round += estimate * (calls.back() + 1);
    }
    const int affordable = static_cast<int>(std::min(most_seconds_of_size / round, 1e6));
    const int rounds = std::min(batches_, std::max(affordable, fewest_batches));
    tuner::Contest contest(who.size(), {rounds, tuner::Counts::both, 1 / winning_margin});
    for (int r = 0; r < rounds; ++r) {
      progress_.show(fmt::format("{}, {} bytes, {} algorithms: round {} of {}", name_of(collective_), bytes, who.size(),
                                 r + 1, rounds));
      for (const std::size_t turn : order_of_round(static_cast<std::size_t>(r), who.size())) {
        use(contenders_[who[turn]]);
        call(buffers, bytes);
        contest.note(turn, batch(calls[turn]));
      }
      contest.end_visit();
    }
    return contest;
  }

  // The contender with the least time among the usual ways, or among the others; `times` has all.
  std::size_t best(const std::vector<double>& times, bool usual) const {
    std::size_t found = times.size();
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (contenders_[i].usual != usual || times[i] == never) continue;
      if (found == times.size() || times[i] < times[found]) found = i;
    }
    return found;
  }

  // False on all ranks if there is no memory.
  bool measure(std::size_t bytes) {
    TunedBuffers buffers(bytes * static_cast<std::size_t>(group_.ranks), shared_, gpu_);
    if (!all(buffers.good())) return false;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      if (can_serve(contenders_[i], bytes) && !rests_.rests(i)) who.push_back(i);
    }
    const tuner::Contest raced = race(who, buffers, bytes);
    double least = never;
    for (std::size_t i = 0; i < who.size(); ++i) least = std::min(least, raced.median(i));
    std::vector<double> times(contenders_.size(), never);
    for (std::size_t i = 0; i < who.size(); ++i) {
      times[who[i]] = raced.median(i);
      if (!contenders_[who[i]].usual) rests_.note(who[i], raced.median(i), least);
    }
    rows_.push_back(times);
    winners_.push_back({bytes, winner(times, buffers, bytes)});
    return true;
  }

  // Over several nodes the MPI's own is named: the cost model does not come before what was measured.
  choose::Choice winner(const std::vector<double>& times, TunedBuffers& buffers, std::size_t bytes) {
    const std::size_t usual = best(times, true), other = best(times, false);
    if (usual == times.size()) return other == times.size() ? choose::Choice{} : contenders_[other].choice;
    if (other < times.size() && beats(times[other], times[usual])) {
      const std::size_t pair[] = {usual, other};
      if (race(pair, buffers, bytes).best() == 1) return contenders_[other].choice;
    }
    return contenders_[usual].choice;
  }

  // A line for each algorithm, a column for each size; in pieces that fit a terminal.
  void show() {
    constexpr std::size_t columns = 7;
    progress_.clear();
    if (group_.me != 0) return;
    fmt::print("{}{}: microseconds of a call\n", name_of(collective_),
               gpu_ == nullptr ? "" : ", data in the memory of GPUs");
    for (std::size_t from = 0; from < rows_.size(); from += columns) {
      const std::size_t to = std::min(from + columns, rows_.size());
      fmt::print("  {:<28}", "bytes");
      for (std::size_t s = from; s < to; ++s) fmt::print(" {:>9}", winners_[s].bytes);
      fmt::print("\n");
      for (std::size_t i = 0; i < contenders_.size(); ++i) show_line(i, from, to);
    }
    std::fflush(stdout);
  }
  void show_line(std::size_t contender, std::size_t from, std::size_t to) const {
    std::string line = fmt::format("  {:<28}", contenders_[contender].name);
    bool measured = false;
    for (std::size_t s = from; s < to; ++s) {
      const double seconds = rows_[s][contender];
      line += seconds == never ? fmt::format(" {:>9}", "-") : fmt::format(" {:>9.2f}", seconds * 1e6);
      measured = measured || seconds != never;
    }
    if (measured) fmt::print("{}\n", line);
  }

  team::Team& team_;
  run::Group& group_;
  Collective collective_;
  int batches_;
  std::shared_ptr<Gpu> gpu_;  // in whose memory the buffers lie; null: the host's
  std::size_t device_bytes_ = gpu_ != nullptr && gpu_->free_bytes() > 0 ? gpu_->free_bytes() : SIZE_MAX;
  bool shared_;  // the buffers lie in the shared heap
  std::vector<Contender> contenders_;
  Rests rests_;
  bool reads_ = false;
  choose::SwitchPoints points_;
  Progress progress_;
  std::vector<std::vector<double>> rows_;  // seconds, by size and contender
  std::vector<Winner> winners_;            // by size
};

void print_choices(const choose::SizedChoices& choices) {
  std::size_t from = 0;
  for (const choose::SizedChoice& one : choices) {
    fmt::print("  {:>9} to {:>9} bytes: {}\n", from, one.up_to, word_of(one));
    from = one.up_to + 1;
  }
  std::fflush(stdout);
}

}  // namespace

std::string why_no_sizes(const std::string& text) {
  std::vector<std::size_t> sizes;
  if (text.empty()) return "";
  if (std::string problem = parse_sizes(text, sizes); !problem.empty()) return problem;
  if (sizes.size() > most_tuned_sizes) return fmt::format("at most {} sizes can be measured", most_tuned_sizes);
  for (const std::size_t bytes : sizes) {
    if (bytes == 0 || bytes > most_block) return fmt::format("sizes must be from 1 to {} bytes", most_block);
  }
  return "";
}

std::vector<choose::AlgorithmEntry> tune_algorithms(team::Team& team, const AlgorithmsOptions& options) {
  const bool speaks = team.group.me == 0;
  const int nodes = team.nodes.nodes, on_node = team.nodes.ranks_on_fullest_node();
  std::vector<std::size_t> sizes = options.sizes.empty() ? ladder : options.sizes;
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (speaks) {
    fmt::print(
        "{} ranks on {} node{}, at most {} on one, {}\n\"-\": it cannot serve such blocks, or took more than {} "
        "times as long as the best at the two sizes before\n",
        team.group.ranks, nodes, nodes == 1 ? "" : "s", on_node,
        team.crowded ? "more than processors" : "a processor each", Rests::hopeless);
  }
  if (speaks && options.gpu != nullptr) {
    fmt::print("data in the memory of {}{}\n", options.gpu->name(),
               options.gpu->is_standin() ? "; a stand-in, not a GPU: the times are meaningless" : "");
  }
  std::vector<choose::AlgorithmEntry> entries;
  for (const Collective collective : those([](Collective c) { return is_dense(c) && is_regular(c); })) {
    choose::AlgorithmEntry entry{collective, team.group.ranks,      on_node, nodes, team.crowded,
                                 {},         options.gpu != nullptr};
    entry.choices = AlgorithmTuner(team, collective, options).run(sizes);
    if (entry.choices.empty()) continue;
    if (speaks) print_choices(entry.choices);
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace quadrille::tools
