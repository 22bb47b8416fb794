// Which of several algorithms is the fastest for calls of one kind, found out by the first of these calls.
//
// Idea    The candidates are tried in turn, a few calls back to back each, and all of them three times, so that a
//         program which gets faster or slower meanwhile does not favour one. The first call of each turn is not
//         counted: it builds plans, opens connections and maps memory. The others count together, because what one
//         call leaves to be waited for, the next one pays. Where some candidate's calls took less than 50 us in one of
//         these visits, six more follow: a single interrupt takes as long as such a call, and they cost little.
//         After each visit the ranks compare the means over all of them: what took twice the time of the best, or half
//         as much again after the second, is not tried again; none loses from the third on if more follow. The slowest
//         rank would not do: it is the one that began first and waited for the others, and how far apart they begin
//         differs from algorithm to algorithm; over many calls that is nothing, over two it is a fifth. In the mean
//         what one waits at the beginning others do at the end. Of a candidate's visits the median and the shortest
//         count. The first candidate is the one that would be taken untried: another must be better by a margin in
//         both.
// Steps   What a call leaves in the caches, the program pays after it. So the time from the begin of a call to that of
//         the next is kept as well, and what a candidate's steps take more or less than those of the first candidate in
//         the same visit is added to what the first one's calls took. That counts, and no longer the calls alone, where
//         it can be told from chance: where the middle half of it lies within 8 % of a call, for each candidate.
// Source  The online choice of HINT (Ramesh et al.), section V.D: each order three times back to back, three times.
// Kernels Where copies of what stands until then race kernels (memory/node_copy.hpp), that race comes first, and no
//         check of the kernels begins during a trial: see api/trials.cpp.
// Checks  What was found is checked after 4,096 calls, four times as many each time: three race by the same rules, the
//         winner, the first candidate, and of the others those that took least, or in a later check the next ones; but
//         the winner is the one that stays. If another wins, something has changed, and all race again at once. If
//         the calls of the first race differed too much to compare, all race again after 64, then four times as many
//         each time; if those of a check did, what was found stays.
// Ways    Of candidates that differ in how blocks are copied alone (Way), the steps alone count, each by itself. None
//         loses before the end of a race. While the steps of one vary too much, the next race is as soon as after calls
//         that differed.
// Cost    At most 9 calls for each candidate, 27 of short calls, 3 for one that loses at once, and a reduction a visit.
//         Of the calls of a program that goes on for long, checks take less than 1 %.
//
// Example, three candidates, B takes long, 2 visits of 3 calls:   A aa  B bb  C cc  |  A aa  C cc  (capitals: not
// counted)
//
// Pure, and fed in step on all ranks: so all ranks try the same in each call. Only the times differ.
#pragma once

#include <climits>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "choose/registry.hpp"
#include "text/reason.hpp"
#include "tuner/contest.hpp"

namespace quadrille::choose {

struct Trial {
  static constexpr int visits = 3, calls_in_turn = 3;
  // If the least visit of a candidate took less than so many seconds a call, it goes on to more visits, in which none
  // loses.
  static constexpr double short_call = 50e-6;
  static constexpr int visits_of_short_calls = 9;
  // So much of its time another candidate may take at most to replace the first one; less where ranks share processors,
  // and so disturb each other.
  static constexpr double must_take_usually = 0.92, must_take_if_crowded = 0.75;
  double must_take = must_take_usually;
  // What takes so many times as long as the best in a visit has lost: less and less is put down to chance. The first
  // candidate stays.
  static constexpr std::array<double, 2> lost = {2, 1.5};
  // Calls are of one kind if the largest moves at most so many times the bytes of the smallest.
  static constexpr double alike = 1.25;

  std::vector<Choice> candidates;
  std::vector<std::size_t> racing;  // the one to beat first
  bool checks = false;              // only what was found is checked, by the first `most_checked` of them
  static constexpr std::size_t most_checked = 3;
  tuner::Pause pause;      // once it is decided; without an end where a table decided, or one is left
  tuner::Contest contest;  // by the mean of the ranks' seconds of a call
  tuner::Contest steps;    // by the same with what it does to the step
  static constexpr double most_spread = 0.08;  // of a call's time
  // A trial waits for the kernels for at most so many calls, and looks every so often.
  static constexpr int most_waiting = 96, calls_between_looks = 8;
  int calls = 0;  // of this visit that have begun
  // [candidate] of the calls of this visit that count; likewise of the steps that they begin
  struct Taken {
    double seconds = 0;
    int noted = 0;
  };
  std::vector<Taken> taken, taken_by_steps;
  int counted = -1;                        // candidate of the call before; -1: that does not count
  double last_begin = 0;                   // on the clock of this rank, in seconds
  double least_bytes = 0, most_bytes = 0;  // that this rank moved in a call
  bool were_alike = true;                  // on all ranks, as far as was compared
};

Trial make_trial(std::vector<Choice> candidates, bool crowded = false);

// What another trial of such calls has found is taken over, and checked as if it had been found here.
void take_over(Trial& trial, std::size_t winner);

// In so many calls one of so many candidates is over, if they are alike.
constexpr int most_calls_of_trial(std::size_t candidates) {
  return Trial::most_waiting + Trial::visits_of_short_calls * Trial::calls_in_turn * static_cast<int>(candidates) + 1;
}

// The next call begins. Returns the candidate that it takes; -1: the visit is over, and the ranks must compare.
// `bytes`: what this rank sends and receives in it. `now`: seconds on its clock.
int begin_call(Trial& trial, double bytes, double now);

// Keeps what that call cost this rank. May be left out: a call that went wrong may not come back to us.
void note_call(Trial& trial, double seconds);

// What a rank has at the end of a visit: the seconds a call of each candidate, 0 if it is out, the same a step, and
// last 1 if its calls were not alike.
std::vector<double> times_of(const Trial& trial);
// The seconds of a candidate of which not all calls were noted.
inline constexpr double not_noted = std::numeric_limits<double>::max();

// Takes the means over all ranks, `not_noted` if one has that, and of the last 0 if all have 0; goes on to the next
// visit unless it is decided. If the calls were not alike, times say nothing, and the one to beat stays; if only those
// of a visit beyond the third were not, what the others say holds.
void judge(Trial& trial, std::span<const double> all);

// Of a trial that is decided: do the steps tell which candidate is the best, if its calls were alike, and which it is.
bool steps_tell(const Trial& trial);
std::size_t best_of(const Trial& trial);

// A call begins by what was decided, and `calls` are counted. True if it begins a race instead.
bool begin_again(Trial& trial, int calls = 1);

// `bytes`: the most that a rank moves in a call. Calls of one class move at most four times as much as others, or
// little.
int load_class_of(double bytes);

// Calls with blocks of about the same size share a trial: within a fifth. Of no bytes: -1.
int size_class_of(std::size_t bytes);

// The whole numbers of bytes of a class; none if `from` is above `to`.
struct Bytes {
  std::size_t from = 1, to = 0;
  auto operator<=>(const Bytes&) const = default;
};
Bytes bytes_of_size_class(int number);
Bytes bytes_of_load_class(int number);
// Those of them that are, like `size`, up to `limit`, or that are, like `size`, above it.
Bytes on_one_side(Bytes all, std::size_t size, std::size_t limit);
// With loads of that class: can the blocks of the busiest of so many ranks have more than `limit` bytes in the mean?
bool may_have_large_blocks(int load_class, int ranks, std::size_t limit);

// ---- What trials found out, kept for calls of the same kind on other communicators of the same shape ----
//
// What a rank keeps says nothing of the others: they have been in other communicators. So the ranks of a communicator
// ask each other before they go by it (api/trials.cpp).

// In the place of a load: of calls with a device's memory.
inline constexpr int load_on_devices = INT_MIN;

// What a trial is of, and what its times depend on.
struct Case {
  int ranks = 0, nodes = 0, ranks_on_node = 0;  // of the fullest node
  bool crowded = false;
  std::uint64_t map = 0;  // which ranks share a node
  Collective collective{};
  Bytes bytes;                   // of a block, or of what a rank moves where no rank knows all sizes
  int load = 0;                  // class of what moves in all, where all ranks know it and blocks differ
  std::uint64_t candidates = 0;  // which they were
  auto operator<=>(const Case&) const = default;
};
Case case_of(const plan::NodeMap& nodes, bool crowded, Collective collective, Bytes bytes, int load,
             std::span<const Choice> candidates);

struct Verdict {
  Choice best;
  Why why;
};

using Verdicts = std::map<Case, Verdict>;
// Programs have few shapes and sizes. Of one that has more, those that come later are not kept.
inline constexpr std::size_t most_verdicts = 4096;
// In the place of what was found before.
void keep_verdict(Verdicts& verdicts, const Case& of, Verdict verdict);

}  // namespace quadrille::choose
