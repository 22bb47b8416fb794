#include "api/made_again.hpp"

#include <array>
#include <vector>

#include "api/remembered.hpp"
#include "memory/device.hpp"
#include "team/own_rings.hpp"

namespace quadrille::api {
namespace {

using State = Quadrille_Request_state;

struct Made {
  RememberedFor when;
  std::size_t count = 0;
  team::Team* team = nullptr;
};
// Two, for programs whose calls alternate between two sizes or communicators.
thread_local std::array<Made, 2> remembered_made[collective_count];

bool is_alike(const run::Call& call, const Made& last) {
  return call.recv.count == last.count && call.send.count == last.count && call.send.type == call.recv.type &&
         call.send.base != nullptr && call.recv.base != nullptr && call.recv.base != MPI_IN_PLACE &&
         last.when.is_for(call.comm, call.recv.type);
}

team::Team* recall_made(const run::Call& call) {
  if (!is_regular(call.collective) || call.in_place) return nullptr;
  for (const Made& last : remembered_made[static_cast<std::size_t>(call.collective)]) {
    if (is_alike(call, last)) return last.team;
  }
  return nullptr;
}

bool may_make(const team::Team& team, Door door) {
  if (team.lost) return false;
  return door == Door::explicit_api ||
         (team.taken.ready && !team.taken.apart && !team.taken.awaits_told.load(std::memory_order_acquire));
}

// Kept requests hold nothing of a communicator.
struct Kept {
  static constexpr std::size_t most = 64;
  std::vector<State*> requests;
};
Kept& kept() {
  static auto* list = new Kept;  // outlives all destructors
  return *list;
}

bool is_like_others(const State& request) {
  const auto* const run = std::get_if<run::InboxRun>(&request.run);
  return run != nullptr && run->is_plain() && !run->is_in_place() && !request.persistent && request.lane != nullptr &&
         request.on_host == nullptr && request.types.empty();
}

bool is_kept(State& request) {
  if (!is_like_others(request)) return false;
  request.team.reset();
  request.queue = nullptr;
  request.error = MPI_SUCCESS;
  request.set_idle();
  const run::UnderWay::Held held(run::UnderWay::here());
  std::vector<State*>& list = kept().requests;
  if (list.capacity() == 0) list.reserve(Kept::most);
  if (list.size() == Kept::most) return false;
  list.push_back(&request);
  return true;
}

State* take_kept() {
  const run::UnderWay::Held held(run::UnderWay::here());
  std::vector<State*>& list = kept().requests;
  if (list.empty()) return nullptr;
  State* const request = list.back();
  list.pop_back();
  return request;
}

}  // namespace

void retire(State* request) {
  bool keeps = false;
  thrown_by([&] { keeps = is_kept(*request); });
  if (!keeps) delete request;
}

void remember_made(const run::Call& call, team::Team& team, const State& made) {
  // A buffer of a later call may be a device's.
  if (!is_regular(call.collective) || !is_like_others(made) || team.counted.explains ||
      memory::device_driver() != nullptr) {
    return;
  }
  auto& [newest, older] = remembered_made[static_cast<std::size_t>(call.collective)];
  if (!is_alike(call, newest)) older = newest;
  newest = {RememberedFor::now(call.comm, call.recv.type), call.recv.count, &team};
}

State* made_again(const run::Call& call, Door door) {
  team::Team* const team = recall_made(call);
  if (team == nullptr || !may_make(*team, door)) return nullptr;
  State* const made = take_kept();
  if (made == nullptr) return nullptr;
  made->team = team::keep(*team);
  made->taken = door == Door::drop_in;
  made->number = 0;                // nothing is remembered where a driver is loaded
  ++team->group.turns.persistent;  // all ranks count all requests
  made->take_turn(*team->lanes);
  std::get<run::InboxRun>(made->run).take(call, team->group, made->lane->inbox.inbox);
  ++team->counted.counters.served;
  team->request_by = "inbox";
  return made;
}

}  // namespace quadrille::api
