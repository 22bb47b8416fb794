// How requests are made: by what each engine does for one, and from a call to the engine that carries it out.
#include <optional>
#include <utility>

#include "api/call_cache.hpp"
#include "api/engines.hpp"
#include "choose/select.hpp"
#include "mpi/tags.hpp"
#include "run/blocks.hpp"
#include "run/engines.hpp"
#include "run/native_run.hpp"
#include "team/areas.hpp"
#include "team/neighbors.hpp"
#include "team/record.hpp"
#include "team/setup.hpp"
#include "team/team.hpp"

namespace quadrille::api {
namespace {

using run::Carrier;

constexpr unsigned tags_of_a_kind = tags::first_persistent - tags::first_request;
static_assert(tags::first_persistent + tags_of_a_kind == tags::count);

// Makes the run that carries the request out from `arguments`, which it may keep references to.
template <Carrier by, class Run, class... Arguments>
Run& carry_by(Making& m, run::OpTraits traits, Arguments&&... arguments) {
  auto op = std::make_unique<run::OpOf<by, Run>>(traits, std::forward<Arguments>(arguments)...);
  Run& made = op->run;
  m.made.op = std::move(op);
  return made;
}

// By the function of the MPI, for that reason.
int make_native(Making& m, const Why& why) {
  m.explain("mpi", [&] { return why; });
  m.passes_on = m.entry.is_drop_in();
  if (m.passes_on) return mpi_success;  // as it is: interpose.cpp
  const BlockNumbers blocks = blocks_of(m.call, m.team);
  m.made.arguments.keep_arrays(m.call, blocks.send, blocks.recv);
  const bool is_its_own = m.choice == nullptr || m.choice->buffers == choose::HostBuffers::as_suits;
  if (!is_its_own || team::mpi_device_use() != DeviceUse::all) m.bring_to_host();
  // All ranks call the MPI's own function in one order, so it is called at once, and the data are there before.
  if (m.made.on_host != nullptr && !m.made.persistent) m.made.fetch();
  const Reason of_the_choice = m.team.eligible() ? why_chosen(m.team) : m.team.why_not.load();
  pass(m.team, m.has_mistake ? Reason::argument : of_the_choice, m.ahead);
  carry_by<Carrier::mpi, run::NativeRun>(m, {}, m.call, blocks.send, m.team.user);
  return mpi_success;
}

// Empty if the call has what its messages need. Else the result of making the request: a call that cannot wait goes to
// the MPI, one that is_ours() fails.
std::optional<int> made_without_messages(Making& m) {
  if (m.goes_apart()) return {};
  const bool may_ask = !m.never_waits() || m.team.group.messages().comm != mpi().comm_null;
  const int error = may_ask ? team::prepare_messages(m.team) : mpi().err_other;
  if (error == mpi_success) return {};
  return m.is_ours() ? error : make_native(m, {Reason::no_communicator});
}

// It has what its messages need.
int by_messages(Making& m, const choose::Choice& choice, const team::Prepared& on) {
  m.bring_to_host_or_stay();
  m.made.run_memory = std::make_unique<run::RunMemory>();
  with_plan(m.call.collective, {choice, on}, m.team, [&](const auto&... plan) {
    carry_by<Carrier::messages, run::BoundRun>(m, {}, m.call, plan..., m.traffic(), *m.made.run_memory);
  });
  return mpi_success;
}

// By a choice that serves any request.
int by_plain_messages(Making& m, const choose::Choice& choice) {
  if (const std::optional<int> made = made_without_messages(m)) return *made;
  return by_messages(m, choice, team::prepare(m.team, m.call.collective, choice));
}

// One message a block: to each rank, or for each edge.
int by_direct_messages(Making& m, const Why& why) {
  const char* const name = is_neighbor(m.call.collective) ? "direct" : "spread-out";
  m.explain(name, [&] { return why; });
  return by_plain_messages(m, choose::plain(m.call.collective, name));
}

// ---- Shared memory of its own ----

// A persistent call has the lane that `own()` makes, a nonblocking one the next. Null, on all ranks: there is none.
template <class Own>
team::Lane* lane_for(Making& m, const Own& own) {
  if (m.team.nodes.nodes != 1 || !m.team.group.reach().rings) return nullptr;
  if (m.made.persistent) {
    m.made.own_lane = own();
    return m.made.own_lane.get();
  }
  team::Lanes& lanes = team::lanes_of(m.team);
  return lanes.lanes.empty() ? nullptr : &m.made.take_turn(lanes);
}

// For a dense call among all ranks.
team::Lane* lane_of_all(Making& m) {
  return lane_for(m, [&] { return team::own_node_area(m.team, m.call); });
}

// Small blocks of a size that all ranks know. True if there is an inbox for them.
bool by_inbox(Making& m, std::size_t bytes) {
  if (!is_sized(m.call.collective)) return false;
  const auto capacity = [&] {
    const team::Lanes& lanes = team::lanes_of(m.team);
    return lanes.lanes.empty() ? 0 : lanes.lanes.front().node.inbox.capacity();
  };
  if (bytes > (m.made.persistent ? memory::most_slot_bytes : capacity())) return false;
  team::Lane* const lane = lane_for(m, [&] { return team::own_inbox(m.team, bytes); });
  if (lane == nullptr) return false;
  if (run::is_plain(m.call)) {
    constexpr run::OpTraits traits{.calls_mpi = false, .sends_all_at_start = true};
    m.made.inbox = &carry_by<Carrier::inbox, run::InboxRun>(m, traits, m.call, m.team.group, lane->node.inbox);
  } else {
    m.made.op = run::node_op(m.call, m.team.group, lane->node.inbox, nullptr, m.team.group.copying);
  }
  return true;
}

Why instead_of(std::string choice, const Why& why) {
  return {.reason = Reason::stands_in, .name = std::move(choice), .then = {why}};
}

// Of the algorithms that exchange each block once: that between nodes, where a choice names it and it serves all ranks
// of a call, too; else all messages at once.
choose::Choice messages_of(const Making& m, const choose::Choice* asked) {
  if (asked != nullptr && row_of(asked->algorithm->engine).plans == choose::Plans::node_copies) {
    if (choose::Choice messages = inner_of(m.call.collective, *asked); messages.algorithm != nullptr) return messages;
  }
  return choose::plain(m.call.collective, "spread-out");
}

template <class Ask>
int by_shared_memory_or_messages(Making& m, std::size_t bytes, Ask why, const choose::Choice* asked = nullptr) {
  m.bring_to_host();
  const bool in_node = m.team.eligible() && m.team.nodes.nodes == 1 && m.team.group.reach().rings;
  if (in_node && by_inbox(m, bytes)) {
    m.explain("inbox", why);
    return mpi_success;
  }
  // Blocks of any size. All ranks have shared memory for them, or none.
  if (team::Lane* const lane = in_node ? lane_of_all(m) : nullptr; lane != nullptr) {
    m.made.op = run::node_op(m.call, m.team.group, lane->node.inbox, &lane->node.pairs, m.team.group.copying,
                             asked == nullptr ? choose::Way::measured : way_of(*asked));
    m.explain("rings", why);
    return mpi_success;
  }
  const choose::Choice messages = messages_of(m, in_node ? nullptr : asked);
  m.explain(m.team.counted.explains ? choose::to_string(messages).c_str() : "", [&] {
    Why how = why();
    if (in_node) how.then.push_back({Reason::no_memory_for_rings});
    return how;
  });
  return by_plain_messages(m, messages);
}

void explain_selected(const Making& m, const team::CachedSelection& selected) {
  const choose::Selection& selection = selected.selection;
  m.explain(m.team.counted.explains ? choose::to_string(selection.choice).c_str() : "", [&] { return selection.why; });
}

// ---- Neighbours ----

int by_neighbor_rings(Making& m) {
  m.bring_to_host();
  const run::NodeEdges& edges = team::node_edges_of(m.team);
  team::Lane* const lane = lane_for(m, [&] { return team::own_rings(m.team, edges, m.call); });
  if (lane == nullptr) return by_direct_messages(m, {Reason::no_memory_for_rings});
  m.made.op = run::neighbor_op(m.call, edges, m.team.group, lane->rings);
  return mpi_success;
}

// True if there is shared memory for it.
bool by_copies(Making& m, const plan::Schedule& schedule) {
  if (!m.team.group.reach().heaps_mapped) return false;
  m.bring_to_host();
  team::Lane* const lane = lane_of_all(m);
  if (lane == nullptr) return false;
  m.made.op = run::copies_op(m.call, schedule, m.team.group, lane->node.inbox, lane->node.pairs);
  return true;
}

// Has all that the ranks decide together. True, on all of them, if it can be started.
bool by_pull(Making& m, const choose::Choice& choice) {
  const run::Reach& reach = m.team.group.reach();
  if (m.team.nodes.nodes != 1 || !reach.rings || m.team.group.sharing == nullptr) return false;
  team::Lanes& lanes = team::lanes_of(m.team);
  std::optional<team::OwnPull> own;
  if (m.made.persistent) {
    own = team::own_pull(m.team);
    if (!own) return false;
  } else if (m.never_waits() ? !team::can_pull(lanes) : !team::prepare_pull_lanes(m.team)) {
    return false;
  }
  team::Lane* const lane = lane_of_all(m);
  if (lane == nullptr) return false;
  if (own) lane->pull = std::move(own);
  PullRequest& pull = carry_by<Carrier::pull, PullRequest>(m, {}, m.call, m.made, m.team, *lane, choice);
  if (!m.made.persistent || pull.prepare()) return true;
  m.made.op.reset();
  m.made.own_lane.reset();  // what it has gives place to what it goes by instead
  return false;
}

// True if there is memory for it. A persistent call has an area of its own, and a nonblocking one takes its turn on a
// lane.
bool by_leaders(Making& m, team::CachedLeaders& on, std::size_t bytes) {
  m.bring_to_host();
  team::LeadersOnLane turn;
  std::optional<team::OwnLeaders>& own = m.made.own_leaders;
  if (m.made.persistent) {
    own = team::own_leaders(m.team, on, is_sized(m.call.collective) ? bytes : SIZE_MAX);
    if (!own) return false;
  } else {
    turn = team::next_leaders_lane(m.team, on);
    if (turn.lane == nullptr) return false;
    m.made.queue = &turn.lane->queue;
  }
  const int rounds = m.tag;
  m.take_tag();
  memory::Leaders& area = own ? own->area.leaders : turn.lane->area.leaders;
  run::LeadersWork& work = own ? *own->work : *turn.work;
  carry_by<Carrier::leaders, run::LeadersRequest>(m, {}, m.call, *on.plan, area, work, rounds, m.tag, m.team.group);
  return true;
}

}  // namespace

void Making::bring_to_host() {
  if (memory::device_driver() == nullptr || made.on_host != nullptr || has_mistake) return;
  const choose::HostBuffers buffers = choice == nullptr ? choose::HostBuffers::as_suits : choice->buffers;
  auto on_host = std::make_unique<OnHost>(call, used_blocks(call, team), buffers,
                                          entry.is_enqueued() ? OnHost::When::if_there : OnHost::When::now);
  if (!on_host->is_needed()) return;
  made.on_host = std::move(on_host);
  if (!entry.is_enqueued()) made.on_host->prepare_steps();
  call = made.on_host->call();
}

void Making::bring_to_host_or_stay() {
  if (memory::device_driver() == nullptr || made.on_host != nullptr) return;
  // What a thread goes on with for a stream calls no driver.
  const bool may_stay = !entry.is_enqueued() && choice != nullptr && team::may_stay_on_device(team, *choice);
  if (!may_stay || !stays_on_device(call, used_blocks(call, team), made.staying_at.emplace())) {
    made.staying_at.reset();
    return bring_to_host();
  }
  made.staying_at->prepare_steps();
}

// Those of nonblocking calls repeat, but never for two in flight together: too many calls lie between them. Persistent
// requests keep theirs, see has_tag().
void Making::take_tag() {
  run::Turns& turns = team.group.turns;
  tag = static_cast<int>(made.persistent ? tags::first_persistent + turns.persistent++ % tags_of_a_kind
                                         : tags::first_request + turns.requests % tags_of_a_kind);
  ++turns.requests;
  if (memory::device_driver() != nullptr) made.number = turns.requests;
}

void Making::give_tag_back() {
  if (tag == 0) return;
  run::Turns& turns = team.group.turns;
  --turns.requests;
  if (made.persistent) --turns.persistent;
  tag = 0;
}

run::Traffic Making::traffic() const {
  const run::Messages& messages = team.group.messages();
  run::Traffic traffic{messages.comm, messages.quiet, team.group.me, team.group.ranks, tag};
  if (!goes_apart()) return traffic;
  traffic.comm = team::team_of(mpi().comm_world)->group.messages().comm;
  traffic.tag = team::tag_apart(team, tag);
  traffic.numbers = team.world_ranks.data();
  return traffic;
}

bool Making::has_tag() const { return !made.persistent || team.group.turns.persistent + 1 < tags_of_a_kind; }

int make_schedule(Making& m, team::CachedSelection& selected) {
  if (m.must_serve()) return make_rings(m, selected);  // among neighbours: other calls do not come here then
  explain_selected(m, selected);
  if (const std::optional<int> made = made_without_messages(m)) return *made;
  return by_messages(m, selected.selection.choice, team::prepared_of(m.team, m.call.collective, selected));
}

int make_in_node(Making& m, team::CachedSelection& selected) {
  const choose::Selection& selection = selected.selection;
  return by_shared_memory_or_messages(
      m, selected.bytes, [&] { return instead_of(choose::to_string(selection.choice), selection.why); },
      &selection.choice);
}

int make_copies(Making& m, team::CachedSelection& selected) {
  const bool forced = m.team.agreed().forced.of(m.call.collective).algorithm != nullptr && !team::watches_faults();
  if (!forced || !by_copies(m, *team::prepared_of(m.team, m.call.collective, selected).schedule)) {
    return make_in_node(m, selected);
  }
  explain_selected(m, selected);
  return mpi_success;
}

int make_pull(Making& m, team::CachedSelection& selected) {
  // What a thread goes on with for a stream calls no driver.
  if (m.entry.is_enqueued() || !by_pull(m, selected.selection.choice)) return make_in_node(m, selected);
  explain_selected(m, selected);
  return mpi_success;
}

int make_pipeline(Making& m, team::CachedSelection& selected) {
  if (m.team.nodes.nodes == 1) return make_in_node(m, selected);
  const choose::Selection& selection = selected.selection;
  team::CachedSelection inner;
  inner.bytes = selected.bytes;
  inner.selection.choice = choose::inner_of(m.call.collective, selection.choice);
  inner.selection.choice.buffers = choose::HostBuffers::kept;
  inner.selection.why = instead_of(choose::to_string(selection.choice), selection.why);
  const choose::Choice* const before = std::exchange(m.choice, &inner.selection.choice);
  const int error = work_of(inner.selection.choice).make(m, inner);
  m.choice = before;
  return error;
}

int make_leaders(Making& m, team::CachedSelection& selected) {
  // After a fault a request may not wait for its messages, and its leader may have left.
  if (team::watches_faults()) return make_in_node(m, selected);
  const choose::Choice& choice = selected.selection.choice;
  if (const std::optional<int> made = made_without_messages(m)) return *made;
  team::CachedLeaders* const on =
      m.never_waits() ? team::leaders_at_hand(m.team, choice) : team::leaders_for(m.team, m.call.collective, choice);
  if (on == nullptr && m.never_waits()) return make_native(m, {Reason::leaders_not_prepared});
  if (on == nullptr || !by_leaders(m, *on, selected.bytes)) return make_in_node(m, selected);
  explain_selected(m, selected);
  return mpi_success;
}

int make_rings(Making& m, team::CachedSelection& selected) {
  explain_selected(m, selected);
  return by_neighbor_rings(m);
}

int make_rings_instead(Making& m, team::CachedSelection& selected) {
  const std::string_view name = selected.selection.choice.algorithm->name;
  m.explain("rings", [&] { return Why{Reason::every_rank_waits, std::string(name)}; });
  return by_neighbor_rings(m);
}

int make_of_the_mpi(Making& m, team::CachedSelection& selected) {
  if (m.must_serve()) return by_neighbor_rings(m);  // among neighbours: other calls do not come here then
  const Why& why = selected.selection.why;
  const bool neighbors = is_neighbor(m.call.collective);
  if (!m.is_ours()) return make_native(m, neighbors ? Why{why_chosen(m.team)} : why);
  return neighbors ? by_direct_messages(m, instead_of("the MPI", why)) : make_in_node(m, selected);
}

// ---- From a call to what carries it out: whether it is served, and what is wrong with it. All ranks decide alike ----

namespace {

using run::Call;
using team::Team;

int make_admitted(Making& m) {
  Team& team = m.team;
  if (!team.eligible() && is_dense(m.call.collective)) {
    mpi().Comm_size(team.user, &team.group.ranks);
    return by_shared_memory_or_messages(m, 0, [&] { return Why{team.why_not.load()}; });
  }
  const std::size_t bytes = global_bytes(m.call, team);
  if (moves_nothing(m.call, bytes)) return mpi_success;
  if (m.goes_apart()) return by_direct_messages(m, {Reason::no_memory_for_rings});
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
  if (const int error = keep_arguments(m.call, m.team, m.made); error != mpi_success) return error;
  const int error = make_admitted(m);
  const bool passed = m.passes_on || m.made.carrier() == run::Carrier::mpi;
  if (!passed) ++m.team.counted.counters.served;
  return error;
}

int find_or_throw(Making& m) {
  const int error = make(m);
  m.made.look_what_it_needs();
  m.team.request_by = m.made.carrier();
  if (m.passes_on) m.give_tag_back();
  if (error == mpi_success && m.may_come_again && !m.passes_on) cache_request(m.call, m.team, m.made);
  return error;
}

// The MPI may refuse what it is to carry out.
int start_made(Making& m) {
  const bool by_mpi = m.made.carrier() == run::Carrier::mpi;
  const int error = start(m.made);
  if (error != mpi_success && by_mpi) raise_of_the_mpi(m.call.comm, error);
  if (error != mpi_success && by_mpi && !keep_or_undo(m.ahead, m.call, error)) m.give_tag_back();
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
  auto made = std::make_unique<State>(*team, entry.is_persistent(), false);
  const Serving guard;
  Making m{call, entry, *team, *made};
  int error = find_carrier(m);
  if (error == mpi_success && !m.made.persistent)
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
  const char* const by = to_string((*request)->carrier());
  record::by(by);
  if ((*request)->persistent) record::keep_made(record::handle_of(*request), call, by);
  return error;
}

}  // namespace

int keep_arguments(Call& call, Team& team, State& made) {
  const BlockNumbers blocks = blocks_of(call, team);
  const int error = made.arguments.keep(call, blocks.send, blocks.recv);
  return error == mpi_success ? error : mpi().err_type;
}

int find_carrier(Making& m) {
  const Serving guard;
  int error = mpi_success;
  const int thrown = thrown_by([&] { error = find_or_throw(m); });
  return thrown != mpi_success ? team::error_of_thrown(m.call.comm, thrown) : error;
}

int make_request(const Call& call, bool persistent, Quadrille_Request* request, const void* site) {
  const record::Form form = persistent ? record::Form::persistent : record::Form::nonblocking;
  if (record::on) [[unlikely]]
    return make_recorded(call, form, request, site);
  return make_guarded(call, form, request);
}

}  // namespace quadrille::api
