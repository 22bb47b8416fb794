// The experiments of the cache-oblivious paper on neighbour collectives, on the torus that this machine's ranks make.
#include "lab/figure/figure.hpp"

namespace quadrille::tools {
namespace {

using enum Collective;

constexpr std::size_t below_64_KiB = 65535, largest_block = std::size_t{4} << 20;
constexpr const char* li = "Li, Zhang and Hoefler, Cache-oblivious MPI all-to-all communications based on Morton order";

const Variant own_rings = {"rings", "rings", {}};
// By itself each line would find out from a call of the size of the L2 on whether to stream, which those of large
// blocks are.
const Variant naive = {"SH-Naive", "sh-naive", ordinary_copies};
const Variant morton = {"SH-CO", "sh-co", ordinary_copies};
const Variant numa_morton = {"SH-NUMA-CO", "sh-numa-co", ordinary_copies};

// The four panels: all-to-all and allgather, with blocks of one size and of different ones.
std::vector<Plot> panels(const std::string& sizes, const std::string& neighborhood,
                         const std::vector<Variant>& variants) {
  const auto panel = [&](std::string title, Collective collective, std::string distribution) {
    return Plot{std::move(title), collective, sizes, true, variants, neighborhood, std::move(distribution), ""};
  };
  return {panel("MPI_Neighbor_alltoall", neighbor_alltoall, "equal"),
          panel("MPI_Neighbor_allgather", neighbor_allgather, "equal"),
          panel("MPI_Neighbor_alltoallv", neighbor_alltoallv, "uniform"),
          panel("MPI_Neighbor_allgatherv", neighbor_allgatherv, "uniform")};
}

std::string how_on(const std::string& torus) {
  return "Before each timed call the caches are emptied and each rank brings its own buffers in (figure 9 of the "
         "paper). All buffers lie in shared heaps. The neighbours are the nearest two in each dimension of " +
         torus +
         " torus of all ranks. The paper does not say which sizes its irregular collectives have: here those of the v "
         "collectives are uniform in 0..N, N being the size in the table. Copies in an order are ordinary ones, "
         "through the caches. "
         "`rings` is what Quadrille takes by itself, which may stream large blocks; the paper does not have it.";
}

// More than what counts as no difference, a quarter.
constexpr const char* significantly = "above 1.25";

// A claim about MPICH, the fastest of the paper's MPIs here.
Claim over_mpich(std::string text, std::size_t plot, std::string fast, std::string paper) {
  Claim claim = {std::move(text), plot, std::move(fast), "mpi", 1, largest_block, std::move(paper)};
  claim.rival = "MPICH 3.1.4";
  return claim;
}

Figure co_10_neighbors() {
  Figure f;
  f.name = "co-10-neighbors";
  f.title = "Cache-oblivious paper, figure 10: neighbours in Morton order";
  f.source = std::string(li) + ", figure 10 (c) to (f)";
  f.paper_machine = "Intel Xeon Phi, 60 ranks, a 2D Cartesian topology; MPICH 3.1.4 was the fastest of the MPIs";
  f.least_ranks = f.most_ranks = 60;
  f.how = how_on("a 2D");
  f.needs_cores = true;
  f.plots = panels("8:128K:x4", "von-neumann:2", {own_rings, naive, morton});
  f.claims = {over_mpich("all-to-all: SH-Naive significantly faster than all MPIs", 0, "SH-Naive", significantly),
              over_mpich("allgather: SH-Naive significantly faster than all MPIs", 1, "SH-Naive", significantly),
              over_mpich("all-to-all: SH-CO over MPICH, all sizes", 0, "SH-CO", "3.05"),
              {"all-to-all: SH-CO over SH-Naive below 64 KiB", 0, "SH-CO", "SH-Naive", 1, below_64_KiB, "1.18"},
              over_mpich("allgather: SH-CO over MPICH, all sizes", 1, "SH-CO", "2.91"),
              {"allgather: SH-CO over SH-Naive below 64 KiB", 1, "SH-CO", "SH-Naive", 1, below_64_KiB, "1.17"},
              over_mpich("alltoallv: similar results, over MPICH", 2, "SH-CO", "about 3.05"),
              {"alltoallv: similar results, over SH-Naive", 2, "SH-CO", "SH-Naive", 1, below_64_KiB, "about 1.18"},
              over_mpich("allgatherv: similar results, over MPICH", 3, "SH-CO", "about 2.91"),
              {"allgatherv: similar results, over SH-Naive", 3, "SH-CO", "SH-Naive", 1, below_64_KiB, "about 1.17"},
              {"(not in the paper) all-to-all", 0, "rings", "SH-CO", 1, largest_block, "-"},
              {"(not in the paper) alltoallv", 2, "rings", "SH-CO", 1, largest_block, "-"}};
  return f;
}

Figure co_11_neighbors() {
  Figure f;
  f.name = "co-11-neighbors";
  f.title = "Cache-oblivious paper, figure 11: neighbours in Morton order and NUMA";
  f.source = std::string(li) + ", figure 11 (c) to (f)";
  f.paper_machine = "four Xeon E7-8890, 72 ranks, a 3D Cartesian topology; MVAPICH2 2.1 with Limic2 was the MPI";
  f.least_ranks = f.most_ranks = 72;
  f.how = how_on("a 3D") + " On a machine of one NUMA domain SH-NUMA-CO is SH-CO: its order is the same.";
  f.needs_cores = true;
  f.plots = panels("8,64,512,4K,32K,256K,4M", "von-neumann:3", {own_rings, naive, morton, numa_morton});
  f.claims = {
      {"all-to-all: SH-NUMA-CO over SH-Naive below 64 KiB", 0, "SH-NUMA-CO", "SH-Naive", 1, below_64_KiB, "1.17"},
      {"allgather: SH-NUMA-CO over SH-Naive below 64 KiB", 1, "SH-NUMA-CO", "SH-Naive", 1, below_64_KiB, "1.15"},
      {"alltoallv: slightly worse than SH-Naive for small blocks", 2, "SH-NUMA-CO", "SH-Naive", 1, 4096, "below 1"},
      {"allgatherv: slightly worse than SH-Naive for small blocks", 3, "SH-NUMA-CO", "SH-Naive", 1, 4096, "below 1"},
      {"(not in the paper) all-to-all", 0, "rings", "SH-NUMA-CO", 1, largest_block, "-"},
      {"(not in the paper) alltoallv", 2, "rings", "SH-NUMA-CO", 1, largest_block, "-"}};
  return f;
}

}  // namespace

std::vector<Figure> neighbor_copy_figures() { return {co_10_neighbors(), co_11_neighbors()}; }

}  // namespace quadrille::tools
