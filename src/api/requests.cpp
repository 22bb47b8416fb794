// Starting requests and completing them.
#include "api/requests.hpp"

#include <algorithm>
#include <utility>

#include "api/call_cache.hpp"
#include "api/serve.hpp"
#include "mpi/progress.hpp"
#include "run/native_run.hpp"
#include "sys/sys.hpp"
#include "team/team.hpp"

using namespace quadrille;

using State = Quadrille_Request_state;

// ---- One request ----

// Begins what was started, or goes on with it.
int State::step() {
  const bool begins = stage() == Stage::queued;
  set(Stage::running);
  if (op == nullptr) return mpi_success;
  return begins ? op->start() : op->advance();
}

void State::look_what_it_needs() {
  const bool alone = !team::watches_faults() && op != nullptr && op->traits.sends_all_at_start && queue == nullptr &&
                     !taken && on_host == nullptr && !api::has_progress_thread();
  needs = alone ? Needs::asking : calls_mpi() ? Needs::mpi : Needs::memory;
  short_way = alone && persistent && number == 0 && !calls_mpi() ? inbox : nullptr;
}

void State::tell_failed_fetch() {
  if (number != 0) team::tell_failed(*team, team::number_of_start(number, starts));
}

void State::fetch() {
  if (!on_host->fetch()) tell_failed_fetch();
}

void State::begin_fetch(bool settled) {
  set(From::fetching);
  const int thrown = thrown_by([&] {
    if (on_host != nullptr) on_host->begin_fetch(settled);
    if (staying_at) staying_at->begin_to_settle();
  });
  if (thrown == mpi_success) return;
  tell_failed_fetch();
  if (error == mpi_success) error = thrown;
}

bool State::has_fetched() {
  if (!fetches()) return true;
  if (on_host != nullptr) {
    if (!on_host->has_fetched()) return false;
    if (on_host->has_failed()) tell_failed_fetch();
  }
  if (staying_at) {
    const auto look = staying_at->look();
    if (look == memory::OwnStream::Look::not_yet) return false;
    if (look == memory::OwnStream::Look::failed && error == mpi_success) error = mpi().err_other;
  }
  set(From::host);
  return true;
}

// Whether a rank can leave this request in the middle: with fault tolerance, if shared memory or messages carry it out.
bool State::is_watched() const {
  if (!team::watches_faults()) return false;
  if (sends()) return true;
  if (!team->group.reach().rings || team->nodes.nodes > 1) return false;
  return carrier() == run::Carrier::inbox || carrier() == run::Carrier::rings;
}

void State::begin_fetch_if_needed() {
  const bool comes = on_host != nullptr && (persistent || !on_host->is_fetched());
  if (comes || staying_at) begin_fetch(false);
}

bool State::start() {
  if (stage() != Stage::put_off) set(Stage::queued);
  set(From::host);
  error = mpi_success;
  if (persistent) ++starts;
  begin_fetch_if_needed();
  if (queue != nullptr) queue->push_back(this);
  return go_on(run::With::mpi);
}

void State::begin_turn() {
  set(From::stream);
  set(Stage::queued);
  if (persistent) ++starts;
}

void State::start_shortly() {
  set(Stage::running);
  set(From::host);
  short_way->start();
}

bool State::go_on(run::With with) {
  if (stage() >= Stage::complete) return true;
  if (stage() == Stage::put_off) return false;
  if (stage() == Stage::moved) return tell(with);
  if (in_stream() && !turn->has_come()) return false;
  if (stage() < Stage::returning && !moves(with)) return false;
  if (on_host != nullptr && !in_stream()) {
    if (!on_host->has_finished()) return false;
    // Where the MPI bears no look for messages, the call is complete at the next one of the program's.
    if (number != 0 && with == run::With::mpi && team->nodes.nodes > 1 && !may_ask_for_progress()) return false;
    error = on_host->error();
    if (has_failed_copies(with)) error = mpi().err_other;
  }
  set(Stage::moved);
  return tell(with);
}

// True when what carries it out is done.
bool State::moves(run::With with) {
  if (with == run::With::mpi ? !has_fetched() : fetches()) return false;
  if (queue != nullptr && queue->front() != this) return false;
  if (!can_go_on(with)) return false;
  const bool watched = is_watched();
  const int fault = watched && with == run::With::mpi ? team::leave_if_faulty(*team) : mpi_success;
  // The revocation ends each message, but not at once: until then the MPI may write to the program's memory.
  if (fault != mpi_success && sends()) revoke(team->group.messages().comm);
  int now = mpi_success;
  const int thrown = fault != mpi_success && !sends() ? fault : thrown_by([&] { now = step(); });
  if (error == mpi_success) error = fault != mpi_success ? fault : thrown != mpi_success ? thrown : now;
  if (watched) error = team::error_of_step(*team, error);
  // What has thrown is in the middle of something, and nothing goes on any more.
  const bool over = thrown != mpi_success || op == nullptr || op->done();
  if (!over || (watched && error == mpi_success && team->failed_calls.left() != mpi_success)) return false;
  if (queue != nullptr) queue->pop_front();
  set(Stage::returning);
  if (in_stream()) return true;
  if (on_host != nullptr) {
    begin_finish();
  } else if (has_failed_copies(run::With::memory_alone)) {
    error = mpi().err_other;
  }
  return true;
}

// Whether a rank has told that its copies for this start have failed. With the MPI there is a look for its message.
bool State::has_failed_copies(run::With with) {
  return error == mpi_success && number != 0 &&
         team::has_failed(*team, team::number_of_start(number, starts), with == run::With::mpi);
}

// Whatever it throws: the others have what this rank sent.
void State::begin_finish() {
  const int thrown = thrown_by([&] { on_host->begin_finish(error); });
  if (thrown != mpi_success) on_host->begin_finish(thrown);
}

bool State::tell(run::With with) {
  const bool of_the_mpi = taken;
  if (of_the_mpi && with != run::With::mpi) return false;
  if (in_stream() && !api::end_turn(*this)) return false;
  stage_.store(Stage::complete, std::memory_order_release);
  // The last that is done with it: another thread, which waits in the MPI, may start it again or free it as soon as the
  // MPI knows. One that waits for the end waits in the MPI as well, after that.
  if (of_the_mpi) api::tell_the_mpi(*this);
  return true;
}

namespace {

constexpr int turns_before_yield = 4000, turns_if_crowded = 1;

// Raises an error of the request's communicator or, when that is gone, of MPI_COMM_WORLD.
int raise(const State& request, int error) {
  const bool is_of_the_mpi = request.carrier() == run::Carrier::mpi;
  if (is_of_the_mpi && static_cast<const run::NativeOp&>(*request.op).run.has_raised() && error != mpi().err_request)
    return error;
  const MpiComm comm = request.team ? request.team->user : mpi().comm_world;
  return api::raise(comm == mpi().comm_null ? mpi().comm_world : comm, error);
}
int raise(int error) { return api::raise(mpi().comm_world, error); }

// A null request, as what has been completed leaves it, is complete.
bool is_active(const State* request) { return request != nullptr && request->is_active(); }

bool is_complete(State& request) {
  return request.is_complete() || (request.is_alone() && request.go_on(run::With::mpi));
}

bool all_alone(std::span<Quadrille_Request> requests) {
  return std::ranges::all_of(requests, [](const State* request) { return !is_active(request) || request->is_alone(); });
}

bool is_crowded(std::span<Quadrille_Request> requests) {
  return std::ranges::any_of(
      requests, [](const State* request) { return request != nullptr && request->team && request->team->crowded; });
}

// The waiter of the first active request, or null. It knows how to drive the MPI.
const sys::Waiter* waiter_of(std::span<Quadrille_Request> requests) {
  const auto first = std::ranges::find_if(requests, is_active);
  return first == requests.end() ? nullptr : &(*first)->team->group.waiter;
}

// A peer may be blocked in a message of the program to this rank before it reaches the awaited call, so the MPI must
// make progress now and then. With messages in flight each look drives the MPI's progress anyway.
void drive_mpi(const sys::Waiter* waiter) {
  static constinit std::atomic<std::uint32_t> looks = 1;
  if (waiter == nullptr || waiter->progress == nullptr) return;
  const std::uint32_t look = looks.fetch_add(1, std::memory_order_relaxed);
  if (look % waiter->looks_between_progress != 0) return;
  // Each request looks for faults itself.
  static_cast<void>(thrown_by([waiter] { waiter->progress(waiter->progress_data); }));
}

// Waits until `done()`, and makes progress on all pending calls. Yields the core if peers need it.
template <class Done>
void wait_until(std::span<Quadrille_Request> requests, Done done) {
  const sys::Waiter* waiter = waiter_of(requests);
  if (waiter != nullptr && all_alone(requests)) {
    // As a blocking call waits, but with progress of the other pending calls.
    return waiter->until([&] { return done() || (run::UnderWay::here().help(), false); });
  }
  if (done()) return;
  api::go_on_with_all();
  const int turns = is_crowded(requests) ? turns_if_crowded : turns_before_yield;
  for (int turn = 0; !done(); ++turn) {
    if (turn < turns) {
      sys::pause();
    } else {
      sys::yield();
      drive_mpi(waiter);
    }
    api::go_on_with_all();
  }
}

// Tells the user that a request is complete, and what became of it. One of a nonblocking call is gone then.
int finish(Quadrille_Request& request) {
  if (!is_active(request)) return mpi_success;
  request->set_idle();
  api::sweep_turns();
  const int error = std::exchange(request->error, mpi_success);
  const int raised = error == mpi_success ? error : raise(*request, error);
  if (!request->persistent) {
    api::retire(request);
    request = QUADRILLE_REQUEST_NULL;
  }
  return raised;
}

// What Testall and Waitall ask for. One request is a list, too.
struct AllRequests {
  std::span<Quadrille_Request> requests;

  bool complete() const {
    return std::ranges::all_of(requests, [](State* request) { return !is_active(request) || is_complete(*request); });
  }
  // Returns the first error, when all have been told.
  int finish() const {
    int first = mpi_success;
    for (Quadrille_Request& request : requests) {
      if (const int error = ::finish(request); first == mpi_success) first = error;
    }
    return first;
  }
};

// What Testany and Waitany ask for. complete() writes the number of the first complete request to `index`, or
// MPI_UNDEFINED; it is true also if none is active.
struct AnyRequest {
  std::span<Quadrille_Request> requests;
  int* index;

  bool complete() const {
    bool is_any = true;
    *index = mpi().undefined;
    for (std::size_t i = 0; i < requests.size() && *index == mpi().undefined; ++i) {
      if (!is_active(requests[i])) continue;
      is_any = is_complete(*requests[i]);
      if (is_any) *index = static_cast<int>(i);
    }
    return is_any;
  }
  int finish() const {
    return *index == mpi().undefined ? mpi_success : ::finish(requests[static_cast<std::size_t>(*index)]);
  }
};

int start_one(Quadrille_Request* handle) {
  if (handle == nullptr || *handle == nullptr) return raise(mpi().err_request);
  State& request = **handle;
  if (request.is_active() || !request.persistent || api::has_turn(request)) return raise(request, mpi().err_request);
  return api::start(request);
}

template <class Asked>
int test_for(const Asked& asked, int* flag) {
  if (flag == nullptr) return raise(mpi().err_arg);
  api::go_on_with_all();
  *flag = asked.complete() ? 1 : 0;
  if (*flag != 0) return asked.finish();
  api::let_others_run(asked.requests);
  return mpi_success;
}

template <class Asked>
int wait_for(const Asked& asked) {
  wait_until(asked.requests, [&] { return asked.complete(); });
  return asked.finish();
}

int free_one(Quadrille_Request* request) {
  if (request == nullptr || *request == nullptr) return mpi_success;
  State* const state = *request;
  // Some stream may still use what the driver has refused to go on with.
  const bool is_broken = state->turn != nullptr && state->turn->is_broken;
  if (state->is_active() || (api::has_turn(*state) && !is_broken)) return raise(*state, mpi().err_request);
  *request = QUADRILLE_REQUEST_NULL;
  if (is_broken) return mpi_success;
  api::forget_turns(*state);
  record::forget_made(record::handle_of(state));
  delete state;
  return mpi_success;
}

// ---- The short way: of blocks of some bytes the rest costs as much as the exchange itself ----

// Starts the request, if it takes the short way.
bool starts_shortly(const Quadrille_Request* handle) {
  if (handle == nullptr || *handle == nullptr) return false;
  State& request = **handle;
  if (request.short_way == nullptr || request.is_active()) return false;
  request.start_shortly();
  return true;
}

// Waits for it, if it does. False also if something is to be raised.
bool waits_shortly(const Quadrille_Request* handle) {
  if (handle == nullptr || *handle == nullptr) return false;
  State& request = **handle;
  if (request.short_way == nullptr || !request.is_active() || request.error != mpi_success) return false;
  run::InboxRun& exchange = *request.short_way;
  int error = mpi_success;
  request.team->group.waiter.until([&] {
    error = exchange.advance();
    return exchange.done() || (run::UnderWay::here().help(), false);
  });
  request.end_shortly(error);
  return error == mpi_success;
}

int start(Quadrille_Request* handle, const void* site) {
  std::optional<record::Recorded> recorded;
  if (record::on) api::record_start(recorded.emplace(), handle, record::Form::started, site);
  return starts_shortly(handle) ? mpi_success : start_one(handle);
}

int start_all(std::span<Quadrille_Request> requests, const void* site) {
  for (Quadrille_Request& request : requests) {
    if (const int error = start(&request, site); error != mpi_success) return error;
  }
  return mpi_success;
}

// Does the `work` of a door with its list of requests. An invalid list raises the error `wrong`.
template <class Work>
[[gnu::always_inline]] inline int with_requests(int count, Quadrille_Request* list, int wrong, const Work& work) {
  return api::leave(api::guarded(mpi().comm_world, [&] {
    if (count < 0 || (count > 0 && list == nullptr)) return raise(wrong);
    return work(std::span(list, static_cast<std::size_t>(count)));
  }));
}

}  // namespace

void api::record_start(record::Recorded& recorded, const Quadrille_Request* handle, record::Form form,
                       const void* site) {
  if (handle == nullptr || *handle == nullptr || (*handle)->is_active()) return;
  recorded.begin_start(record::handle_of(*handle), form, site);
}

void api::go_on_with_all() { run::UnderWay::here().advance(); }

void api::wait_until_complete(std::span<Quadrille_Request> requests) {
  const AllRequests all{requests};
  wait_until(requests, [&] { return all.complete(); });
}

// A program that tests until something is done would keep its core for a whole time slice.
void api::let_others_run(std::span<Quadrille_Request> requests) {
  if (is_crowded(requests)) sys::yield();
  drive_mpi(waiter_of(requests));
}

bool api::begin(State& request) {
  if (request.is_alone()) return !request.start();
  run::UnderWay& under_way = run::UnderWay::here();
  const run::UnderWay::Held held(under_way);
  under_way.make_room();  // what is started must be gone on with
  if (request.start()) return false;
  under_way.add(request);
  api::wake_progress_thread();
  return true;
}

int api::start(Quadrille_Request_state& request) {
  if (begin(request)) {
    // A peer may need our part before it comes to what this rank waits for in the MPI next.
    const bool is_of_the_mpi = request.carrier() == run::Carrier::mpi && request.on_host == nullptr;
    if (!request.is_alone() && !is_of_the_mpi) let_the_mpi_help();
    return mpi_success;
  }
  if (request.error == mpi_success) return mpi_success;
  request.set_idle();
  return ::raise(request, std::exchange(request.error, mpi_success));
}

int api::wait_for(Quadrille_Request* request) { return ::wait_for(AllRequests{{request, 1}}); }

int Quadrille_Start(Quadrille_Request* request) {
  if (!record::on && starts_shortly(request)) [[likely]]
    return mpi_success;
  return api::leave(
      api::guarded(mpi().comm_world, [&, site = __builtin_return_address(0)] { return start(request, site); }));
}

int Quadrille_Startall(int count, Quadrille_Request requests[]) {
  const void* const site = __builtin_return_address(0);
  return with_requests(count, requests, mpi().err_arg, [&](auto all) { return start_all(all, site); });
}

int Quadrille_Test(Quadrille_Request* request, int* flag) {
  return with_requests(1, request, mpi().err_request, [&](auto one) { return test_for(AllRequests{one}, flag); });
}

int Quadrille_Testall(int count, Quadrille_Request requests[], int* flag) {
  return with_requests(count, requests, mpi().err_arg, [&](auto all) { return test_for(AllRequests{all}, flag); });
}

int Quadrille_Testany(int count, Quadrille_Request requests[], int* index, int* flag) {
  return with_requests(count, requests, mpi().err_arg, [&](auto all) {
    return index == nullptr ? api::raise(mpi().comm_world, mpi().err_arg) : test_for(AnyRequest{all, index}, flag);
  });
}

int Quadrille_Wait(Quadrille_Request* request) {
  if (waits_shortly(request)) return mpi_success;
  return with_requests(1, request, mpi().err_request, [](auto one) { return wait_for(AllRequests{one}); });
}

int Quadrille_Waitall(int count, Quadrille_Request requests[]) {
  return with_requests(count, requests, mpi().err_arg, [](auto all) { return wait_for(AllRequests{all}); });
}

int Quadrille_Waitany(int count, Quadrille_Request requests[], int* index) {
  return with_requests(count, requests, mpi().err_arg, [&](auto all) {
    return index == nullptr ? api::raise(mpi().comm_world, mpi().err_arg) : wait_for(AnyRequest{all, index});
  });
}

int Quadrille_Request_free(Quadrille_Request* request) {
  return api::leave(api::guarded(mpi().comm_world, [&] { return free_one(request); }));
}
