// Which rank copies which block in the copy phase: an order of copies, for a collective.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collective/collective.hpp"
#include "plan/neighborhood.hpp"
#include "plan/order.hpp"

namespace quadrille::tools {

// What is copied.
struct Copied {
  Collective collective = Collective::alltoall;  // or allgather, neighbor_alltoall, neighbor_allgather
  int ranks = 64;
  int domains = 1;  // of NUMA, each of ranks that follow each other; orders with NUMA in their names look at them
  plan::Neighborhood neighborhood{};  // of neighbour collectives
  std::vector<int> extents{};         // of their torus
};

// Blocks of the send and recv buffer of each rank.
struct BlocksOfRank {
  int send, recv;
};
BlocksOfRank blocks_of(const Copied& what);

// The parts of all ranks, one after the other. [rank]
std::vector<std::vector<plan::EdgeCopy>> parts_of(plan::Order order, const Copied& what);

// Extents of a torus of so many ranks, as even as can be, the largest first.
std::vector<int> even_extents(int ranks, int dimensions);

// "row", "column", "morton", "hilbert", ...
std::string_view name_of(plan::Order order);
// Reads "row,morton", for a collective. Returns an empty string, or one line that says what is wrong.
std::string parse_orders(std::string_view text, Collective collective, std::vector<plan::Order>& orders);

}  // namespace quadrille::tools
