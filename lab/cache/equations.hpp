// Equations 1 to 9 of Li, Zhang and Hoefler, section 2.3: cache misses by analysis, in the ideal distributed-cache
// model.
#pragma once

#include <cstdint>

namespace quadrille::lab {

struct IdealCache {
  double ranks = 0;         // P
  double block = 0;         // B, bytes
  double bytes = 0;         // Z
  double line = 64;         // L, of what is fetched for a block
  double line_of_run = 64;  // L, of what is fetched for blocks that lie side by side; the paper measures two
};

// The analysis of an allgather has three cases: blocks of which no two fit; more than fits; all fits.
enum class Case : std::uint8_t { too_large = 1, exceeds, fits };
Case case_of(const IdealCache& c);

// Misses of all ranks. A bound is the term inside its O(), with a factor of 1.
double alltoall_naive(const IdealCache& c);      // (1)
double alltoall_co(const IdealCache& c);         // (2), of one process that does all
double alltoall_co_bound(const IdealCache& c);   // (3), of the parallel algorithm
double allgather_naive(const IdealCache& c);     // (4)
double allgather_co(const IdealCache& c);        // (4), (6) or (8), of one process that does all
double allgather_co_bound(const IdealCache& c);  // (5), (7) or (9), of the parallel algorithm

// The numbers of the equations that allgather_co() and allgather_co_bound() take.
int equation_of_allgather_co(Case which);
int equation_of_allgather_co_bound(Case which);

}  // namespace quadrille::lab
