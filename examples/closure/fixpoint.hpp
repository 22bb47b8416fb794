// The transitive closure T of a graph G, to a fixed point:
//
//     T(x, z) :- G(x, z)
//     T(x, z) :- T(x, y), G(y, z)
//
// Both relations are distributed over the ranks by a hash: G by the start of an edge, T by the end
// of a path. So the tuples to join are on one rank, and only the results are sent. An iteration joins
// only the tuples that were new in the last one (semi-naive evaluation).
//
// A vertex that many others reach, a hot key, makes one rank's part large. With several sub-buckets the tuples that
// end there are spread over as many ranks, by their start. Each of these ranks has the vertex's outgoing edges, as in
// the library of the paper's program.
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
  int iterations = 0;       // exchanges, including the last one, which brings no new tuple
  double test_seconds = 0;  // of this rank, in MPI_Allreduce, which asks whether anything was new
};

// `edges` are those of this rank. Collective.
Result transitive_closure(std::vector<Pair> edges, const Placement& placement, const World& world, Exchange& exchange);

}  // namespace closure
