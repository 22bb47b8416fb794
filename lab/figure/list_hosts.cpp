// Figures 12 and 13 of the cache-oblivious paper, measured over the hosts that there are: of its own numbers of nodes
// nothing follows from that, but which line is the faster. node_list.cpp has the same at the paper's numbers,
// simulated.
#include <fmt/core.h>

#include <cstdint>

#include "lab/figure/figure.hpp"
#include "lab/figure/hosts.hpp"
#include "lab/figure/verdict.hpp"
#include "mpi/mpi.hpp"

namespace quadrille::tools {
namespace measured_hosts {
namespace {

// Parameters in the order in which what carries a line out has them, so that the page knows it again.
const Variant mn_co = {"MN-CO", "mn-co"};
const Variant topo_mn_co = {"topo MN-CO", "leaders:leaders=1,exchange=mn-co"};
const Variant topo_direct = {"topo direct", "leaders:leaders=1,exchange=spread-out"};
const Variant topo_bruck = {"topo Bruck", "leaders:leaders=1,exchange=zero-rotation-bruck"};
const Variant topo_doubling = {"recursive doubling", "leaders:leaders=1,exchange=recursive-doubling"};
const Variant topo_ring = {"ring", "leaders:leaders=1,exchange=ring"};

// The paper has all powers of two from 1 to 8,192.
constexpr const char* sizes = "8:8K:x4";
constexpr std::size_t KiB = 1024;
constexpr int of_a_node = 24, nodes = 256, nodes_of_b = 128;

Figure figure_of(std::string name, const std::string& number, const std::string& title) {
  Figure f;
  f.name = std::move(name);
  f.title = "Cache-oblivious paper, figure " + number + ", over hosts: " + title;
  f.source =
      "Li, Zhang and Hoefler, Cache-oblivious MPI all-to-all communications based on Morton order, figure " + number;
  f.paper_machine = "nodes of two Xeon E5-2680 v3, 24 cores, Infiniband, MVAPICH2 2.1, OSU benchmark";
  f.how =
      "Calls follow each other, as in the OSU benchmark. `topo` is with a leader on each host: packing in shared "
      "memory, an "
      "exchange of the leaders, unpacking. ";
  f.between_hosts = true;
  return f;
}

Plot allgather_plot(std::string title) {
  return {std::move(title), Collective::allgather, sizes, false, {topo_mn_co, topo_doubling, topo_ring}};
}

Claim of_ranks(Claim claim, int ranks) {
  claim.least_ranks = claim.most_ranks = ranks;
  return claim;
}

Figure figure_12() {
  Figure f = figure_of("co-12", "12", "several nodes");
  f.how +=
      "The MPI's own stands for MVAPICH2: below some hundred bytes both take Bruck in an all-to-all. With leaders "
      "MVAPICH2 sends "
      "straight in the paper's all-to-all, as the leaders' blocks are 576 times as large (`topo direct`), and takes "
      "recursive "
      "doubling in a small allgather. Sizes are some of the paper's, 1 to 8,192 bytes.";
  Plot a{"(a) all-to-all, a rank on each host", Collective::alltoall, sizes, false, {mn_co}};
  a.rank_a_host = true;
  f.plots = {std::move(a),
             {"(b) all-to-all, all ranks", Collective::alltoall, sizes, false, {topo_mn_co, topo_direct, topo_bruck}},
             allgather_plot("(c) allgather, all ranks")};
  constexpr int ranks_b = nodes_of_b * of_a_node, ranks_c = nodes * of_a_node;
  f.claims = {
      of_ranks({"(a) MN-CO over MVAPICH2 below 1 KiB, 256 nodes", 0, "MN-CO", "mpi", 1, KiB - 1, "2.23"}, nodes),
      of_ranks({"(a) worse for larger blocks", 0, "MN-CO", "mpi", KiB, 8 * KiB, "below 1"}, nodes),
      of_ranks({"(b) topology-aware, below 64 bytes, 128 nodes of 24", 1, "topo MN-CO", "topo direct", 1, 63, "1.88"},
               ranks_b),
      of_ranks({"(b) against MVAPICH2 without leaders, below 64 bytes", 1, "topo MN-CO", "mpi", 1, 63, "3.81"},
               ranks_b),
      {"(not in the paper) (b) against leaders that take Bruck, below 64 bytes", 1, "topo MN-CO", "topo Bruck", 1, 63,
       "-"},
      of_ranks({"(c) topology-aware, below 4 KiB, 256 nodes of 24", 2, "topo MN-CO", "recursive doubling", 1,
                4 * KiB - 1, "1.91"},
               ranks_c)};
  f.claims[1].near_least = 1, f.claims[1].near_most = KiB - 1;
  return f;
}

Figure figure_13() {
  Figure f = figure_of("co-13", "13", "allgather with overlap inside and between nodes");
  f.how +=
      "The paper's two rivals unpack inside the node while the leaders exchange; here they do one after the other, so "
      "the claims "
      "about them have no verdict, and what is compared is the exchange among the leaders.";
  f.plots = {allgather_plot("allgather, all ranks")};
  const std::string no_overlap = because(not_built, "the rivals' overlap, which would make them faster");
  f.claims = {{"topo-aware MN-CO over recursive doubling with overlap below 2 KiB", 0, "topo MN-CO",
               "recursive doubling", 1, 2 * KiB - 1, "1.88"},
              {"over a ring with overlap below 2 KiB", 0, "topo MN-CO", "ring", 1, 2 * KiB - 1, "1.82"}};
  for (Claim& claim : f.claims) claim.reason = no_overlap;
  f.claims.push_back({"(not in the paper) over recursive doubling without overlap below 2 KiB", 0, "topo MN-CO",
                      "recursive doubling", 1, 2 * KiB - 1, "-"});
  f.claims.push_back(
      {"(not in the paper) over a ring without overlap below 2 KiB", 0, "topo MN-CO", "ring", 1, 2 * KiB - 1, "-"});
  return f;
}

// Whether the first ranks, as many as hosts, are on a host each. The same on all ranks.
bool take_turns(int hosts) {
  MpiComm host = mpi().comm_null;
  int rank = 0, place = 0;
  mpi().Comm_split_type(mpi().comm_world, mpi().comm_type_shared, 0, mpi().info_null, &host);
  mpi().Comm_rank(mpi().comm_world, &rank);
  mpi().Comm_rank(host, &place);
  mpi().Comm_free(&host);
  std::uint64_t first = rank < hosts && place == 0 ? 1 : 0, found = 0;
  mpi().Allreduce(&first, &found, 1, mpi().uint64, mpi().op_sum, mpi().comm_world);
  return found == static_cast<std::uint64_t>(hosts);
}

}  // namespace
}  // namespace measured_hosts

std::vector<Figure> host_figures() { return {measured_hosts::figure_12(), measured_hosts::figure_13()}; }

void count_on_hosts(Figure& figure, int hosts) {
  for (Plot& plot : figure.plots) {
    if (plot.rank_a_host) plot.ranks = hosts;
  }
}

std::string why_not_on_hosts(const Figure& figure, int hosts, int ranks) {
  if (!figure.between_hosts) return "";
  const std::string several = fmt::format("{} is about several hosts with two ranks or more on each", figure.name);
  if (hosts < 2) return several + ", and all ranks are on one host; tests/cluster/hosts.py plays some";
  if (ranks < 2 * hosts) return fmt::format("{}, and there are {} ranks on {} hosts", several, ranks, hosts);
  if (!measured_hosts::take_turns(hosts)) {
    return fmt::format("{} wants the first {} ranks on a host each: place ranks by node, not by slot", figure.name,
                       hosts);
  }
  return "";
}

}  // namespace quadrille::tools
