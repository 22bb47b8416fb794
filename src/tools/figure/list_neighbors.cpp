// The experiments of the paper on isomorphic neighbourhoods, on the torus that this machine's ranks
// make.
#include "tools/figure/figure.hpp"

namespace quadrille::tools {
namespace {

using enum choose::Collective;

constexpr const char* traff =
    "Traff, Carpen-Amarie, Hunold and Rougier, Message-Combining Algorithms for Isomorphic, Sparse "
    "Collective "
    "Communication";

const Variant straightforward = {"straightforward", "straightforward", {}};
const Variant torus = {"torus", "torus", {}};
const Variant torus_direct = {"torus-direct", "torus-direct", {}};

Plot plot_of(std::string title, choose::Collective collective, std::string sizes,
             std::string neighborhood, std::vector<Variant> variants,
             std::string distribution = "equal") {
  return {std::move(title),       collective,
          std::move(sizes),       false,
          std::move(variants),    std::move(neighborhood),
          std::move(distribution)};
}

Figure figure_of(std::string name, std::string title, std::string where) {
  Figure f;
  f.name = std::move(name);
  f.title = "Isomorphic neighbourhoods, " + std::move(title);
  f.source = std::string(traff) + ", " + std::move(where);
  f.paper_machine = "30 nodes of 16 processes, NEC MPI 1.3.1, InfiniBand";
  f.how =
      "Messages only (--no-node), on the torus of MPI_Dims_create. The MPI has a communicator of "
      "MPI_Dist_graph_create_adjacent, Quadrille one of Quadrille_Iso_neighborhood_create.";
  f.no_node = true;
  return f;
}

Figure iso_2() {
  Figure f = figure_of("iso-2", "figure 2: combining against the MPI", "figure 2");
  const std::vector<Variant> variants = {torus, torus_direct};
  f.plots = {
      plot_of("d = 2, radius 1, 8 neighbours", neighbor_alltoall, "1:2K:x8", "moore:2,1", variants),
      plot_of("d = 3, radius 1, 26 neighbours", neighbor_alltoall, "1:2K:x8", "moore:3,1",
              variants),
      plot_of("d = 2, radius 3, 48 neighbours", neighbor_alltoall, "1:2K:x8", "moore:2,3",
              variants),
      plot_of("d = 3, radius 3, positive coordinates, 63 neighbours", neighbor_alltoall, "1:2K:x8",
              "positive-moore:3,3", variants)};
  f.claims = {{"d = 2: close to s / D for small blocks", 0, "torus", "mpi", 1, 64, "2"},
              {"d = 3: close to s / D for small blocks", 1, "torus", "mpi", 1, 64, "4.3"},
              {"d = 2, radius 3: close to s / D for small blocks", 2, "torus", "mpi", 1, 64, "4"},
              {"asymmetric: combining pays for small blocks", 3, "torus", "mpi", 1, 64, "above 1"},
              {"the advantage diminishes as blocks grow (d = 3)", 1, "torus", "mpi", 512, 2048,
               "towards 1"}};
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
  f.plots = {plot_of("d = 3, radius 1, 26 neighbours", neighbor_alltoallw, "1,64,4K,256K",
                     "moore:3,1", variants, "stencil"),
             plot_of("d = 4, radius 1, 80 neighbours", neighbor_alltoallw, "1,64,4K", "moore:4,1",
                     variants, "stencil")};
  f.claims = {{"d = 3: faster than MPI_Neighbor_alltoallw in most cases", 0, "torus", "mpi", 1,
               4096, "above 1"},
              {"d = 4: the same", 1, "torus", "mpi", 1, 4096, "above 1"}};
  return f;
}

Figure iso_4() {
  Figure f = figure_of("iso-4", "figure 4: the three algorithms", "figure 4");
  const std::vector<Variant> variants = {straightforward, torus, torus_direct};
  f.plots = {plot_of("d = 3, radius 2, 124 neighbours", neighbor_alltoall, "1:2K:x8", "moore:3,2",
                     variants),
             plot_of("d = 2, distances 1 and 3, 32 neighbours", neighbor_alltoall, "1:2K:x8",
                     "shales:2,1,3", variants)};
  f.claims = {{"torus faster than straightforward for small blocks", 0, "torus", "straightforward",
               1, 64, "above 1"},
              {"torus-direct faster than torus as blocks grow", 0, "torus-direct", "torus", 512,
               2048, "above 1"},
              {"shales: torus slower than straightforward from 500 bytes on", 1, "torus",
               "straightforward", 512, 2048, "below 1"},
              {"shales: torus-direct on a par with straightforward there", 1, "torus-direct",
               "straightforward", 512, 2048, "1"}};
  return f;
}

Figure iso_5() {
  Figure f = figure_of("iso-5", "figure 5: allgather", "figure 5");
  const std::vector<Variant> variants = {torus, torus_direct};
  f.plots = {plot_of("allgather, d = 3, radius 1, 26 neighbours", neighbor_allgather, "1:32K:x8",
                     "moore:3,1", variants),
             plot_of("all-to-all, d = 3, radius 1, 26 neighbours", neighbor_alltoall, "1:32K:x8",
                     "moore:3,1", variants),
             plot_of("allgather, d = 3, radius 3, positive coordinates", neighbor_allgather,
                     "1:32K:x8", "positive-moore:3,3", variants)};
  f.claims = {{"allgather takes 80% less time than the MPI's", 0, "torus", "mpi", 1, 32768, "5"},
              {"asymmetric allgather against the MPI's", 2, "torus", "mpi", 1, 32768, "about 5"}};
  return f;
}

}  // namespace

std::vector<Figure> neighbor_figures() { return {iso_2(), iso_3(), iso_4(), iso_5()}; }

}  // namespace quadrille::tools
