// What the user asserts of a communicator that he made himself: by the info that the MPI keeps with it, or by
// Quadrille_Set_iso_sizes. All ranks must have said so, and mean the same by block i.
#include "mpi/mpi.hpp"
#include "team/communicator.hpp"
#include "team/config.hpp"
#include "team/hints.hpp"
#include "team/neighbors.hpp"
#include "text/hash.hpp"

namespace quadrille::team {
namespace {

Hints hints_of(MpiComm comm) {
  MpiInfo info = mpi().info_null;
  if (mpi().Comm_get_info(comm, &info) != mpi_success || info == mpi().info_null) return {};
  Hints hints = read_hints(info);
  mpi().Info_free(&info);
  return hints;
}

// Equal on ranks whose blocks go to the same offsets of the grid in the same order. Behind a graph each rank may list
// its neighbours in an order of its own: then block i of one rank is not block i of another.
// Nor may some ranks check alone.
std::uint64_t fingerprint(const std::vector<int>& blocks, bool checked) {
  return text::Hash().add(checked ? 1 : 0).add_all(blocks).value();
}

}  // namespace

bool may_be_asserted(Team& team) {
  const Neighbors* n = neighbors_of(team);
  if (n == nullptr || n->asked || n->isomorphic == nullptr || !n->isomorphic->whole) return false;
  if (n->wish.has_value()) return true;
  return team.eligible() &&
         (config().check || forces(team, &choose::Needs::equal_sizes) || may_combine(team) || may_choose_inside(team));
}

void ask_assertion(Team& team) {
  Neighbors& n = *team.neighbors;
  n.asked = true;
  const Hints hints = hints_of(team.user);
  if (rank_in(team.user) == 0 && team.counted.explains) say_problems(hints, "the info of a communicator");
  const bool asserted = n.wish.value_or(hints.iso_sizes);
  n.checked = n.checked || hints.check || config().check;
  const std::uint64_t mine = fingerprint(n.iso_send, n.checked);
  // Who does not assert it agrees with nobody who does.
  n.asserted = all_agree(team.user, asserted ? mine : ~mine) && asserted;
  forget_selections(team);
}

}  // namespace quadrille::team
