// The distributed transitive closure of a graph. An ordinary MPI program, which can also call
// Quadrille's algorithms by name. fixpoint.hpp describes the method.
//
// Exit status: 0 success, 1 the closure is wrong, 2 wrong arguments or input.
#include <mpi.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/command_line.hpp"
#include "common/world.hpp"
#include "debian.hpp"
#include "distribute.hpp"
#include "exchange.hpp"
#include "fixpoint.hpp"
#include "generate.hpp"
#include "graph.hpp"
#include "reference.hpp"

namespace closure {
namespace {

struct Options {
  std::string graph = CLOSURE_SNAPSHOT;
  std::string debian;    // if empty: read `graph`
  std::string generate;  // if not: read nothing
  std::vector<std::string> sections;
  std::string algorithm = "mpi";
  int sub_buckets = 1;
  std::string write;
  std::string trace;
  bool check = false;
  bool check_sum = false;
};

// The result over all ranks.
struct Summary {
  Digest closure;
  std::int64_t moved = 0, moved_to_others = 0;
  std::int64_t largest_part = 0;  // of a rank, in tuples
  // Maxima over the ranks.
  double total = 0, communication = 0, counts = 0, data = 0, test = 0;
};

// The origin of the graph, for the comment in a written file.
std::string origin(const Options& options) {
  const std::filesystem::path path = options.debian.empty() ? options.graph : options.debian;
  std::string text =
      "made by closure --write-graph from " + (options.generate.empty() ? path.filename().string() : options.generate);
  for (const std::string& section : options.sections) text += ", section " + section;
  return text;
}

// ---- Input ----

Graph read_graph(const Options& options) {
  if (!options.generate.empty()) return generate_graph(options.generate);
  if (options.debian.empty()) return parse_graph(read_text(options.graph), options.graph);
  return package_graph(read_packages(options.debian), options.sections);
}

// ---- Output ----

Summary summary_of(const Result& result, const Traffic& traffic, double seconds, const World& world) {
  const std::int64_t tuple = sizeof(Pair);
  const Digest digest = result.tuples.digest();
  std::uint64_t digests[] = {digest.tuples, digest.sum};
  MPI_Allreduce(MPI_IN_PLACE, digests, 2, MPI_UINT64_T, MPI_SUM, world.comm);
  std::int64_t moved[] = {traffic.tuples * tuple, traffic.tuples_to_others * tuple};
  MPI_Allreduce(MPI_IN_PLACE, moved, 2, MPI_INT64_T, MPI_SUM, world.comm);
  auto part = static_cast<std::int64_t>(digest.tuples);
  MPI_Allreduce(MPI_IN_PLACE, &part, 1, MPI_INT64_T, MPI_MAX, world.comm);
  const double communication = traffic.count_seconds + traffic.data_seconds + result.test_seconds;
  double most[] = {seconds, communication, traffic.count_seconds, traffic.data_seconds, result.test_seconds};
  MPI_Allreduce(MPI_IN_PLACE, most, 5, MPI_DOUBLE, MPI_MAX, world.comm);
  return {{digests[0], digests[1]}, moved[0], moved[1], part, most[0], most[1], most[2], most[3], most[4]};
}

void print(const Options& options, const Graph& graph, const Result& result, const Summary& summary,
           const World& world) {
  std::printf("transitive closure: %d ranks, algorithm %s\n", world.ranks, options.algorithm.c_str());
  std::printf("graph: %zu vertices, %zu edges\n", vertices_of(graph).size(), graph.edges.size());
  std::printf("closure: %" PRIu64 " tuples in %d iterations, checksum %016" PRIx64 "\n", summary.closure.tuples,
              result.iterations, summary.closure.sum);
  std::printf(
      "time: total %.6f s, communication %.6f s (counts %.6f s, data %.6f s, test for the "
      "end %.6f s)\n",
      summary.total, summary.communication, summary.counts, summary.data, summary.test);
  std::printf("moved: %" PRId64 " B, of them %" PRId64 " B to other ranks\n", summary.moved, summary.moved_to_others);
  std::printf("largest part of a rank: %" PRId64 " tuples, %.2f times the mean\n", summary.largest_part,
              summary.closure.tuples == 0 ? 1.0
                                          : static_cast<double>(summary.largest_part) * world.ranks /
                                                static_cast<double>(summary.closure.tuples));
}

// ---- Check ----

// An error in the tuples, or an empty text.
std::string difference(const std::vector<Pair>& found, const std::vector<Pair>& expected) {
  const auto name = [](Pair pair) { return "(" + std::to_string(pair.from) + ", " + std::to_string(pair.to) + ")"; };
  for (std::size_t i = 0; i < found.size() || i < expected.size(); ++i) {
    if (i < found.size() && i < expected.size() && found[i] == expected[i]) continue;
    const bool extra = i >= expected.size() || (i < found.size() && key_of(found[i]) < key_of(expected[i]));
    return extra ? name(found[i]) + " should not be in the closure" : name(expected[i]) + " is missing in the closure";
  }
  return {};
}

std::string difference(const Digest& found, const Digest& expected) {
  if (found.tuples != expected.tuples) {
    return "the closure should have " + std::to_string(expected.tuples) + " tuples";
  }
  return found.sum == expected.sum ? "" : "the number of tuples is right, their checksum is not";
}

// Compares with the search of one process. Returns the exit status, the same on all ranks.
int check(const Options& options, const Graph& graph, const Result& result, const Summary& summary,
          const World& world) {
  if (!options.check && !options.check_sum) return 0;
  const std::vector<Pair> all = options.check ? gather_tuples(result.tuples, world) : std::vector<Pair>{};
  int status = 0;
  if (world.rank == 0) {
    const std::string wrong = options.check ? difference(all, reference_closure(graph))
                                            : difference(summary.closure, reference_digest(graph));
    status = wrong.empty() ? 0 : 1;
    const char* what = options.check ? "all tuples" : "number and checksum of the tuples";
    if (wrong.empty()) std::printf("check passed: %s as a search from every vertex finds them\n", what);
    if (!wrong.empty()) std::printf("check failed: %s\n", wrong.c_str());
  }
  MPI_Bcast(&status, 1, MPI_INT, 0, world.comm);
  return status;
}

// ---- Program ----

int run(const Options& options, const World& world) {
  if (options.algorithm.empty()) throw std::runtime_error("--algorithm: no name (try --help)");
  Graph graph;  // on rank 0
  examples::on_first_rank(world, [&] { graph = read_graph(options); });
  if (!options.write.empty()) {
    examples::on_first_rank(world, [&] { write_graph(graph, options.write, origin(options)); });
    return 0;
  }
  examples::open_trace(options.trace, world);
  if (!force_algorithm(world, options.algorithm)) return 2;
  const Placement placement{world.ranks, options.sub_buckets};
  std::vector<Pair> edges = scatter_edges(graph, placement, world);
  Exchange exchange(world, options.algorithm);
  // Untimed: the first calls on a communicator set it up.
  exchange(Blocks(world.ranks));
  exchange.traffic = {};
  exchange.trace.clear();
  MPI_Barrier(world.comm);
  const double start = MPI_Wtime();
  const Result result = transitive_closure(std::move(edges), placement, world, exchange);
  const double seconds = MPI_Wtime() - start;
  const Summary summary = summary_of(result, exchange.traffic, seconds, world);
  if (world.rank == 0) print(options, graph, result, summary, world);
  if (!options.trace.empty()) exchange.trace.write(options.trace, world);
  return check(options, graph, result, summary, world);
}

void add_options(examples::CommandLine& line, Options& options) {
  line.text("--graph", options.graph,
            "Edge list (two vertex numbers per line), or sparse matrix in Matrix Market form. "
            "Default: dependencies of Debian packages",
            {.hides_default = true});
  line.text("--generate", options.generate,
            "Generate the graph: chains:COUNT,LONGEST, COUNT chains, the longest with LONGEST edges",
            {.excludes = {"--graph"}});
  line.text("--debian", options.debian, "Packages index of Debian, or a folder of indexes",
            {.excludes = {"--graph", "--generate"}});
  line.texts("--section", options.sections,
             "With --debian: only packages of this section and their dependencies; may be repeated",
             {.needs = "--debian"});
  line.text("--algorithm", options.algorithm,
            "mpi: MPI_Alltoallv; auto: Quadrille's choice; else a name from `quadrille list`");
  line.number("--sub-buckets", options.sub_buckets, 1, 1024,
              "Ranks over which the tuples that end at one vertex are spread, against hot keys");
  line.flag("--check", options.check, "Compare all tuples with a search from every vertex");
  line.flag("--check-sum", options.check_sum,
            "Compare only the number of tuples and their checksum; needs little memory", {.excludes = {"--check"}});
  line.text("--trace", options.trace, "Write a table with largest block, mean block and seconds of each exchange");
  line.text("--write-graph", options.write, "Write the graph as an edge list (.gz: compressed) and end");
}

}  // namespace
}  // namespace closure

int main(int argc, char** argv) {
  closure::Options options;
  examples::CommandLine line("closure", "The transitive closure of a graph.");
  closure::add_options(line, options);
  return line.run(argc, argv, [&](const examples::World& world) { return closure::run(options, world); });
}
