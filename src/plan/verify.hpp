// The proof that an algorithm is right, in one process and without MPI. All ranks' schedules are
// put side by side and checked:
//
//   form       every span exists, messages stay with their rank, copies stay inside a node, the
//              send buffer is never written; where sizes travel, messages move scratch alone
//   race       operations that may be in flight together never touch one span if one of them writes
//   beside     messages that may be in flight during other rounds share no span with these, if one writes
//   matching   the k-th send from s to d meets the k-th receive at d from s, with as many blocks
//   order      where ranks copy from or to each other's buffers: two accesses to one span, one of
//              them a write, are always ordered by messages or fences; nobody touches my buffers
//              before my first step or after my last. So a schedule that copies between ranks
//              fences its entry and its exit: neither is taken for granted
//   flow       symbolic blocks move in random legal orders. Scratch and recv start undefined, and
//              nothing undefined may be read; at the end recv holds exactly what it must
//   deadlock   one of these orders completes a send only when its receive is posted
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/neighborhood.hpp"
#include "plan/order.hpp"
#include "plan/problem.hpp"
#include "plan/schedule.hpp"

namespace quadrille::plan {

struct Goal {
  Pattern pattern;
  // Block sizes differ, and a rank knows the sizes of its own send and recv blocks alone (the v and
  // w collectives). If the schedule does not carry sizes along, a block may then lie in no other
  // place than the send block that it starts from and the recv block that it is meant for; of an
  // allgather, whose sizes all ranks know, also in a scratch block that no other block comes to.
  bool uneven = false;
  // Of all-to-all and allgather only the blocks between ranks of different nodes; the other recv blocks stay untouched.
  bool between_nodes = false;
};

struct Report {
  bool ok = true;
  std::string what;  // one line: the first thing that is wrong; empty if nothing is
};

// The schedules of all ranks. `domains` as in Problem.
std::vector<Schedule> build_all(Build build, const NodeMap& nodes, const Parameters& parameters,
                                std::span<const int> domains = {}, int away_steps = standard_away_steps);

// Checks the schedules of all ranks together. `orders` random orders are run, at least one: the
// first with every send a rendezvous, the others with some sends buffered. `seed` varies the
// orders.
Report verify(const std::vector<Schedule>& schedules, const NodeMap& nodes, Goal goal, int orders = 3,
              std::uint64_t seed = 1);

// True if the proof holds for every node map: no rank touches another's buffers and nothing fences.
bool ignores_nodes(const std::vector<Schedule>& schedules);

// ---- Neighbourhood collectives: all of this, and that recv blocks without a source are never written ----

// The schedules of all ranks of a grid.
std::vector<Schedule> build_all(BuildNeighbors build, const Grid& grid, const Neighborhood& neighborhood,
                                const Parameters& parameters);

// Checks the schedules of all ranks of a grid together. In an all-to-all also that blocks number i
// lie in no other places than those that neighborhood.hpp promises them.
Report verify_neighbors(const std::vector<Schedule>& schedules, const Grid& grid, const Neighborhood& neighborhood,
                        Pattern pattern, int orders = 3, std::uint64_t seed = 1);

// Checks the schedules of all ranks of a graph. [rank]: its sources and its destinations.
Report verify_graph(const std::vector<Schedule>& schedules, const std::vector<std::vector<int>>& sources,
                    const std::vector<std::vector<int>>& destinations, Pattern pattern = Pattern::alltoall,
                    int orders = 3, std::uint64_t seed = 1);

// Checks the schedules of all ranks of a node that copy along these edges.
Report verify_edges(const std::vector<Schedule>& schedules, std::span<const EdgeCopy> edges,
                    Pattern pattern = Pattern::alltoall, int orders = 3, std::uint64_t seed = 1);

}  // namespace quadrille::plan
