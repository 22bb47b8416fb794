// A communicator with a neighbourhood, and the times of calls on it, for `quadrille tune --neighbors`.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "choose/registry.hpp"
#include "plan/neighborhood.hpp"
#include "team/neighbors.hpp"
#include "team/team.hpp"

namespace quadrille::tools {

// Made and freed by all ranks of `world`, on a torus of them, and set up.
class Around {
 public:
  Around(team::Team& world, const plan::Neighborhood& neighborhood);
  ~Around();
  Around(const Around&) = delete;
  Around& operator=(const Around&) = delete;

  MpiComm comm() const { return comm_; }
  team::Team& team() const { return *team::team_of(comm_); }
  const team::Isomorphic& isomorphic() const { return *team::neighbors_of(team())->isomorphic; }
  // Of a rank, in one direction.
  std::size_t blocks() const { return static_cast<std::size_t>(isomorphic().neighborhood.size()); }
  // Calls of this collective are served by this choice from now on; without algorithm by what Quadrille chooses.
  void force(const choose::Choice& choice, Collective collective) const;

 private:
  MpiComm comm_ = mpi().comm_null;
};

// What is called.
struct NeighborCall {
  Collective collective;  // neighbor_alltoall or neighbor_allgather
  std::size_t bytes;      // of a block
  std::function<const std::byte*()> send;
  std::byte* recv;
};

// Of some batches. Disturbances only ever add time, so the least is the one that a busy machine changes last.
struct BatchTimes {
  double median, least;
};

// Collective: the microseconds that a call takes the slowest rank, of so many batches by each way. use(w) makes calls
// take way w. Each round of batches has an order of its own.
std::vector<BatchTimes> measure_ways(const Around& around, const NeighborCall& call, std::size_t ways,
                                     const std::function<void(std::size_t)>& use, int batches);

}  // namespace quadrille::tools
