// A program of random but legal calls. It is linked to the MPI alone; Quadrille comes by `quadrille run`.
//
//   quadrille_fuzz --seed N [--steps N | --seconds N] [--only 3,7-20,44] [--threads] [--skip NAME,...]
//                  [--collective NAME] [--bytes N] [--patience SECONDS] [--mistake NAME]
//
// All ranks draw the same step from its number; what one rank alone may choose it draws from its rank too. So a step
// is the same whatever ran before it, and a run can be cut down to few steps.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>

#include "steps.hpp"
#include "watchdog.hpp"

namespace quadrille::fuzz {
namespace {

constexpr int found_status = 87;
constexpr int usage_status = 2;

struct Range {
  std::uint64_t first = 0, last = 0;
};

struct Options {
  std::uint64_t seed = 1, steps = 200;
  int seconds = 0, patience = 60;
  std::vector<Range> only;
  Wishes wishes;
};

std::vector<Range> read_ranges(const std::string& text) {
  std::vector<Range> ranges;
  std::stringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t dash = word.find('-');
    const std::uint64_t first = std::stoull(word.substr(0, dash));
    ranges.push_back({first, dash == std::string::npos ? first : std::stoull(word.substr(dash + 1))});
  }
  return ranges;
}

int collective_named(const std::string& name) {
  for (const CollectiveRow& row : collectives) {
    if (row.of_mpi && row.name.substr(1) == name.substr(1)) return static_cast<int>(row.collective);
  }
  throw std::invalid_argument("collective " + name);
}

Options read_options(int count, char** words) {
  Options o;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--threads") {
      o.wishes.threads = true;
      continue;
    }
    if (word == "--served" || word == "--served-large" || word == "--served-requests") {
      (word == "--served"         ? o.wishes.served
       : word == "--served-large" ? o.wishes.served_large
                                  : o.wishes.served_requests) = true;
      continue;
    }
    if (i + 1 == count) throw std::invalid_argument(word);
    const std::string value = words[++i];
    if (word == "--seed")
      o.seed = std::stoull(value);
    else if (word == "--steps")
      o.steps = std::stoull(value);
    else if (word == "--seconds")
      o.seconds = std::stoi(value), o.steps = UINT64_MAX;
    else if (word == "--patience")
      o.patience = std::stoi(value);
    else if (word == "--only")
      o.only = read_ranges(value);
    else if (word == "--bytes")
      o.wishes.most_bytes = std::stoull(value);
    else if (word == "--collective")
      o.wishes.only_collective = collective_named(value);
    else if (word == "--mistake")
      o.wishes.mistake = value;
    else if (word == "--skip") {
      if (const std::string wrong = o.wishes.skips.read(value); !wrong.empty()) throw std::invalid_argument(wrong);
    } else
      throw std::invalid_argument(word);
  }
  return o;
}

// Rank 0's clock decides, now and then.
bool time_is_up(const Options& options, std::uint64_t step, MPI_Comm own) {
  static const auto start = std::chrono::steady_clock::now();
  if (options.seconds == 0 || step % 32 != 0) return false;
  int up = std::chrono::steady_clock::now() - start > std::chrono::seconds(options.seconds) ? 1 : 0;
  MPI_Bcast(&up, 1, MPI_INT, 0, own);
  return up != 0;
}

std::uint64_t run_steps(const Options& options, Steps& steps, MPI_Comm own) {
  std::uint64_t done = 0;
  if (!options.only.empty()) {
    for (const Range& range : options.only) {
      for (std::uint64_t step = range.first; step <= range.last; ++step, ++done) steps.run(step);
    }
    return done;
  }
  for (; done < options.steps && !time_is_up(options, done, own); ++done) steps.run(done);
  return done;
}

void print_summary(const Options& options, const Counts& counts, std::uint64_t steps, int rank, MPI_Comm own) {
  std::uint64_t mine[collective_count][forms], all[collective_count][forms] = {}, total = 0;
  for (std::size_t c = 0; c < collective_count; ++c) {
    for (std::size_t f = 0; f < forms; ++f) mine[c][f] = counts[c][f];
  }
  MPI_Reduce(mine, all, static_cast<int>(collective_count * forms), MPI_UINT64_T, MPI_SUM, 0, own);
  if (rank != 0) return;
  std::ostringstream text;
  for (std::size_t c = 0; c < collective_count; ++c) {
    for (std::size_t f = 0; f < forms; ++f) {
      total += all[c][f];
      const std::string name = name_of(static_cast<Collective>(c), static_cast<Form>(f));
      if (all[c][f] > 0) text << "fuzz: calls " << name << ' ' << all[c][f] << '\n';
    }
  }
  std::printf("%sfuzz: seed %llu: %llu steps, %llu calls of all ranks, nothing found\n", text.str().c_str(),
              static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(steps),
              static_cast<unsigned long long>(total));
  std::fflush(stdout);
}

int run(Options options, int* count, char*** words) {
  int provided = MPI_THREAD_SINGLE, rank = 0;
  if (options.wishes.threads) {
    MPI_Init_thread(count, words, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) options.wishes.threads = options.wishes.served_requests = false;
  } else {
    MPI_Init(count, words);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  start_watchdog(options.seed, rank, options.patience);
  const StackArea stack;
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  Communicators communicators(options.seed, options.wishes.skips, options.wishes.served_requests);
  Steps steps(options.seed, rank, options.wishes, communicators);
  try {
    const std::uint64_t done = run_steps(options, steps, own);
    at("the end");
    print_summary(options, steps.counts(), done, rank, own);
  } catch (const Finding& finding) {
    report("FINDING " + finding.what);
    MPI_Abort(MPI_COMM_WORLD, found_status);
  } catch (const std::exception& error) {
    report(std::string("FINDING exception: ") + error.what());
    MPI_Abort(MPI_COMM_WORLD, found_status);
  }
  communicators.free_all();
  MPI_Comm_free(&own);
  free_kept_memory();
  MPI_Finalize();
  stop_watchdog();
  return 0;
}

}  // namespace
}  // namespace quadrille::fuzz

int main(int count, char** words) {
  try {
    return quadrille::fuzz::run(quadrille::fuzz::read_options(count, words), &count, &words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "quadrille_fuzz: what does this mean? %s\n", error.what());
    return quadrille::fuzz::usage_status;
  }
}
