// Distributed k-CFA: the fixed point of the rules in facts.hpp. Each iteration sends the consequences of
// new facts to their owners, by one all-to-all of the counts and one of the tuples. The ranks agree on the
// end by MPI_Allreduce.
//
// Exit status: 0 success, 1 the result differs from the reference or an exchange was wrong, 2 wrong
// arguments.
#include <mpi.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/world.hpp"
#include "exchange.hpp"
#include "partition.hpp"
#include "reference.hpp"

namespace kcfa {
namespace {

struct Options {
  int k = 1;
  int terms = 8;
  std::string file;  // empty: the worst case
  std::string algorithm = "mpi";
  std::string trace;
  bool check = false;
  bool show = false;
};

using examples::World;

struct Result {
  Summary found;                 // by all ranks together
  Traffic traffic;               // bytes: of all ranks; the others: the largest of the ranks
  double seconds = 0;            // the largest of the ranks
  std::uint64_t most_facts = 0;  // the largest of the ranks
  int iterations = 0;
  bool sound = true;  // whether all facts arrived
};

// The figures of an iteration, summed over the ranks.
enum Tally { kNew, kLost, kStray, kTallies };

// One iteration. The hashes of the sent and of the received facts must have the same sum over the ranks,
// and every fact must be at its owner, so that an error of the exchange is found.
void iterate(Partition& partition, Exchange& exchange, std::size_t width, std::uint64_t* tally) {
  tally[kLost] = partition.outbox().hash_sum();
  const std::span<const Word> came = exchange(partition.outbox());
  for (std::size_t at = 0; at < came.size(); at += width) {
    const Word* fact = &came[at];
    const Word hash = hash_of({fact, width});
    tally[kLost] -= hash;
    if (partition.accepts(fact)) {
      tally[kNew] += partition.add(fact, hash);
    } else {
      ++tally[kStray];
    }
  }
}

// Iterates until no fact is new. Every tally is equal on all ranks, so they end together.
void find_fixed_point(Partition& partition, Exchange& exchange, std::size_t width, Result& result) {
  for (bool more = true; more; ++result.iterations) {
    std::uint64_t tally[kTallies] = {};
    iterate(partition, exchange, width, tally);
    exchange.sum(tally);
    result.sound = tally[kLost] == 0 && tally[kStray] == 0;
    more = tally[kNew] > 0 && result.sound;
  }
}

// Combines the results and times of the ranks.
void collect(const Summary& mine, const Traffic& traffic, const World& world, Result& result) {
  std::uint64_t sums[] = {mine.states, mine.values, mine.flows, mine.hash, traffic.bytes};
  MPI_Allreduce(MPI_IN_PLACE, sums, 5, MPI_UINT64_T, MPI_SUM, world.comm);
  double most[] = {result.seconds, traffic.counts, traffic.data, traffic.agreement};
  MPI_Allreduce(MPI_IN_PLACE, most, 4, MPI_DOUBLE, MPI_MAX, world.comm);
  std::uint64_t largest[] = {traffic.largest_block, facts_of(mine)};
  MPI_Allreduce(MPI_IN_PLACE, largest, 2, MPI_UINT64_T, MPI_MAX, world.comm);
  result.found = {sums[0], sums[1], sums[2], sums[3]};
  result.traffic = {most[1], most[2], most[3], sums[4], largest[0]};
  result.most_facts = largest[1];
  result.seconds = most[0];
}

Result analyse(const Machine& machine, Exchange& exchange, const World& world) {
  Partition partition(machine, world.rank, world.ranks);
  Result result;
  MPI_Barrier(world.comm);
  const double start = MPI_Wtime();
  if (world.rank == 0) partition.begin();
  find_fixed_point(partition, exchange, machine.width, result);
  result.seconds = MPI_Wtime() - start;
  collect(partition.summary(), exchange.traffic, world, result);
  return result;
}

void print(const Options& options, const Machine& machine, const World& world, const Result& result) {
  const Summary& found = result.found;
  const Traffic& traffic = result.traffic;
  const double blocks = 1.0 * world.ranks * world.ranks * result.iterations;
  const std::string what = options.file.empty() ? "terms: " + std::to_string(options.terms) : options.file;
  std::printf("kCFA k: %d, %s, ranks: %d, algorithm: %s\n", options.k, what.c_str(), world.ranks,
              options.algorithm.c_str());
  std::printf("facts %" PRIu64 ": %" PRIu64 " states, %" PRIu64 " values, %" PRIu64 " flows; most on a rank: %" PRIu64
              "\n",
              facts_of(found), found.states, found.values, found.flows, result.most_facts);
  std::printf("hash %016" PRIx64 "\n", found.hash);
  std::printf("iterations %d\n", result.iterations);
  std::printf("moved %" PRIu64 " B in facts of %zu B; blocks: mean %.1f B, max %" PRIu64 " B\n", traffic.bytes,
              machine.width * sizeof(Word), static_cast<double>(traffic.bytes) / blocks, traffic.largest_block);
  std::printf("total %.6f s, communication: counts %.6f s, data %.6f s, agreement %.6f s\n", result.seconds,
              traffic.counts, traffic.data, traffic.agreement);
}

// Compares with the reference, which rank 0 computes. Returns whether they agree, on all ranks.
bool check(const Machine& machine, const Summary& found, const World& world) {
  int agree = 0;
  if (world.rank == 0) {
    const reference::Result result = reference::analyse(*machine.program, machine.k);
    const Summary expected = reference::summarise(machine, result);
    agree = same_result(found, expected);
    if (agree) {
      std::printf("check successful: the sequential reference has found the same\n");
    } else {
      std::printf("check failed: the sequential reference has found %" PRIu64 " states, %" PRIu64
                  " values, hash %016" PRIx64 "\n",
                  expected.states, expected.values, expected.hash);
    }
  }
  MPI_Bcast(&agree, 1, MPI_INT, 0, world.comm);
  return agree == 1;
}

// The content of a file, which rank 0 reads.
std::string read_file(const std::string& name, const World& world) {
  std::string text;
  int length = -1;
  if (world.rank == 0) {
    std::ifstream file(name, std::ios::binary);
    try {
      text.assign(std::istreambuf_iterator<char>(file), {});
    } catch (const std::ios_base::failure&) {  // a folder; the other ranks wait for the result
      file.setstate(std::ios::failbit);
    }
    // The parser would refuse longer texts.
    if (file && text.size() <= 1'000'000) length = static_cast<int>(text.size());
  }
  MPI_Bcast(&length, 1, MPI_INT, 0, world.comm);
  if (length < 0) {
    throw std::runtime_error("cannot read " + name + "; give a readable file of at most 1,000,000 bytes");
  }
  text.resize(length);
  MPI_Bcast(text.data(), length, MPI_CHAR, 0, world.comm);
  return text;
}

// Adds the name of the file to the errors of a program.
Program compile(const std::string& source, const std::string& file) {
  try {
    return to_cps(parse(source));
  } catch (const std::exception& error) {
    throw std::runtime_error(file.empty() ? error.what() : file + ": " + error.what());
  }
}

int run(const Options& options, const World& world) {
  const std::string source = options.file.empty() ? worst_case(options.terms) : read_file(options.file, world);
  if (options.show) {
    if (world.rank == 0) std::printf("%s\n", source.c_str());
    return 0;
  }
  const Program program = compile(source, options.file);
  const Machine machine = make_machine(program, options.k);
  examples::open_trace(options.trace, world);
  Exchange exchange(world.comm, options.algorithm, machine.width);
  if (!exchange.valid()) return 2;
  const Result result = analyse(machine, exchange, world);
  if (!result.sound) {
    if (world.rank == 0) {
      std::fprintf(stderr, "kcfa: the facts of iteration %d did not arrive as they were sent\n", result.iterations);
    }
    return 1;
  }
  if (world.rank == 0) print(options, machine, world, result);
  if (!options.trace.empty()) exchange.trace.write(options.trace, world);
  return options.check && !check(machine, result.found, world) ? 1 : 0;
}

void add_options(examples::CommandLine& line, Options& options) {
  line.number("--k", options.k, 0, kMostK, "Number of call sites in a context");
  line.number("--terms", options.terms, 1, kMostTerms, "Levels of the analysed worst case");
  line.text("--program", options.file, "Analyse the program in this file", {.excludes = {"--terms"}});
  line.text("--algorithm", options.algorithm,
            "mpi: MPI_Alltoallv; auto: Quadrille's choice; or one of `quadrille list`");
  line.text("--trace", options.trace, "Write a table with largest block, mean block and seconds of each exchange");
  line.flag("--check", options.check, "Compare with a sequential analysis");
  line.flag("--show", options.show, "Print the program and end");
}

}  // namespace
}  // namespace kcfa

int main(int argc, char** argv) {
  kcfa::Options options;
  examples::CommandLine line("kcfa", "k-CFA, the control-flow analysis, as a distributed fixed point.");
  kcfa::add_options(line, options);
  return line.run(argc, argv, [&](const examples::World& world) { return kcfa::run(options, world); });
}
