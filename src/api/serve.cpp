#include "api/serve.hpp"

#include <algorithm>
#include <new>

#include "choose/select.hpp"
#include "run/engines.hpp"
#include "team/config.hpp"
#include "team/team.hpp"

namespace quadrille::api {
namespace {

using choose::Collective;
using run::Call;
using run::Side;

// While we serve a call, collectives that the MPI calls by itself go straight to it.
[[gnu::tls_model("initial-exec")]] thread_local bool serving = false;

struct Serving {
  Serving() { serving = true; }
  ~Serving() { serving = false; }
};

// Whether a count of the side stands for all of its blocks.
bool one_count(const Side& side) {
  return side.counts == nullptr && side.counts_large == nullptr && side.types == nullptr;
}

// Every mistake that the MPI reports for an argument is left to the MPI to report. Legal arguments
// must never be taken for mistakes: this is a decision of one rank alone.
bool side_is_sound(const Side& side, int blocks) {
  const MPI_Datatype none = mpi().datatype_null;
  for (int b = 0; b < blocks; ++b) {
    const std::ptrdiff_t count = side.count_of(b);
    if (count < 0 || side.type_of(b) == none) return false;
    // MPI_BOTTOM is address zero: legal with types of absolute addresses, which are never dense.
    if (count > 0 && side.base == nullptr && type_info(side.type_of(b)).dense) return false;
    if (one_count(side)) break;
  }
  return true;
}

bool moves_data(const Side& side, int blocks) {
  for (int b = 0; b < blocks; ++b) {
    if (side.count_of(b) > 0) return true;
    if (one_count(side)) break;
  }
  return false;
}

bool arrays_given(const Side& side, bool per_block) {
  return !per_block || ((side.counts != nullptr && side.displacements != nullptr) ||
                        (side.counts_large != nullptr && side.displacements_large != nullptr));
}

bool is_vector(Collective c) { return c == Collective::alltoallv || c == Collective::alltoallw; }

bool is_sound(const Call& call, int ranks) {
  const bool recv_arrays = is_vector(call.collective) || call.collective == Collective::allgatherv;
  if (!arrays_given(call.recv, recv_arrays)) return false;
  if (call.recv.base == MPI_IN_PLACE || !side_is_sound(call.recv, ranks)) return false;
  if (call.in_place) return true;
  if (!arrays_given(call.send, is_vector(call.collective))) return false;
  const int send_blocks = run::is_allgather(call.collective) ? 1 : ranks;
  if (!side_is_sound(call.send, send_blocks)) return false;
  // One address for both sides is a mistake, but a rank that moves nothing may give null twice, and
  // MPI_BOTTOM on both sides says nothing about where the data lies.
  const bool aliased = call.send.base == call.recv.base && call.recv.base != nullptr;
  return !aliased || !moves_data(call.send, send_blocks) || !moves_data(call.recv, ranks);
}

// Bytes of a block as all ranks know it; 0 for the v and w forms.
std::size_t global_bytes(const Call& call, int ranks) {
  if (is_vector(call.collective)) return 0;
  const std::size_t size = type_info(call.recv.type).size;
  if (call.collective != Collective::allgatherv) return call.recv.count * size;
  std::ptrdiff_t most = 0;
  for (int b = 0; b < ranks; ++b) most = std::max(most, call.recv.count_of(b));
  return static_cast<std::size_t>(most) * size;
}

// Is it time for this communicator, and can it be made ready? All ranks count the same calls.
bool make_ready(team::Team& team, Door door) {
  if (team.ready) return true;
  const team::Config& settings = team::config();
  const bool at_once = door == Door::explicit_api || settings.any_forced;
  if (!at_once && team.calls++ < settings.setup_after) return false;
  return team::setup(team) == MPI_SUCCESS;
}

int run_choice(const Call& call, const choose::Choice& choice, team::Team& team) {
  const choose::Algorithm& algorithm = *choice.algorithm;
  if (algorithm.engine == choose::Engine::inbox) return run::run_inbox(call, team.group);
  return run::run_schedule(call, team::plan_of(team, choice), algorithm.needs.contiguous,
                           team.group);
}

void explain(team::Team& team, const Call& call, team::CachedSelection& cached) {
  if (cached.explained || !team.explains) return;
  cached.explained = true;
  team::explain(team, call.collective, cached.bytes, choose::to_string(cached.selection.choice),
                cached.selection.why);
}

void explain_not_eligible(team::Team& team, const Call& call) {
  if (team.explained || !team.explains) return;
  team.explained = true;
  team::explain(team, call.collective, 0, "mpi", team.why_not);
}

bool pass(team::Team& team) {
  ++team.counters.passed;
  return false;
}

}  // namespace

bool serve(const Call& call, Door door, int& error) {
  if (serving || !mpi().usable) return false;
  team::Team* team = team::team_of(call.comm);
  if (team == nullptr) {
    team::count_passed();
    return false;
  }
  if (!team->eligible) {
    explain_not_eligible(*team, call);
    return pass(*team);
  }
  const Serving guard;
  if (!make_ready(*team, door) || !is_sound(call, team->group.ranks)) return pass(*team);
  const std::size_t bytes = global_bytes(call, team->group.ranks);
  team::CachedSelection& cached = team::selection_of(*team, call.collective, bytes);
  explain(*team, call, cached);
  const choose::Choice& choice = cached.selection.choice;
  if (choice.algorithm->engine == choose::Engine::mpi) return pass(*team);
  try {
    error = run_choice(call, choice, *team);
  } catch (const std::bad_alloc&) {
    error = MPI_ERR_NO_MEM;
  }
  if (error != MPI_SUCCESS) mpi().Comm_call_errhandler(call.comm, error);
  ++team->counters.served;
  return true;
}

}  // namespace quadrille::api
