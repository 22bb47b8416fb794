#include "api/serve.hpp"

#include <algorithm>

#include "api/again.hpp"
#include "api/calibrate.hpp"
#include "api/choose_by_load.hpp"
#include "api/on_host.hpp"
#include "api/trials.hpp"
#include "choose/select.hpp"
#include "run/engines.hpp"
#include "team/config.hpp"
#include "team/team.hpp"

namespace quadrille::api {
namespace {

using run::Call;
using run::Side;
using team::Passed;

thread_local bool serving = false;

// A type that is none, or not committed, is a mistake even if nothing moves: so all MPIs say, but not of types that
// are given one a block.
bool side_is_sound(const Side& side, Form form, int blocks) {
  if (!arrays_given(side, form)) return false;
  if (side.types == nullptr && (side.type == mpi().datatype_null || !is_committed(side.type))) return false;
  for (int b = 0; b < (has_arrays(form) ? blocks : 1); ++b) {
    if (!block_is_sound(side, b)) return false;
  }
  return true;
}

// Is it time for this communicator, and can it be made ready?
bool make_ready(team::Team& team, Door door) {
  if (team.ready) return true;
  if (comes_early(team, door)) return false;
  return team::setup(team) == MPI_SUCCESS;
}

// May a rank need messages among the ranks of the communicator? All ranks say the same.
bool may_send(choose::Engine engine, Collective collective, const run::Group& group) {
  if (engine == choose::Engine::schedule || engine == choose::Engine::padded) return true;
  if (group.may_send()) return true;
  // Through inboxes alone, what is too large for a slot is a message.
  return engine == choose::Engine::inbox && !is_sized(collective);
}

int run_by(const Call& call, choose::Engine engine, const team::Prepared& on, team::Team& team) {
  if (engine == choose::Engine::inbox) return run::run_inbox(call, team.group);
  if (engine == choose::Engine::node) {
    const bool forced = team.forced.by_collective[static_cast<std::size_t>(call.collective)].algorithm != nullptr;
    const run::Staging staging = forced ? run::Staging::any : run::Staging::little;
    return run::run_copies(call, *on.schedule, team.group, staging);
  }
  if (engine == choose::Engine::exchange) return run::run_node(call, team.group, true);
  if (engine == choose::Engine::padded) return run::run_padded(call, on.schedule, *on.direct, team.group);
  return run::run_schedule(call, *on.schedule, on.moving, team.group);
}

void explain(team::Team& team, const Call& call, team::CachedSelection& cached) {
  if (cached.explained || !team.explains) return;
  cached.explained = true;
  team::explain(team, call.collective, cached.bytes, choose::to_string(cached.selection.choice),
                cached.selection.why);
}

// Why a call goes to the MPI although the communicator could be served.
void explain_passed(team::Team& team, const Call& call) {
  if (!team.explains) return;
  team::explain(team, call.collective, 0, "mpi",
                !team.eligible ? team.why_not
                : team.ready   ? "an argument that the MPI must look at"
                               : why_early);
}

void explain_not_eligible(team::Team& team, const Call& call) {
  if (team.explained || !team.explains) return;
  team.explained = true;
  team::explain(team, call.collective, 0, "mpi", team.why_not);
}

}  // namespace

bool is_sound(const Call& call, int ranks) {
  const CollectiveRow& row = row_of(call.collective);
  if (call.recv.base == MPI_IN_PLACE || !side_is_sound(call.recv, row.recv, ranks)) return false;
  return call.in_place || side_is_sound(call.send, row.send, ranks);
}

std::size_t global_bytes(const Call& call, int ranks) {
  if (!is_sized(call.collective)) return 0;
  const int blocks = has_arrays(row_of(call.collective).recv) ? ranks : 1;
  std::ptrdiff_t most = 0;
  for (int b = 0; b < blocks; ++b) most = std::max(most, call.recv.count_of(b));
  return static_cast<std::size_t>(most) * type_info(call.recv.type).size;
}

bool arrays_given(const Side& side, Form form) {
  if (!has_arrays(form)) return true;
  const bool counts = side.counts != nullptr || side.counts_large != nullptr;
  return counts && (side.displacements != nullptr || side.displacements_large != nullptr) &&
         (form == Form::arrays || side.types != nullptr);
}

bool block_is_sound(const Side& side, int block) {
  const std::ptrdiff_t count = side.count_of(block);
  if (count == 0) return true;
  const MPI_Datatype type = side.type_of(block);
  if (count < 0 || type == mpi().datatype_null || !is_committed(type)) return false;
  if (side.base != nullptr) return true;
  const TypeInfo info = type_info(type);
  return !info.dense || info.size == 0 || side.displacement_of(block, 0) != 0;
}

int raise(MPI_Comm comm, int error) {
  mpi().Comm_call_errhandler(comm, error);
  return error;
}

bool comes_early(team::Team& team, Door door) {
  const team::Config& settings = team::config();
  if (team.ready || door == Door::explicit_api || settings.any_forced) return false;
  if (team.calls >= settings.setup_after) return false;
  ++team.calls;
  return true;
}

int uncounted_calls(Door door) {
  const team::Config& settings = team::config();
  const bool looks = settings.explain || settings.any_forced || settings.off || door == Door::explicit_api;
  return looks ? 0 : settings.setup_after;
}

bool pass(team::Team& team, team::Passed why) {
  ++team.counters.passed[static_cast<std::size_t>(why)];
  return false;
}

team::Passed why_chosen(const team::Team& team) {
  return team.ready && team.nodes.nodes == 1 ? team::Passed::chosen : team::Passed::several_nodes;
}

bool is_inter(MPI_Comm comm) {
  int inter = 0;
  mpi().Comm_test_inter(comm, &inter);
  return inter != 0;
}

bool is_serving() { return serving; }
Serving::Serving() { serving = true; }
Serving::~Serving() { serving = false; }

namespace {

// serve(), which may throw.
bool try_to_serve(const Call& call, Door door, int& error, Attempt& attempt) {
  bool early = false;
  team::Team* team = team::team_after(call.comm, uncounted_calls(door), early);
  if (team == nullptr) {
    if (!early) team::count_passed();
    return false;
  }
  if (!team->eligible) {
    explain_not_eligible(*team, call);
    remember_passed(call, *team, team->why_passed, true);
    return pass(*team, team->why_passed);
  }
  const Serving guard;
  if (!make_ready(*team, door) || !is_sound(call, team->group.ranks)) {
    explain_passed(*team, call);
    return pass(*team, !team->eligible ? team->why_passed : team->ready ? Passed::argument : Passed::early);
  }
  if (team->points_are_guessed) calibrate(*team);
  const std::size_t bytes = global_bytes(call, team->group.ranks);
  if (bytes == 0 && is_sized(call.collective)) {
    // Nothing moves, on no rank, and no rank need wait for another.
    error = MPI_SUCCESS;
    ++team->counters.served;
    return true;
  }
  team::CachedSelection& cached = team::selection_of(*team, call.collective, bytes);
  if (cached.selection.by_load) {
    error = choose_by_load(call, *team, cached);
    if (error != MPI_SUCCESS) return pass(*team, Passed::other);  // so it does on all ranks, as far as the MPI goes
  }
  if (!cached.selection.rivals.empty()) attempt = begin_attempt(call, bytes, *team, cached);
  const choose::Choice& choice = attempt.choice != nullptr ? *attempt.choice : cached.selection.choice;
  const choose::Engine engine = choice.algorithm->engine;
  const bool sends = engine != choose::Engine::mpi && may_send(engine, call.collective, team->group);
  if (sends && team::prepare_messages(*team) != MPI_SUCCESS) {
    if (team->explains) team::explain(*team, call.collective, bytes, "mpi", team::no_communicator);
    return pass(*team, Passed::no_communicator);
  }
  explain(*team, call, cached);
  if (engine == choose::Engine::mpi) {
    if (!cached.selection.by_load && cached.selection.rivals.empty()) {
      remember_passed(call, *team, why_chosen(*team), false);
    }
    return pass(*team, why_chosen(*team));
  }
  team::Prepared tried;
  if (attempt.choice != nullptr) tried = team::prepare(*team, call.collective, choice);
  const team::Prepared& on = attempt.choice != nullptr ? tried : team::prepared_of(*team, call.collective, cached);
  const int ranks = team->group.ranks;
  error = run_anywhere(call, is_allgather(call.collective) ? 1 : ranks, ranks,
                       [&](const Call& here) { return run_by(here, engine, on, *team); });
  end_attempt(attempt);
  if (error != MPI_SUCCESS) mpi().Comm_call_errhandler(call.comm, error);
  ++team->counters.served;
  if (error == MPI_SUCCESS) remember(call, engine, *team);
  return true;
}

}  // namespace

bool serve(const Call& call, Door door, int& error, Attempt& attempt) {
  if (serving || !mpi().usable) return false;
  bool served = true;
  const int thrown = thrown_by([&] { served = try_to_serve(call, door, error, attempt); });
  if (thrown != MPI_SUCCESS) error = raise(call.comm, thrown);
  return served;
}

}  // namespace quadrille::api
