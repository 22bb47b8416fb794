// Making a request: whether it is served, what is wrong with it, which engine carries it out. All ranks decide alike.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/call_cache.hpp"
#include "api/device_choice.hpp"
#include "api/engines.hpp"
#include "api/enqueue.hpp"
#include "api/making.hpp"
#include "api/progress_thread.hpp"
#include "api/refused.hpp"
#include "api/requests.hpp"
#include "api/serve.hpp"
#include "api/serve_neighbors.hpp"
#include "team/apart.hpp"
#include "team/neighbors.hpp"
#include "team/record_parts.hpp"

namespace quadrille::api {
namespace {

using run::Call;
using team::Team;
using State = Quadrille_Request_state;

// The program may free its datatypes as soon as the call is made.
int keep_types(Making& m) {
  const BlockNumbers blocks = blocks_of(m.call, m.team);
  return m.made.types.keep(m.call, m.call.in_place ? 0 : blocks.send, blocks.recv) == MPI_SUCCESS ? MPI_SUCCESS
                                                                                                  : MPI_ERR_TYPE;
}

// A call that cannot be served is the MPI's. But a persistent or enqueued one under a name of ours is ours or nobody's.
int refuse(Making& m, int error, Reason why) { return m.is_ours() ? error : make_native(m, {why}); }

// Both, of a call that the MPI does not refuse: nothing if the call goes on, else what became of it.
std::optional<int> refuse_dense(Making& m) {
  Team& team = m.team;
  if (!team.eligible() && !m.is_ours()) return make_native(m, {team.why_not});
  if (team.eligible() && !team.ready() && !m.must_serve()) {
    if (const int error = team::setup(team); error != MPI_SUCCESS) return refuse(m, error, team.why_not);
  }
  m.take_tag();
  if (!team.eligible()) mpi().Comm_size(team.user, &team.group.ranks);
  return {};
}

std::optional<int> refuse_neighbors(Making& m) {
  Team& team = m.team;
  if (!m.is_ours()) {
    if (const Reason why = why_no_neighbors(team); why != Reason::none) return make_native(m, {why});
  }
  if (!m.never_waits()) {
    if (const int error = prepare_neighbors(team); error != MPI_SUCCESS)
      return refuse(m, error, Reason::no_communicator);
  }
  m.take_tag();
  const bool checks = team::neighbors_of(team)->checks_sizes();
  if (m.never_waits() && checks) return make_native(m, {Reason::sizes_to_check});
  if (check_sizes(m.call, team) != MPI_SUCCESS) return MPI_ERR_ARG;
  return {};
}

// What the MPI refuses it is to report, or we report as the MPI does; no rank waits.
int report_mistake(Making& m) {
  m.has_mistake = true;
  const bool has_blocks = !is_neighbor(m.call.collective) || team::neighbors_of(m.team) != nullptr;
  return refuse(m, has_blocks ? MPI_ERR_ARG : MPI_ERR_TOPOLOGY, Reason::argument);
}

// What a thread goes on with for a stream calls no driver, so it is the host's.
bool may_choose_for_devices(const Making& m) { return m.team.ready() && !m.enqueued && !m.must_serve(); }

Asks asks_of(const Making& m) {
  if (m.never_waits()) return Asks::never;
  return m.persistent ? Asks::for_itself : Asks::once;
}

int make_by_engine(Making& m) {
  Team& team = m.team;
  if (!team.eligible() && !is_neighbor(m.call.collective)) return make_unselected(m, team.why_not);
  const std::size_t bytes = global_bytes(m.call, team);
  if (moves_nothing(m.call, bytes)) return MPI_SUCCESS;
  if (m.must_serve() && team.taken.first_tag >= 0) return make_apart(m);
  const bool on_devices = may_choose_for_devices(m) && is_on_devices(m.call, team, asks_of(m));
  team::CachedSelection& selected = on_devices ? device_selection_for(m.call, bytes, team, m.is_drop_in())
                                               : selection_for(m.call, bytes, team, m.is_drop_in());
  m.choice = &selected.selection.choice;
  const choose::Selection& selection = selected.selection;
  m.may_come_again = !m.enqueued && !selection.by_load && !selected.follows_load && selection.rivals.empty();
  return work_of(selected.selection.choice).make(m, selected);
}

int make(Making& m) {
  if (!m.is_drop_in()) {  // else the door has done both
    if (is_refused(m.call, m.team)) return report_mistake(m);
    team::await_told(m.team);
  }
  if (m.team.lost) return MPI_ERR_OTHER;
  const std::optional<int> refused = is_neighbor(m.call.collective) ? refuse_neighbors(m) : refuse_dense(m);
  if (refused) return *refused;
  if (const int error = keep_types(m); error != MPI_SUCCESS) return error;
  const int error = make_by_engine(m);
  const bool passed = m.passes_on || m.made.carrier() == run::Carrier::mpi;
  if (!passed) ++m.team.counted.counters.served;
  return error;
}

// What the MPI's own function carries out on all ranks has no messages of ours, and may be refused on some.
void give_tag_back(Making& m) {
  if (m.tag_taken) --m.team.group.turns.persistent;
  m.tag_taken = false;
}

}  // namespace

int find_carrier(Making& m) {
  m.made.team = team::keep(m.team);
  m.made.persistent = m.persistent;
  m.made.taken = m.is_drop_in();
  const int error = make(m);
  m.made.look_what_it_needs();
  m.team.request_by = m.made.carrier();
  if (m.passes_on) give_tag_back(m);
  if (error == MPI_SUCCESS && m.may_come_again && !m.passes_on) cache_request(m.call, m.team, m.made);
  return error;
}

namespace {

// The MPI may refuse what it is to carry out.
int start_made(Making& m) {
  CountedAhead ahead;
  const bool by_mpi = m.made.carrier() == run::Carrier::mpi;
  if (by_mpi) ahead.passed = m.team.counted.last_passed, ahead.team = &m.team;
  const int error = start(m.made);
  if (error != MPI_SUCCESS && by_mpi) raise_of_the_mpi(m.call.comm, error);
  if (error != MPI_SUCCESS && by_mpi && !keep_or_undo(ahead, m.call, error)) give_tag_back(m);
  return error;
}

int make_and_start(const Call& call, bool persistent, Quadrille_Request* request) {
  if (request != nullptr) *request = QUADRILLE_REQUEST_NULL;
  if (!mpi().usable) return raise(call.comm, MPI_ERR_OTHER);
  Team* team = team::team_of(call.comm);
  if (team == nullptr || ((persistent || !fits_the_mpi(call)) && is_inter(call.comm)))
    return raise(call.comm, MPI_ERR_COMM);
  if (request == nullptr) return raise(call.comm, MPI_ERR_ARG);
  prepare_progress();
  sweep_turns();
  auto made = std::make_unique<Quadrille_Request_state>();
  int error = MPI_SUCCESS;
  {
    const Serving guard;
    Making m{call, persistent, *team, *made};
    const int thrown = thrown_by([&] { error = find_carrier(m); });
    if (thrown != MPI_SUCCESS) error = thrown;
    if (error == MPI_SUCCESS && !persistent)
      error = start_made(m);
    else if (error != MPI_SUCCESS)
      error = raise(call.comm, error);
  }
  if (error == MPI_SUCCESS) *request = made.release();
  return error;
}

// As one before. Nothing that it does can go wrong.
bool starts_again(const Call& call, Quadrille_Request* request) {
  State* const made = request_by_cache(call, Door::explicit_api);
  if (made == nullptr) return false;
  *request = made;
  const Serving guard;
  begin(*made);
  return true;
}

}  // namespace

namespace {

int make_guarded(const Call& call, bool persistent, Quadrille_Request* request) {
  return guarded(call.comm, [&] {
    if (persistent || request == nullptr || !starts_again(call, request))
      return make_and_start(call, persistent, request);
    return MPI_SUCCESS;
  });
}

// What carries it out, and what its starts will send. Without memory for that they are not written down.
void tell_recorder(const Call& call, State& made) {
  Team* const team = team::team_of(call.comm);
  const char* const by = team != nullptr ? to_string(team->request_by) : "quadrille";
  record::by(by);
  if (!made.persistent) return;
  static_cast<void>(thrown_by([&] {
    const auto lock = record::held();
    made.recorded = record::sent_by(call, by);
  }));
}

int make_recorded(const Call& call, bool persistent, Quadrille_Request* request, const void* site) {
  record::Recorded recorded;
  recorded.begin(call, persistent ? record::Form::persistent : record::Form::nonblocking, site);
  record::by("quadrille");  // also if it fails
  const int error = make_guarded(call, persistent, request);
  if (error == MPI_SUCCESS && request != nullptr && *request != nullptr) tell_recorder(call, **request);
  return error;
}

}  // namespace

int make_request(const Call& call, bool persistent, Quadrille_Request* request, const void* site) {
  if (record::on) [[unlikely]]
    return make_recorded(call, persistent, request, site);
  return make_guarded(call, persistent, request);
}

}  // namespace quadrille::api
