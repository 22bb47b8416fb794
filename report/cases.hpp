// Which of the recorded calls are made again, and what comes of it.
//
// A case, as the ranks that make it again read it, and their times, as they write them:
//
//   { "collective": "alltoallv", "groups": [[0,2],[1,3]], "seconds_of_call": in the run, "block": 64 }
//                       or, of blocks that differ, in place of "block"
//                       "bytes": [[...]]  from each rank of the group to each other; between neighbours along each edge
//                       and, of other than blocking calls, which are started and waited for,
//                       "form": "nonblocking" or "persistent"
//                       and, between neighbours,
//                       "graphs": [ { "sources": [[...]], "destinations": [[...]] } ]  of each group, by its ranks
//   { "times": [ { "name": "mpi", "microseconds" },
//                { "name": "default", "by": "inbox", "microseconds", "to_mpi": [least, median, most] },
//                { "name": "bruck:radix=4", "microseconds", "to_mpi": [...], "to_default": [...] } ] }
//                       or { "why": "..." }
//
// Ratios are of times in the same round: the median over all rounds of a repeat; of the repeats the least, the median
// and the most. Several groups make the call at the same time, as they did in the program.
//
// The ranks write { "cases": [...], "without": ["QUADRILLE=off"], "quiet": { "quiet": true, ... }, "library" }: and
// what was set in the run but not here, whether the machine was quiet, and the MPI's library. Or { "problem" }.
#pragma once

#include <cstddef>
#include <vector>

#include "report/read.hpp"

namespace quadrille::tools {

struct ReplayedCalls {
  std::vector<std::size_t> calls;  // their numbers in the data; alike, by ranks of their own
  ReportData work;                 // as above; null: it is not made again
  std::string why;                 // then
};

// Those that take the most time, at most eight.
std::vector<ReplayedCalls> calls_to_replay(const ReportData& data);

// { "cases": [ { "call": 0, "calls": [0, 4], "why" or "times": [ { ..., "saved": seconds in the run } ] } ],
//   "without", "quiet", "library": as in `times` }
ReportData replay_of(const ReportData& data, const std::vector<ReplayedCalls>& replayed, const ReportData& times);

}  // namespace quadrille::tools
