// Calls that are wrong in a way that only all ranks together can see: the sizes of their blocks are not those that the
// user asserted. Without this check one rank gets MPI_ERR_TRUNCATE, others wrong data, or wait for ever.
#include <fmt/core.h>

#include "api/serve_neighbors.hpp"
#include "run/neighbors.hpp"
#include "team/config.hpp"
#include "text/hash.hpp"

namespace quadrille::api {

int check_sizes(const run::Call& call, team::Team& team) {
  const team::Neighbors& n = *team::neighbors_of(team);
  if (is_regular(call.collective) || !n.checks_sizes()) return MPI_SUCCESS;
  std::vector<std::size_t> sizes;
  const bool good = run::list_sizes(call, {n.iso_send, n.iso_recv}, sizes);
  // A rank with two sizes for a block gives what no other gives, so that nobody waits for it.
  const std::uint64_t given = good ? text::Hash().add_all(sizes).value() : ~text::Hash().add(team.group.me).value();
  if (team::all_agree(team.user, given) && good) return MPI_SUCCESS;
  if (team.group.me == 0) {
    team::say(fmt::format("{}: the sizes of the blocks are not the same at all ranks, as was asserted",
                          name_of(call.collective)));
  }
  return MPI_ERR_ARG;
}

}  // namespace quadrille::api
