#include "team/team.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "memory/heap.hpp"
#include "mpi/device_support.hpp"
#include "mpi/mpi.hpp"
#include "mpi/types.hpp"
#include "sys/sys.hpp"
#include "team/areas.hpp"
#include "team/config.hpp"
#include "team/neighbors.hpp"
#include "team/processes.hpp"
#include "team/setup.hpp"
#include "team/switch_points.hpp"

namespace quadrille::team {
namespace {

// All teams, in the order in which they were made. Communicators with common ranks are made in the
// same order on these ranks, so releasing in this order cannot deadlock.
struct Teams {
  std::mutex mutex;
  std::vector<Team*> all;
  Counters freed;              // of teams that are gone
  std::vector<Tally> tallies;  // of them, as many as there is room for
};
Teams& teams() { return sys::immortal<Teams>(); }

// Frees what a team holds outside its own memory.
void release(Team& team) {
  team.change_standing(Standing::ineligible);
  team.group.inbox = {};
  team.lanes.reset();
  team.chunks.reset();
  team.leaders.clear();
  team.area = {};
  team.quiet.reset();
  team.group.attached.clear();
  // After a fault another rank may still wait for messages there.
  if (team.fault == mpi_success) free_private(team.group.change_messages().comm);
}

// Of many communicators that are gone the last place is of all that are too many.
void keep_tally(const Tally& tally) {
  constexpr std::size_t most = 256;
  std::vector<Tally>& kept = teams().tallies;
  if (kept.size() < most) return kept.push_back(tally);
  kept.resize(most + 1);
  kept.back().add(tally);
}

// Each nonblocking call comes here twice.
std::unique_lock<std::mutex> held(Teams& list) { return run::UnderWay::here().locked(list.mutex); }

// Frees a team that neither its communicator nor a request keeps any more.
void free_team(Team* team) {
  Teams& list = teams();
  {
    const std::unique_lock lock = held(list);
    list.freed.add(team->counted.counters);
    std::erase(list.all, team);
  }
  release(*team);
  delete team;
}

int forget_team(MpiComm, int, void* value, void*) {
  auto* team = static_cast<Team*>(value);
  return thrown_by([team] {
    end_told(*team);      // which may make requests
    drop_cached_calls();  // of this team
    const bool explains = team->counted.explains;
    const Tally tally = explains ? end_tally(*team) : Tally();  // while it has a name, for which the MPI is asked
    const KeptTeam last = std::move(team->self);
    const std::unique_lock lock = held(teams());
    if (explains) keep_tally(tally);
    team->user = mpi().comm_null;
  });
}

int forget_nothing(MpiComm, int, void*, void*) { return mpi_success; }

// For the summary: of all teams that are there, and of those that are gone.
void sum_up() {
  Teams& list = teams();
  Counters all = list.freed;
  std::vector<Tally> tallies = list.tallies;
  for (const Team* team : list.all) {
    all.add(team->counted.counters);
    if (team->counted.explains && team->user != mpi().comm_null) tallies.push_back(end_tally(*team));
  }
  print_summary(all, std::move(tallies));
}

std::array<std::atomic<void (*)()>, ends_count> works_before_end{};

// Runs at the start of MPI_Finalize, when MPI still works: MPI_COMM_SELF loses its attributes first.
int at_finalize(MpiComm, int, void*, void*) {
  for (auto& slot : works_before_end) {
    if (void (*const work)() = slot.exchange(nullptr)) work();
  }
  if (config().trials == Trials::learn && rank_in(mpi().comm_world) == 0) static_cast<void>(thrown_by(learn_verdicts));
  static_cast<void>(thrown_by(sum_up));  // what cannot be said is not said
  drop_cached_calls();
  return thrown_by([] {
    for (Team* team : teams().all) release(*team);
    forget_processes();
  });
}

// Only once it is known has a communicator a team.
constinit FirstAnswer<int> key_of_teams(no_keyval);

int team_keyval() {
  return key_of_teams.get([] {
    static constinit std::atomic<bool> is_set{false};
    if (!is_set.exchange(true)) mpi().Comm_set_attr(mpi().comm_self, make_keyval(at_finalize), nullptr);
    return make_keyval(forget_team);
  });
}

Reason why_not_eligible(MpiComm comm, run::Group& group) {
  if (const Reason why = why_nothing_is_served(); why != Reason::none) return why;
  if (is_inter(comm)) return Reason::intercommunicator;
  group.ranks = size_of(comm);
  group.me = rank_in(comm);
  if (group.ranks == 1) return Reason::one_rank;
  // If a rank is of another world, every rank finds one that is.
  const std::vector<int> there = ranks_in_world(comm);
  const bool are_all_here = std::find(there.begin(), there.end(), mpi().undefined) == there.end();
  return are_all_here ? Reason::none : Reason::several_worlds;
}

// The calls that were forwarded before there was a team: a number, kept without any memory of ours.
int early_keyval() { return keyval_of<forget_nothing>(); }

// False if the MPI cannot tell.
bool early_calls(MpiComm comm, int& calls) {
  void* value = nullptr;
  const bool told = get_attribute(comm, early_keyval(), value);
  calls = static_cast<int>(reinterpret_cast<std::intptr_t>(value));
  return told;
}

Team* make_team(MpiComm comm) {
  auto team = std::make_unique<Team>();
  team->user = comm;
  early_calls(comm, team->calls);
  team->group.change_messages().comm = mpi().comm_null;
  team->why_not = why_not_eligible(comm, team->group);
  if (team->why_not == Reason::none) team->change_standing(Standing::eligible);
  if (why_nothing_is_served() == Reason::fault_tolerant) explain_fault_tolerance();
  team->counted.explains = config().explain;
  team->counted.tally = begin_tally(*team);
  Teams& list = teams();
  {
    const std::lock_guard lock(list.mutex);
    list.all.push_back(team.get());
  }
  Team* const made = team.release();
  made->self.reset(made, free_team);
  if (mpi().Comm_set_attr(comm, team_keyval(), made) == mpi_success) return made;
  const KeptTeam last = std::move(made->self);
  return nullptr;
}

// The attribute that this thread has read last. Each call that is not cached, each request and each function of the API
// asks for the team, for which the MPI takes a lock and searches.
struct TeamAttribute {
  std::uint64_t generation = 0;
  MpiComm comm{};
  Team* team = nullptr;
};
thread_local TeamAttribute last_read;

}  // namespace

void watch_finalize() { team_keyval(); }

void before_end(AtEnd whose, void (*work)()) { works_before_end[static_cast<std::size_t>(whose)] = work; }

MpiComm Team::own() const {
  return user == mpi().comm_world && quiet != nullptr && quiet->as_world ? quiet->comm : user;
}

Team* team_of(MpiComm comm) {
  bool early = false;
  return team_after(comm, 0, early);
}

Team* find_team(MpiComm comm) {
  Team* team = nullptr;
  // No key is made here: with MPI sessions alone there is no MPI_COMM_SELF, which the key needs.
  if (comm != mpi().comm_null && key_of_teams.is_known()) get_attribute(comm, team_keyval(), team);
  return team;
}

bool is_there(const Team& team, MpiComm comm) {
  Teams& list = teams();
  const std::unique_lock lock = held(list);
  return std::find(list.all.begin(), list.all.end(), &team) != list.all.end() && team.user == comm;
}

Team* team_after(MpiComm comm, int calls, bool& early) {
  early = false;
  const std::uint64_t now = cache_generation();
  if (last_read.team != nullptr && last_read.comm == comm && last_read.generation == now) return last_read.team;
  if (comm == mpi().comm_null || !may_call_mpi()) return nullptr;
  Team* team = nullptr;
  if (!get_attribute(comm, team_keyval(), team)) return nullptr;
  int before = 0;
  if (team == nullptr && calls > 0 && early_calls(comm, before) && before < calls) return early = true, nullptr;
  if (team == nullptr) team = make_team(comm);
  if (team != nullptr) last_read = {now, comm, team};
  return team;
}

void count_early(MpiComm comm) {
  if (Team* const team = find_team(comm)) {
    ++team->calls;
    return;
  }
  int before = 0;
  if (!early_calls(comm, before)) return;
  mpi().Comm_set_attr(comm, early_keyval(), reinterpret_cast<void*>(std::intptr_t{before} + 1));
}

const plan::Schedule& plan_of(Team& team, const choose::Choice& choice) {
  return cached_plan(team, choice, [&] {
    const bool looks = look_at_domains(row_of(choice.algorithm->engine).plans);
    const std::vector<int>& domains = looks ? domains_of(team) : team.domains;
    return choice.algorithm->build(
        {team.group.ranks, team.group.me, &team.nodes, choice.parameters, domains, team.agreed().away_steps});
  });
}

void explain(Team& team, Collective collective, std::size_t bytes, const std::string& algorithm, const Why& why) {
  const bool ready = team.ready();
  if ((ready ? team.group.me : rank_in(team.user)) != 0) return;
  const int ranks = ready ? team.group.ranks : size_of(team.user);
  const std::string nodes = ready ? fmt::format(", {} node{}", team.nodes.nodes, team.nodes.nodes == 1 ? "" : "s") : "";
  const std::string line =
      fmt::format("{} on {} ranks{}{} -> {}: {}", name_of(collective), ranks, nodes,
                  bytes > 0 ? fmt::format(", blocks of {} bytes", bytes) : "", algorithm, text::words_of(why));
  say_once(line);
}

void say_once(const std::string& line, const std::string& key) {
  static auto* const mutex = new std::mutex;
  static auto* const said = new std::set<std::string>;
  const std::lock_guard lock(*mutex);
  if (said->insert(key).second) say(line);
}

// ---- Faults ----
//
// A rank has failed, or the communicator was revoked, where the MPI lets a program survive that (ULFM).
//
// Idea    A rank that waits in a call asks its MPI every two milliseconds whether the communicator is revoked or a rank
//         of it has failed. Then it leaves the call, which returns the MPI's error. Later calls on the communicator are
//         the MPI's, which refuses them. A communicator of the survivors (MPIX_Comm_shrink) is served again. A rank
//         that does not have to wait may learn of the failure from a rank that has left; its calls succeed until then.
// Node    A rank says in the control memory of the communicator that it has left. A rank that finishes a call looks
//         there too: what it has copied from a rank that has left may be what that rank's program wrote there since.
//         Nobody writes to another rank's memory, so a rank that has left may use its buffers at once. Neighbour
//         collectives go by rings.
// Sends   A rank that leaves messages in flight revokes our communicator for messages, as does a rank with a failed
//         message: from then on no rank receives a block that the rank lacks. All messages end, and the rank waits for
//         that before it returns (run/mpi_transport.cpp, run/sparse.cpp). Open MPI ends a message that has found its
//         receive when the data are there or the peer is dead. Other receives end at once, other sends when the peer
//         learns of the revocation. Requests of ours are tested until all their messages have ended.
// Names   A request under the MPI's name ends in the same way. The doors of the MPI's completion functions raise the
//         fault, as the MPI would not raise it on the request's communicator (api/completion_names.cpp). A nonblocking
//         call is served once a blocking call has made its communicator ready: no rank tells others what to prepare.
// Orders  The exchange by pairs stands in for an order of copies: there a third rank copies between two others, and may
//         write to the memory of a rank that has left.
// Cost    Nothing without fault tolerance. With it no call takes the cached way.
//
// Example, ranks 0, 1 and 2, of which 1 dies in a call: rank 0 waits for 1, is told by the MPI, says "left", and
// returns MPIX_ERR_PROC_FAILED. Rank 2 waits for 0 or 1: it finds "left", or its MPI tells it. By messages: rank 0
// revokes, which ends what rank 2 sends to it or awaits from it.
// tests/models/faults_test.cpp goes through a death at each step.

namespace {

constexpr double seconds_between_looks = 2e-3, seconds_to_be_told = 1;

// Nothing on this communicator is served any more.
void leave(Team& team, int fault) {
  team.fault = fault;
  team.failed_calls.note_left(fault);
  team.lost = false;
  team.why_not = Reason::rank_failed;
  team.change_standing(Standing::ineligible);
  drop_cached_calls();
}

// Has a rank failed? Where the communicator is gone and a request is left, that of the whole program is asked. The MPI
// makes a list of the failed ranks, so it is not asked each time.
bool has_failed_rank(Team& team) {
  const double now = mpi().Wtime();
  if (now < team.next_look.load(std::memory_order_relaxed)) return false;
  team.next_look.store(now + seconds_between_looks, std::memory_order_relaxed);
  if (team.user != mpi().comm_null) return has_failed_rank(team.user);
  return team.quiet != nullptr && has_failed_rank(team.quiet->comm, team.world_ranks);
}

// MPI_SUCCESS if this rank knows of none. The communicator may have no team.
int fault_of(MpiComm comm, Team* team) {
  if (team != nullptr) return leave_if_faulty(*team);
  if (is_revoked(comm)) return err_revoked();
  return quadrille::has_failed_rank(comm) ? err_proc_failed() : mpi_success;
}

// A call of ours has failed: the MPI may report the fault a little later. MPI_SUCCESS if it does not.
int await_fault(MpiComm comm, Team* team) {
  for (const double end = mpi().Wtime() + seconds_to_be_told; mpi().Wtime() < end; sys::yield()) {
    if (const int fault = fault_of(comm, team); fault != mpi_success) return fault;
    int flag = 0;
    mpi().Iprobe(0, mpi().any_tag, mpi().comm_self, &flag, mpi().status_ignore);  // makes progress
  }
  return mpi_success;
}

}  // namespace

bool watches_faults() { return config().watches_faults; }

int leave_if_told(Team& team) {
  if (const int known = team.fault.load(std::memory_order_relaxed); known != mpi_success) return known;
  int fault = team.failed_calls.left();
  if (fault == mpi_success && team.user != mpi().comm_null && is_revoked(team.user)) fault = err_revoked();
  if (fault != mpi_success) leave(team, fault);
  return fault;
}

int leave_if_faulty(Team& team) {
  if (const int told = leave_if_told(team); told != mpi_success) return told;
  if (!has_failed_rank(team)) return mpi_success;
  leave(team, err_proc_failed());
  return err_proc_failed();
}

void throw_if_faulty(Team& team) {
  if (leave_if_faulty(team) != mpi_success)
    throw std::runtime_error("a rank has failed, or the communicator is revoked");
}

int error_of_thrown(MpiComm comm, int error) {
  if (!watches_faults() || error == mpi().err_no_mem || comm == mpi().comm_null) return error;
  Team* const team = find_team(comm);
  if (team != nullptr && !team->eligible() && team->fault == mpi_success) return error;
  const int fault = await_fault(comm, team);
  return fault != mpi_success ? fault : error;
}

int error_after_call(Team& team, int error) {
  if (!watches_faults()) return error;
  if (is_fault(error)) await_fault(team.user, &team);
  return team.failed_calls.left() != mpi_success ? leave_if_faulty(team) : error_of_step(team, error);
}

int error_of_step(Team& team, int error) {
  if (!is_fault(error)) return error;
  if (leave_if_faulty(team) == mpi_success) leave(team, error);
  return team.fault;
}

// ---- Selections ----

namespace {

run::Moving moving_by(const Team& team, const choose::Choice& choice) {
  const auto parameter = [&](const char* name) {
    return static_cast<std::size_t>(plan::value_of(choice.parameters, name, 0));
  };
  run::Moving moving;
  // Where messages may go straight from and to a device's memory, all ranks send and receive plain bytes: some MPIs
  // take no data from a device into a type with gaps, be that on the host (Intel MPI). Of neighbours not all ranks know
  // the sizes of blocks, which that needs.
  const bool straight = choice.algorithm->engine == choose::Engine::schedule && may_stay_on_device(team, choice);
  moving.as_bytes = choice.algorithm->needs.contiguous || straight;
  moving.pack_up_to = parameter("pack");
  moving.monolithic = parameter("monolithic") != 0;
  moving.eager = parameter("eager");
  return moving;
}

}  // namespace

bool may_stay_on_device(const Team& team, const choose::Choice& choice) {
  const bool as_bytes = choice.algorithm->engine == choose::Engine::schedule;
  return team.agreed().mpi_device != DeviceUse::none && choice.buffers == choose::HostBuffers::as_suits &&
         choice.algorithm->from_device && (as_bytes || !mpi().device_lacks_gaps);
}

Prepared prepare(Team& team, Collective collective, const choose::Choice& choice) {
  const choose::EngineRow& engine = row_of(choice.algorithm->engine);
  Prepared prepared;
  prepared.moving = moving_by(team, choice);
  if (engine.plans == choose::Plans::neighbor_messages) prepared.schedule = &neighbor_plan_of(team, choice);
  if (engine.plans == choose::Plans::leaders) {
    prepared.leaders = leaders_for(team, collective, choice);
    return prepared;
  }
  if (choice.algorithm->build != nullptr) prepared.schedule = &plan_of(team, choice);
  if (!engine.unpadded.empty()) prepared.direct = &plan_of(team, choose::plain(collective, engine.unpadded));
  return prepared;
}

void prepare_lanes(Team& team, Collective collective, const choose::Choice& choice) {
  if (CachedLeaders* const on = leaders_for(team, collective, choice)) take_lanes_for(team, *on);
}

namespace {

// Could a rank find that two choices do the same? Known without building a plan.
bool may_do_the_same(const choose::Choice& a, const choose::Choice& b) {
  const choose::Plans plans = row_of(a.algorithm->engine).plans;
  return a.algorithm->engine == b.algorithm->engine && a.algorithm->needs == b.algorithm->needs &&
         a.algorithm->build != nullptr && b.algorithm->build != nullptr &&
         (plans == choose::Plans::messages || plans == choose::Plans::node_copies);
}

// On this rank. Other ranks may do different things.
bool do_the_same(Team& team, Collective collective, const choose::Choice& a, const choose::Choice& b) {
  const Prepared one = prepare(team, collective, a), other = prepare(team, collective, b);
  return one.moving == other.moving && (one.schedule == other.schedule || *one.schedule == *other.schedule);
}

}  // namespace

std::vector<choose::Choice> without_twins(Team& team, Collective collective,
                                          const std::vector<choose::Choice>& candidates) {
  std::vector<std::size_t> later;   // of two that may do the same,
  std::vector<double> differ_here;  // and whether they do not
  for (std::size_t second = 1; second < candidates.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (!may_do_the_same(candidates[first], candidates[second])) continue;
      later.push_back(second);
      differ_here.push_back(do_the_same(team, collective, candidates[first], candidates[second]) ? 0 : 1);
    }
  }
  if (later.empty()) return candidates;
  std::vector<double> differ(later.size());
  largest_of_all(team, differ_here, differ);
  std::vector<choose::Choice> different;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    bool is_twin = false;
    for (std::size_t p = 0; p < later.size(); ++p) is_twin = is_twin || (later[p] == c && differ[p] == 0);
    if (!is_twin) different.push_back(candidates[c]);
  }
  return different;
}

CachedSelection* Selections::find(std::size_t bytes, bool drop_in, int load) {
  const auto is_it = [&](const CachedSelection& one) {
    return one.bytes == bytes && one.drop_in == drop_in && one.load == load;
  };
  if (last_ != nullptr && is_it(*last_)) return last_;
  const auto found = std::find_if(kept_.begin(), kept_.end(), is_it);
  if (found == kept_.end()) return nullptr;
  return last_ = &*found;
}

CachedSelection& Selections::keep(CachedSelection selected) {
  last_ = &kept_.emplace_back(std::move(selected));
  if (kept_.size() > most) kept_.pop_front();
  return *last_;
}

void Selections::forget() {
  kept_.clear();
  last_ = nullptr;
}

choose::GlobalKey key_of(Team& team, Collective collective, std::size_t bytes) {
  const auto index = static_cast<std::size_t>(collective);
  const choose::Model* model = team.agreed().model == choose::Model{} ? nullptr : &team.agreed().model;
  const bool is_given =
      team.agreed().points == Points::given && is_sized(collective) && bytes <= team.group.inbox_limit(collective);
  const bool has_costs = model != nullptr && is_dense(collective) && team.nodes.nodes > 1;
  if (has_costs && team.chosen.costs[index] == nullptr) {
    const choose::CostsSetting setting{model->processors, choose::limits_within_a_call(team.group.ranks),
                                       team.agreed().away_steps};
    team.chosen.costs[index] = std::make_unique<choose::Costs>(collective, team.nodes, setting);
  }
  return {collective,
          team.group.ranks,
          team.nodes.nodes,
          bytes,
          team.group.inbox.usable() && team.nodes.nodes == 1,
          team.group.inbox_limit(collective),
          team.group.reach().slot_limit,
          team.group.reach().load_store,
          team.group.inbox.usable(),
          model,
          team.agreed().may_try == MayTry::everything && !is_given,
          team.agreed().may_try != MayTry::nothing,
          team.nodes.ranks_on_fullest_node(),
          is_dense(collective) && is_sized(collective) ? &team.agreed().by_size.on_host[index] : nullptr,
          team.agreed().mpi_device == DeviceUse::all,
          team.agreed().mpi_device != DeviceUse::none,
          has_costs ? team.chosen.costs[index].get() : nullptr,
          team.agreed().device_model == choose::DeviceModel{} ? nullptr : &team.agreed().device_model};
}

CachedSelection& selection_of(Team& team, Collective collective, std::size_t bytes, int load, bool drop_in,
                              bool with_devices) {
  const auto index = static_cast<std::size_t>(collective);
  const bool neighbors = is_neighbor(collective);
  const bool leaves_more = neighbors && drop_in;
  const int kept_load = with_devices ? on_devices : load;
  Selections& selections = team.chosen.selections[index];
  if (CachedSelection* cached = selections.find(bytes, leaves_more, kept_load)) return *cached;
  choose::Selection selection;
  if (!with_devices) {
    selection = neighbors ? select_among_neighbors(team, collective, bytes, drop_in)
                          : choose::select(key_of(team, collective, bytes), team.agreed().forced.of(collective));
    if (selection.why.reason == Reason::no_inboxes) selection.why.reason = team.inbox_obstacle;
  } else {
    const choose::Choice host = selection_of(team, collective, bytes, load, drop_in).selection.choice;
    selection = neighbors ? choose::select_for_devices(neighbor_key_of(team, collective, bytes, drop_in), host)
                          : choose::select_for_devices(key_of(team, collective, bytes), host,
                                                       &team.agreed().by_size.on_devices[index]);
  }
  const bool differs = neighbors ? with_devices && bytes == 0 : is_dense(collective) && !is_sized(collective);
  const bool follows_load = differs && !selection.rivals.empty();
  return selections.keep({.bytes = bytes,
                          .drop_in = leaves_more,
                          .load = kept_load,
                          .selection = std::move(selection),
                          .follows_load = follows_load});
}

bool is_decided(const CachedSelection& cached) {
  return cached.trial != nullptr ? cached.trial->trial.contest.decided() : cached.selection.rivals.empty();
}

const Prepared& prepared_of(Team& team, Collective collective, CachedSelection& cached) {
  if (!cached.prepared) cached.prepared = prepare(team, collective, cached.selection.choice);
  return *cached.prepared;
}

void explain(Team& team, Collective collective, CachedSelection& cached) {
  if (cached.explained || !team.counted.explains) return;
  cached.explained = true;
  explain(team, collective, cached.bytes, choose::to_string(cached.selection.choice), cached.selection.why);
}

void force(Team& team, Collective collective, const choose::Choice& choice) {
  team.change_agreed().forced.by_collective[static_cast<std::size_t>(collective)] = choice;
  forget_selections(team);
}

void use_measured(Team& team, std::vector<choose::NeighborEntry> measured) {
  team.change_agreed().measured = std::move(measured);
}

MayTry let_try(Team& team, MayTry may_try) { return std::exchange(team.change_agreed().may_try, may_try); }

void forget_selections(Team& team) {
  for (Selections& selections : team.chosen.selections) selections.forget();
  std::ranges::fill(team.asked.unasked_to_mpi, nullptr);
  std::ranges::fill(team.asked.unasked_by_pairs, nullptr);
  drop_cached_calls();
}

}  // namespace quadrille::team
