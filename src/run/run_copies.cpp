// Runs a schedule that consists of copies between the buffers of a node's ranks (copies.hpp). Blocks for other nodes
// are under way as messages meanwhile.
#include "run/away.hpp"
#include "run/copies.hpp"
#include "run/dense_blocks.hpp"
#include "run/engines.hpp"

namespace quadrille::run {

int run_copies(const Call& call, const plan::Schedule& schedule, Group& group, Staging staging) {
  constexpr std::size_t little = std::size_t{1} << 20;
  AwayMessages away(call, group);
  const CopyMeans means = means_of(group);
  DenseBlocks dense(call, schedule, group, means.pairs);
  SharedBlocks shared(group, means.pairs);
  Copies copies(call, dense, shared, group, means, staging == Staging::little ? little : SIZE_MAX);
  away.begin();
  int error = MPI_SUCCESS;
  if (!copies.run(error)) error = run_node(call, group, true, Part::node);
  keep(error, away.finish());
  return error;
}

}  // namespace quadrille::run
