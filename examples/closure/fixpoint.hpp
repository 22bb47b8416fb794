// The transitive closure T of a graph G, to a fixed point:
//
//     T(x, z) :- G(x, z)
//     T(x, z) :- T(x, y), G(y, z)
//
// Both relations are spread over the ranks by a hash: G by where an edge begins, T by where a path
// ends. So the tuples to join lie on one rank, and only the results travel. Only tuples that were
// new in the last iteration are joined again (semi-naive evaluation): what the others give is
// known.
//
// A vertex that many reach, a hot key, makes one rank's part large. With several sub-buckets the tuples that end there
// are spread over as many ranks by where they begin, and each of these has the edges that begin there, as in the
// library that the paper's program is written with.
//
// Example: G = {(1,2), (2,3)}. The first exchange brings (1,2) and (2,3) to the owners of 2 and 3.
// The owner of 2 joins (1,2) with the edge (2,3) to (1,3) and sends it to the owner of 3; the owner
// of 3 has no edge to join with. After the second exchange (1,3) is new; the third brings nothing
// new.
//
// Source: Fan et al., "Optimizing the Bruck Algorithm for Non-uniform All-to-all Communication",
// HPDC 2022, section 5.1.
#pragma once

#include <vector>

#include "exchange.hpp"
#include "relation.hpp"

namespace closure {

struct Result {
  PairSet tuples;           // of this rank
  int iterations = 0;       // exchanges, with the last one, which brings nothing new
  double test_seconds = 0;  // of this rank, in MPI_Allreduce, which asks whether anything was new
};

// `edges` are those of this rank. Collective.
Result transitive_closure(std::vector<Pair> edges, const Placement& placement, const World& world, Exchange& exchange);

}  // namespace closure
