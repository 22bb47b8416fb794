// The copies between the buffers of a node's ranks: whole algorithms, and the first part of others.
#pragma once

#include "plan/order.hpp"
#include "plan/problem.hpp"

namespace quadrille::plan {

// The first two rounds of a schedule: a fence of the node; this rank's part of the order, and a fence. `blocks` as in
// between_nodes.hpp.
void copy_inside_node(const Problem& problem, Order order, Rows rows, bool blocks, Builder& builder);

// The copies in this order, and messages between nodes beside them. For square_and_row the parameter `rest` says which
// of the orders square_... it is.
Schedule copies_in_order(const Problem& problem, Order order, Pattern pattern);

template <Order order, Pattern pattern>
Schedule node_copies(const Problem& problem) {
  return copies_in_order(problem, order, pattern);
}

}  // namespace quadrille::plan
