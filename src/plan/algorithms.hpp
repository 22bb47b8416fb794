// All builders of plan/, each described in its file; but for copies in orders (node_copies.hpp) and those of neighbours
// (neighborhood.hpp, order_edges.hpp).
#pragma once

#include "plan/node_copies.hpp"
#include "plan/problem.hpp"

namespace quadrille::plan {

// Alltoall, Alltoallv and Alltoallw.
Schedule spread_out(const Problem& problem);
Schedule pairwise(const Problem& problem);
Schedule nonblocking(const Problem& problem);
Schedule waitall_stride(const Problem& problem);
Schedule waitany_stride(const Problem& problem);
Schedule testany_stride(const Problem& problem);

// Alltoall.
Schedule basic_bruck(const Problem& problem);
Schedule basic_bruck_dt(const Problem& problem);
Schedule modified_bruck(const Problem& problem);
Schedule modified_bruck_dt(const Problem& problem);
Schedule zero_copy_bruck_dt(const Problem& problem);
Schedule zero_rotation_bruck(const Problem& problem);

// Alltoall, of uneven blocks, and allgather.
Schedule mn_co(const Problem& problem);
Schedule uneven_mn_co(const Problem& problem);
Schedule allgather_mn_co(const Problem& problem);

// Alltoall on several nodes, and of uneven blocks.
Schedule tuna_hierarchical(const Problem& problem);
Schedule uneven_tuna_hierarchical(const Problem& problem);

// Alltoallv and Alltoallw.
Schedule two_phase_bruck(const Problem& problem);
Schedule sloav(const Problem& problem);

// Allgather and Allgatherv.
Schedule allgather_spread_out(const Problem& problem);
Schedule allgather_ring(const Problem& problem);
Schedule allgather_recursive_doubling(const Problem& problem);
Schedule allgather_bruck(const Problem& problem);

// Of all-to-all and of allgather what is between nodes.
Schedule alltoall_between_nodes(const Problem& problem);
Schedule allgather_between_nodes(const Problem& problem);

// Both on several nodes: copies inside them, then messages.
Schedule hint_network(const Problem& problem);
Schedule allgather_hint_network(const Problem& problem);

// Alltoall on several nodes, of uneven blocks, and allgather; by plan/leaders.hpp.
Schedule leaders(const Problem& problem);
Schedule uneven_leaders(const Problem& problem);
Schedule allgather_leaders(const Problem& problem);

}  // namespace quadrille::plan
