#include "api/serve_neighbors.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "api/on_host.hpp"
#include "run/neighbors.hpp"
#include "team/config.hpp"

namespace quadrille::api {
namespace {

using run::Call;
using run::Side;
using team::Neighbors;
using team::Passed;
using team::Team;
using By = NeighborService::By;

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

void explain_passed(Team& team, const Call& call, const std::string& why) {
  if (team.explains) team::explain(team, call.collective, 0, "mpi", why);
}

// What all ranks know of the size of the largest block; 0 if they do not.
std::size_t global_bytes(const Call& call, const Neighbors& n) {
  if (n.isomorphic == nullptr) return 0;
  if (!is_regular(call.collective) && !n.sizes_known()) return 0;
  return run::largest_block(call, {n.iso_send, n.iso_recv});
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
  if (door == Door::explicit_api || team.ready) return true;
  if (!team.eligible) return false;
  if (team::config().any_forced) return true;
  if (learn(team) != MPI_SUCCESS) return false;
  if (team.neighbors->checks_sizes()) return true;  // before anything is chosen by sizes that may be wrong
  const team::CachedSelection& cached = team::neighbor_selection(
      team, call.collective, global_bytes(call, *team::neighbors_of(team)), true);
  return cached.selection.choice.algorithm->engine != choose::Engine::mpi;
}

// False if some block cannot be shared, on all ranks.
bool copy(const Call& call, plan::BuildEdges build, Team& team, int& error) {
  const plan::Schedule* schedule = team::copy_plan_of(team, build, error);
  if (schedule == nullptr) return true;
  return run::run_neighbor_copies(call, *schedule, team.neighbors->node_graph->here, team.group, error);
}

int run_service(const Call& call, const NeighborService& service, Team& team) {
  run::Group& group = team.group;
  int copied = MPI_SUCCESS;
  if (service.by == By::copies && copy(call, service.build_edges, team, copied)) return copied;
  if (service.by != By::messages) return run::run_node_neighbors(call, team::node_edges_of(team), group);
  return run::run_neighbor_schedule(call, *service.schedule, service.slots, service.moving, group);
}

void explain(Team& team, const Call& call, std::size_t bytes, team::CachedSelection& cached) {
  if (cached.explained || !team.explains) return;
  cached.explained = true;
  team::explain(team, call.collective, bytes, choose::to_string(cached.selection.choice),
                cached.selection.why);
}

}  // namespace

std::string why_no_neighbors(Team& team) {
  if (team::config().off) return "Quadrille is switched off";
  if (is_inter(team.user)) return "it is an intercommunicator";
  return team::neighbors_of(team) == nullptr ? "it has no topology" : "";
}

int prepare_neighbors(Team& team) {
  if (team.eligible && !team.ready) {
    if (const int error = team::setup(team); error != MPI_SUCCESS) return error;
    team::forget_selections(team);  // made when less was known
  }
  if (const int error = team::prepare_messages(team); error != MPI_SUCCESS) return error;
  if (team.eligible) return learn(team);
  // Nobody sends to another on it but we, and only with the tags of exchanges that are awaited.
  team.group.quiet = team.group.comm;
  mpi().Comm_rank(team.user, &team.group.me);
  mpi().Comm_size(team.user, &team.group.ranks);
  return learn(team);
}

bool is_sound(const Call& call, const Neighbors& neighbors) {
  if (call.in_place || call.recv.base == MPI_IN_PLACE) return false;
  const CollectiveRow& row = row_of(call.collective);
  return side_is_sound(call.recv, row.recv, neighbors.recv_blocks) &&
         side_is_sound(call.send, row.send, neighbors.send_blocks);
}

namespace {

NeighborService service_by(Team& team, const choose::Choice& choice, const team::Prepared& on) {
  const Neighbors& n = *team::neighbors_of(team);
  const run::NeighborSlots edges = {n.send_block, n.recv_block}, grid = {n.iso_send, n.iso_recv};
  const choose::Algorithm& algorithm = *choice.algorithm;
  if (algorithm.engine == choose::Engine::mpi) return {By::mpi};
  if (algorithm.engine == choose::Engine::node_neighbors) return {By::rings};
  if (algorithm.engine == choose::Engine::neighbor_copies) {
    return {By::copies, nullptr, {}, {}, algorithm.build_edges};
  }
  const bool direct = algorithm.build_neighbors == nullptr;
  return {By::messages, on.schedule, direct ? edges : grid, on.moving};
}

// What runs instead of an algorithm that a request cannot use.
void explain_instead(Team& team, const Call& call, bool persistent, const char* algorithm, const std::string& why) {
  if (!team.explains) return;
  team::explain(team, call.collective, 0, algorithm, (persistent ? "persistent; " : "nonblocking; ") + why);
}

}  // namespace

NeighborService service_for(const Call& call, Team& team, bool drop_in) {
  const std::size_t bytes = global_bytes(call, *team::neighbors_of(team));
  team::CachedSelection& cached = team::neighbor_selection(team, call.collective, bytes, drop_in);
  explain(team, call, bytes, cached);
  return service_by(team, cached.selection.choice, team::prepared_of(team, call.collective, cached));
}

NeighborService service_of_request(const Call& call, Team& team, bool persistent) {
  const std::size_t bytes = global_bytes(call, *team::neighbors_of(team));
  team::CachedSelection& cached = team::neighbor_selection(team, call.collective, bytes, false);
  const choose::Choice& choice = cached.selection.choice;
  const NeighborService service = service_by(team, choice, team::prepared_of(team, call.collective, cached));
  if (service.by == By::copies) {
    explain_instead(team, call, persistent, "rings", fmt::format("in {} every rank waits for all", choice.algorithm->name));
    return {By::rings};
  }
  if (service.by == By::mpi && persistent) {
    return direct_service(call, team, true, "for the MPI: " + cached.selection.why);
  }
  if (service.by != By::mpi) explain(team, call, bytes, cached);
  return service;
}

NeighborService direct_service(const Call& call, Team& team, bool persistent, const std::string& why) {
  explain_instead(team, call, persistent, "direct", why);
  const choose::Choice direct = choose::plain(call.collective, "direct");
  return service_by(team, direct, team::prepare(team, call.collective, direct));
}

namespace {

// serve_neighbors(), which may throw.
bool try_to_serve(const Call& call, Door door, int& error) {
  bool early = false;
  Team* team = team::team_after(call.comm, uncounted_calls(door), early);
  if (team == nullptr) {
    if (!early) team::count_passed();
    return false;
  }
  // Before anything that takes time: programs make such communicators for one call.
  if (team->eligible && team::has_topology(*team) && comes_early(*team, door)) {
    if (team->explains) explain_passed(*team, call, why_early);
    return pass(*team, Passed::early);
  }
  if (const std::string why = why_no_neighbors(*team); !why.empty()) {
    explain_passed(*team, call, why);
    return pass(*team, team->eligible ? Passed::argument : team->why_passed);
  }
  const Neighbors& neighbors = *team::neighbors_of(*team);
  if (!is_sound(call, neighbors)) return pass(*team, Passed::argument);
  const Serving guard;
  if (!is_worth_it(*team, call, door)) {
    explain_passed(*team, call, team->eligible ? "combining messages would not pay" : team->why_not);
    return pass(*team, team->eligible ? why_chosen(*team) : team->why_passed);
  }
  if (prepare_neighbors(*team) != MPI_SUCCESS) {  // on all ranks
    explain_passed(*team, call, team::no_communicator);
    return pass(*team, Passed::no_communicator);
  }
  error = check_sizes(call, *team, true);
  if (error == MPI_SUCCESS) {
    const NeighborService service = service_for(call, *team, door == Door::drop_in);
    if (service.by == By::mpi) return pass(*team, why_chosen(*team));
    const Neighbors& n = *team->neighbors;
    const int sends = is_allgather(call.collective) ? std::min(n.send_blocks, 1) : n.send_blocks;
    error = run_anywhere(call, sends, n.recv_blocks,
                         [&](const Call& here) { return run_service(here, service, *team); });
  }
  if (error != MPI_SUCCESS) mpi().Comm_call_errhandler(call.comm, error);
  ++team->counters.served;
  return true;
}

}  // namespace

bool serve_neighbors(const Call& call, Door door, int& error) {
  if (is_serving() || !mpi().usable) return false;
  bool served = true;
  const int thrown = thrown_by([&] { served = try_to_serve(call, door, error); });
  if (thrown != MPI_SUCCESS) error = raise(call.comm, thrown);
  return served;
}

}  // namespace quadrille::api
