// What became of the calls, for the summary of QUADRILLE_EXPLAIN. Each communicator counts for itself; everything is
// added up once, in MPI_Finalize.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "mpi/mpi.hpp"
#include "text/reason.hpp"

namespace quadrille::team {

struct Team;

// Calls that went to the MPI, by counted_as() of the reason.
using PassedCounts = std::array<std::uint64_t, counted_reasons>;

struct Counters {
  std::uint64_t served = 0;
  PassedCounts passed{};

  std::uint64_t all_passed() const { return std::accumulate(passed.begin(), passed.end(), std::uint64_t{0}); }
  void add(const Counters& other);
};

// Of one communicator. `group` and `turn` name it on all of its ranks: its members, and its sequence number among the
// communicators with these members. Plain bytes: ranks send it to each other.
struct Tally {
  std::uint64_t group = 0;
  std::int32_t turn = 0;
  std::int32_t ranks = 0;          // 0: of several communicators
  std::int32_t communicators = 0;  // as counted by their first ranks
  std::int32_t told = 1;           // how many ranks have told their part
  std::uint64_t served = 0, passed = 0;
  char name[24] = {};

  std::uint64_t calls() const { return served + passed; }
  // Those of another one, or its part on another rank.
  void add(const Tally& other) {
    served += other.served;
    passed += other.passed;
    communicators += other.communicators;
  }
};

// At most so many lines for communicators; what is more is added up in one.
inline constexpr std::size_t most_lines = 8;

// Of a new team; where nobody wants a summary, nothing.
Tally begin_tally(const Team& team);
// That with the counts of its team, and the name of its communicator.
Tally end_tally(const Team& team);

// The part of one rank: all its calls, and the communicators with most of them. The last tally is of the others.
struct Part {
  Counters all, nonblocking, persistent;  // the latter under the MPI's own names, and only forwarded ones
  Tally tallies[most_lines + 1];
};
Part make_part(const Counters& all, std::vector<Tally> tallies);

// The lines of the summary, of the parts of all ranks, or of this one alone.
std::vector<std::string> summary_lines(const std::vector<Part>& parts, bool alone);

// Nonblocking and persistent calls forwarded to the MPI, by reason, of all communicators. Counted if somebody wants to
// know.
struct Untaken {
  using Counts = std::array<std::atomic<std::uint64_t>, counted_reasons>;
  std::atomic<bool> wanted{false};
  Counts nonblocking{};
  Counts persistent{};  // requests made; their starts are not seen
};
inline Untaken untaken;

}  // namespace quadrille::team
