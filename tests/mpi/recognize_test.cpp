// Distributed graphs whose ranks form a torus or a mesh are treated like isomorphic communicators. The explicit door
// alone.
#include <algorithm>

#include "abi/native.hpp"
#include "neighbors.hpp"
#include "plan/neighborhood.hpp"
#include "served_by.hpp"
#include "team/neighbors.hpp"
#include "tool/bench/named_neighborhoods.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

using Offsets = std::vector<std::vector<int>>;

// The destinations of a rank, in an order of its own.
std::vector<Edge> destinations_of(const TestGrid& grid, const Offsets& offsets, int rank, std::uint64_t seed) {
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (const int to = grid.at(rank, offsets[i], 1); to >= 0) edges.push_back({to, static_cast<int>(i)});
  }
  Random random(seed * 131 + static_cast<std::uint64_t>(rank));
  for (std::size_t i = edges.size(); i > 1; --i) {
    std::swap(edges[i - 1], edges[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
  }
  return edges;
}

// The sources: each one's edges in its own order, the sources themselves from the last to the first.
std::vector<Edge> sources_of(const TestGrid& grid, const Offsets& offsets, int rank, std::uint64_t seed) {
  std::vector<Edge> edges;
  for (int from = world().size - 1; from >= 0; --from) {
    for (const Edge& e : destinations_of(grid, offsets, from, seed)) {
      if (e.peer == rank) edges.push_back({from, e.id});
    }
  }
  return edges;
}

MPI_Comm create(const std::vector<Edge>& in, const std::vector<Edge>& out) {
  std::vector<int> sources, destinations;
  for (const Edge& e : in) sources.push_back(e.peer);
  for (const Edge& e : out) destinations.push_back(e.peer);
  sources.reserve(1), destinations.reserve(1);  // some MPIs refuse a null array
  MPI_Comm graph = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(in.size()), sources.data(), MPI_UNWEIGHTED,
                                 static_cast<int>(out.size()), destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &graph);
  return graph;
}

Topology shuffled_grid(const TestGrid& grid, const Offsets& offsets, std::uint64_t seed) {
  const std::vector<Edge> in = sources_of(grid, offsets, world().rank, seed);
  const std::vector<Edge> out = destinations_of(grid, offsets, world().rank, seed);
  Topology t = around(grid, offsets, create(in, out));
  t.in = in, t.out = out;
  t.name += " as a graph";
  return t;
}

bool recognized(MPI_Comm comm) {
  const team::Neighbors* n = team::neighbors_of(*team::team_of(abi::comm(comm)));
  return n != nullptr && n->isomorphic != nullptr;
}

Offsets offsets_in(std::size_t dimensions, int kind) {
  Random random(static_cast<std::uint64_t>(kind) * 31 + dimensions);
  Offsets all;
  for (int i = 0; i < 2 + 3 * kind; ++i) {
    std::vector<int> one;
    for (std::size_t d = 0; d < dimensions; ++d) one.push_back(random.below(5) - 2);
    all.push_back(one);
  }
  all.push_back(all.front());
  return all;
}

class Recognition : public MpiTest {};

// Every algorithm on the graph of a grid, which must be seen through.
void expect_recognized(const TestGrid& grid, const Offsets& offsets, std::uint64_t& seed) {
  Topology t = shuffled_grid(grid, offsets, ++seed);
  for (const char* name : {"straightforward", "torus", "torus-direct", "basis"}) {
    for (const Collective c : {Collective::neighbor_alltoall, Collective::neighbor_allgather}) {
      EXPECT_EQ(MPI_SUCCESS, force(t.where.comm, c, name));
      expect_good(check({c, same("double"), 24, false, ++seed}, t, tested));
      EXPECT_TRUE(recognized(t.where.comm)) << t.name;
      EXPECT_EQ(served_by(t.where.comm, c), name) << t.name;
    }
    // Nobody knows the sizes of all, so these are not combined.
    EXPECT_EQ(MPI_SUCCESS, force(t.where.comm, Collective::neighbor_alltoallv, name));
    expect_good(check({Collective::neighbor_alltoallv, same("int"), 24, false, ++seed}, t, tested));
  }
  release(t.where);
}

TEST_F(Recognition, EveryAlgorithmOnEveryTorus) {
  if (world().size < 2) return;
  std::uint64_t seed = 1;
  for (TestGrid grid : grids_of(world().size)) {
    // With many ranks each torus once, else several times, shuffled otherwise.
    const bool torus = std::count(grid.periodic.begin(), grid.periodic.end(), 0) == 0;
    if (world().size > 4 && !torus) continue;
    std::fill(grid.periodic.begin(), grid.periodic.end(), 1);
    for (int kind = 0; kind < 3; ++kind) {
      expect_recognized(grid, offsets_in(grid.extents.size(), kind), seed);
    }
  }
}

// Those of radius `radius` but zero, in up to three dimensions.
Offsets moore_offsets(std::size_t dimensions, int radius) {
  const plan::Neighborhood all = plan::moore(static_cast<int>(dimensions), radius);
  Offsets offsets;
  for (int i = 0; i < all.size(); ++i) offsets.emplace_back(all.offset(i).begin(), all.offset(i).end());
  return offsets;
}

TEST_F(Recognition, EveryAlgorithmOnEveryMesh) {
  if (world().size < 2) return;
  std::uint64_t seed = 1000;
  for (const TestGrid& grid : grids_of(world().size)) {
    const bool torus = std::count(grid.periodic.begin(), grid.periodic.end(), 0) == 0;
    if (torus || std::count(grid.extents.begin(), grid.extents.end(), 1) > 0) continue;
    expect_recognized(grid, moore_offsets(grid.extents.size(), 1), seed);
    if (grid.extents.size() > 2) continue;
    // Two upwards in the first dimension, where somebody has that, and one of the sides twice.
    Offsets more = moore_offsets(grid.extents.size(), 1);
    more.emplace_back(grid.extents.size(), 0);
    if (grid.extents[0] > 2 && grid.periodic[0] == 0) more.back()[0] = 2;
    more.push_back(more.front());
    expect_recognized(grid, more, seed);
  }
}

// One rank has another neighbour than a torus would give it: served all the same, but not as a torus.
TEST_F(Recognition, NoTorusNoCombining) {
  const int size = world().size, me = world().rank;
  if (size < 5) return;
  // A ring, but what 0 sends to 1 and 2 to 3 goes to 3 and to 1.
  const auto target = [&](int rank) { return rank == 0 ? 3 : rank == 2 ? 1 : (rank + 1) % size; };
  std::vector<Edge> in, out{{target(me), 0}};
  for (int from = 0; from < size; ++from) {
    if (target(from) == me) in.push_back({from, 0});
  }
  Topology t = around({{size}, {1}}, {{1}}, create(in, out));
  t.in = in, t.out = out;
  const Collective c = Collective::neighbor_alltoall;
  EXPECT_EQ(MPI_SUCCESS, force(t.where.comm, c, "torus"));
  expect_good(check({c, same("double"), 24, false, 5}, t, tested));
  EXPECT_FALSE(recognized(t.where.comm));
  EXPECT_NE(served_by(t.where.comm, c), "torus");
  release(t.where);
}

// A mesh that lacks one edge, and one in which two edges go elsewhere: served by direct messages.
TEST_F(Recognition, NearlyAMeshIsNone) {
  const int size = world().size, me = world().rank;
  if (size < 5) return;  // four may be a mesh of 2 x 2 all the same
  const Collective c = Collective::neighbor_alltoall;
  for (const bool crossed : {false, true}) {
    const TestGrid line{{size}, {0}};
    const auto targets = [&](int rank) {
      std::vector<int> to;
      if (rank > 0) to.push_back(rank - 1);
      if (rank < size - 1) to.push_back(rank + 1);
      if (!crossed && rank == 1) to.pop_back();
      if (crossed && rank == 0) to.back() = 3;
      if (crossed && rank == 2) to.back() = 1;  // which has two edges from 2, and none from 0
      return to;
    };
    std::vector<Edge> in, out;
    for (int again = 0; const int to : targets(me))
      out.push_back({to, !out.empty() && out.back().peer == to ? ++again : 0});
    for (int from = 0; from < size; ++from) {
      int again = 0;
      for (const int to : targets(from)) {
        if (to == me) in.push_back({from, again++});
      }
    }
    Topology t = around(line, {{1}}, create(in, out));
    t.in = in, t.out = out;
    EXPECT_EQ(MPI_SUCCESS, force(t.where.comm, c, "torus"));
    expect_good(check({c, same("double"), 24, false, 7}, t, tested));
    EXPECT_FALSE(recognized(t.where.comm));
    EXPECT_NE(served_by(t.where.comm, c), "torus");
    release(t.where);
  }
}

}  // namespace
}  // namespace quadrille::test
