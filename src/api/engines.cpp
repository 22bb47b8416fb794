#include "api/engines.hpp"

#include <array>

#include "api/making.hpp"
#include "run/engines.hpp"
#include "run/leaders.hpp"
#include "run/node_neighbors.hpp"
#include "team/faults.hpp"
#include "team/leaders.hpp"
#include "team/neighbors.hpp"

namespace quadrille::api {
namespace {

using choose::Engine;
using run::Call;
using run::Group;
using team::Team;

// ---- May it send messages? ----

bool always(Collective, const Group&) { return true; }
bool never(Collective, const Group&) { return false; }
bool to_other_nodes(Collective, const Group& group) { return group.may_send(); }
// What is too large for a slot is a message.
bool beside_inboxes(Collective collective, const Group& group) { return group.may_send() || !is_sized(collective); }

// ---- Blocking calls ----

int by_messages(const Call& call, const Service& by, Team& team) {
  const auto carry = [&](const auto&... plan) { return run::run_messages(team.group, call, plan...); };
  return with_plan(call.collective, by, team, carry);
}

int by_copies(const Call& call, const Service& by, Team& team) {
  const bool forced = team.agreed().forced.of(call.collective).algorithm != nullptr;
  return run::run_copies(call, *by.on.schedule, team.group, forced ? run::Staging::any : run::Staging::little,
                         by.on.moving.eager);
}

int by_inbox(const Call& call, const Service&, Team& team) { return run::run_inbox(call, team.group); }

int by_pairs(const Call& call, const Service& by, Team& team) {
  return run::run_node(call, team.group, true, by.on.schedule);
}

int by_leaders(const Call& call, const Service& by, Team& team) {
  const team::CachedLeaders& on = *by.on.leaders;
  return run::run_leaders(call, *on.plan, on.memory->blocking->leaders, *on.blocking, team.group);
}

int by_rings(const Call& call, const Service&, Team& team) {
  return run::run_node_neighbors(call, team::node_edges_of(team), team.group);
}

int by_neighbor_copies(const Call& call, const Service& by, Team& team) {
  int error = mpi_success;
  const plan::Schedule* schedule = team::copy_plan_of(team, by.choice, error);
  if (schedule == nullptr) return error;
  const run::EdgesHere& here = team.neighbors->node_graph->here;
  if (run::run_neighbor_copies(call, *schedule, here, team.group, error)) return error;
  return by_rings(call, by, team);  // some block cannot be shared, on all ranks
}

// ---- The table ----

constexpr auto rows = std::to_array<EngineWork>({
    {Engine::schedule, always, by_messages, make_schedule},
    {Engine::node, to_other_nodes, by_copies, make_copies, false},
    {Engine::inbox, beside_inboxes, by_inbox, make_in_node},
    {Engine::exchange, to_other_nodes, by_pairs, make_in_node},
    {Engine::leaders, always, by_leaders, make_leaders, true, team::prepare_leaders},
    {Engine::padded, always, by_messages, make_schedule},
    {Engine::sparse, always, nullptr, nullptr},
    {Engine::neighbors, always, by_messages, make_schedule},
    {Engine::node_neighbors, to_other_nodes, by_rings, make_rings},
    {Engine::neighbor_copies, always, by_neighbor_copies, make_rings_instead, false},
    {Engine::pull, to_other_nodes, pull, make_pull, false},
    {Engine::pipeline, to_other_nodes, pipeline, make_pipeline, false, prepare_pipeline},
    {Engine::staged, never, nullptr, nullptr},
    {Engine::mpi, never, nullptr, make_of_the_mpi},
});

static_assert(rows.size() == choose::engine_count, "each engine has a row");
static_assert(rows_are_in_order(rows, &EngineWork::engine));

}  // namespace

const EngineWork& work_of(const choose::Choice& choice) {
  return rows[static_cast<std::size_t>(choice.algorithm->engine)];
}

bool can_be_left(const EngineWork& engine) { return engine.can_be_left || !team::watches_faults(); }

}  // namespace quadrille::api
