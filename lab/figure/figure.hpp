// `quadrille bench --figure NAME`: repeats an experiment of one of the papers on this machine, and
// writes its data and a page with our numbers beside what the paper says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/bench/options.hpp"
#include "tools/bench/report.hpp"

namespace quadrille::tools {

// One plot: a collective, its sizes, and a line for each variant. The MPI's own is measured with
// each.
struct Plot {
  std::string title;
  Collective collective;
  std::string sizes;  // as --sizes
  bool cold = false;  // the benchmark of the cache-oblivious paper (its figure 9)
  std::vector<Variant> variants;
  std::string neighborhood = "moore:3,1";  // as --neighborhood
  std::string distribution = "equal";      // as --distribution
  std::string grid{};                      // as --grid; empty: as MPI_Dims_create makes it
};

// Something that the paper says: how many times as fast one line is as another, over a range of
// sizes.
struct Claim {
  std::string text;         // of the paper
  std::size_t plot;         // which one
  std::string fast;         // label of a variant
  std::string slow;         // label of a variant, or "mpi"
  std::size_t least, most;  // bytes of a block, both included
  std::string paper;        // the paper's number
};

// A cell of a table of set-up times: a Moore neighbourhood, and the paper's milliseconds.
struct SetupCase {
  int dimensions = 1, radius = 1;
  double adjacent = 0;  // MPI_Dist_graph_create_adjacent
  double general = 0;   // MPI_Dist_graph_create
  double create = 0;    // Iso_neighborhood_create
  double init = 0;      // Iso_neighborhood_alltoall_init
};

struct Figure {
  std::string name;    // "hint-6"
  std::string title;   // of the page
  std::string source;  // paper and figure
  std::string paper_machine;
  std::string how;  // what is measured here
  std::vector<Plot> plots;         // none: a table of set-up times
  std::vector<Claim> claims;
  bool no_node = false;  // messages only, as between nodes
  std::string of_two_ranks{};  // what a reader must know if there are only two
  std::vector<SetupCase> setups{};
};

inline constexpr const char* orders_of_two_ranks =
    "With 2 ranks SH-Naive, SH-CO and SH-NUMA-CO are the same copies in the same order: what they differ by is the "
    "noise of the measurement.";

// The figure of that name for this machine; null if there is none. `l2_bytes` and `ranks` are what
// the hybrid copy's threshold depends on.
std::vector<Figure> figures(std::size_t l2_bytes, int ranks);
std::string known_figures();
// Those of the paper on isomorphic neighbourhoods, and its table 2.
std::vector<Figure> neighbor_figures(int ranks);
// Those of the cache-oblivious paper on neighbour collectives.
std::vector<Figure> neighbor_copy_figures();

// The rows of a plot, in the order in which they were measured.
struct PlotRows {
  std::vector<BenchRow> rows;
  std::string skipped{};  // why there are none
};

// Geometric mean of slow / fast over the sizes of a claim; 0 if no size was measured. `sizes`
// counts them.
double speedup_of(const Claim& claim, const PlotRows& plot, std::size_t& sizes);

// What the page says of the run.
struct FigureRun {
  std::string command;
  int ranks = 0, hosts = 1, processors = 0;  // processors of one host
  BenchHeader header;
};
// The beginning of a page: what is measured, where, and why a number may mislead.
std::string page_head(const Figure& figure, const FigureRun& run);
// The page in Markdown.
std::string figure_page(const Figure& figure, const FigureRun& run,
                        const std::vector<PlotRows>& plots);

// Runs under a launcher; without one, says how to start it. Returns the exit status.
int figure_command(const BenchOptions& options);

}  // namespace quadrille::tools
