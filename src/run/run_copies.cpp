// Runs a schedule that consists of copies between the buffers of a node's ranks (copies.hpp). Its messages between
// nodes are in flight during or after the copies, depending on the schedule (away.hpp).
#include <optional>

#include "run/away.hpp"
#include "run/copies.hpp"
#include "run/dense_blocks.hpp"
#include "run/engines.hpp"

namespace quadrille::run {

int run_copies(const Call& call, const plan::Schedule& schedule, Group& group, Staging staging, std::size_t eager) {
  constexpr std::size_t little = std::size_t{1} << 20;
  std::optional<AwayMessages> away;
  if (!group.reach().local.empty()) away.emplace(call, schedule, group, eager);
  const CopyMeans means = means_of(group);
  DenseBlocks dense(call, schedule, group, means.pairs);
  SharedBlocks shared(group, means.pairs);
  Copies copies(call, dense, shared, group, means, staging == Staging::little ? little : SIZE_MAX);
  if (away && away->is_beside()) away->begin();
  int error = mpi_success;
  if (!copies.run(error)) error = run_node(call, group, true);
  if (away && !away->is_beside()) away->begin();
  if (away) keep(error, away->finish([] {}));
  return error;
}

}  // namespace quadrille::run
