#include "api/serve_neighbors.hpp"

#include "run/neighbors.hpp"
#include "team/config.hpp"

namespace quadrille::api {
namespace {

using run::Call;
using run::Side;
using team::Neighbors;
using team::Team;

// As block_is_sound(), where the block before was sound and has the same type.
bool is_sound_too(const Side& side, int block) {
  return side.count_of(block) >= 0 && (side.base != nullptr || block_is_sound(side, block));
}

bool side_is_sound(const Side& side, Form form, int blocks) {
  if (blocks == 0) return true;
  if (!has_arrays(form)) return block_is_sound(side, 0);
  if (!arrays_given(side, form)) return false;
  for (int b = 0; b < blocks; ++b) {
    const bool again = b > 0 && side.count_of(b - 1) > 0 && side.type_of(b) == side.type_of(b - 1);
    if (!(again ? is_sound_too(side, b) : block_is_sound(side, b))) return false;
  }
  return true;
}

// Collective, once for each question: what the ranks can only find out together.
int learn(Team& team) {
  if (team::may_be_grid(team)) {
    if (const int error = team::recognize(team); error != MPI_SUCCESS) return error;
  }
  if (team::may_be_asserted(team)) team::ask_assertion(team);
  return MPI_SUCCESS;
}

// The drop-in door leaves a communicator as it is unless something is to be won by this call.
bool is_worth_it(Team& team, const Call& call, Door door) {
  if (door == Door::explicit_api || team.ready()) return true;
  if (!team.eligible()) return false;
  if (team::config().any_forced) return true;
  if (learn(team) != MPI_SUCCESS) return false;
  if (team.neighbors->checks_sizes()) return true;  // before anything is chosen by sizes that may be wrong
  const team::CachedSelection& selected = selection_for(call, global_bytes(call, team), team, true);
  return !is_of_the_mpi(*selected.selection.choice.algorithm);
}

}  // namespace

Reason why_no_neighbors(Team& team) {
  if (const Reason why = team::why_nothing_is_served(); why != Reason::none) return why;
  if (is_inter(team.user)) return Reason::intercommunicator;
  return team::neighbors_of(team) == nullptr ? Reason::no_topology : Reason::none;
}

int prepare_neighbors(Team& team) {
  if (team.eligible() && !team.ready()) {
    if (const int error = team::setup(team); error != MPI_SUCCESS) return error;
    team::forget_selections(team);  // made when less was known
  }
  if (const int error = team::prepare_messages(team); error != MPI_SUCCESS) return error;
  return learn(team);
}

bool is_sound(const Call& call, const Neighbors& neighbors) {
  if (call.in_place || call.recv.base == MPI_IN_PLACE) return false;
  const CollectiveRow& row = row_of(call.collective);
  return side_is_sound(call.recv, row.recv, neighbors.recv_blocks) &&
         side_is_sound(call.send, row.send, neighbors.send_blocks);
}

std::size_t neighbor_bytes(const Call& call, const Neighbors& n) {
  if (n.isomorphic == nullptr) return 0;
  if (!is_regular(call.collective) && !n.sizes_known()) return 0;
  return run::largest_block(call, {n.iso_send, n.iso_recv});
}

bool admit_neighbors(const Call& call, Team& team, Door door, CountedAhead& ahead) {
  // Before anything that takes time: programs make such communicators for one call.
  ahead.early = team.eligible() && team::has_topology(team) && comes_early(team, door);
  if (ahead.early) {
    explain_passed(team, call, {Reason::early});
    return pass(team, Reason::early);
  }
  if (const Reason why = why_no_neighbors(team); why != Reason::none) {
    explain_passed(team, call, {why});
    return pass(team, team.eligible() ? Reason::argument : team.why_not);
  }
  if (!is_worth_it(team, call, door)) {
    explain_passed(team, call, {team.eligible() ? Reason::no_gain_by_combining : team.why_not});
    return pass(team, team.eligible() ? why_chosen(team) : team.why_not);
  }
  if (prepare_neighbors(team) == MPI_SUCCESS) return true;
  explain_passed(team, call, {Reason::no_communicator});  // on all ranks
  return pass(team, Reason::no_communicator);
}

}  // namespace quadrille::api
