// The experiments of the paper on isomorphic neighbourhoods, on the torus that this machine's ranks
// make.
#include <fmt/core.h>

#include "lab/figure/figure.hpp"
#include "lab/figure/verdict.hpp"

namespace quadrille::tools {
namespace {

using enum Collective;

constexpr const char* traff =
    "Traff, Carpen-Amarie, Hunold and Rougier, Message-Combining Algorithms for Isomorphic, Sparse "
    "Collective "
    "Communication";

const Variant straightforward = {"straightforward", "straightforward", {}};
const Variant torus = {"torus", "torus", {}};
const Variant torus_direct = {"torus-direct", "torus-direct", {}};

Plot plot_of(std::string title, Collective collective, std::string sizes, std::string neighborhood,
             std::vector<Variant> variants, std::string distribution = "equal", std::string grid = "") {
  return {
      std::move(title),        collective,     std::move(sizes), false, std::move(variants), std::move(neighborhood),
      std::move(distribution), std::move(grid)};
}

Figure figure_of(std::string name, std::string title, std::string where) {
  Figure f;
  f.name = std::move(name);
  f.title = "Isomorphic neighbourhoods, " + std::move(title);
  f.source = std::string(traff) + ", " + std::move(where);
  f.paper_machine = "30 nodes of 16 processes, NEC MPI 1.3.1, InfiniBand";
  f.least_ranks = f.most_ranks = 480;
  f.how =
      "Messages only (--no-node), on the torus of MPI_Dims_create. The MPI has a communicator of "
      "MPI_Dist_graph_create_adjacent, Quadrille one of Quadrille_Iso_neighborhood_create.";
  f.no_node = true;
  return f;
}

Figure iso_2() {
  Figure f = figure_of("iso-2", "figure 2: combining against the MPI", "figure 2");
  const auto panel = [](std::string title, std::string neighborhood) {
    return plot_of(std::move(title), neighbor_alltoall, "1:2K:x8", std::move(neighborhood), {torus, torus_direct});
  };
  f.how +=
      " On a few ranks that torus has short dimensions: neighbours fold onto each other, and messages are "
      "fewer than the paper's D. The paper compares what it measured with the number of neighbours over 2d; its "
      "algorithm has "
      "2rd rounds, which are as many with radius 1, and with radius 3 three times as many: there its rounds are 19 "
      "times as few in "
      "(e), and 4 times with d = 2.";
  f.plots = {panel("(a) d = 2, radius 1, 8 neighbours", "moore:2,1"),
             panel("(b) d = 3, radius 1, 26 neighbours", "moore:3,1"),
             panel("(c) d = 4, radius 1, 80 neighbours", "moore:4,1"),
             panel("(d) d = 5, radius 1, 242 neighbours", "moore:5,1"),
             panel("(e) d = 3, radius 3, 342 neighbours", "moore:3,3"),
             panel("(f) d = 3, radius 3, positive coordinates, 63 neighbours", "positive-moore:3,3"),
             panel("d = 2, radius 3, 48 neighbours", "moore:2,3")};
  // "close to the ratio of number of neighbors to 2d"
  const std::pair<const char*, const char*> ratios[] = {
      {"(a)", "2"}, {"(b)", "4.3"}, {"(c)", "10"}, {"(d)", "24.2"}, {"(e)", "57"}};
  for (const auto& [where, ratio] : ratios) {
    f.claims.push_back({fmt::format("{} close to the number of neighbours over 2d for small blocks", where),
                        f.claims.size(), "torus", "mpi", 1, 64, ratio});
  }
  f.claims.push_back({"(f) asymmetric: combining pays for small blocks", 5, "torus", "mpi", 1, 64, "above 1"});
  f.claims.push_back(
      {"d = 2, radius 3: close to the number of neighbours over 2d for small blocks", 6, "torus", "mpi", 1, 64, "12"});
  for (std::size_t plot = 0; plot < std::size(ratios); ++plot) {
    f.claims.push_back({fmt::format("{} the advantage diminishes as blocks grow", ratios[plot].first), plot, "torus",
                        "mpi", 512, 2048, "towards 1"});
  }
  return f;
}

// The paper's horizontal axis is the edge: 1, 8, 64 and 512 of the cube's, 1, 4 and 16 of the
// other's.
Figure iso_3() {
  Figure f = figure_of("iso-3", "figure 3: blocks of different sizes", "figure 3");
  f.how +=
      " Blocks shrink with the number of coordinates in which the neighbour differs "
      "(--distribution stencil); the size "
      "is that of the largest, a face.";
  const std::vector<Variant> variants = {torus, torus_direct};
  f.plots = {
      plot_of("d = 3, radius 1, 26 neighbours", neighbor_alltoallw, "1,64,4K,256K", "moore:3,1", variants, "stencil"),
      plot_of("d = 4, radius 1, 80 neighbours", neighbor_alltoallw, "1,64,4K", "moore:4,1", variants, "stencil")};
  f.claims = {{"d = 3: faster than MPI_Neighbor_alltoallw in most cases", 0, "torus", "mpi", 1, 4096, "above 1"},
              {"d = 4: the same", 1, "torus", "mpi", 1, 4096, "above 1"}};
  return f;
}

// Claims of figure 4(a), a Moore neighbourhood, on a plot; `where` says which.
std::vector<Claim> moore_claims(std::size_t plot, const std::string& where) {
  return {
      {where + "torus faster than straightforward for small blocks", plot, "torus", "straightforward", 1, 64,
       "above 1"},
      {where + "torus-direct faster than torus as blocks grow", plot, "torus-direct", "torus", 512, 2048, "above 1"}};
}

// Those of figure 4(b).
std::vector<Claim> shales_claims(std::size_t plot, const std::string& where) {
  Claim slower = {where + "torus slower than straightforward from 500 bytes on",
                  plot,
                  "torus",
                  "straightforward",
                  512,
                  2048,
                  "below 1"};
  slower.near_least = 1, slower.near_most = 64;
  return {slower,
          {where + "torus-direct on a par with straightforward there", plot, "torus-direct", "straightforward", 512,
           2048, "1"}};
}

Figure iso_4(int ranks) {
  Figure f = figure_of("iso-4", "figure 4: the three algorithms", "figure 4");
  const std::string ring = fmt::format("{}x1x1", ranks);
  f.how += fmt::format(
      " A way round a torus is never longer than half of it. On a few ranks MPI_Dims_create makes dimensions of two or "
      "three processes, in which a block is one hop from everywhere: there torus and torus-direct send the same "
      "messages, and the "
      "panel says so. On "
      "the ring, a grid of {}, distances in the first dimension take up to {} hops; all others vanish.",
      ring, ranks / 2);
  const auto panel = [](std::string title, std::string neighborhood, std::string grid) {
    return plot_of(std::move(title), neighbor_alltoall, "1:2K:x8", std::move(neighborhood),
                   {straightforward, torus, torus_direct}, "equal", std::move(grid));
  };
  f.plots = {panel("d = 3, radius 2, 124 neighbours", "moore:3,2", ""),
             panel("d = 2, distances 1 and 3, 32 neighbours", "shales:2,1,3", ""),
             panel("(a) d = 3, radius 3, 342 neighbours", "moore:3,3", ""),
             panel("(b) d = 3, distances 3 and 7, 1396 neighbours", "shales:3,3,7", ""),
             panel("ring: d = 3, radius 3, 342 neighbours", "moore:3,3", ring),
             panel("ring: d = 3, distances 3 and 7, 1396 neighbours", "shales:3,3,7", ring)};
  const std::vector<std::vector<Claim>> all = {moore_claims(0, "radius 2: "),      moore_claims(2, "(a) "),
                                               moore_claims(4, "(a) on a ring: "), shales_claims(1, "shales 1, 3: "),
                                               shales_claims(3, "(b) "),           shales_claims(5, "(b) on a ring: ")};
  for (const std::vector<Claim>& claims : all) f.claims.insert(f.claims.end(), claims.begin(), claims.end());
  f.claims.push_back({"(not in the paper) (a) torus against the MPI", 2, "torus", "mpi", 1, 64, "-"});
  f.claims.push_back({"(not in the paper) (b) torus against the MPI", 3, "torus", "mpi", 1, 64, "-"});
  return f;
}

Figure iso_5() {
  Figure f = figure_of("iso-5", "figure 5: allgather", "figure 5");
  const auto panel = [](std::string title, Collective collective, std::string neighborhood) {
    return plot_of(std::move(title), collective, "1:32K:x8", std::move(neighborhood), {torus, torus_direct});
  };
  f.plots = {panel("allgather, d = 3, radius 1, 26 neighbours", neighbor_allgather, "moore:3,1"),
             panel("all-to-all, d = 3, radius 1, 26 neighbours", neighbor_alltoall, "moore:3,1"),
             panel("(a) allgather, d = 3, radius 3, 342 neighbours", neighbor_allgather, "moore:3,3"),
             panel("(a) all-to-all, d = 3, radius 3, 342 neighbours", neighbor_alltoall, "moore:3,3"),
             panel("(b) allgather, d = 3, radius 3, positive coordinates", neighbor_allgather, "positive-moore:3,3"),
             panel("(b) all-to-all, d = 3, radius 3, positive coordinates", neighbor_alltoall, "positive-moore:3,3")};
  f.claims = {
      {"radius 1: allgather takes 80% less time than the MPI's", 0, "torus", "mpi", 1, 32768, "5"},
      {"(a) allgather takes 80% less time than the MPI's", 2, "torus", "mpi", 1, 32768, "5"},
      {"(b) asymmetric: allgather three times as fast as all-to-all up to 40 kB", 4, "torus", "torus", 1, 32768, "3", 0,
       0, 5},
      {"(a) allgather substantially faster than all-to-all", 2, "torus", "torus", 1, 32768, "above 1", 0, 0, 3},
      {"(a) the MPI's allgather takes as long as its all-to-all, small blocks", 2, "mpi", "mpi", 1, 64, "1", 0, 0, 3},
      {"(b) the MPI's allgather takes as long as its all-to-all, small blocks", 4, "mpi", "mpi", 1, 64, "1", 0, 0, 5},
      {"(not in the paper) (b) asymmetric allgather against the MPI's", 4, "torus", "mpi", 1, 32768, "-"}};
  return f;
}

// Figures 6 to 8 are those of other machines and MPIs: on this one they differ from figures 2 and 4 by what is
// compared.
Figure iso_6() {
  Figure f = figure_of("iso-6", "figure 6: 342 neighbours, a second machine", "figure 6");
  f.paper_machine = "70 nodes of 1 and of 16 processes, MVAPICH 2-2.2b, InfiniBand";
  f.least_ranks = 70, f.most_ranks = 1120;
  f.plots = {plot_of("d = 3, radius 3, 342 neighbours", neighbor_alltoall, "1:2K:x8", "moore:3,3",
                     {straightforward, torus, torus_direct})};
  f.claims = {{"torus faster than the MPI for small blocks", 0, "torus", "mpi", 1, 64, "above 1"},
              {"torus no faster than the MPI as blocks grow", 0, "torus", "mpi", 512, 2048, "below 1"},
              {"torus-direct the fastest up to 1 KiB: against torus", 0, "torus-direct", "torus", 1, 1024, "above 1"},
              {"torus-direct the fastest up to 1 KiB: against the MPI", 0, "torus-direct", "mpi", 1, 1024, "above 1"},
              {"torus faster than straightforward below 512 bytes (a process a node)", 0, "torus", "straightforward", 1,
               511, "above 1"},
              {"torus-direct likewise", 0, "torus-direct", "straightforward", 1, 511, "above 1"}};
  f.claims[1].near_least = 1, f.claims[1].near_most = 64;
  for (const char* line : {"torus", "torus-direct"}) {
    Claim less = {fmt::format("(b) 16 processes a node: {} gains less than with one", line),
                  0,
                  line,
                  "straightforward",
                  1,
                  2048,
                  "less"};
    less.reason = because(not_measured, "the number of processes a node was not varied");
    f.claims.push_back(less);
  }
  return f;
}

// The paper does not name the neighbourhoods of figure 7; one is "comparable" in size to that of figure 6.
Figure iso_7() {
  Figure f = figure_of("iso-7", "figure 7: 80 and 242 neighbours, a second machine", "figure 7");
  f.paper_machine = "70 nodes of 16 processes, MVAPICH 2-2.2b, InfiniBand";
  f.least_ranks = f.most_ranks = 1120;
  const std::vector<Variant> variants = {straightforward, torus, torus_direct};
  f.plots = {plot_of("d = 4, radius 1, 80 neighbours", neighbor_alltoall, "1:2K:x8", "moore:4,1", variants),
             plot_of("d = 5, radius 1, 242 neighbours", neighbor_alltoall, "1:2K:x8", "moore:5,1", variants)};
  for (std::size_t plot = 0; plot < 2; ++plot) {
    const char* where = plot == 0 ? "d = 4" : "d = 5";
    f.claims.push_back({fmt::format("{}: torus faster than straightforward for small blocks", where), plot, "torus",
                        "straightforward", 1, 64, "above 1"});
    f.claims.push_back(
        {fmt::format("{}: torus-direct likewise", where), plot, "torus-direct", "straightforward", 1, 64, "above 1"});
    f.claims.push_back(
        {fmt::format("(not in the paper) {}: torus against the MPI", where), plot, "torus", "mpi", 1, 64, "-"});
  }
  // With radius 1 all distances are one hop, so that both lines are one: the overhead is none.
  f.claims.push_back({"d = 5: torus is behind torus-direct by less than with radius 3 (figure 6)", 1, "torus-direct",
                      "torus", 1, 2048, "less"});
  return f;
}

Figure iso_8() {
  Figure f = figure_of("iso-8", "figure 8: a third machine, radius 1", "figure 8");
  f.paper_machine = "500 nodes of 24 processes, Cray MPICH 7.2.6, Aries";
  f.least_ranks = f.most_ranks = 12000;
  const std::vector<Variant> variants = {straightforward, torus};
  f.plots = {plot_of("(a) d = 4, radius 1, 80 neighbours", neighbor_alltoall, "1:2K:x8", "moore:4,1", variants),
             plot_of("(b) d = 5, radius 1, 242 neighbours", neighbor_alltoall, "1:2K:x8", "moore:5,1", variants)};
  // A little is up to a quarter, and no loss; a large factor is one from 2 on.
  f.claims = {
      {"(a) torus has little advantage over the MPI", 0, "torus", "mpi", 1, 64, "1 to 1.25"},
      {"(b) torus has little advantage over the MPI", 1, "torus", "mpi", 1, 64, "1 to 1.25"},
      {"(a) torus faster than straightforward by large factors", 0, "torus", "straightforward", 1, 64, "above 2"},
      {"(b) torus faster than straightforward by large factors", 1, "torus", "straightforward", 1, 64, "above 2"}};
  return f;
}

// Not in the paper, which proposes bases (section 5) and derived datatypes (section 3.3) and measures neither against
// the rest.
Figure iso_basis(int ranks) {
  Figure f = figure_of("iso-basis", "bases, and zero copy against packing", "sections 3.3 and 5");
  f.paper_machine = "none: the paper does not measure these";
  f.least_ranks = f.most_ranks = 0;
  const std::string ring = fmt::format("{}x1x1", ranks);
  f.how += fmt::format(
      " On the ring, a grid of {}, distances in the first dimension take up to {} hops, so a basis has fewer vectors "
      "than there are distances.",
      ring, ranks / 2);
  const std::vector<Variant> variants = {{"packed", "torus-direct:ports=1,pack=1048576", {}},
                                         {"zero copy", "torus-direct:ports=1,pack=0", {}},
                                         {"basis, packed", "basis:ports=1,pack=1048576", {}}};
  const auto panel = [&](std::string title, std::string sizes, std::string neighborhood) {
    return plot_of(std::move(title), neighbor_alltoall, std::move(sizes), std::move(neighborhood), variants, "equal",
                   ring);
  };
  f.plots = {panel("ring: d = 3, radius 1, 26 neighbours", "8:32K:x8", "moore:3,1"),
             panel("ring: d = 3, radius 3, 342 neighbours", "8:2K:x8", "moore:3,3"),
             panel("ring: d = 3, distances 1 and 3, 244 neighbours", "8:2K:x8", "shales:3,1,3")};
  f.claims = {
      {"26 neighbours: packing small blocks", 0, "packed", "zero copy", 1, 512, "not in the paper"},
      {"26 neighbours: packing large blocks", 0, "packed", "zero copy", 4096, 32768, "not in the paper"},
      {"342 neighbours: packing", 1, "packed", "zero copy", 1, 2048, "not in the paper"},
      {"342 neighbours: a basis against torus-direct", 1, "basis, packed", "packed", 1, 2048, "not in the paper"},
      {"shells: a basis against torus-direct", 2, "basis, packed", "packed", 1, 2048, "not in the paper"}};
  return f;
}

Figure iso_table_2() {
  Figure f = figure_of("iso-table-2", "table 2: set-up times", "table 2");
  f.how =
      "Moore neighbourhoods on the torus of MPI_Dims_create, messages only (--no-node), no reordering. A time is the "
      "maximum over the ranks from one barrier on; the table shows the median over the repetitions, in which all "
      "functions have their turns. MPI_Dist_graph_create_adjacent is given the ranks of the neighbours, which were "
      "found "
      "before: its time is that of the call alone. Quadrille_Iso_neighborhood_create is given the offsets; its time "
      "has in "
      "it the search for the ranks, the same call of the MPI, and a copy of the offsets. A program without Quadrille "
      "has "
      "to find the ranks too: MPI_Cart_rank for each source and destination, then that call, is a line of its own. "
      "Quadrille_Neighbor_alltoall_init is the first on a new communicator of "
      "Quadrille_Iso_neighborhood_create, for blocks of 8 bytes: it computes the schedule and gets the communicator "
      "ready for Quadrille's messages. The paper's init is that of torus.";
  // Milliseconds of the paper.
  f.setups = {{2, 1, 0.20, 27.00, 0.02, 0.10},  {2, 2, 0.14, 95.78, 0.01, 0.05},  {2, 3, 0.16, 158.38, 0.02, 0.06},
              {3, 1, 0.13, 130.75, 0.02, 0.03}, {3, 2, 0.16, 489.86, 0.05, 0.10}, {3, 3, 0.23, 939.38, 0.14, 0.37},
              {4, 1, 0.17, 6.17, 0.04, 0.06},   {4, 2, 0.37, 233.13, 0.28, 0.42}, {4, 3, 1.04, 337.32, 1.06, 2.94},
              {5, 1, 0.25, 7.42, 0.11, 0.15},   {5, 2, 1.48, 28.65, 1.48, 2.82},  {5, 3, 7.34, 42.22, 8.13, 25.02}};
  return f;
}

}  // namespace

std::vector<Figure> neighbor_figures(int ranks) {
  return {iso_2(), iso_3(), iso_4(ranks), iso_5(), iso_6(), iso_7(), iso_8(), iso_basis(ranks), iso_table_2()};
}

}  // namespace quadrille::tools
