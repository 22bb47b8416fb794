// One call of a neighbour collective as data, its result by definition, and communicators with a topology.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "exchange.hpp"

namespace quadrille::test {

inline const std::vector<Collective> neighbor_collectives = those(is_neighbor);

// An end of an edge: the block in this place of the user's arrays goes to, or comes from, `peer`. Several edges
// from one rank to another are told apart by `id`, the same at both ends.
struct Edge {
  int peer;  // -1: nobody is there
  int id;
};

// A communicator with a topology, and what it means by definition, without asking any MPI.
struct Topology {
  std::string name;
  Communicator where;
  std::vector<Edge> out, in;
};

// A grid that is to have as many processes as there are ranks.
struct TestGrid {
  std::vector<int> extents;
  std::vector<int> periodic;
  std::string name() const;
  // The rank at `offset` from `rank`, or -1.
  int at(int rank, const std::vector<int>& offset, int sign) const;
};
// All grids of `ranks` processes with extents of 1 to 4, periodic or not, and the ring and the line.
std::vector<TestGrid> grids_of(int ranks, int most_dimensions = 3);

// Collective over `of`, whose ranks are as many as the grid's.
Topology cartesian(const TestGrid& grid, MPI_Comm of = MPI_COMM_WORLD);
// Random directed edges: some several times, some to the process itself, some ranks without any. `shape` 0: a
// distributed graph, 1: a graph of MPI_Graph_create, whose edges go both ways.
Topology random_graph(int shape, std::uint64_t seed);
// What an isomorphic communicator must be; edge i has id i.
Topology around(const TestGrid& grid, const std::vector<std::vector<int>>& offsets, MPI_Comm isocomm);

struct NeighborShape {
  Collective collective;
  Kinds kinds;
  std::size_t bytes;  // of a block, rounded up to whole elements; the largest for v and w
  bool sizes_by_id;   // v and w: edges of one id have one size everywhere
  std::uint64_t seed;
};
std::string to_string(const NeighborShape& shape);

// Makes the call and checks the buffers, and all that lies around and between the blocks, against the
// definition. Returns an empty string, or what is wrong.
std::string check(const NeighborShape& shape, const Topology& topology, const Door& door);

}  // namespace quadrille::test
