// The requests that have turns in streams which are not over, and what is done when they are.
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "api/enqueue.hpp"
#include "api/requests.hpp"
#include "memory/device_waits.hpp"
#include "memory/staging.hpp"
#include "sys/sys.hpp"

namespace quadrille::api {
namespace {

struct Turns {
  std::mutex mutex;
  std::vector<State*> listed;
  std::vector<State*> broken;  // nothing of theirs is used again
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

// Forgets those that are over or broken, but for what is to be deleted: of that it returns one, or null.
State* take_over() {
  Turns& all = turns();
  const std::lock_guard lock(all.mutex);
  const run::UnderWay::Held held(run::UnderWay::here());  // another thread may give one a turn
  State* gone = nullptr;
  std::erase_if(all.listed, [&](State* request) {
    if (request->turn->is_broken) {
      all.broken.push_back(request);  // there is room
      memory::note_call_over();
      return true;
    }
    if (!is_over(*request) || (gone != nullptr && !request->persistent)) return false;
    request->turn->is_listed = false;
    memory::note_call_over();
    keep_error_of_gone(*request->team);
    if (!request->persistent) gone = request;
    return true;
  });
  return gone;
}

// One that is not over; null if there is none.
State* first_listed() {
  Turns& all = turns();
  const std::lock_guard lock(all.mutex);
  return all.listed.empty() ? nullptr : all.listed.front();
}

// What the driver has refused goes on without its streams, as the other ranks wait for it.
bool has_broken_under_way() {
  Turns& all = turns();
  const std::lock_guard lock(all.mutex);
  return std::any_of(all.broken.begin(), all.broken.end(),
                     [](const State* request) { return !request->is_complete(); });
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

void make_room_for_turns() {
  Turns& all = turns();
  const std::lock_guard lock(all.mutex);
  const std::size_t most = all.listed.size() + all.broken.size() + 1;
  for (std::vector<State*>* list : {&all.listed, &all.broken}) {
    if (list->capacity() < most) list->reserve(2 * most);
  }
}

void list_turns(State& request) {
  Turns& all = turns();
  const std::lock_guard lock(all.mutex);
  if (std::exchange(request.turn->is_listed, true)) return;
  {
    // Whoever holds this and sees no such call may wait for the device, so none is put into a stream meanwhile.
    const run::UnderWay::Held held(run::UnderWay::here());
    memory::note_call_in_stream();
  }
  all.listed.push_back(&request);  // there is room
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

int take_error_of_gone() { return turns().error_of_gone.exchange(mpi_success); }

void await_turns_at_end() {
  constexpr unsigned sleep_us = 20, looks_between_questions = 5000;
  unsigned looks = 0;
  for (sweep_turns(); const State* const request = first_listed(); sweep_turns()) {
    go_on_with_all();
    sys::sleep_us(sleep_us);
    const StreamTurn& turn = *request->turn;
    // What a device cannot do any more is not waited for.
    if (++looks % looks_between_questions == 0 && memory::is_lost(turn.place)) break;
  }
  while (has_broken_under_way()) {
    go_on_with_all();
    sys::sleep_us(sleep_us);
  }
  const bool all_over = first_listed() == nullptr;
  if (all_over && turns().broken.empty()) memory::free_words();
}

}  // namespace quadrille::api
