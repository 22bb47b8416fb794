// Making a request: whether it is served, what is wrong with it, which engine carries it out. All ranks decide alike.
#include <memory>

#include "api/admission.hpp"
#include "api/call_cache.hpp"
#include "api/engines.hpp"
#include "api/enqueue.hpp"
#include "api/making.hpp"
#include "api/progress_thread.hpp"
#include "api/requests.hpp"
#include "api/serve.hpp"
#include "api/taken.hpp"
#include "api/trials.hpp"
#include "team/faults.hpp"
#include "team/record.hpp"

namespace quadrille::api {
namespace {

using run::Call;
using team::Team;

int make_admitted(Making& m) {
  Team& team = m.team;
  if (!team.eligible() && is_dense(m.call.collective)) {
    mpi().Comm_size(team.user, &team.group.ranks);
    return make_unselected(m, team.why_not);
  }
  const std::size_t bytes = global_bytes(m.call, team);
  if (moves_nothing(m.call, bytes)) return mpi_success;
  if (m.goes_apart()) return make_apart(m);
  team::CachedSelection& selected = select(m.call, bytes, team, m.entry);
  go_by_decision(m.call, bytes, team, selected);
  const choose::Selection& selection = selected.selection;
  m.choice = &selection.choice;
  m.may_come_again = !m.entry.is_enqueued() && !selection.by_load && !selected.follows_load;
  // Whatever was selected: some ranks have no more than the lanes, or a rank must be able to leave the call.
  const bool in_node_alone = m.must_serve() || !can_be_left(work_of(selection.choice));
  if (in_node_alone && is_dense(m.call.collective)) return make_in_node(m, selected);
  return work_of(selection.choice).make(m, selected);
}

// A call that is not served is the MPI's. But one that is_ours() is ours or nobody's.
int make(Making& m) {
  const Admission admission = admit(m.call, m.team, m.entry);
  m.has_mistake = admission.outcome == Admission::Outcome::refused;
  if (admission.is_of_the_mpi() && !m.is_ours()) return make_native(m, {admission.why});
  if (!m.has_tag()) {
    if (!m.is_ours()) return make_native(m, {Reason::no_tag});
    if (m.team.nodes.nodes > 1) return mpi().err_other;  // on all ranks; inside a node there are no messages
  }
  if (m.has_mistake) return admission.error;  // of this rank alone
  if (!m.team.lost) m.take_tag();  // also if sizes are not as asserted: where the MPI failed, only this rank knows
  if (admission.outcome != Admission::Outcome::admitted) return admission.error;
  if (const int error = keep_types(m.call, m.team, m.made); error != mpi_success) return error;
  const int error = make_admitted(m);
  const bool passed = m.passes_on || m.made.carrier() == run::Carrier::mpi;
  if (!passed) ++m.team.counted.counters.served;
  return error;
}

int find_or_throw(Making& m) {
  m.made.team = team::keep(m.team);
  m.made.persistent = m.persistent;
  m.made.taken = m.entry.is_drop_in();
  const int error = make(m);
  m.made.look_what_it_needs();
  m.team.request_by = m.made.carrier();
  if (m.passes_on) m.give_tag_back();
  if (error == mpi_success && m.may_come_again && !m.passes_on) cache_request(m.call, m.team, m.made);
  return error;
}

// The MPI may refuse what it is to carry out.
int start_made(Making& m) {
  CountedAhead ahead;
  const bool by_mpi = m.made.carrier() == run::Carrier::mpi;
  if (by_mpi) ahead.passed = m.team.counted.last_passed, ahead.team = &m.team;
  const int error = start(m.made);
  if (error != mpi_success && by_mpi) raise_of_the_mpi(m.call.comm, error);
  if (error != mpi_success && by_mpi && !keep_or_undo(ahead, m.call, error)) m.give_tag_back();
  return error;
}

int make_and_start(const Call& call, record::Form form, Quadrille_Request* request) {
  if (request != nullptr) *request = QUADRILLE_REQUEST_NULL;
  if (!mpi().usable) return raise(call.comm, mpi().err_other);
  Team* team = team::team_of(call.comm);
  const Entry entry{Door::explicit_api, form};
  if (team == nullptr || (entry.is_ours(call) && is_inter(call.comm))) return raise(call.comm, mpi().err_comm);
  if (request == nullptr) return raise(call.comm, mpi().err_arg);
  prepare_progress();
  sweep_turns();
  auto made = std::make_unique<Quadrille_Request_state>();
  const Serving guard;
  Making m{call, entry, *team, *made};
  int error = find_carrier(m);
  if (error == mpi_success && !m.persistent)
    error = start_made(m);
  else if (error != mpi_success)
    error = raise(call.comm, error);
  if (error == mpi_success) *request = made.release();
  return error;
}

// As one before. Nothing that it does can go wrong.
bool starts_again(const Call& call, Quadrille_Request* request) {
  State* const made = request_by_cache(call, Door::explicit_api);
  if (made == nullptr) return false;
  *request = made;
  const Serving guard;
  if (begin(*made)) let_the_mpi_help();
  return true;
}

int make_guarded(const Call& call, record::Form form, Quadrille_Request* request) {
  return guarded(call.comm, [&] {
    if (form == record::Form::persistent || request == nullptr || !starts_again(call, request))
      return make_and_start(call, form, request);
    return mpi_success;
  });
}

int make_recorded(const Call& call, record::Form form, Quadrille_Request* request, const void* site) {
  record::Recorded recorded;
  recorded.begin(call, form, site);
  record::by("quadrille");  // also if it fails
  const int error = make_guarded(call, form, request);
  if (error != mpi_success || request == nullptr || *request == nullptr) return error;
  const char* const by = carrier_on(call.comm);
  record::by(by);
  if ((*request)->persistent) record::keep_made(record::handle_of(*request), call, by);
  return error;
}

}  // namespace

int keep_types(Call& call, Team& team, State& made) {
  const BlockNumbers blocks = blocks_of(call, team);
  const int error = made.types.keep(call, call.in_place ? 0 : blocks.send, blocks.recv);
  return error == mpi_success ? error : mpi().err_type;
}

int find_carrier(Making& m) {
  int error = mpi_success;
  const int thrown = thrown_by([&] { error = find_or_throw(m); });
  return thrown != mpi_success ? team::error_of_thrown(m.call.comm, thrown) : error;
}

const char* carrier_on(MpiComm comm) {
  const Team* const team = team::find_team(comm);
  return team != nullptr ? to_string(team->request_by) : "quadrille";
}

int make_request(const Call& call, bool persistent, Quadrille_Request* request, const void* site) {
  const record::Form form = persistent ? record::Form::persistent : record::Form::nonblocking;
  if (record::on) [[unlikely]]
    return make_recorded(call, form, request, site);
  return make_guarded(call, form, request);
}

}  // namespace quadrille::api
