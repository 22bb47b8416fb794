// Which of several algorithms is the fastest for calls of one kind, found out by the first of these calls.
//
// Idea    The candidates are tried in turn, a few calls back to back each, and all of them three times, so that a
//         program which gets faster or slower meanwhile does not favour one. The first call of each turn is not
//         counted: it builds plans, opens connections and maps memory. The others count together, because what one
//         call leaves to be waited for, the next one pays. Of a candidate's turns the median and the shortest count,
//         each on the slowest rank. The first candidate is the one that would be taken untried: another must be better
//         by a margin in both.
// Source  The online choice of HINT (Ramesh et al.), section V.D: each order three times back to back.
// Cost    visits * calls_in_turn calls for each candidate, and one reduction.
//
// Example, two candidates, 2 visits of 3 calls:   A aa  B bb  A aa  B bb   (capitals: not counted)
//
// Pure, and fed in step on all ranks: so all ranks try the same in each call. Only the times differ.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "choose/registry.hpp"

namespace quadrille::choose {

struct Trial {
  static constexpr int visits = 3, calls_in_turn = 6;
  // So much of its time another candidate may take at most to replace the first one.
  static constexpr double must_take = 0.9;
  // Calls are of one kind if the largest moves at most so many times the bytes of the smallest.
  static constexpr double alike = 1.25;

  std::vector<Choice> candidates;  // at least two
  int calls = 0;                   // that have begun
  // [candidate][visit]: of the calls that count, and how many were noted
  struct Taken {
    double seconds = 0;
    int calls = 0;
  };
  std::vector<std::array<Taken, visits>> taken;
  double least_bytes = 0, most_bytes = 0;    // that this rank moved in a call
  bool decided = false;
};

Trial make_trial(std::vector<Choice> candidates);

// A call that takes a candidate.
struct Turn {
  int candidate = -1;  // -1: all have been tried as often as they should
  int visit = 0;
  bool counts = false;
};

// The next call begins. `bytes`: what this rank sends and receives in it.
Turn begin_call(Trial& trial, double bytes);

// Keeps what that call cost this rank. May be left out: a call that went wrong may not come back to us.
void note_call(Trial& trial, const Turn& turn, double seconds);

// What a rank gives to the maximum over all ranks, in seconds a call: the medians of its candidates, their shortest
// turns, and last how unlike its calls were.
std::vector<double> times_of(const Trial& trial);

struct Verdict {
  std::size_t best = 0;
  bool alike = true;  // if not, times say nothing, and the first candidate is the best
};
// From the maxima over all ranks.
Verdict verdict_of(std::span<const double> slowest);

}  // namespace quadrille::choose
