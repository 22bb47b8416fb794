// Calls that take their place in a stream of a device: Quadrille_Alltoall_enqueue and the like. The host waits for
// nothing.
//
// At the call, in the order in which the ranks call: the request is made that carries it out on pinned memory of the
// host, with its tag and its turn on a lane, but it does not begin. Into the stream go, in this order:
//   copies of what is sent to the host; `ready` is written; a wait for `done`; copies of what was received to the
//   device; `over` is written
// A persistent request whose ranks copy from each other's memory of a device (PullRequest) has, instead of the
// copies to the host and back, those copies behind a wait of their own: for the word `go`, which the host writes when
// all ranks have come.
//
// The progress thread sees `ready`, starts the request, makes progress on it, and writes `done` when it is complete.
// The thread never calls the driver. The request's memory is taken back when `over` is seen, by a later call that
// enqueues.
//
// Whether a rank can do so is its own affair (why_it_waits()): where it cannot, it makes the same request, and waits
// for the stream and for the request on the host. So the others need not know.
#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "api/doors.hpp"
#include "api/engines.hpp"
#include "memory/device_streams.hpp"
#include "sys/sys.hpp"
#include "team/record.hpp"

namespace quadrille::api {
namespace {

using memory::StreamTurn;
using memory::Word;
using team::Team;

// ---- The requests that have turns in streams which are not over, and what is done when they are ----

struct Turns {
  std::mutex mutex;
  std::vector<State*> listed;  // broken ones stay: nothing of theirs is used again
  std::atomic<int> error_of_gone = mpi_success;
};
Turns& turns() { return sys::immortal<Turns>(); }

bool is_over(const State& request) { return request.is_complete() && request.turn->is_over(); }

// Nobody can ask for it any more.
void keep_error_of_gone(team::Team& team) {
  if (team.user != mpi().comm_null) return;
  const int error = team.enqueue_error.exchange(mpi_success);
  int none = mpi_success;
  if (error != mpi_success) turns().error_of_gone.compare_exchange_strong(none, error);
}

// Forgets those that are over, but for what is to be deleted: of that it returns one, or null.
State* take_over() {
  Turns& all = turns();
  const std::lock_guard lock(all.mutex);
  const run::UnderWay::Held held(run::UnderWay::here());  // another thread may give one a turn
  State* gone = nullptr;
  std::erase_if(all.listed, [&](State* request) {
    if (!is_over(*request) || (gone != nullptr && !request->persistent)) return false;
    memory::note_call_over();
    keep_error_of_gone(*request->team);
    if (!request->persistent) gone = request;
    return true;
  });
  return gone;
}

// The first of them that is so; null if there is none.
State* find_turn(bool (*is)(const State*)) {
  Turns& all = turns();
  const std::lock_guard lock(all.mutex);
  const auto first = std::ranges::find_if(all.listed, is);
  return first == all.listed.end() ? nullptr : *first;
}

bool is_in_streams(const State* one) { return !one->turn->is_broken; }
// A start that the driver has refused makes progress without its streams: the other ranks wait for it.
bool is_broken_under_way(const State* one) { return one->turn->is_broken && !one->is_complete(); }

// Room for one more. Throws std::bad_alloc.
void make_room_for_turns() {
  Turns& all = turns();
  const std::lock_guard lock(all.mutex);
  const std::size_t most = all.listed.size() + 1;
  if (all.listed.capacity() < most) all.listed.reserve(2 * most);
}

void list_turns(State& request) {
  Turns& all = turns();
  const std::lock_guard lock(all.mutex);
  if (std::ranges::find(all.listed, &request) != all.listed.end()) return;
  {
    // Whoever holds this and sees no such call may wait for the device, so none is put into a stream meanwhile.
    const run::UnderWay::Held held(run::UnderWay::here());
    memory::note_call_in_stream();
  }
  all.listed.push_back(&request);  // there is room
}

// Waits in MPI_Finalize until all are over.
void await_turns_at_end() {
  constexpr unsigned sleep_us = 20, looks_between_questions = 5000;
  unsigned looks = 0;
  for (sweep_turns(); const State* const request = find_turn(is_in_streams); sweep_turns()) {
    go_on_with_all();
    sys::sleep_us(sleep_us);
    const StreamTurn& turn = *request->turn;
    // What a device cannot do any more is not waited for.
    if (++looks % looks_between_questions == 0 && memory::is_lost(turn.place)) break;
  }
  while (find_turn(is_broken_under_way) != nullptr) {
    go_on_with_all();
    sys::sleep_us(sleep_us);
  }
  if (turns().listed.empty()) memory::free_words();
}

// ---- Whether a call can be in a stream ----

PullRequest* pull_of(const State& request) {
  return request.carrier() == run::Carrier::pull ? &static_cast<PullOp&>(*request.op).run : nullptr;
}

// That of the stream or, if this thread has none current, of the buffers.
memory::DevicePlace place_for(const State& request, void* stream) {
  const memory::DevicePlace place = memory::place_of_stream(stream);
  if (place.context != nullptr || place.device >= 0) return place;
  if (const PullRequest* const pull = pull_of(request)) return pull->place();
  return request.on_host == nullptr ? place : request.on_host->place();
}

// None: what carries it out can do so in a stream.
Reason why_its_run_waits(const State& request, const memory::DevicePlace& place) {
  if (const PullRequest* const pull = pull_of(request)) return pull->why_not_in_stream(place);
  if (request.staying_at) return Reason::received_on_device;
  if (request.on_host == nullptr) return Reason::none;
  if (!request.on_host->is_pinned()) return Reason::no_pinned_memory;
  return request.on_host->is_at(place) ? Reason::none : Reason::another_context;
}

// None: it goes in the stream, and has words. Else why it does not; a fact of this rank alone.
Reason why_it_waits(State& request, void* stream, const memory::DevicePlace& place) {
  if (memory::device_driver() == nullptr) return Reason::no_driver;
  if (!start_progress_thread()) return Reason::no_thread;
  if (const Reason why = why_its_run_waits(request, place); why != Reason::none) return why;
  StreamTurn& turn = *request.turn;
  if (turn.is_broken) return Reason::driver_refused;
  if (turn.words != nullptr) return Reason::none;
  const memory::AtDevice at(place);
  thrown_by([&] { turn.words = memory::take_words(place, stream); });
  if (turn.words == nullptr) return Reason::streams_cannot_wait;
  turn.now = turn.last = turn.words->over.load(std::memory_order_relaxed);
  for (std::atomic<std::uint32_t>* unused : {&turn.words->go, &turn.words->copied}) unused->store(turn.last);
  return Reason::none;
}

// ---- In the stream ----

// What may throw is done before the other ranks can wait for this one.
void prepare_turns(State& request) {
  if (request.turn == nullptr) request.turn = std::make_unique<StreamTurn>();
  make_room_for_turns();
  run::UnderWay& under_way = run::UnderWay::here();
  const run::UnderWay::Held held(under_way);
  under_way.make_room();
}

// From here on the request begins as soon as the stream has come to it.
void take_turn(State& request) {
  StreamTurn& turn = *request.turn;
  run::UnderWay& under_way = run::UnderWay::here();
  const run::UnderWay::Held held(under_way);
  under_way.make_room();
  ++turn.last;
  if (!request.is_complete()) return;  // it goes on with this one when those before are done
  turn.now = turn.last;
  request.error = mpi_success;
  request.begin_turn();
  if (request.queue != nullptr) request.queue->push_back(&request);
  under_way.add(request);
}

// The driver has refused part of a turn. Nothing of the request may be left in its streams, now and while the others
// copy from this rank's memory: so the host waits, as it does where nothing can be put into a stream. `moves`: all that
// moves data is in the stream.
void settle(State& request, void* stream, bool moves) {
  StreamTurn& turn = *request.turn;
  const auto until = [&](const std::atomic<std::uint32_t>& word, std::uint32_t number) {
    constexpr unsigned looks_between_questions = 5000;
    for (unsigned looks = 1; word.load(std::memory_order_acquire) != number; ++looks) {
      if (looks % looks_between_questions == 0 && memory::is_lost(turn.place)) return;
      go_on_with_all();
      sys::yield();
    }
  };
  memory::wait_for_stream(stream);
  until(turn.words->over, turn.last - 1);
  if (moves) until(turn.words->done, turn.last);
}

// The other ranks wait for this one.
void go_without_stream(State& request) {
  Turns& all = turns();
  const std::lock_guard lock(all.mutex);
  const run::UnderWay::Held held(run::UnderWay::here());
  request.turn->is_broken = true;
  if (std::ranges::find(all.listed, &request) != all.listed.end()) memory::note_call_over();
  // Turns before this one have not come yet, and go on all the same.
  if (request.turn->now != request.turn->last) request.error = mpi().err_other;
}

// Before the others can see that it has come, and behind that. False if the driver refuses.
bool bring(State& request, void* stream) {
  if (PullRequest* const pull = pull_of(request)) return pull->pack_in(stream);
  return request.on_host == nullptr || request.on_host->fetch_in(stream);
}
bool copy(State& request, void* stream) {
  PullRequest* const pull = pull_of(request);
  return pull == nullptr || pull->copy_in(stream);
}

int put_into_stream(State& request, void* stream, const memory::DevicePlace& place) {
  StreamTurn& turn = *request.turn;
  const memory::StreamWords& words = *turn.words;
  take_turn(request);
  list_turns(request);
  turn.place = place;
  const std::uint32_t number = turn.last;
  const memory::AtDevice at(place);
  // Another stream may have the turn before this one.
  const bool is_first = words.over.load(std::memory_order_acquire) == number - 1;
  const bool comes = (is_first || memory::wait_in_stream(stream, words, Word::over, number - 1)) &&
                     bring(request, stream) && memory::write_in_stream(stream, words, Word::ready, number);
  const bool moves = comes && copy(request, stream);
  const bool waits = moves && memory::wait_in_stream(stream, words, Word::done, number);
  const bool returns = waits && (request.on_host == nullptr || request.on_host->finish_in(stream));
  const bool ends = waits && memory::write_in_stream(stream, words, Word::over, number);
  wake_progress_thread();
  if (!ends) {
    settle(request, stream, moves);
    go_without_stream(request);
    wake_progress_thread();
  }
  return returns && ends ? mpi_success : mpi().err_other;
}

// ---- On the host ----

int wait_on_host(State& request, void* stream, const memory::DevicePlace& place) {
  bool refused = false;
  if (place.context != nullptr || place.device >= 0) {
    const memory::AtDevice at(place);
    refused = !memory::wait_for_stream(stream);
  }
  // Earlier turns come first.
  while (!request.is_complete() || (has_turn(request) && !request.turn->is_broken)) {
    go_on_with_all();
    sys::yield();
  }
  State* waited = &request;
  if (begin(request)) wait_until_complete({&waited, 1});
  request.set_idle();
  const int error = std::exchange(request.error, mpi_success);
  return error == mpi_success && refused ? mpi().err_other : error;
}

// By either way. `owned` is the request, if it is nobody else's.
int carry_out_in_order(std::unique_ptr<State>& owned, State& request, void* stream) {
  team::before_end(team::AtEnd::turns, await_turns_at_end);
  free_staging_at_end();
  memory::DevicePlace place;
  if (memory::device_driver() != nullptr) place = place_for(request, stream);
  const Reason why = why_it_waits(request, stream, place);
  if (why == Reason::none) {
    const int error = put_into_stream(request, stream, place);
    static_cast<void>(owned.release());  // it is listed
    return error;
  }
  if (request.team->counted.explains) {
    team::say_once(fmt::format("enqueued calls wait on the host: {}", text::words_of({why})));
  }
  return wait_on_host(request, stream, place);
}

// ---- What is wrong ----

int wrong_with(void* stream) {
  if (memory::device_driver() == nullptr) return mpi_success;
  return memory::is_usable_stream(stream) ? mpi_success : mpi().err_arg;
}

// An error of earlier calls is told by the next one, which takes part all the same. It is looked for when the call
// begins: what goes wrong in this one while it is made is the next one's to tell, as if it had gone wrong later.
int earlier_error(Team& team) { return team.enqueue_error.exchange(mpi_success); }

int told(Team& team, int error, int earlier) {
  if (error == mpi_success) error = earlier;
  const MpiComm comm = team.user == mpi().comm_null ? mpi().comm_world : team.user;
  return error == mpi_success ? error : raise(comm, error);
}

int try_to_enqueue(const run::Call& call, void* stream) {
  if (!mpi().usable) return raise(call.comm, mpi().err_other);
  Team* const team = team::team_of(call.comm);
  if (team == nullptr || is_inter(call.comm)) return raise(call.comm, mpi().err_comm);
  if (const int error = wrong_with(stream); error != mpi_success) return raise(call.comm, error);
  if (is_refused(call, *team)) return raise(call.comm, mpi().err_arg);
  const memory::BesideCapture beside;  // a capture of another stream than the call's is not disturbed by it
  prepare_progress();
  sweep_turns();
  const int earlier = earlier_error(*team);
  auto made = std::make_unique<State>(*team, false, false);
  prepare_turns(*made);
  if (record::on) record::by("quadrille");
  Making m{call, {Door::explicit_api, record::Form::enqueued}, *team, *made};
  int error = find_carrier(m);
  if (record::on && error == mpi_success) record::by(to_string(team->request_by));
  if (error == mpi_success && made->op != nullptr) error = carry_out_in_order(made, *made, stream);
  return told(*team, error, earlier);
}

int try_to_start(Quadrille_Request* handle, void* stream) {
  if (handle == nullptr || *handle == nullptr) return raise(mpi().comm_world, mpi().err_request);
  State& request = **handle;
  const int error = request.is_active() || !request.persistent ? mpi().err_request : wrong_with(stream);
  if (error != mpi_success) return told(*request.team, error, earlier_error(*request.team));
  const memory::BesideCapture beside;
  sweep_turns();
  const int earlier = earlier_error(*request.team);
  prepare_turns(request);
  request.be_listed();
  std::unique_ptr<State> nobody;
  return told(*request.team, carry_out_in_order(nobody, request, stream), earlier);
}

// Collective in the order of the calls on the communicator. What is wrong is raised, also with earlier ones.
int enqueue(const run::Call& call, void* stream, const void* site) {
  std::optional<record::Recorded> recorded;
  if (record::on) recorded.emplace().begin(call, record::Form::enqueued, site);
  return guarded(call.comm, [&] { return try_to_enqueue(call, stream); });
}

int start_in_stream(Quadrille_Request* request, void* stream, const void* site) {
  std::optional<record::Recorded> recorded;
  if (record::on) record_start(recorded.emplace(), request, record::Form::enqueued, site);
  return guarded(mpi().comm_world, [&] { return try_to_start(request, stream); });
}

int enqueue_status(MpiComm comm) {
  return guarded(comm, [&] {
    if (!mpi().usable) return raise(comm, mpi().err_other);
    Team* const team = team::team_of(comm);
    if (team == nullptr) return raise(comm, mpi().err_comm);
    const memory::BesideCapture beside;
    sweep_turns();
    const int of_gone = comm == mpi().comm_world ? turns().error_of_gone.exchange(mpi_success) : mpi_success;
    return told(*team, of_gone, earlier_error(*team));
  });
}

}  // namespace

bool has_turn(const State& request) {
  if (request.turn == nullptr || request.turn->words == nullptr || is_over(request)) return false;
  if (!request.turn->is_over()) return true;
  // The streams have passed all turns. The thread that let the last one go on may be about to say that it is complete,
  // and holds this until it has.
  const run::UnderWay::Held held(run::UnderWay::here());
  return !is_over(request);
}

void forget_turns(State& request) {
  if (request.turn == nullptr) return;
  Turns& all = turns();
  const std::lock_guard lock(all.mutex);
  if (std::erase(all.listed, &request) > 0) memory::note_call_over();
  keep_error_of_gone(*request.team);
}

void sweep_turns() {
  if (memory::any_call_in_stream()) {
    // Outside of the lock: with the last request of a communicator that was freed its own communicators go.
    const memory::MustNotWait guard;
    while (const State* const gone = take_over()) delete gone;
  }
  memory::give_back_late();
  memory::trim_staging();
}

bool end_turn(State& request) {
  StreamTurn& turn = *request.turn;
  int none = mpi_success;
  if (request.error != mpi_success) request.team->enqueue_error.compare_exchange_strong(none, request.error);
  request.error = mpi_success;
  turn.words->done.store(turn.now, std::memory_order_release);
  if (turn.now == turn.last) return true;
  ++turn.now;
  request.begin_turn();
  return false;
}

}  // namespace quadrille::api

using namespace quadrille;

// The stream comes before the communicator, which is the last of all lists of arguments.
#define QUADRILLE_STREAM_AND_COMM void *stream, MpiComm
#define QUADRILLE_ENQUEUE(collective, Name, FORM)                                                                 \
  int Quadrille_##Name##_enqueue(QUADRILLE_LIST_##FORM(int, int, QUADRILLE_STREAM_AND_COMM, MpiType, MpiTypes)) { \
    return api::leave(api::enqueue(api::call_of(Collective::collective, QUADRILLE_ARGUMENTS_##FORM), stream,      \
                                   __builtin_return_address(0)));                                                 \
  }
QUADRILLE_ENQUEUE(alltoall, Alltoall, UNIFORM)
QUADRILLE_ENQUEUE(alltoallv, Alltoallv, VECTOR)
QUADRILLE_ENQUEUE(alltoallw, Alltoallw, TYPED)

int Quadrille_Start_enqueue(Quadrille_Request* request, void* stream) {
  return api::leave(api::start_in_stream(request, stream, __builtin_return_address(0)));
}

int Quadrille_Enqueue_status(MpiComm comm) { return api::leave(api::enqueue_status(given(comm))); }
