#include "tool/tune/around.hpp"

#include <algorithm>

#include "abi/functions.hpp"
#include "tool/bench/neighbors.hpp"
#include "tool/bench/turns.hpp"
#include "tool/tune/batch.hpp"
#include "tool/tune/uniform.hpp"
#include "tuner/contest.hpp"

namespace quadrille::tools {
namespace {

constexpr double neighbors_batch_seconds = 0.002;

void make(const Around& around, const NeighborCall& call) {
  const int count = static_cast<int>(call.bytes);
  uniform_function(call.collective)(call.send(), count, mpi().byte, call.recv, count, mpi().byte, around.comm());
}

// Microseconds a call.
double batch(const Around& around, const NeighborCall& call, int calls) {
  return seconds_of_batch(around.comm(), calls, [&] { make(around, call); }) * 1e6;
}

}  // namespace

Around::Around(team::Team& world, const plan::Neighborhood& neighborhood) {
  const auto made = make_neighbors(neighborhood, {}, world.group.ranks, world.group.me, true);
  comm_ = make_isomorphic_comm(world.user, *made);
  // The first call sets it up, with settings that those which are tried would not survive.
  const std::byte none{};
  std::vector<std::byte> some(static_cast<std::size_t>(made->size()));
  Quadrille_Neighbor_allgather(&none, 1, mpi().byte, some.data(), 1, mpi().byte, comm_);
}

Around::~Around() { mpi().Comm_free(&comm_); }

void Around::force(const choose::Choice& choice, Collective collective) const {
  team::force(team(), collective, choice);
}

std::vector<BatchTimes> measure_ways(const Around& around, const NeighborCall& call, std::size_t ways,
                                     const std::function<void(std::size_t)>& use, int batches) {
  double estimate = 0;
  for (std::size_t way = 0; way < ways; ++way) {
    use(way);
    batch(around, call, 2);
    estimate = std::max(estimate, batch(around, call, 2));
  }
  const int calls = calls_of_batch(neighbors_batch_seconds, estimate * 1e-6);
  tuner::Contest contest(ways, {batches, tuner::Counts::both});
  for (int b = 0; b < batches; ++b) {
    for (const std::size_t way : order_of_round(static_cast<std::size_t>(b), ways)) {
      use(way);
      make(around, call);
      contest.note(way, batch(around, call, calls));
    }
    contest.end_visit();
  }
  std::vector<BatchTimes> summary;
  for (std::size_t way = 0; way < ways; ++way) summary.push_back({contest.median(way), contest.least(way)});
  return summary;
}

}  // namespace quadrille::tools
