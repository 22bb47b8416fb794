// Requests that the program holds without knowing that they are ours: it called MPI_Ialltoall, MPI_Alltoall_init or
// another function of the MPI's own name (interpose.cpp).
//
// What the program gets is a request of the MPI, which the MPI completes rightly in any completion call, also in one
// that we do not see, and never before the data are there:
//   nonblocking   a generalised request, which is said to be complete when the call is
//   persistent    a receive of nothing from this rank itself, which is sent the message when the call is complete
// So whoever waits waits in the MPI, and the call must go on there. That is what mpi/progress.hpp is for. In an
// MPI that has no such thing calls go to the MPI, unless there is a progress thread that may call the MPI.
//
// A fault (team/team.cpp) ends a request as it ends those of quadrille.h. Open MPI would raise the error on
// MPI_COMM_SELF or MPI_COMM_WORLD, or replace its class, so the doors of its completion functions raise it
// (completion_names.cpp).
//
// A nonblocking function may not wait for other ranks, and making a communicator ready waits for all of them. So a
// nonblocking call is served if its communicator is ready for that: MPI_COMM_WORLD from MPI_Init on, another one after
// a blocking call on it that may wait, if there were nonblocking ones before; inside a node also when rank 0 has told
// the others, for which nobody waits (team/setup.hpp). All ranks make these calls in one order, so they decide alike.
#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "api/call_cache.hpp"
#include "api/engines.hpp"
#include "api/requests.hpp"
#include "memory/held_memory.hpp"
#include "mpi/errors.hpp"
#include "mpi/mpi.hpp"
#include "mpi/progress.hpp"
#include "mpi/types.hpp"
#include "run/native_run.hpp"
#include "sys/sys.hpp"
#include "team/areas.hpp"
#include "team/config.hpp"
#include "team/neighbors.hpp"
#include "team/setup.hpp"
#include "team/team.hpp"

namespace quadrille::api {
namespace {

using Stage = team::Team::Taken::Stage;
using run::With;
using team::Arrival;
using team::Team;

// Which of the MPI's requests are ours: an array, sorted by handle. Every completion function of the program searches
// it while requests of ours are there.
struct TakenTable {
  struct Entry {
    std::uintptr_t handle = 0;
    State* request = nullptr;
  };
  std::mutex mutex;
  std::vector<Entry> entries;

  std::unique_lock<std::mutex> held() { return run::UnderWay::here().locked(mutex); }
  // That of the handle, or where it would be.
  std::vector<Entry>::iterator place_of(std::uintptr_t handle) {
    return std::ranges::lower_bound(entries, handle, {}, &Entry::handle);
  }
  bool is_there(std::vector<Entry>::iterator at, std::uintptr_t handle) const {
    return at != entries.end() && at->handle == handle;
  }
};
TakenTable& table() { return sys::immortal<TakenTable>(); }

// ---- Who goes on ----

bool help_from_the_mpi() {
  const Serving guard;
  run::UnderWay& under_way = run::UnderWay::here();
  under_way.help();
  return under_way.any();
}

// While the program is in whatever function of the MPI.
bool progress_is_sure() {
  const bool thread_may_call_mpi = thread_level(mpi().thread_single) == mpi().thread_multiple && has_progress_thread();
  return progress_hook_works() || thread_may_call_mpi;
}

// ---- Requests that have come to their end in a callback, where the MPI is not to be called ----

std::atomic<State*> last_ended = nullptr;  // linked by State::ended_before

// Allocates nothing: its callers have nobody to tell that there is no memory. From then on `request` may be gone.
void list_ended(State& request) {
  request.ended_before = last_ended.load(std::memory_order_relaxed);
  while (!last_ended.compare_exchange_weak(request.ended_before, &request, std::memory_order_release,
                                           std::memory_order_relaxed)) {
  }
}

void delete_ended() {
  sweep_turns();
  if (last_ended.load(std::memory_order_relaxed) == nullptr) return;
  State* next = last_ended.exchange(nullptr, std::memory_order_acquire);
  while (next != nullptr) retire(std::exchange(next, next->ended_before));
}

// ---- The generalised request of a nonblocking call ----

// What the MPI learns of an error. A fault is left to the door that the program has called.
int error_for_the_mpi(const State& request) {
  const std::span<MayFail> here = may_fail_here();
  const auto kept = std::ranges::find_if(here, [&](const MayFail& one) { return one.request == &request; });
  if (kept == here.end() || !is_fault(request.error)) return request.error;
  kept->keep_fault(request);
  return mpi_success;
}

int tell_status(void* data, MpiStatus* status) {
  const auto& request = *static_cast<const State*>(data);
  mpi().Status_set_elements(status, mpi().byte, 0);
  mpi().Status_set_cancelled(status, 0);
  const int error = request.error == mpi_success ? mpi_success : error_for_the_mpi(request);
  set_status(*status, mpi().undefined, mpi().undefined, error);  // MPICH takes the error from there in MPI_Waitsome
  return error;
}

int end_request(void* data) {
  State& request = *static_cast<State*>(data);
  if (request.handle == MpiRequest{}) return mpi_success;  // given back in make_handle(): the call goes on
  hide_taken(request);
  list_ended(request);
  return mpi_success;
}

// ---- The receive of a persistent call ----

// Their tags on the communicator of this process alone.
struct OwnTags {
  std::mutex mutex;
  std::vector<bool> taken;
};
OwnTags& own_tags() { return sys::immortal<OwnTags>(); }

int take_tag() {
  std::vector<bool>& taken = own_tags().taken;
  const std::lock_guard lock(own_tags().mutex);
  const auto tag = std::find(taken.begin(), taken.end(), false) - taken.begin();
  if (tag == std::ssize(taken)) taken.push_back(false);
  taken[static_cast<std::size_t>(tag)] = true;
  return static_cast<int>(tag);
}

void give_tag_back(int tag) {
  const std::lock_guard lock(own_tags().mutex);
  own_tags().taken[static_cast<std::size_t>(tag)] = false;
}

constexpr int most_tags = 32767;  // MPI_TAG_UB is never less

// ---- Making them ----

int make_receive(State& request) {
  if (own_comm() == mpi().comm_self || request.handle_tag > most_tags) return mpi().err_no_mem;
  return mpi().Recv_init(nullptr, 0, mpi().byte, 0, request.handle_tag, own_comm(), &request.handle);
}

int make_generalised(State& request) {
  const auto refuse = [](void*, int) { return mpi().err_request; };  // as the MPIs refuse to cancel their own
  return mpi().Grequest_start(tell_status, end_request, refuse, &request, &request.handle);
}

// Leaves no handle behind after an error.
int make_handle(State& request) {
  if (request.persistent) request.handle_tag = take_tag();
  const int made = request.persistent ? make_receive(request) : make_generalised(request);
  const int error = made == mpi_success ? thrown_by([&] { show_taken(request); }) : made;
  if (error == mpi_success) return error;
  MpiRequest handle = std::exchange(request.handle, MpiRequest{});
  if (made == mpi_success && !request.persistent) mpi().Grequest_complete(handle);
  if (made == mpi_success) mpi().Request_free(&handle);
  if (request.persistent) give_tag_back(request.handle_tag);
  return error;
}

std::atomic<int> broadcasts_in_flight = 0;

// At the end: all that was begun arrives, and ends.
void end_all() {
  while (broadcasts_in_flight != 0) run::UnderWay::here().advance();
  end_progress_hook_for_good();
  delete_ended();
}

void prepare_end() {
  static std::once_flag once;
  std::call_once(once, [] { team::before_end(team::AtEnd::requests, end_all); });
}

// Gives the program a request of the MPI for `made`, and starts `made` if it is not persistent. From then on the MPI or
// the program ends it. Without a handle, a persistent request is freed here. A nonblocking one starts all the same, as
// all ranks have decided to serve the call, and ends when it is complete.
int make_and_take(std::unique_ptr<State> made, MpiRequest* request) {
  const int error = make_handle(*made);
  if (error != mpi_success && made->persistent) return error;
  State& state = *made.release();
  if (error == mpi_success) *request = state.handle;
  if (!state.persistent) start_taken(state);
  return error;
}

// ---- Deferred setup: what nonblocking calls on a communicator need is on its way from rank 0 to the others, and calls
// wait for it (team/setup.hpp) ----

// What nobody knew of a call when it was started. After an error it comes to its end.
void carry_out(const run::Call& call, Team& team, State& request, int error) {
  const memory::MustNotWait under_a_lock;
  if (error == mpi_success) {
    Making m{call, {Door::drop_in, record::Form::nonblocking}, team, request};
    error = find_carrier(m);
    if (m.passes_on) error = mpi().err_other;  // nobody can any more
  }
  request.error = error;
  request.carry();
}

class Coming final : public team::Arrival {
 public:
  explicit Coming(Team& team) : team_(team) { ++broadcasts_in_flight; }
  ~Coming() override { --broadcasts_in_flight; }

  bool go_on(With with) override;
  bool can_go_on(With with) const override { return with == With::mpi; }
  // The request keeps the arrays of the call.
  void put_off(const run::Call& call, State& request) { calls_.emplace_back(call, &request); }

  void arrive() override { arrive(mpi_success); }

  // What rank 0 decides, written or read. Returns what was thrown, there or here, as an MPI error code.
  int prepare(bool tells) {
    if (!tells && told[0] != has_decided) return mpi().err_no_mem;
    const int thrown = thrown_by([&] { team::prepare_apart(team_, {std::span(told).subspan(1), tells}); });
    if (tells && thrown == mpi_success) told[0] = has_decided;
    return thrown;
  }

  std::array<std::byte, team::told_bytes> told{};
  MpiRequest broadcast{};

 private:
  static constexpr std::byte has_decided{1};  // the first byte; else rank 0 had no memory, and the communicator is lost

  // What was told is there. The team may be gone when this has been called, and the next go_on() is the last.
  void arrive(int error);

  Team& team_;
  std::shared_ptr<Arrival> self_;  // from its arrival on
  std::deque<std::pair<run::Call, State*>> calls_;
};

bool Coming::go_on(With with) {
  if (with != With::mpi) return false;
  int there = 0;
  const int error = test_one(&broadcast, &there, mpi().status_ignore);
  if (error == mpi_success && there == 0) return false;
  if (self_ == nullptr) arrive(error);
  const std::shared_ptr<Arrival> self = std::move(self_);
  return true;
}

void Coming::arrive(int error) {
  self_ = std::move(team_.taken.coming);
  if (team_.taken.now() == Stage::awaiting && error == mpi_success) error = prepare(false);
  if (error != mpi_success) team::mark_lost(team_);
  // In the order in which they were made, as on all ranks.
  for (; !calls_.empty(); calls_.pop_front()) carry_out(calls_.front().first, team_, *calls_.front().second, error);
  // A call of another thread, which is put off until now, comes after these.
  team_.taken.stage.store(Stage::received, std::memory_order_release);
}

// Begins to tell. All ranks come here after the same of their calls on the communicator; that call and those before it
// are the MPI's, and no nonblocking one after it. Throws if the MPI cannot.
void begin_to_tell(Team& team) {
  auto coming = std::make_shared<Coming>(team);
  team.taken.stage = Stage::unavailable;  // if anything throws
  run::UnderWay& under_way = run::UnderWay::here();
  {
    const run::UnderWay::Held held(under_way);
    under_way.make_room();
  }
  const bool tells = team.group.me == 0;
  const int thrown = tells ? coming->prepare(true) : mpi_success;
  {
    const ErrorsReturned guard(team.user);
    const int error = mpi().Ibcast(coming->told.data(), static_cast<int>(coming->told.size()), mpi().byte, 0, team.user,
                                   &coming->broadcast);
    if (error != mpi_success) team::lose(team);
  }
  const run::UnderWay::Held held(under_way);
  team.taken.coming = coming;
  team.taken.stage.store(tells ? Stage::broadcasting : Stage::awaiting, std::memory_order_release);
  under_way.add(*coming);
  wake_progress_thread();
  if (thrown != mpi_success) team::mark_lost(team);  // as the others, when they are told
}

// Starts a nonblocking call that the MPI does not refuse, and defers the rest until the broadcast has arrived on this
// rank. False if the call goes to the MPI on all ranks. `error` is an MPI error code.
bool start_put_off(Team& team, const run::Call& call, MpiRequest* request, int& error) {
  if (is_neighbor(call.collective) &&
      (why_no_neighbors(team) != Reason::none || team::neighbors_of(team)->checks_sizes())) {
    return false;
  }
  auto made = std::make_unique<State>(team, false, true);
  made->put_off();
  run::Call kept = call;
  error = keep_arguments(kept, team, *made);
  if (error != mpi_success) return true;
  State& state = *made;
  error = make_and_take(std::move(made), request);
  const run::UnderWay::Held held(run::UnderWay::here());
  if (team.taken.coming != nullptr) {
    static_cast<Coming&>(*team.taken.coming).put_off(kept, state);
    return true;
  }
  // What was told came after the request was listed: the thread found nothing to do for it, and may sleep.
  carry_out(kept, team, state, team.lost ? mpi().err_other : mpi_success);
  wake_progress_thread();
  return true;
}

// ---- Taking them over ----

void want_to_be_ready(Team& team) {
  if (!team.eligible() || team.taken.now() != Stage::none) return;
  team.taken.stage = Stage::wanted;
  if (team::may_be_told(team)) return begin_to_tell(team);
  some_wanted.store(true, std::memory_order_relaxed);
  drop_cached_calls();  // no blocking call on it takes the short way
}

// Of a communicator that is not ready for such calls.
Reason why_not_ready(const Team& team, bool persistent) {
  if (!team.eligible()) return team.why_not;
  if (team.taken.in_flight()) return Reason::not_prepared;
  const bool was_asked = team.taken.now() >= Stage::unavailable;
  if (was_asked && !progress_is_sure()) return Reason::lacks_progress;
  return was_asked || persistent ? Reason::no_memory : Reason::not_prepared;
}

// As one before.
bool takes_again(const run::Call& call, MpiRequest* request, int& error) {
  const Serving guard;
  delete_ended();
  State* const made = request_by_cache(call, Door::drop_in);
  if (made == nullptr) return false;
  error = make_and_take(std::unique_ptr<State>(made), request);
  return true;
}

// Does what take() says, but raises no error.
bool try_to_take(const run::Call& call, bool persistent, MpiRequest* request, int& error, CountedAhead& ahead) {
  if (!persistent && takes_again(call, request, error)) return true;
  Team* const team = team::team_after(call.comm, persistent ? 0 : uncounted_calls(Door::drop_in), ahead.early);
  ahead.team = team;
  // This rank alone may have made the team: after a refused call, to bring data of a device to the host, or to explain.
  const bool may_be_alone = !persistent && !team::every_rank_explains();
  if (team != nullptr && team->eligible() && may_be_alone && comes_early(*team, Door::drop_in)) ahead.early = true;
  ahead.why = ahead.early ? Reason::early : Reason::argument;
  if (team == nullptr || ahead.early) return false;
  if (team::watches_faults() && team::leave_if_told(*team) != mpi_success) {
    ahead.why = Reason::rank_failed;
    return false;
  }
  const Serving guard;
  if (team->lost) {
    error = team::error_of_thrown(call.comm, mpi().err_other);
    return true;
  }
  prepare_progress();
  prepare_end();
  delete_ended();
  const bool may_want = team->eligible() && team->taken.now() == Stage::none;
  ahead.wants = !persistent && !team->taken.ready() && (may_want || team->counted.explains);
  const Entry entry{Door::drop_in, persistent ? record::Form::persistent : record::Form::nonblocking};
  if (has_mistake(call, *team, entry)) return false;
  if (!persistent && team->taken.now() == Stage::awaiting) return start_put_off(*team, call, request, error);
  if (persistent) {
    team::await_told(*team);  // it may wait for the other ranks
    if (team->eligible()) get_ready_to_take(*team);
  }
  if (!team->taken.ready()) {
    ahead.why = why_not_ready(*team, persistent);
    if (persistent && team->counted.explains) explain_request(*team, call, entry.form, "mpi", {ahead.why});
    return false;
  }
  auto made = std::make_unique<State>(*team, persistent, true);
  Making m{call, entry, *team, *made};
  error = find_carrier(m);
  ahead.why = why_chosen(*team);
  if (m.passes_on) return false;
  if (error == mpi_success) error = make_and_take(std::move(made), request);
  return true;
}

// Is pulling the way of some collective by the user's word? The same on all ranks.
bool is_pull_forced(const team::Team& team) {
  return std::ranges::any_of(team.agreed().forced.by_collective, [](const choose::Choice& choice) {
    return choice.algorithm != nullptr && choice.algorithm->engine == choose::Engine::pull;
  });
}

// Prepares what calls on the communicator need that may not wait. False, on all ranks, if it is unavailable.
bool make_ready_to_take(Team& team) {
  if (!team.ready() && team::setup(team) != mpi_success) return false;
  // Blocking calls, too, need messages between nodes: a rank whose copies fail tells the other ranks by one.
  if (team.nodes.nodes > 1 && team::prepare_messages(team) != mpi_success) return false;
  if (!team::true_on_all(team, progress_is_sure())) return false;
  if (team::has_topology(team) && prepare_neighbors(team) != mpi_success) return false;
  const bool in_node = team.nodes.nodes == 1 && team.group.reach().rings;
  const bool has_lanes = in_node && !team::lanes_of(team).lanes.empty();
  // No rank can leave a pull.
  if (has_lanes && is_pull_forced(team) && !team::watches_faults()) team::prepare_pull_lanes(team);
  if (has_lanes && !team::config().any_forced) return true;
  return team::prepare_messages(team) == mpi_success || has_lanes;
}

// What copy-to-cpu asks for, or what goes over to it, where that is forced.
choose::HostBuffers forced_buffers(const run::Call& call) {
  const Team* const team = team::find_team(call.comm);
  const choose::Forced& forced = team != nullptr && team->ready() ? team->agreed().forced : team::config().forced;
  const choose::Choice& choice = forced.of(call.collective);
  const bool goes_over = choice.algorithm != nullptr && choice.algorithm->engine == choose::Engine::pipeline;
  return goes_over ? choose::HostBuffers::kept : choice.buffers;
}

}  // namespace

void want_to_be_ready(const run::Call& call) {
  Team* const team = team::find_team(call.comm);
  if (team == nullptr || team->lost) return;
  const Serving guard;
  if (thrown_by([team] { want_to_be_ready(*team); }) != mpi_success) team::mark_lost(*team);
  if (!team->counted.explains) return;
  const bool in_flight = team->eligible() && team->taken.in_flight();
  const Reason why = in_flight ? Reason::broadcast_in_flight : why_not_ready(*team, false);
  explain_request(*team, call, record::Form::nonblocking, "mpi", {why});
}

bool take(const run::Call& call, bool persistent, MpiRequest* request, int& error, CountedAhead& ahead) {
  ahead.why = team::config().off ? Reason::switched_off : Reason::other;
  if (is_serving() || !mpi().usable || request == nullptr) return false;
  bool taken = true;
  const int thrown = thrown_by([&] { taken = try_to_take(call, persistent, request, error, ahead); });
  if (thrown != mpi_success) error = team::error_of_thrown(call.comm, thrown);
  if (taken && error != mpi_success) raise(call.comm, error);
  return taken;
}

ByHost take_by_host(const run::Call& call, bool persistent, int& error) {
  error = mpi_success;
  ByHost made;
  const int thrown = thrown_by([&] {
    team::Team* team = nullptr;
    std::unique_ptr<OnHost> staged = on_host_for_the_mpi(call, forced_buffers(call), team);
    if (staged == nullptr) return;
    made = std::make_unique<State>(*team, persistent, true);
    made->on_host = std::move(staged);
    if (!persistent) made->fetch();  // else at each start
    made->on_host->prepare_steps();
    prepare_progress();
    prepare_end();
    delete_ended();
  });
  if (thrown == mpi_success) return made;
  error = thrown;
  return nullptr;
}

int hand_in(ByHost made, MpiComm comm, MpiRequest native, int error, MpiRequest* request) {
  if (error != mpi_success) return error;
  const Serving guard;
  const int thrown = thrown_by([&] {
    made->op = std::make_unique<run::NativeOp>(run::OpTraits{}, native, made->persistent, made->team->user);
    made->look_what_it_needs();
    error = make_and_take(std::move(made), request);
  });
  if (thrown != mpi_success) error = thrown;
  return error == mpi_success ? error : raise(comm, error);
}

void tell_the_mpi(State& request) {
  if (!request.persistent) {
    if (request.handle == MpiRequest{}) return list_ended(request);
    mpi().Grequest_complete(request.handle);
    return;
  }
  // One that has failed must not look like one that has not: what is longer than the receive is an error to the MPI.
  const char nothing = 0;
  mpi().Send(&nothing, request.error == mpi_success ? 0 : 1, mpi().byte, 0, request.handle_tag, own_comm());
}

void get_ready_to_take(Team& team) {
  if (team.taken.now() >= Stage::unavailable) return;
  team.taken.stage = Stage::unavailable;
  prepare_progress();
  if (make_ready_to_take(team)) team.taken.stage = Stage::ready;
}

void get_world_ready_to_take() {
  Team* const team = team::team_of(mpi().comm_world);
  if (team == nullptr || !team->ready()) return;
  get_ready_to_take(*team);
  // For messages of communicators whose ranks may not wait to make one: those that may be told.
  if (team->taken.ready() && !team::watches_faults()) team::prepare_messages(*team);
}

void await_told_on(MpiComm comm) {
  if (broadcasts_in_flight == 0 || is_serving() || !mpi().usable) return;
  static_cast<void>(thrown_by([comm] {
    if (Team* const team = team::find_team(comm); team != nullptr) team::await_told(*team);
  }));
}

int get_ready_in_a_barrier(MpiComm comm) {
  if (is_serving() || !mpi().usable) return mpi_success;
  const int thrown = thrown_by([comm] {
    Team* const team = team::find_team(comm);
    if (team == nullptr || team->lost || !wants_to_be_ready(*team)) return;
    const Serving guard;
    get_ready_to_take(*team);
  });
  const int error = thrown == mpi_success ? thrown : team::error_of_thrown(comm, thrown);
  // A fault is an error of the program's call, too.
  return error == mpi_success || is_fault(error) ? mpi_success : raise(comm, error);
}

State* taken_behind(MpiRequest handle) {
  if (!any_taken()) return nullptr;
  TakenTable& all = table();
  const std::unique_lock lock = all.held();
  const auto at = all.place_of(handle.word);
  return all.is_there(at, handle.word) ? at->request : nullptr;
}

void show_taken(State& request) {
  TakenTable& all = table();
  const std::unique_lock lock = all.held();
  const auto at = all.place_of(request.handle.word);
  if (all.is_there(at, request.handle.word)) {
    at->request = &request;
    return;
  }
  all.entries.insert(at, TakenTable::Entry{request.handle.word, &request});
  taken_now.store(all.entries.size(), std::memory_order_relaxed);
}

void hide_taken(const State& request) {
  TakenTable& all = table();
  const std::unique_lock lock = all.held();
  const auto at = all.place_of(request.handle.word);
  if (!all.is_there(at, request.handle.word) || at->request != &request) return;
  all.entries.erase(at);
  taken_now.store(all.entries.size(), std::memory_order_relaxed);
}

void let_the_mpi_help() {
  prepare_end();
  begin_progress_hook(help_from_the_mpi);
}

void start_taken(State& request) {
  if (begin(request)) let_the_mpi_help();
}

void free_taken(State& request) {
  hide_taken(request);
  give_tag_back(request.handle_tag);
  delete &request;
}

}  // namespace quadrille::api
