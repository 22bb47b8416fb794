// The requests that have turns in streams which are not over, and what is done when they are.
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "api/enqueue.hpp"
#include "api/requests.hpp"
#include "memory/staging.hpp"
#include "sys/sys.hpp"

namespace quadrille::api {
namespace {

using State = Quadrille_Request_state;

struct Turns {
  std::mutex mutex;
  std::vector<State*> listed;
  std::vector<State*> broken;  // nothing of theirs is used again
  std::vector<State*> over;    // in a sweep
  std::atomic<int> error_of_gone = MPI_SUCCESS;
};
Turns& turns() {
  static auto* const made = new Turns;  // outlives all destructors
  return *made;
}

bool is_over(const State& request) {
  return request.complete.load(std::memory_order_acquire) && request.turn->is_over();
}

// Nobody can ask for it any more.
void keep_error_of_gone(team::Team& team) {
  if (team.user != mpi().comm_null) return;
  const int error = team.enqueue_error.exchange(MPI_SUCCESS);
  int none = MPI_SUCCESS;
  if (error != MPI_SUCCESS) turns().error_of_gone.compare_exchange_strong(none, error);
}

// Under the mutex.
void unlist_those_over(Turns& all) {
  const run::UnderWay::Held held(run::UnderWay::here());  // another thread may give one a turn
  std::erase_if(all.listed, [&](State* request) {
    if (request->turn->is_broken) {
      all.broken.push_back(request);
      return true;
    }
    if (!is_over(*request)) return false;
    request->turn->is_listed = false;
    keep_error_of_gone(*request->team);
    if (!request->persistent) all.over.push_back(request);
    return true;
  });
}

// One that is not over; null if there is none.
State* first_listed() {
  Turns& all = turns();
  const std::lock_guard lock(all.mutex);
  return all.listed.empty() ? nullptr : all.listed.front();
}

}  // namespace

bool has_turn(const State& request) {
  return request.turn != nullptr && request.turn->words != nullptr && !is_over(request);
}

void forget_turns(State& request) {
  if (request.turn == nullptr) return;
  Turns& all = turns();
  const std::lock_guard lock(all.mutex);
  std::erase(all.listed, &request);
  keep_error_of_gone(*request.team);
}

void make_room_for_turns() {
  Turns& all = turns();
  const std::lock_guard lock(all.mutex);
  const std::size_t most = all.listed.size() + all.broken.size() + 1;
  for (std::vector<State*>* list : {&all.listed, &all.broken, &all.over}) {
    if (list->capacity() < most) list->reserve(2 * most);
  }
}

void list_turns(State& request) {
  Turns& all = turns();
  const std::lock_guard lock(all.mutex);
  if (std::exchange(request.turn->is_listed, true)) return;
  all.listed.push_back(&request);  // there is room
}

void sweep_turns() {
  Turns& all = turns();
  const std::lock_guard lock(all.mutex);
  if (all.listed.empty()) return;
  unlist_those_over(all);
  {
    const memory::KeepsAllStaging keeps;
    for (State* request : all.over) delete request;
  }
  all.over.clear();
  if (all.listed.empty()) memory::trim_staging();
}

int take_error_of_gone() { return turns().error_of_gone.exchange(MPI_SUCCESS); }

void await_turns_at_end() {
  constexpr unsigned sleep_us = 20, looks_between_questions = 5000;
  unsigned looks = 0;
  for (sweep_turns(); const State* const request = first_listed(); sweep_turns()) {
    go_on_with_all();
    sys::sleep_us(sleep_us);
    const StreamTurn& turn = *request->turn;
    // What a device cannot do any more is not waited for.
    if (++looks % looks_between_questions == 0 && memory::is_lost(*turn.driver, turn.place)) break;
  }
  const bool all_over = first_listed() == nullptr;
  if (all_over && turns().broken.empty()) memory::free_words();
}

}  // namespace quadrille::api
