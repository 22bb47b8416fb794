// What the paper shows and says. Its text is all that is known of the figures: where it does not say how large blocks
// are, `how` says what is taken here.
#include <string>

#include "lab/figure/gpu/gpu_figure.hpp"
#include "lab/figure/gpu/lines.hpp"

namespace quadrille::tools {
namespace {

using Labels = std::vector<std::string>;

constexpr std::size_t kilo = 1024, mega = 1024 * kilo;
constexpr std::size_t all_sizes = SIZE_MAX;
constexpr double no_bound = std::numeric_limits<double>::infinity();
// A number agrees if it is at most a quarter larger or smaller, as in lab/figure/claims.cpp.
constexpr double a_quarter_more = 1.25;
// Table 2: a grid of G * sqrt(P) points in each of two dimensions, of 8 bytes each.
constexpr std::size_t grid_bytes(std::size_t edge) { return edge * edge * 8; }

// The paper's number, give or take a quarter.
struct Range {
  double from, to;
};
constexpr Range near(double number) { return {number / a_quarter_more, number * a_quarter_more}; }
constexpr Range at_least(double number) { return {number, no_bound}; }

GpuClaim claim(std::string text, std::size_t plot, Labels fast, Labels slow, std::pair<int, int> ranks,
               std::pair<std::size_t, std::size_t> sizes, std::string paper, Range range,
               Compare compare = Compare::mean) {
  return {std::move(text),
          plot,
          std::move(fast),
          std::move(slow),
          ranks.first,
          ranks.second,
          sizes.first,
          sizes.second,
          std::move(paper),
          range.from,
          range.to,
          compare,
          ""};
}

GpuFigure figure(std::string number, std::string title, std::string machine, std::string how) {
  GpuFigure f;
  f.about.name = "gpu-" + number;
  f.about.title = "GPUs, figure " + number + ": " + std::move(title);
  f.about.source =
      "Namugwanya, Bienz, Schafer and Skjellum, MPI_Alltoall Optimizations on GPU-Enabled Architectures, figure " +
      number;
  f.about.paper_machine = std::move(machine);
  f.about.how = std::move(how);
  return f;
}

constexpr const char* lassen = "Lassen, four V100 a node, Spectrum MPI";
constexpr const char* tioga = "Tioga, MI250X, Cray MPICH";
constexpr const char* lines_of_all =
    " mpi is the MPI's own MPI_Alltoallv. The strides are 5. Copy-to-CPU Nonblocking is `inner=nonblocking`, as in the "
    "paper's abstract, and Copy-to-CPU Waitany `inner=waitany-stride`, as in its table 1: of claims on Copy-to-CPU "
    "Nonblocking the faster of the two counts.";

GpuFigure figure_1() {
  GpuFigure f =
      figure("1", "the MPI's Alltoallv and the best of the others", lassen,
             "The paper does not say how large blocks are; here a rank sends 128 MiB in all, as in its table 2. Its "
             "optimized line is the fastest of all others." +
                 std::string(lines_of_all));
  f.plots = {{"weak scaling", true, {8, 16, 32, 64, 128}, {grid_bytes(4096)}, SizeOf::rank, paper_lines()}};
  f.claims = {claim("at 128 processes nearly 1.5 times as fast as the system's", 0, optimized_labels(), {"mpi"},
                    {128, 128}, {0, all_sizes}, "1.5", near(1.5))};
  return f;
}

// The same for sizes of a block and of a rank: the paper does not say which they are.
void add_claims_of_figure_2(std::vector<GpuClaim>& claims, std::size_t plot, const std::string& suffix) {
  const std::pair<int, int> all = {128, 128};
  const auto add = [&](const std::string& text, Labels fast, Labels slow, std::pair<std::size_t, std::size_t> sizes,
                       const std::string& paper, Range range, Compare compare = Compare::mean) {
    claims.push_back(claim(text + suffix, plot, std::move(fast), std::move(slow), all, sizes, paper, range, compare));
  };
  const Labels best = host_nonblocking();
  add("2,048 B: Copy-to-CPU Nonblocking as fast as the MPI", best, {"mpi"}, {2048, 2048}, "1.01", near(1.01));
  add("4,096 B: Copy-to-CPU Nonblocking slower", best, {"mpi"}, {4096, 4096}, "0.16", near(0.16));
  add("524,288 B: Copy-to-CPU Nonblocking faster", best, {"mpi"}, {524288, 524288}, "1.6", near(1.6));
  add("524,288 B: all others faster than the MPI as well", optimized_labels(), {"mpi"}, {524288, 524288}, "above 1",
      at_least(1), Compare::each);
  add("8 MiB: Copy-to-CPU Nonblocking the fastest of all", best, all_but(best), {8 * mega, 8 * mega}, "above 1",
      at_least(1));
  add("8 MiB: Copy-to-CPU Nonblocking over the MPI", best, {"mpi"}, {8 * mega, 8 * mega}, "3", near(3));
  add("Copy-to-CPU Nonblocking the best of the proposed, all sizes", best, without_mpi(all_but(best)), {0, all_sizes},
      "above 1", at_least(1));
  add("2,048 B: Copy-to-CPU MPI faster than the MPI", {copy_to_cpu_mpi}, {"mpi"}, {2048, 2048}, "above 1", at_least(1));
}

GpuFigure figure_2() {
  GpuFigure f =
      figure("2", "sizes, 128 processes", lassen,
             "The paper does not say whether its sizes are of the data from a rank to another, or of all that a rank "
             "sends: here are both." +
                 std::string(lines_of_all));
  const std::vector<std::size_t> sizes = {2 * kilo,   4 * kilo,   8 * kilo, 16 * kilo, 32 * kilo, 64 * kilo, 128 * kilo,
                                          256 * kilo, 512 * kilo, mega,     2 * mega,  4 * mega,  8 * mega};
  f.plots = {{"sizes of a block", false, {128}, sizes, SizeOf::pair, paper_lines()},
             {"sizes of a rank", false, {128}, sizes, SizeOf::rank, paper_lines()}};
  add_claims_of_figure_2(f.claims, 0, "");
  add_claims_of_figure_2(f.claims, 1, " (size of a rank)");
  return f;
}

GpuFigure figure_3() {
  GpuFigure f = figure("3", "numbers of processes, 2,048 B of a process", lassen,
                       "A rank sends 2,048 bytes in all." + std::string(lines_of_all));
  f.plots = {{"2,048 B of a rank", true, {8, 16, 32, 64, 128}, {2048}, SizeOf::rank, paper_lines()}};
  const std::pair<int, int> all = {8, 128}, most = {128, 128};
  const std::pair<std::size_t, std::size_t> any = {0, all_sizes};
  const Labels best = host_nonblocking();
  f.claims = {claim("Copy-to-CPU Nonblocking consistently the fastest", 0, best, all_but(best), all, any, "above 1",
                    at_least(1), Compare::worst),
              claim("the best choice at the largest number", 0, best, all_but(best), most, any, "above 1", at_least(1)),
              claim("Copy-to-CPU MPI second", 0, {copy_to_cpu_mpi}, all_but({copy_to_cpu_mpi, best[0], best[1]}), all,
                    any, "above 1", at_least(1)),
              claim("Copy-to-CPU Pairwise competitive with Copy-to-CPU Nonblocking", 0, {copy_to_cpu_pairwise}, best,
                    all, any, "about 1", {1 / a_quarter_more, no_bound}),
              claim("and slightly behind at 128", 0, best, {copy_to_cpu_pairwise}, most, any, "above 1", at_least(1)),
              claim("Copy-to-CPU MPI does not surpass Copy-to-CPU Nonblocking", 0, best, {copy_to_cpu_mpi}, all, any,
                    "above 1", at_least(1)),
              claim("the MPI scales well: its time grows no more than the processes", 0, {"mpi"}, {}, all, any,
                    "up to 16", {0, 16}, Compare::growth)};
  return f;
}

GpuFigure figure_4() {
  GpuFigure f =
      figure("4", "numbers of processes on Tioga", tioga,
             "The paper does not say how large blocks are; here a rank sends 2,048 bytes in all, as in its figure 3. "
             "For its 30 and 40 processes stand 32 and 64." +
                 std::string(lines_of_all));
  f.plots = {{"2,048 B of a rank", true, {8, 16, 32, 64}, {2048}, SizeOf::rank, paper_lines()}};
  const std::pair<int, int> all = {8, 64}, most = {64, 64}, beyond = {32, 64};
  const std::pair<std::size_t, std::size_t> any = {0, all_sizes};
  f.claims = {
      claim("CUDA-aware Waitall Stride up to 5 times as fast as the MPI", 0, {waitall}, {"mpi"}, all, any, "up to 5",
            near(5), Compare::best),
      claim("and the fastest at 64 processes", 0, {waitall}, all_but({waitall}), most, any, "above 1", at_least(1)),
      claim("the MPI's time grows beyond 30 processes", 0, {"mpi"}, {}, beyond, any, "above 1", at_least(1.05),
            Compare::growth),
      claim("that of Waitall Stride falls", 0, {waitall}, {}, beyond, any, "below 1", {0, 1}, Compare::growth),
      claim("Copy-to-CPU Nonblocking competitive with the MPI", 0, host_nonblocking(), {"mpi"}, all, any, "about 1",
            {1 / a_quarter_more, no_bound}),
      claim("it does not scale as Waitall Stride does beyond 30", 0, {waitall}, host_nonblocking(), most, any,
            "above 1", at_least(1)),
      claim("Copy-to-CPU Pairwise slightly slower than the MPI", 0, {copy_to_cpu_pairwise}, {"mpi"}, all, any,
            "slightly below 1", {0.7, 1}),
      claim("CUDA-aware Pairwise scales less than Waitall Stride", 0, {waitall}, {cuda_pairwise}, most, any, "above 1",
            at_least(1)),
      claim("CUDA-aware Waitany Stride second at 64 processes", 0, {waitany}, all_but({waitany, waitall}), most, any,
            "above 1", at_least(1)),
      claim("Copy-to-CPU MPI competitive with Copy-to-CPU Nonblocking at 8", 0, {copy_to_cpu_mpi}, host_nonblocking(),
            {8, 8}, any, "about 1", {1 / a_quarter_more, no_bound})};
  return f;
}

GpuFigure figure_5() {
  GpuFigure f =
      figure("5", "sizes on Tioga", tioga,
             "The paper says that the sizes are fewer than in its figure 2, and names 2K to 16K; here they are 2 KiB "
             "to 64 KiB of a block, with its 64 processes." +
                 std::string(lines_of_all));
  f.plots = {{"sizes of a block",
              false,
              {64},
              {2 * kilo, 4 * kilo, 8 * kilo, 16 * kilo, 32 * kilo, 64 * kilo},
              SizeOf::pair,
              paper_lines()}};
  const std::pair<int, int> all = {64, 64};
  const std::pair<std::size_t, std::size_t> any = {0, all_sizes}, small = {2 * kilo, 8 * kilo},
                                            large = {32 * kilo, all_sizes};
  const Labels best = {waitall, waitany};
  f.claims = {
      claim("CUDA-aware Waitall Stride twice as fast as the MPI", 0, {waitall}, {"mpi"}, all, any, "2", near(2)),
      claim("Waitall and Waitany Stride the fastest", 0, best, all_but(best), all, any, "above 1", at_least(1)),
      claim("2K to 8K: Copy-to-CPU competitive with them", 0, copy_to_cpu_labels(), best, all, small, "about 1",
            {1 / a_quarter_more, no_bound}),
      claim("above 16K: they leave Copy-to-CPU behind", 0, best, copy_to_cpu_labels(), all, large, "above 1",
            at_least(1)),
      claim("CUDA-aware Pairwise closely better than the MPI", 0, {cuda_pairwise}, {"mpi"}, all, any,
            "slightly above 1", {1, 1.25}),
      claim("it is less efficient than Waitall and Waitany Stride", 0, best, {cuda_pairwise}, all, any, "above 1",
            at_least(1))};
  return f;
}

GpuFigure figure_6() {
  GpuFigure f = figure("6", "the exchanges on one node without GPUs", "one node of AMD EPYC processors, Open MPI",
                       "Memory of the host, and messages of the MPI for all lines but mpi, which is its own "
                       "MPI_Alltoallv, and Quadrille, "
                       "which is what Quadrille takes by itself. A rank sends 128 MiB in all, as in the paper's table "
                       "2, and 8 MiB for its "
                       "smaller grids, which the table does not have: grids of 4,096 and 1,024 points times the square "
                       "root of the ranks in "
                       "each of two dimensions. Multi-pair blocking is waitall-stride, multi-pair nonblocking "
                       "waitany-stride, multi-pair test "
                       "testany-stride; the strides are 5.");
  f.needs_device = false;
  const std::vector<int> counts = {8, 16, 32, 64};
  f.plots = {{"128 MiB of a rank (table 2)", true, counts, {grid_bytes(4096)}, SizeOf::rank, host_lines()},
             {"8 MiB of a rank (smaller grid)", true, counts, {grid_bytes(1024)}, SizeOf::rank, host_lines()}};
  const std::pair<std::size_t, std::size_t> any = {0, all_sizes};
  for (const auto& [name, label] : {std::pair("nonblocking", multi_nonblocking), std::pair("test", multi_test)}) {
    for (const int ranks : {8, 16, 64}) {
      f.claims.push_back(claim(std::string("multi-pair ") + name + " performs well with " + std::to_string(ranks) +
                                   " processes, beside the best of the others",
                               0, {label}, host_labels_but({multi_nonblocking, multi_test}), {ranks, ranks}, any,
                               "about 1", {1 / a_quarter_more, no_bound}));
    }
  }
  f.claims.push_back(claim("smaller grids: pairwise faster than Open MPI", 1, {host_pairwise}, {"mpi"}, {8, 64}, any,
                           "above 1", at_least(1)));
  f.claims.push_back(claim("multi-pair nonblocking and test well with large grids", 0, {multi_nonblocking, multi_test},
                           {"mpi"}, {8, 16}, any, "above 1", at_least(1)));
  f.claims.push_back(
      claim("and with small ones", 1, {multi_nonblocking, multi_test}, {"mpi"}, {8, 16}, any, "above 1", at_least(1)));
  f.claims.push_back(claim("multi-pair nonblocking and test differ slightly", 1, {multi_nonblocking}, {multi_test},
                           {8, 64}, any, "about 1", near(1)));
  f.claims.push_back(claim("(not in the paper) Quadrille's own choice over the MPI", 1, {own_choice}, {"mpi"}, {8, 64},
                           any, "-", at_least(1)));
  return f;
}

GpuFigure figure_7() {
  GpuFigure f =
      figure("7", "Beatnik", lassen,
             "The exchange of the program alone, with the sizes of its table 2: a rank sends 128 MiB in all. The "
             "program itself, which computes between its exchanges, is not run." +
                 std::string(lines_of_all));
  f.plots = {{"weak scaling", true, {8, 16, 32, 64, 128, 256, 512}, {grid_bytes(4096)}, SizeOf::rank, paper_lines()}};
  GpuClaim overall = claim("Beatnik as a whole 2 to 3 times as fast as with the MPI's Alltoallv", 0, optimized_labels(),
                           {"mpi"}, {8, 512}, {0, all_sizes}, "2 to 3", {2, 3});
  overall.untestable = "Beatnik and HeFFTe are not run, only their exchange is";
  f.claims = {overall, claim("(of the exchange alone) the best over the MPI", 0, optimized_labels(), {"mpi"}, {8, 512},
                             {0, all_sizes}, "2 to 3", {2 / 1.25, 3 * 1.25})};
  return f;
}

GpuFigure figure_8() {
  GpuFigure f =
      figure("8", "copies to the CPU and CUDA-aware exchanges, 256 processes", lassen,
             "A rank sends 128 MiB in all, as in the paper's table 2. Two more panels have what its section 3 says of "
             "strides, and of memory that is kept." +
                 std::string(lines_of_all));
  const std::vector<std::size_t> size = {grid_bytes(4096)};
  f.plots = {{"table 2", false, {256}, size, SizeOf::rank, paper_lines()},
             {"strides", false, {256}, size, SizeOf::rank, stride_lines()},
             {"memory of the host", false, {256}, size, SizeOf::rank, buffer_lines()}};
  const std::pair<int, int> all = {256, 256};
  const std::pair<std::size_t, std::size_t> any = {0, all_sizes};
  f.claims = {
      claim("Copy-to-CPU Nonblocking faster than all CUDA-aware ones", 0, host_nonblocking(),
            {waitany, waitall, cuda_pairwise, "mpi"}, all, any, "above 1", at_least(1)),
      claim("a stride of 5 is better than 1, 10 and 15 (Waitany)", 1, {"Waitany, stride 5"},
            {"Waitany, stride 1", "Waitany, stride 10", "Waitany, stride 15"}, all, any, "above 1", at_least(1)),
      claim("a stride of 5 is better than 1, 10 and 15 (Waitall)", 1, {"Waitall, stride 5"},
            {"Waitall, stride 1", "Waitall, stride 10", "Waitall, stride 15"}, all, any, "above 1", at_least(1)),
      claim("memory that is kept is faster than memory for each call", 2, {"kept"}, {"fresh", "pageable"}, all, any,
            "above 1", at_least(1))};
  return f;
}

GpuFigure figure_9() {
  GpuFigure f =
      figure("9", "weak scaling", lassen,
             "The paper's sizes are those of its table 2, of medium size above and large below; which medium ones are "
             "it does not say. Here a rank sends 8 MiB in all (a grid of 1,024 points times the square root of the "
             "ranks), and 128 MiB (4,096 points, as in the table)." +
                 std::string(lines_of_all));
  const std::vector<int> counts = {8, 16, 32, 64, 128, 256, 512};
  f.plots = {{"medium: 8 MiB of a rank", true, counts, {grid_bytes(1024)}, SizeOf::rank, paper_lines()},
             {"large: 128 MiB of a rank", true, counts, {grid_bytes(4096)}, SizeOf::rank, paper_lines()}};
  const std::pair<int, int> all = {8, 512};
  const std::pair<std::size_t, std::size_t> any = {0, all_sizes};
  const Labels cuda = {waitany, waitall, cuda_pairwise};
  f.claims = {
      claim("medium: CUDA-aware exchanges the fastest", 0, cuda, all_but(cuda), all, any, "above 1", at_least(1)),
      claim("large: Copy-to-CPU Nonblocking the fastest", 1, host_nonblocking(), all_but(host_nonblocking()), all, any,
            "above 1", at_least(1)),
      claim("large: Copy-to-CPU Nonblocking over the MPI", 1, host_nonblocking(), {"mpi"}, all, any, "2 to 3",
            {2 / 1.25, 3 * 1.25}),
      claim("medium: all faster than the MPI at all times", 0, optimized_labels(), {"mpi"}, all, any, "above 1",
            at_least(1), Compare::each),
      claim("large: all faster than the MPI at all times", 1, optimized_labels(), {"mpi"}, all, any, "above 1",
            at_least(1), Compare::each)};
  return f;
}

GpuFigure figure_10() {
  GpuFigure f =
      figure("10", "strong scaling", lassen,
             "All ranks together send a grid of 12,288 by 12,288 points of 8 bytes." + std::string(lines_of_all));
  f.plots = {{"12,288 x 12,288", true, {4, 8, 16, 32, 64, 128, 256}, {grid_bytes(12288)}, SizeOf::all, paper_lines()}};
  const std::pair<std::size_t, std::size_t> any = {0, all_sizes};
  const Labels cuda = {waitany, waitall, cuda_pairwise};
  f.claims = {claim("few processes: all faster than the MPI", 0, optimized_labels(), {"mpi"}, {4, 8}, any, "above 1",
                    at_least(1), Compare::each),
              claim("few processes: all that copy to the CPU faster than the MPI", 0, copy_to_cpu_labels(), {"mpi"},
                    {4, 8}, any, "above 1", at_least(1), Compare::each),
              claim("few processes: CUDA-aware ones over the MPI", 0, cuda, {"mpi"}, {4, 8}, any, "2 to 3",
                    {2 / 1.25, 3 * 1.25}),
              claim("most processes: the MPI faster than all CUDA-aware ones", 0, {"mpi"}, cuda, {256, 256}, any,
                    "above 1", at_least(1)),
              claim("most processes: Copy-to-CPU MPI the fastest", 0, {copy_to_cpu_mpi}, all_but({copy_to_cpu_mpi}),
                    {256, 256}, any, "above 1", at_least(1))};
  return f;
}

}  // namespace

std::vector<GpuFigure> gpu_figures() {
  return {figure_1(), figure_2(), figure_3(), figure_4(), figure_5(),
          figure_6(), figure_7(), figure_8(), figure_9(), figure_10()};
}

std::optional<GpuFigure> gpu_figure(std::string_view name) {
  for (GpuFigure& figure : gpu_figures()) {
    if (figure.about.name == name) return std::move(figure);
  }
  return std::nullopt;
}

}  // namespace quadrille::tools
