// Idea    For a row of block sizes, batches of calls go each way in turn, as in tune.cpp. What combines is what the
//         library would take if it were told to combine every block; it is compared with the better of the two ways
//         without combining.
// Cost    A few seconds a neighbourhood.
#include "tool/tune/tune_neighbors.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "tool/bench/neighborhood_text.hpp"
#include "tool/tune/around.hpp"
#include "tuner/contest.hpp"

namespace quadrille::tools {
namespace {

constexpr std::size_t most_block_bytes = std::size_t{64} << 20;  // of all blocks of a rank
constexpr int ranks_for_three_dimensions = 8;
const std::vector<std::size_t> block_sizes = {8, 64, 200, 512, 1000, 1024, 2048, 3000, 4096, 8192, 16384, 30000};

enum Way { combined, direct, by_mpi, way_count };
constexpr const char* way_names[way_count] = {"combined", "direct", "the MPI"};

class NeighborTuner {
 public:
  NeighborTuner(const Around& around, int batches) : around_(around), team_(around.team()), batches_(batches) {}

  // False if there is nothing to combine; else the entry, but for what is known of the communicator.
  bool run(Collective collective, choose::NeighborEntry& entry) {
    entry.collective = collective;
    if (!choose::kind_of(around_.isomorphic().costs(is_allgather(collective)), entry.kind)) {
      return false;
    }
    entry_ = entry;
    head();
    std::vector<double> first, second;
    std::vector<std::size_t> sizes;
    for (const std::size_t bytes : block_sizes) {
      if (bytes * around_.blocks() > most_block_bytes) break;
      const std::vector<double> times = measure(bytes);
      show(bytes, times);
      sizes.push_back(bytes);
      first.push_back(times[combined]);
      second.push_back(*std::min_element(times.begin() + 1, times.end()));
    }
    const std::size_t cut = tuner::best_cut(first, second);
    entry.largest_combined = cut == 0 ? 0 : sizes[cut - 1];
    return true;
  }

 private:
  // What calls of the next batches find. The same on all ranks.
  void use(Way way) {
    entry_.largest_combined = SIZE_MAX / 2;
    team::use_measured(team_, {entry_});
    const Collective c = entry_.collective;
    around_.force(way == combined ? choose::Choice() : choose::plain(c, way == direct ? "direct" : "mpi"), c);
  }

  // By ways. Some MPIs mix up several edges between two processes; then theirs is not among them.
  std::vector<double> measure(std::size_t bytes) {
    send_.assign(bytes * around_.blocks(), std::byte{1});
    recv_.assign(bytes * around_.blocks(), std::byte{0});
    const std::size_t ways = team::neighbors_of(team_)->doubtful ? by_mpi : way_count;
    const NeighborCall call = {entry_.collective, bytes, [&] { return send_.data(); }, recv_.data()};
    const auto use_way = [&](std::size_t way) { use(static_cast<Way>(way)); };
    std::vector<double> medians;
    for (const BatchTimes& times : measure_ways(around_, call, ways, use_way, batches_)) {
      medians.push_back(times.median);
    }
    return medians;
  }

  void head() {
    if (team_.group.me != 0) return;
    fmt::print("  {}: {} messages and {} blocks instead of {}\n  {:>10}", name_of(entry_.collective),
               entry_.kind.rounds, entry_.kind.blocks, entry_.kind.neighbors, "bytes");
    for (const char* name : way_names) fmt::print(" {:>12}", name);
    fmt::print("   us\n");
  }
  void show(std::size_t bytes, const std::vector<double>& times) {
    if (team_.group.me != 0) return;
    fmt::print("  {:>10}", bytes);
    for (const double time : times) fmt::print(" {:>12.2f}", time);
    fmt::print("{}\n", times.size() < way_count ? fmt::format(" {:>12}", "-") : "");
    std::fflush(stdout);
  }

  const Around& around_;
  team::Team& team_;
  int batches_;
  choose::NeighborEntry entry_;
  std::vector<std::byte> send_, recv_;
};

}  // namespace

std::string neighborhoods_to_tune(const std::vector<std::string>& words, int ranks,
                                  std::vector<NamedNeighborhood>& neighborhoods) {
  std::vector<std::string> names = words;
  if (names.empty()) {
    names = {"moore:2,1"};
    if (ranks >= ranks_for_three_dimensions) names.emplace_back("moore:3,1");
  }
  for (const std::string& name : names) {
    NamedNeighborhood one{name, {}};
    if (std::string problem = parse_neighborhood(name, one.around); !problem.empty()) return problem;
    neighborhoods.push_back(std::move(one));
  }
  return "";
}

std::vector<choose::NeighborEntry> tune_neighbors(team::Team& world, int batches,
                                                  const std::vector<NamedNeighborhood>& neighborhoods) {
  const bool speaks = world.group.me == 0;
  std::vector<choose::NeighborEntry> entries;
  bool is_first = true;
  for (const NamedNeighborhood& one : neighborhoods) {
    const Around around(world, one.around);
    const int on_node = around.team().nodes.ranks_on_fullest_node();
    if (speaks && std::exchange(is_first, false)) {
      fmt::print("{} ranks, at most {} on a node, {}; neighbours over messages\n", world.group.ranks, on_node,
                 world.crowded ? "more than processors" : "a processor each");
    }
    NeighborTuner tuner(around, batches);
    if (speaks) fmt::print("{}\n", one.name);
    for (const Collective collective : those([](Collective c) { return is_neighbor(c) && is_regular(c); })) {
      choose::NeighborEntry entry{collective, world.group.ranks, on_node, world.crowded, {}, 0};
      const bool combines = tuner.run(collective, entry);
      if (combines) entries.push_back(entry);
      if (!speaks) continue;
      fmt::print("  {}\n", !combines ? fmt::format("{}: nothing to combine", name_of(collective))
                           : entry.largest_combined == 0
                               ? "not combined"
                               : fmt::format("combined up to {} bytes", entry.largest_combined));
      std::fflush(stdout);
    }
  }
  return entries;
}

}  // namespace quadrille::tools
