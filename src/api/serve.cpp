#include "api/serve.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "api/call_cache.hpp"
#include "api/engines.hpp"
#include "api/requests.hpp"
#include "run/engines.hpp"
#include "run/leaders.hpp"
#include "team/areas.hpp"
#include "team/config.hpp"
#include "team/neighbors.hpp"
#include "team/record.hpp"

namespace quadrille::api {
namespace {

using choose::Engine;
using run::Call;

struct OnThread {
  bool serving = false;
  // An error to be raised by the door, if `notes`.
  bool notes = false;
  bool is_of_the_mpi = false;
  int error = mpi_success;
  MpiComm comm{};
  std::span<MayFail> may_fail;
};
constinit thread_local OnThread here;

// Will all calls like this one find the same? Those between neighbours are not remembered.
bool is_settled(const Call& call, const team::CachedSelection& cached, const team::Team& team) {
  const choose::Selection& selection = cached.selection;
  if (team.agreed().follows_devices) return false;  // what they find may change
  return is_dense(call.collective) && !selection.by_load && !cached.follows_load && team::is_decided(cached);
}

// After a call that went to the MPI or by pairs: how many that are like it do before the ranks ask again. Null if each
// must look. Not of collectives whose size all ranks know: those may have another selection.
int* unasked_after(const Call& call, const team::CachedSelection& cached, team::Team& team) {
  const choose::Selection& selection = cached.selection;
  if (!is_dense(call.collective) || is_sized(call.collective) || team.agreed().follows_devices) return nullptr;
  if (!team::is_decided(cached) || selection.choice.buffers != choose::HostBuffers::as_suits) return nullptr;
  if (cached.follows_load == selection.by_load) return nullptr;
  const auto c = static_cast<std::size_t>(call.collective);
  return &(selection.by_load ? team.asked.asking : team.asked.load)[c].unasked;
}

// As many calls go by what was decided before it is checked, where all ranks know the size, and each of these calls
// counts. Null: all.
int* until_check(const team::CachedSelection& cached) {
  if (cached.trial == nullptr || cached.trial->trial.pause.length == 0) return nullptr;
  return &cached.trial->trial.pause.left;
}

// To the MPI, as was selected. Later calls find that out sooner.
bool pass_as_chosen(const Call& call, team::CachedSelection& cached, team::Team& team, CountedAhead& ahead) {
  int*& unasked = team.asked.unasked_to_mpi[static_cast<std::size_t>(call.collective)];
  unasked = unasked_after(call, cached, team);
  if (unasked != nullptr || is_settled(call, cached, team))
    cache_forwarded(call, team, why_chosen(team), false, unasked != nullptr ? &unasked : nullptr, until_check(cached));
  return pass(team, why_chosen(team), ahead);
}

void explain_device(team::Team& team, const Call& call, team::CachedSelection& cached, Reason how) {
  if (!team.counted.explains || std::exchange(cached.device_explained, true)) return;
  team::explain(team, call.collective, cached.bytes, choose::to_string(cached.selection.choice), {how});
}

// Where blocks may be in a device's memory: they stay there, or go over the host.
int run_beside_devices(const EngineWork& engine, const Call& call, const Service& by, team::Team& team,
                       team::CachedSelection& cached) {
  const UsedBlocks used = used_blocks(call, team);
  if (team::may_stay_on_device(team, by.choice)) {
    Call straight = call;
    StayingAt at;
    if (stays_on_device(straight, used, at) && at.settle()) {
      explain_device(team, call, cached, Reason::straight);
      return with_failed_copies(&team, engine.run(straight, by, team), false, true);
    }
  }
  OnHost on_host(call, used, by.choice.buffers);
  if (on_host.is_needed()) explain_device(team, call, cached, Reason::staged);
  return run_over_host(on_host, team, [&](const Call& there) { return engine.run(there, by, team); });
}

// With its buffers as they are, unless one is a device's memory.
int run_by(const EngineWork& engine, const Call& call, const Service& by, team::Team& team,
           team::CachedSelection& cached) {
  const bool sees_to_it = by.choice.algorithm->sees_to_devices && by.choice.buffers == choose::HostBuffers::as_suits;
  if (memory::device_driver() == nullptr || sees_to_it) return engine.run(call, by, team);
  return run_beside_devices(engine, call, by, team, cached);
}

// Which algorithm the call takes, where the selection names several: `attempt.choice`, or that of the selection.
// Returns an MPI error code, on all ranks, as far as the MPI goes.
int choose_now(const Call& call, std::size_t bytes, team::Team& team, team::CachedSelection& cached, Attempt& attempt) {
  const int error = cached.selection.by_load ? choose_by_load(call, team, cached, attempt.ahead) : mpi_success;
  if (error == mpi_success && !cached.selection.rivals.empty()) begin_attempt(call, bytes, team, cached, attempt);
  return error;
}

// Collective: what calls by this choice need is made. Returns why that is impossible, if it is.
Reason why_not_prepared(const EngineWork& engine, const Call& call, const choose::Choice& choice,
                        const team::CachedSelection& cached, bool is_tried, team::Team& team) {
  const bool is_prepared = !is_tried && cached.prepared.has_value();
  if (!can_be_left(engine)) return Reason::fault_tolerant;
  if (engine.may_send(call.collective, team.group) && team::prepare_messages(team) != mpi_success)
    return Reason::no_communicator;
  if (!is_prepared && engine.prepare != nullptr && !engine.prepare(team, call.collective, choice))
    return Reason::no_memory_for_leaders;
  // What nonblocking calls by leaders need is made here, as they may not wait.
  if (engine.engine == Engine::leaders && !is_tried && team.taken.ready())
    team::prepare_lanes(team, call.collective, choice);
  return Reason::none;
}

// After a call by what was selected. Later calls find that out sooner.
void cache_as_chosen(const Call& call, const choose::Choice& choice, const team::CachedSelection& cached,
                     team::Team& team, CachedSince since) {
  int*& unasked = team.asked.unasked_by_pairs[static_cast<std::size_t>(call.collective)];
  if (choice.algorithm->engine == Engine::exchange) unasked = unasked_after(call, cached, team);
  const bool settled = unasked != nullptr || is_settled(call, cached, team);
  cache_served(call, choice, settled, until_check(cached), team, since, unasked != nullptr ? &unasked : nullptr);
}

// By what was selected for all calls like this one. False if it goes to the MPI.
bool carry_out(const Call& call, std::size_t bytes, team::Team& team, team::CachedSelection& cached, int& error,
               Attempt& attempt) {
  const auto c = static_cast<std::size_t>(call.collective);
  team.asked.unasked_to_mpi[c] = team.asked.unasked_by_pairs[c] = nullptr;
  error = choose_now(call, bytes, team, cached, attempt);
  if (error != mpi_success) return pass(team, Reason::other, attempt.ahead);
  const bool is_tried = attempt.choice != nullptr;
  const choose::Choice& choice = is_tried ? *attempt.choice : cached.selection.choice;
  const EngineWork& engine = work_of(choice);
  if (const Reason why = why_not_prepared(engine, call, choice, cached, is_tried, team); why != Reason::none) {
    if (team.counted.explains) team::explain(team, call.collective, bytes, "mpi", {why});
    attempt.trial = nullptr;  // the MPI's time is not that of the candidate
    return pass(team, why, attempt.ahead);
  }
  team::explain(team, call.collective, cached);
  if (engine.run == nullptr) {
    attempt.buffers = choice.buffers;
    return pass_as_chosen(call, cached, team, attempt.ahead);
  }
  team::Prepared tried;
  if (is_tried) tried = team::prepare(team, call.collective, choice);
  const team::Prepared& on = is_tried ? tried : team::prepared_of(team, call.collective, cached);
  if (record::on) record::by(choice);
  const CachedSince since;
  error = run_by(engine, call, {choice, on}, team, cached);
  end_attempt(attempt);
  if (error == mpi_success && !is_tried) cache_as_chosen(call, choice, cached, team, since);
  return true;
}

// By a team that is there. False if the call is forwarded.
bool serve_by(team::Team& team, const Call& call, Door door, int& error, Attempt& attempt) {
  const Entry entry{door};
  const Admission admission = admit(call, team, entry, &attempt.ahead);
  if (admission.is_of_the_mpi()) return pass(team, admission.counted, attempt.ahead);
  error = admission.error;
  if (error == mpi_success) {
    const std::size_t bytes = global_bytes(call, team);
    if (!moves_nothing(call, bytes)) {
      team::CachedSelection& selected = select(call, bytes, team, entry, &attempt.ahead);
      if (!carry_out(call, bytes, team, selected, error, attempt)) return false;
    }
  }
  error = team::error_after_call(team, error);
  if (error != mpi_success) raise(call.comm, error);
  if (!team.lost) ++team.counted.counters.served;
  return true;
}

// serve(), which may throw.
bool try_to_serve(const Call& call, Door door, int& error, Attempt& attempt) {
  team::Team* const team = team::team_after(call.comm, uncounted_calls(door), attempt.ahead.early);
  if (team == nullptr) {
    if (!attempt.ahead.early) team::untaken.without_team.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const Serving guard;
  return serve_by(*team, call, door, error, attempt);
}

}  // namespace

choose::Way way_of(const choose::Choice& choice) {
  return static_cast<choose::Way>(plan::value_of(choice.parameters, "way", 0));
}

void end_attempt(const Attempt& attempt) {
  if (attempt.trial != nullptr) choose::note_call(*attempt.trial, mpi().Wtime() - attempt.trial->last_begin);
}

BlockNumbers blocks_of(const Call& call, team::Team& team) {
  if (is_neighbor(call.collective)) {
    const team::Neighbors* neighbors = team::neighbors_of(team);
    return neighbors != nullptr ? BlockNumbers{neighbors->send_blocks, neighbors->recv_blocks} : BlockNumbers{};
  }
  int ranks = team.group.ranks;
  if (!team.eligible()) {
    is_inter(team.user) ? mpi().Comm_remote_size(team.user, &ranks) : mpi().Comm_size(team.user, &ranks);
  }
  return {is_allgather(call.collective) ? 1 : ranks, ranks};
}

UsedBlocks used_blocks(const Call& call, team::Team& team) {
  const BlockNumbers blocks = blocks_of(call, team);
  UsedBlocks used;
  used.send.count = is_allgather(call.collective) ? std::min(blocks.send, 1) : blocks.send;
  used.recv.count = blocks.recv;
  if (is_neighbor(call.collective)) {
    const team::Neighbors* neighbors = team::neighbors_of(team);
    if (neighbors == nullptr) return used;
    if (!is_allgather(call.collective)) used.send.list = &neighbors->destinations.blocks;
    used.recv.list = &neighbors->sources.blocks;
  } else if (call.in_place && is_allgather(call.collective)) {
    mpi().Comm_rank(call.comm, &used.own);
  }
  return used;
}

std::unique_ptr<OnHost> on_host_for_the_mpi(const Call& call, choose::HostBuffers buffers, team::Team*& team) {
  team = nullptr;
  if (is_serving() || !mpi().usable || team::why_nothing_is_served() != Reason::none) return nullptr;
  if (buffers == choose::HostBuffers::as_suits && team::mpi_device_use() == DeviceUse::all) return nullptr;
  team = team::team_of(call.comm);
  if (team == nullptr || is_refused(call, *team)) return nullptr;  // the MPI says what is wrong
  auto on_host = std::make_unique<OnHost>(call, used_blocks(call, *team), buffers);
  return on_host->is_needed() ? std::move(on_host) : nullptr;
}

int with_failed_copies(team::Team* team, int error, bool is_counted, bool may_look) {
  if (error != mpi_success || team == nullptr) return error;
  return team::has_failed(*team, team::number_of_call(*team, is_counted), may_look) ? mpi().err_other : mpi_success;
}

int raise(MpiComm comm, int error) {
  if (here.notes) return error;
  here.notes = true;
  here.is_of_the_mpi = false;
  here.comm = comm;
  return here.error = error;
}

int raise_of_the_mpi(MpiComm comm, int error) {
  raise(comm, error);
  here.is_of_the_mpi = true;
  return error;
}

int call_noted_handler(int error) {
  if (!std::exchange(here.notes, false)) return error;
  const bool is_hidden = here.is_of_the_mpi && hides_handled_errors() && has_own_handler(here.comm);
  mpi().Comm_call_errhandler(here.comm, here.error);
  return is_hidden ? mpi_success : error;
}

std::span<MayFail>& may_fail_here() { return here.may_fail; }

int error_unless_alike(MpiComm comm, std::uint64_t given, bool sound, bool tells, std::string_view what,
                       std::string_view wrong) {
  const FaultsReturned guard(comm);
  if (team::all_agree(comm, given) && sound) return mpi_success;
  const int error = team::error_of_thrown(comm, mpi().err_arg);
  if (tells && error == mpi().err_arg) team::say(fmt::format("{}: {}", what, wrong));
  return error;
}

Serving::Serving() : before_(std::exchange(here.serving, true)) {}
Serving::~Serving() { here.serving = before_; }
bool is_serving() { return here.serving; }

bool serve(const Call& call, Door door, int& error, Attempt& attempt) {
  if (here.serving || !mpi().usable) return false;
  bool served = true;
  const int thrown = thrown_by([&] { served = try_to_serve(call, door, error, attempt); });
  if (thrown != mpi_success) error = raise(call.comm, team::error_of_thrown(call.comm, thrown));
  return served;
}

// ---- What each engine does with a call ----

namespace {

// ---- May it send messages? ----

bool always(Collective, const run::Group&) { return true; }
bool never(Collective, const run::Group&) { return false; }
bool to_other_nodes(Collective, const run::Group& group) { return group.may_send(); }
// What is too large for a slot is a message.
bool beside_inboxes(Collective collective, const run::Group& group) {
  return group.may_send() || !is_sized(collective);
}

// ---- Blocking calls ----

int by_messages(const Call& call, const Service& by, team::Team& team) {
  const auto carry = [&](const auto&... plan) { return run::run_messages(team.group, call, plan...); };
  return with_plan(call.collective, by, team, carry);
}

int by_copies(const Call& call, const Service& by, team::Team& team) {
  const bool forced = team.agreed().forced.of(call.collective).algorithm != nullptr;
  return run::run_copies(call, *by.on.schedule, team.group, forced ? run::Staging::any : run::Staging::little,
                         by.on.moving.eager);
}

int by_inbox(const Call& call, const Service&, team::Team& team) { return run::run_inbox(call, team.group); }

int by_pairs(const Call& call, const Service& by, team::Team& team) {
  return run::run_node(call, team.group, true, by.on.schedule, way_of(by.choice));
}

int by_leaders(const Call& call, const Service& by, team::Team& team) {
  const team::CachedLeaders& on = *by.on.leaders;
  return run::run_leaders(call, *on.plan, on.memory->blocking->leaders, *on.blocking, team.group);
}

int by_rings(const Call& call, const Service&, team::Team& team) {
  return run::run_node_neighbors(call, team::node_edges_of(team), team.group);
}

int by_neighbor_copies(const Call& call, const Service& by, team::Team& team) {
  int error = mpi_success;
  const plan::Schedule* schedule = team::copy_plan_of(team, by.choice, error);
  if (schedule == nullptr) return error;
  const run::EdgesHere& edges = team.neighbors->node_graph->here;
  if (run::run_neighbor_copies(call, *schedule, edges, team.group, error)) return error;
  return by_rings(call, by, team);  // some block cannot be shared, on all ranks
}

// ---- The table ----

constexpr auto rows = std::to_array<EngineWork>({
    {Engine::schedule, always, by_messages, make_schedule},
    {Engine::node, to_other_nodes, by_copies, make_copies},
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
