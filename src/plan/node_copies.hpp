// The copies between the buffers of a node's ranks, for the algorithms that begin with them.
#pragma once

#include "plan/order.hpp"
#include "plan/problem.hpp"

namespace quadrille::plan {

// The first two rounds of a schedule: a fence of the node; this rank's part of the order, and a fence. `blocks` as in
// between_nodes.hpp.
void copy_inside_node(const Problem& problem, Order order, Rows rows, bool blocks, Builder& builder);

}  // namespace quadrille::plan
