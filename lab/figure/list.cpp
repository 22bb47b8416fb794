// The experiments of the papers that can be repeated on one node.
#include <fmt/core.h>

#include "lab/figure/computed.hpp"
#include "lab/figure/figure.hpp"
#include "lab/figure/gpu/gpu_figure.hpp"
#include "lab/figure/hosts.hpp"
#include "memory/node_copy.hpp"

namespace quadrille::tools {
namespace {

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;
constexpr const char* hint =
    "Ramesh et al., HINT: Designing Cache-Efficient MPI_Alltoall using Hybrid Memory Copy Ordering "
    "and Non-Temporal Instructions";
constexpr const char* cache_oblivious =
    "Li, Zhang and Hoefler, Cache-oblivious MPI all-to-all communications based on Morton order";
constexpr const char* as_in_figure_9 =
    "Before each timed call the caches are emptied and each rank brings its own buffers in (figure "
    "9 "
    "of the paper). All buffers lie in shared heaps.";
constexpr const char* copies_are_ordinary = " All copies are ordinary ones, through the caches.";

// By itself Quadrille finds out from a call of the size of the L2 on (8 ranks with blocks of 128 KiB, say) whether to
// stream, each line for itself: then lines would differ by that as well.
Variant order(std::string label, std::string algorithm) {
  return {std::move(label), std::move(algorithm), ordinary_copies};
}

// All bytes of a block from `temporal` on go past the caches.
Variant streams_from(std::string label, std::size_t temporal) {
  return {std::move(label), "hint-hilbert", memory::CopyPlan{0, temporal, {}}};
}

const Variant temporal = {"temporal", "hint-hilbert", ordinary_copies};

// What the paper says of figure 6, by numbers of ranks. Exceptions have rows of their own.
std::vector<Claim> claims_of_hint_6() {
  std::vector<Claim> claims;
  const auto add = [&](const std::string& text, std::string fast, std::string slow, std::size_t least, std::size_t most,
                       std::string paper, int least_ranks, int most_ranks) {
    claims.push_back(
        {text, 0, std::move(fast), std::move(slow), least, most, std::move(paper), least_ranks, most_ranks});
  };
  for (const char* other : {"row", "column"}) {
    const std::string than = fmt::format("Hilbert up to 20% slower than {}s", other);
    add(than + " up to 16 KiB (8 and 16 ranks)", "hilbert", other, 1, 16 * KiB, "0.8 to 1", 8, 16);
    add(than + " up to 8 KiB (32 ranks)", "hilbert", other, 1, 8 * KiB, "0.8 to 1", 32, 32);
  }
  add("columns faster than rows up to 2 KiB (8 ranks)", "column", "row", 1, 2 * KiB, "above 1", 8, 8);
  add("columns faster than Hilbert up to 2 KiB (8 ranks)", "column", "hilbert", 1, 2 * KiB, "above 1", 8, 8);
  add("rows faster than columns from 4 KiB on (8 ranks)", "row", "column", 4 * KiB, 32 * KiB, "above 1", 8, 8);
  add("rows faster than columns up to 8 KiB (32 ranks)", "row", "column", 1, 8 * KiB, "above 1", 32, 32);
  add("64 KiB to 1 MiB, 8 ranks: rows up to 10% faster than Hilbert", "row", "hilbert", 64 * KiB, MiB, "up to 1.1", 8,
      8);
  add("64 KiB to 1 MiB, 8 ranks: rows up to 10% faster than columns", "row", "column", 64 * KiB, MiB, "up to 1.1", 8,
      8);
  for (const char* other : {"row", "column"}) {
    const std::string than = fmt::format("Hilbert faster than {}s", other);
    add("64 KiB to 1 MiB, 32 ranks: " + than, "hilbert", other, 64 * KiB, MiB, "above 1", 32, 32);
    add("64 KiB, 16 ranks: " + than, "hilbert", other, 64 * KiB, 64 * KiB, "above 1", 16, 16);
    add("512 KiB and 1 MiB, 16 ranks: " + than, "hilbert", other, 512 * KiB, MiB, "above 1", 16, 16);
  }
  add("but at 128 and 256 KiB, 16 ranks: rows faster than Hilbert", "row", "hilbert", 128 * KiB, 256 * KiB, "above 1",
      16, 16);
  // Section III.
  for (const char* fixed : {"row", "column", "hilbert"}) {
    add(fmt::format("switching orders up to 20% faster than one order for all sizes: {}", fixed), switching, fixed, 1,
        MiB, "up to 1.2", 8, 32);
  }
  return claims;
}

Figure hint_6() {
  Figure f;
  f.name = "hint-6";
  f.title = "HINT, figure 6: orders of copies";
  f.needs_cores = true;
  f.source = std::string(hint) + ", figure 6";
  f.paper_machine = "Intel Cascade Lake, 8, 16 and 32 ranks, OSU benchmark";
  f.least_ranks = 8, f.most_ranks = 32;
  f.how =
      "Calls follow each other, as in the OSU benchmark. All copies are ordinary ones, through the caches. What "
      "differs is which "
      "rank copies which block, and when: by rows a rank fills its own receive buffer, by columns it empties its own "
      "send buffer, "
      "by Hilbert it copies a box of blocks of several ranks. `switching` is compared and not measured: at each size "
      "it takes the "
      "order that was the fastest in the other runs, as the paper's choice is made beforehand.";
  f.plots = {{"MPI_Alltoall",
              Collective::alltoall,
              "64:1M",
              false,
              {order("row", "hint-row"), order("column", "hint-column"), order("hilbert", "hint-hilbert")}}};
  f.claims = claims_of_hint_6();
  return f;
}

Figure hint_8() {
  Figure f;
  f.name = "hint-8";
  f.title = "HINT, figure 8: temporal and streaming copies";
  f.needs_cores = true;
  f.source = std::string(hint) + ", figure 8";
  f.paper_machine = "AMD EPYC 7713 and Intel Cascade Lake, 32 ranks, OSU benchmark";
  f.least_ranks = f.most_ranks = 32;
  f.how =
      "The Hilbert order with ordinary copies through the caches, and with streaming stores. The buffers of 32 ranks "
      "with "
      "blocks of 256 KiB are 512 MiB, more than any cache; those of a few ranks are so with larger blocks alone.";
  f.plots = {{"MPI_Alltoall", Collective::alltoall, "4K:64M", false, {temporal, streams_from("streaming", 0)}}};
  f.claims = {{"temporal faster up to 128 KiB (AMD)", 0, "temporal", "streaming", 1, 128 * KiB, "above 1"},
              {"streaming faster beyond (AMD)", 0, "streaming", "temporal", 256 * KiB, 4 * MiB, "above 1"},
              {"temporal faster up to 64 KiB (Intel)", 0, "temporal", "streaming", 1, 64 * KiB, "above 1"},
              {"streaming faster beyond (Intel)", 0, "streaming", "temporal", 128 * KiB, 4 * MiB, "above 1"},
              {"(not in the paper) the buffers of two ranks have 256 MiB and more", 0, "streaming", "temporal",
               32 * MiB, 64 * MiB, "-"}};
  return f;
}

Figure hint_10(std::size_t l2_bytes, int ranks) {
  const std::size_t first = memory::first_threshold(l2_bytes, ranks);
  Figure f;
  f.name = "hint-10";
  f.title = "HINT, figure 10: the hybrid copy";
  f.needs_cores = true;
  f.source = std::string(hint) + ", figure 10";
  f.paper_machine = "Intel Cascade Lake, OSU benchmark";
  f.how = fmt::format(
      "The Hilbert order. The hybrid copy moves the first T bytes of a block through the caches "
      "and streams the rest; T is L2 / ranks = {} bytes, then a half and a quarter of it, as the "
      "paper's search tries them.",
      first);
  f.plots = {{"MPI_Alltoall",
              Collective::alltoall,
              "16K:4M",
              false,
              {temporal, streams_from("streaming", 0), streams_from("hybrid T", first),
               streams_from("hybrid T/2", first / 2), streams_from("hybrid T/4", first / 4)}}};
  f.claims = {{"hybrid up to 20% faster than temporal near the cache boundary", 0, "hybrid T", "temporal", first,
               4 * first, "up to 1.2"},
              {"hybrid up to 20% faster than streaming near the cache boundary", 0, "hybrid T", "streaming", first,
               4 * first, "up to 1.2"},
              {"elsewhere equal to the best, or 5 to 10% faster; the best is streaming", 0, "hybrid T/4", "streaming",
               8 * first, 4 * MiB, "1"}};
  return f;
}

// A claim about an MPI that the paper names.
Claim against(std::string text, std::size_t plot, std::string fast, std::size_t least, std::size_t most,
              std::string paper, std::string rival) {
  Claim claim = {std::move(text), plot, std::move(fast), "mpi", least, most, std::move(paper)};
  claim.rival = std::move(rival);
  return claim;
}

constexpr const char* mpich = "MPICH 3.1.4";
constexpr const char* mvapich = "MVAPICH2 2.1";

Figure co_10() {
  Figure f;
  f.name = "co-10";
  f.title = "Cache-oblivious paper, figure 10: Morton order";
  f.source = std::string(cache_oblivious) + ", figure 10 (a) and (b)";
  f.paper_machine = "Intel Xeon Phi, 60 ranks; MPICH 3.1.4 was the fastest of the MPIs";
  f.least_ranks = f.most_ranks = 60;
  f.how = std::string(as_in_figure_9) + copies_are_ordinary;
  f.needs_cores = true;
  const std::vector<Variant> variants = {order("SH-Naive", "sh-naive"), order("SH-CO", "sh-co")};
  f.plots = {{"MPI_Alltoall", Collective::alltoall, "8:128K:x4", true, variants},
             {"MPI_Allgather", Collective::allgather, "8:128K:x4", true, variants}};
  f.claims = {
      against("all-to-all: SH-Naive faster than all MPIs", 0, "SH-Naive", 1, 4 * MiB, "above 1", mpich),
      against("all-to-all: SH-CO over MPICH, all sizes", 0, "SH-CO", 1, 4 * MiB, "3.11", mpich),
      {"all-to-all: SH-CO over SH-Naive below 16 KiB", 0, "SH-CO", "SH-Naive", 1, 16 * KiB - 1, "1.40"},
      {"all-to-all: the same from 16 KiB on", 0, "SH-CO", "SH-Naive", 16 * KiB, 4 * MiB, "1"},
      against("allgather: SH-Naive faster than all MPIs", 1, "SH-Naive", 1, 4 * MiB, "above 1", mpich),
      against("allgather: SH-CO over MPICH, all sizes", 1, "SH-CO", 1, 4 * MiB, "2.90", mpich),
      against("allgather: SH-CO over Intel MPI, all sizes", 1, "SH-CO", 1, 4 * MiB, "2.57", "Intel MPI 5.0"),
      {"allgather: SH-CO over SH-Naive below 32 KiB", 1, "SH-CO", "SH-Naive", 1, 32 * KiB - 1, "1.49"},
      {"allgather: SH-CO over SH-Naive, 32 KiB to 128 KiB", 1, "SH-CO", "SH-Naive", 32 * KiB, 128 * KiB, "1.09"}};
  // One number of one MPI at hand does not stand for two of the paper's.
  f.claims[6].needs_rival = true;
  return f;
}

Figure co_11() {
  Figure f;
  f.name = "co-11";
  f.title = "Cache-oblivious paper, figure 11: Morton order and NUMA";
  f.source = std::string(cache_oblivious) + ", figure 11 (a) and (b)";
  f.paper_machine = "four Xeon E7-8890, 72 ranks; MVAPICH2 2.1 with Limic2 was the MPI";
  f.least_ranks = f.most_ranks = 72;
  f.how = std::string(as_in_figure_9) + copies_are_ordinary +
          " On a machine of one NUMA domain SH-NUMA-CO is SH-CO: its order is the same.";
  f.needs_cores = true;
  const std::vector<Variant> variants = {order("SH-Naive", "sh-naive"), order("SH-CO", "sh-co"),
                                         order("SH-NUMA-CO", "sh-numa-co")};
  f.plots = {{"MPI_Alltoall", Collective::alltoall, "8:2M:x8", true, variants},
             {"MPI_Allgather", Collective::allgather, "8:2M:x8", true, variants}};
  f.claims = {
      against("all-to-all: SH-Naive faster than MVAPICH2 up to 64 KiB", 0, "SH-Naive", 1, 64 * KiB, "above 1", mvapich),
      against("all-to-all: SH-Naive as fast as MVAPICH2 from there on", 0, "SH-Naive", 64 * KiB + 1, 4 * MiB, "1",
              mvapich),
      against("all-to-all: SH-NUMA-CO over MVAPICH2, all sizes", 0, "SH-NUMA-CO", 1, 4 * MiB, "3.03", mvapich),
      against("all-to-all: SH-NUMA-CO significantly faster than MVAPICH2 below 64 KiB", 0, "SH-NUMA-CO", 1,
              64 * KiB - 1, "above 1.25", mvapich),
      against("all-to-all: SH-NUMA-CO as fast as MVAPICH2, 64 KiB to 2 MiB", 0, "SH-NUMA-CO", 64 * KiB, 2 * MiB, "1",
              mvapich),
      {"all-to-all: SH-NUMA-CO over SH-Naive below 16 KiB", 0, "SH-NUMA-CO", "SH-Naive", 1, 16 * KiB - 1, "1.41"},
      {"all-to-all: the same from 16 KiB on", 0, "SH-NUMA-CO", "SH-Naive", 16 * KiB, 4 * MiB, "1"},
      {"allgather: SH-NUMA-CO over SH-Naive below 64 KiB", 1, "SH-NUMA-CO", "SH-Naive", 1, 64 * KiB - 1, "1.62"},
      {"allgather: SH-NUMA-CO over SH-Naive, 64 KiB to 2 MiB", 1, "SH-NUMA-CO", "SH-Naive", 64 * KiB, 2 * MiB, "1.12"},
      against("allgather: SH-NUMA-CO over MVAPICH2 below 128 KiB", 1, "SH-NUMA-CO", 1, 128 * KiB - 1, "6.05", mvapich),
      against("allgather: SH-NUMA-CO over MVAPICH2, 128 KiB to 2 MiB", 1, "SH-NUMA-CO", 128 * KiB, 2 * MiB, "1.09",
              mvapich)};
  // "Significantly" is more than what counts as no difference, a quarter. The paper leaves open where blocks are large;
  // it is from 64 KiB on that its MPI copies straight.
  for (const std::size_t plot : {0, 1}) {
    const std::string large =
        fmt::format("{}: large blocks: SH-CO slower than ", plot == 0 ? "all-to-all" : "allgather");
    for (const char* other : {"SH-Naive", "SH-NUMA-CO"}) {
      f.claims.push_back({large + other, plot, "SH-CO", other, 64 * KiB, 4 * MiB, "below 1"});
    }
    f.claims.push_back(against(large + "MVAPICH2", plot, "SH-CO", 64 * KiB, 4 * MiB, "below 1", mvapich));
  }
  return f;
}

}  // namespace

std::vector<Figure> figures(std::size_t l2_bytes, int ranks) {
  std::vector<Figure> all = {hint_6(), hint_8(), hint_10(l2_bytes, ranks), co_10(), co_11()};
  for (Figure& figure : neighbor_copy_figures()) all.push_back(std::move(figure));
  for (Figure& figure : neighbor_figures(ranks)) all.push_back(std::move(figure));
  for (Figure& figure : bruck_figures(ranks)) all.push_back(std::move(figure));
  for (Figure& figure : host_figures()) all.push_back(std::move(figure));
  return all;
}

std::string known_figures() {
  std::string names;
  for (const Figure& figure : figures(0, 1)) names += (names.empty() ? "" : ", ") + figure.name;
  for (const ComputedFigure& figure : computed_figures()) names += ", " + figure.name;
  for (const GpuFigure& figure : gpu_figures()) names += ", " + figure.about.name;
  return names;
}

}  // namespace quadrille::tools
