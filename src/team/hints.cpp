#include "team/hints.hpp"

#include <fmt/core.h>

#include "mpi/mpi.hpp"
#include "team/communicator.hpp"
#include "team/config.hpp"
#include "team/neighbors.hpp"
#include "text/hash.hpp"

namespace quadrille::team {
namespace {

void read_hint(Hints& hints, const std::string& key, const std::string& value) {
  bool* const meant = key == "quadrille_check"       ? &hints.check
                      : key == "quadrille_iso_sizes" ? &hints.iso_sizes
                                                     : nullptr;
  const std::optional<bool> on = switch_of(value);
  if (meant == nullptr) {
    hints.problems.push_back(fmt::format("unknown info key {}; expected quadrille_check or quadrille_iso_sizes", key));
  } else if (!on) {
    hints.problems.push_back(fmt::format("info key {}={}: expected true or false; ignored", key, value));
  } else {
    *meant = *on;
  }
}

}  // namespace

Hints read_hints(MpiInfo info) {
  Hints hints;
  int keys = 0;
  if (info == mpi().info_null || mpi().Info_get_nkeys(info, &keys) != mpi_success) return hints;
  for (int i = 0; i < keys; ++i) {
    char key[most_mpi_text + 1] = {}, value[64] = {};
    int found = 0;
    if (mpi().Info_get_nthkey(info, i, key) != mpi_success) continue;
    if (!std::string(key).starts_with("quadrille_")) {
      hints.others = true;
      continue;
    }
    mpi().Info_get(info, key, sizeof value - 1, value, &found);
    if (found != 0) read_hint(hints, key, value);
  }
  return hints;
}

void say_problems(const Hints& hints, const std::string& where) {
  for (const std::string& problem : hints.problems) say(where + ": " + problem);
}

// ---- Block sizes ----
//
// What the user asserts of a communicator that he made himself: by the info that the MPI keeps with it, or by
// Quadrille_Set_iso_sizes. All ranks must have said so, and mean the same by block i.

namespace {

Hints hints_of(MpiComm comm) {
  MpiInfo info = mpi().info_null;
  if (mpi().Comm_get_info(comm, &info) != mpi_success || info == mpi().info_null) return {};
  Hints hints = read_hints(info);
  mpi().Info_free(&info);
  return hints;
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
  // Equal on ranks whose blocks go to the same offsets of the grid in the same order. Behind a graph each rank may list
  // its neighbours in an order of its own: then block i of one rank is not block i of another. Nor may some ranks check
  // alone.
  const std::uint64_t mine = text::Hash().add(n.checked ? 1 : 0).add_all(n.iso_send).value();
  // Who does not assert it agrees with nobody who does.
  n.asserted = all_agree(team.user, asserted ? mine : ~mine) && asserted;
  forget_selections(team);
}

}  // namespace quadrille::team
