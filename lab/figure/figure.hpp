// `quadrille-lab bench --figure NAME`: repeats an experiment of one of the papers on this machine, and
// writes its data and a page with our numbers beside what the paper says.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lab/bench_options.hpp"
#include "lab/figure/facts.hpp"
#include "memory/node_copy.hpp"
#include "tool/bench/report.hpp"

namespace quadrille::tools {

// All bytes go through the caches, however large a call is: nothing finds out whether to stream.
inline const memory::CopyPlan ordinary_copies = {memory::all_temporal, 0, {}};

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
  int ranks = 0;                           // the first ones of the run; 0: all
  bool rank_a_host = false;                // `ranks` is the number of hosts, once that is known
};

// Something that the paper says: how many times as fast one line is as another, over a range of
// sizes.
struct Claim {
  std::string text;                     // of the paper
  std::size_t plot;                     // which one
  std::string fast;                     // label of a variant
  std::string slow;                     // label of a variant, or "mpi"
  std::size_t least, most;              // bytes of a block, both included
  std::string paper;                    // the paper's number
  int least_ranks = 0, most_ranks = 0;  // the numbers of ranks that it is about, both included; 0: those of the figure
  int slow_plot = -1;                   // of the slow line, if that is in another plot
  std::string rival{};       // the MPI that the paper names for the line "mpi": the row says which one was here
  bool needs_rival = false;  // what is said of that one says nothing of another
  std::string reason{};      // why nothing that is measured here can judge it; begins with one of verdict.hpp
  // Of a crossover: bytes at which the line must be ahead that falls behind at the claim's; 0: it is none.
  std::size_t near_least = 0, near_most = 0;
};

// A line that is not measured: at each size it takes the line that was the fastest there in the other runs, as a choice
// does that was made beforehand. What chooses is not what is judged; of a single run it is both.
inline constexpr const char* switching = "switching";

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
  std::string how;          // what is measured here
  std::vector<Plot> plots;  // none: a table of set-up times
  std::vector<Claim> claims;
  bool no_node = false;      // messages only, as between nodes
  bool needs_cores = false;  // it compares what caches do: ranks that share a processor say nothing of it
  std::vector<SetupCase> setups{};
  bool has_map = false;                 // its page says who is the fastest, N by P, of all plots
  int least_ranks = 0, most_ranks = 0;  // of the paper's measurements, both included
  bool between_hosts = false;           // one host says nothing of it
};

// The figure of that name for this machine; null if there is none. `l2_bytes` and `ranks` are what
// the hybrid copy's threshold depends on.
std::vector<Figure> figures(std::size_t l2_bytes, int ranks);
std::string known_figures();
// Those of the paper on isomorphic neighbourhoods, and its table 2.
std::vector<Figure> neighbor_figures(int ranks);
// Those of the paper on non-uniform Bruck, with the ranks of the run.
std::vector<Figure> bruck_figures(int ranks);
// Those of the cache-oblivious paper on neighbour collectives.
std::vector<Figure> neighbor_copy_figures();

// A line that is one with another at some size (same.hpp).
struct SameLine {
  std::size_t bytes;
  std::string line, as;
  bool in_sequence = true;  // else each rank makes the same copies by both, but one after the other in another sequence
};

// The medians of each run, for a row.
struct RowRuns {
  std::vector<double> mpi, quadrille;
};

// The rows of a plot, in the order in which they were measured. With several runs a row has the medians of theirs.
struct PlotRows {
  std::vector<BenchRow> rows;
  std::string skipped{};        // why there are none
  std::vector<RowRuns> runs{};  // [row]; empty: there is nothing but the rows
  std::vector<SameLine> same{};
};

// How many ranks a plot was measured with.
inline int ranks_of(const Plot& plot, int ranks_of_run) { return plot.ranks > 0 ? plot.ranks : ranks_of_run; }

// The name of a line that is measured a second time, for the noise.
std::string again(const std::string& label);
// Microseconds; 0 if it was not measured. The line "mpi" is the MPI's.
double time_of(const PlotRows& plot, std::size_t bytes, const std::string& label);

// Of each run the geometric mean of slow / fast over the sizes of a claim; of none if no size was measured. `sizes`
// counts them. A size at which both lines are one and the same is left out: it says nothing of either. The slow line
// may be in another plot.
std::vector<double> speedups_of_runs(const Claim& claim, const PlotRows& plot, const PlotRows& of_slow,
                                     std::size_t& sizes);

// What the page says of the run.
struct FigureRun {
  std::string command;
  int ranks = 0, hosts = 1, processors = 0;  // processors of one host
  BenchHeader header;
  RunFacts facts{};
};
// The beginning of a page: what is measured, where, and why a number may mislead.
std::string page_head(const Figure& figure, const FigureRun& run);
// The page in Markdown.
std::string figure_page(const Figure& figure, const FigureRun& run, const std::vector<PlotRows>& plots);
// Its claims, with what becomes of them.
nlohmann::ordered_json claims_json(const Figure& figure, const FigureRun& run, const std::vector<PlotRows>& plots);
// Its data.
nlohmann::ordered_json figure_json(const Figure& figure, const FigureRun& run, const std::vector<PlotRows>& plots);

// Runs under a launcher; without one, says how to start it. Returns the exit status.
int figure_command(const LabOptions& options);

}  // namespace quadrille::tools
