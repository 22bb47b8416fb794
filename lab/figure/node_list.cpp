// Figures 12 and 13 of the cache-oblivious paper, between nodes, for the simulation.
#include "lab/figure/bruck_list.hpp"
#include "lab/figure/verdict.hpp"
#include "tool/bench/statistics.hpp"

namespace quadrille::tools {
namespace simulated_nodes {
namespace {

const SimulatedLine mvapich_alltoall = {"MVAPICH2", "", Collective::alltoall};
const SimulatedLine mn_co = {"MN-CO", "mn-co", Collective::alltoall};
const SimulatedLine topo_mn_co = {"topo MN-CO", "leaders:exchange=mn-co", Collective::alltoall};
const SimulatedLine topo_direct = {"topo MVAPICH2", "leaders:exchange=spread-out", Collective::alltoall};
const SimulatedLine gather_mn_co = {"topo MN-CO", "leaders:exchange=mn-co", Collective::allgather};
const SimulatedLine gather_doubling = {"recursive doubling", "leaders:exchange=recursive-doubling",
                                       Collective::allgather};
const SimulatedLine gather_ring = {"ring", "leaders:exchange=ring", Collective::allgather};

const std::vector<std::size_t> sizes = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
constexpr int of_a_node = 24, nodes = 256;
constexpr double nothing = -1;

// Which of the two the MPI's own rule takes for an allgather among the leaders: doubling below 512 KiB in all.
double mvapich_allgather(const TimeOf& time, std::size_t panel, int ranks, std::size_t bytes) {
  const bool doubles = bytes * static_cast<std::size_t>(ranks) < 512 << 10;
  return time(panel, doubles ? "recursive doubling" : "ring", ranks, bytes);
}

using SlowTime = std::function<double(const TimeOf&, std::size_t bytes)>;

// Geometric mean over the sizes from `least` to `most`, both included.
SimulatedClaim mean_over(std::string text, std::size_t panel, std::string fast, std::string slow, int ranks,
                         std::size_t least, std::size_t most, std::string paper, SlowTime slow_time = {}) {
  if (!slow_time) slow_time = [=](const TimeOf& time, std::size_t bytes) { return time(panel, slow, ranks, bytes); };
  const auto here = [=](const TimeOf& time) {
    std::vector<double> ratios;
    for (const std::size_t bytes : sizes) {
      const double f = time(panel, fast, ranks, bytes), s = slow_time(time, bytes);
      if (bytes >= least && bytes <= most && f > 0 && s > 0) ratios.push_back(s / f);
    }
    return ratios.empty() ? nothing : geometric_mean(ratios);
  };
  return {std::move(text), fast, slow, std::move(paper), here};
}

SimulatedFigure figure_of(const char* name, const char* number, const char* title) {
  SimulatedFigure f;
  f.name = name;
  f.source =
      std::string(
          "Li, Zhang and Hoefler, Cache-oblivious MPI all-to-all communications based on Morton order, figure ") +
      number;
  f.title = std::string("Cache-oblivious paper, figure ") + number + ", simulated: " + title;
  f.network = "fdr";
  f.constants = "The rate of its links is InfiniBand's, the rest of its constants is assumed.";
  f.how =
      "The paper measured on nodes of two Xeon E5-2680 v3, 24 cores, over an Infiniband that it does not name: FDR "
      "here, the ends "
      "are EDR and QDR. `MVAPICH2` is the schedule that MPICH chooses, which it descends from: Bruck up to 256 bytes, "
      "then messages "
      "straight to all. ";
  return f;
}

SimulatedFigure figure_12() {
  SimulatedFigure f = figure_of("co-12-simulated", "12", "several nodes");
  f.how +=
      "`topo` is with leaders: packing in shared memory, an exchange of the leaders, unpacking. Blocks of the leaders "
      "are 576 times as "
      "large, so `topo MVAPICH2` sends them straight. In the allgather MVAPICH2's leaders take recursive doubling "
      "below 512 KiB in all, "
      "else a ring.";
  f.panels = {
      {"(a) all-to-all, 256 nodes, a rank each", false, {nodes}, sizes, equal_mean(), {mn_co, mvapich_alltoall}, 1},
      {"(b) all-to-all, 128 nodes of 24",
       false,
       {128 * of_a_node},
       sizes,
       equal_mean(),
       {topo_mn_co, topo_direct, mvapich_alltoall},
       of_a_node},
      {"(c) allgather, 256 nodes of 24",
       false,
       {nodes * of_a_node},
       sizes,
       equal_mean(),
       {gather_mn_co, gather_doubling, gather_ring},
       of_a_node}};
  constexpr int ranks_b = 128 * of_a_node, ranks_c = nodes * of_a_node;
  f.claims = {
      mean_over("(a) MN-CO over MVAPICH2 below 1 KiB", 0, "MN-CO", "MVAPICH2", nodes, 1, 512, "2.23"),
      mean_over("(a) worse for larger blocks", 0, "MN-CO", "MVAPICH2", nodes, 1024, 8192, "below 1"),
      mean_over("(b) topology-aware, below 64 bytes", 1, "topo MN-CO", "topo MVAPICH2", ranks_b, 1, 32, "1.88"),
      mean_over("(b) against MVAPICH2 without leaders, below 64 bytes", 1, "topo MN-CO", "MVAPICH2", ranks_b, 1, 32,
                "3.81"),
      mean_over("(c) topology-aware, below 4 KiB", 2, "topo MN-CO", "topo MVAPICH2", ranks_c, 1, 2048, "1.91",
                [](const TimeOf& time, std::size_t bytes) { return mvapich_allgather(time, 2, ranks_c, bytes); })};
  f.claims[1].near = f.claims[0].here;
  return f;
}

SimulatedFigure figure_13() {
  SimulatedFigure f = figure_of("co-13-simulated", "13", "allgather with overlap inside and between nodes");
  f.how +=
      "The paper's two rivals unpack inside the node while the leaders exchange; here they do one after the other.";
  constexpr int ranks = nodes * of_a_node;
  f.panels = {{"allgather, 256 nodes of 24",
               false,
               {ranks},
               sizes,
               equal_mean(),
               {gather_mn_co, gather_doubling, gather_ring},
               of_a_node}};
  const std::string no_overlap = because(not_built, "the rivals' overlap, which would make them faster");
  f.claims = {mean_over("topo-aware MN-CO over recursive doubling with overlap below 2 KiB", 0, "topo MN-CO",
                        "recursive doubling", ranks, 1, 1024, "1.88"),
              mean_over("over a ring with overlap below 2 KiB", 0, "topo MN-CO", "ring", ranks, 1, 1024, "1.82")};
  for (SimulatedClaim& claim : f.claims) claim.reason = no_overlap;
  return f;
}

}  // namespace
}  // namespace simulated_nodes

std::vector<SimulatedFigure> simulated_node_figures() {
  return {simulated_nodes::figure_12(), simulated_nodes::figure_13()};
}

}  // namespace quadrille::tools
