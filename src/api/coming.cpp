#include "api/coming.hpp"

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <utility>

#include "api/admission.hpp"
#include "api/making.hpp"
#include "api/progress_thread.hpp"
#include "api/serve.hpp"
#include "api/taken.hpp"
#include "memory/device_waits.hpp"
#include "mpi/errors.hpp"
#include "mpi/progress_hook.hpp"
#include "mpi/thrown.hpp"
#include "team/apart.hpp"
#include "team/ask.hpp"
#include "team/neighbors.hpp"

namespace quadrille::api {
namespace {

using Stage = team::Team::Taken::Stage;
using run::With;
using team::Arrival;
using team::Team;

std::atomic<int> under_way_now = 0;

// What nobody knew of a call when it was started. After an error it comes to its end.
void carry_out(const run::Call& call, Team& team, State& request, int error) {
  const memory::MustNotWait under_a_lock;
  if (error == mpi_success) {
    const Serving guard;
    Making m{call, {Door::drop_in, record::Form::nonblocking}, team, request};
    error = find_carrier(m);
    if (m.passes_on) error = mpi().err_other;  // nobody can any more
  }
  request.error = error;
  request.carry();
}

class Coming final : public team::Arrival {
 public:
  explicit Coming(Team& team) : team_(team) { ++under_way_now; }
  ~Coming() override { --under_way_now; }

  bool go_on(With with) override;
  bool can_go_on(With with) const override { return with == With::mpi; }
  void put_off(const run::Call& call, State& request, const BlockNumbers& blocks) {
    calls_.emplace_back(call, blocks.send, blocks.recv);
    requests_.push_back(&request);
  }

  void arrive() override { arrive(mpi_success); }

  std::array<std::byte, team::told_bytes> told;
  MpiRequest broadcast{};

 private:
  // What was told is there. The team may be gone when this has been called, and the next go_on() is the last.
  void arrive(int error);

  Team& team_;
  std::shared_ptr<Arrival> self_;  // from its arrival on
  std::deque<run::StoredCall> calls_;
  std::deque<State*> requests_;
};

bool Coming::go_on(With with) {
  if (with != With::mpi) return false;
  int there = 0;
  const int error = test_one(&broadcast, &there);
  if (error == mpi_success && there == 0) return false;
  if (self_ == nullptr) arrive(error);
  const std::shared_ptr<Arrival> self = std::move(self_);
  return true;
}

void Coming::arrive(int error) {
  self_ = std::move(team_.taken.coming);
  if (team_.taken.now() == Stage::awaiting && error == mpi_success) {
    error = thrown_by([&] { team::prepare_apart(team_, {told, false}); });
  }
  if (error != mpi_success) team::mark_lost(team_);
  // In the order in which they were made, as on all ranks.
  for (; !requests_.empty(); requests_.pop_front(), calls_.pop_front()) {
    carry_out(calls_.front().call(), team_, *requests_.front(), error);
  }
  // A call of another thread, which is put off until now, comes after these.
  team_.taken.stage.store(Stage::received, std::memory_order_release);
}

}  // namespace

void begin_to_tell(Team& team) {
  auto coming = std::make_shared<Coming>(team);
  team.taken.stage = Stage::unavailable;  // if anything throws
  run::UnderWay& under_way = run::UnderWay::here();
  {
    const run::UnderWay::Held held(under_way);
    under_way.make_room();
  }
  const bool tells = team.group.me == 0;
  if (tells) team::prepare_apart(team, {coming->told, true});
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
}

bool start_put_off(Team& team, const run::Call& call, MpiRequest* request, int& error) {
  if (is_neighbor(call.collective) &&
      (why_no_neighbors(team) != Reason::none || team::neighbors_of(team)->checks_sizes())) {
    return false;
  }
  auto made = std::make_unique<State>();
  made->team = team::keep(team);
  made->taken = true;
  made->put_off();
  run::Call kept = call;
  error = keep_types(kept, team, *made);
  if (error != mpi_success) return true;
  State& state = *made.release();
  error = make_and_take(&state, request);
  const run::UnderWay::Held held(run::UnderWay::here());
  if (team.taken.coming != nullptr) {
    static_cast<Coming&>(*team.taken.coming).put_off(kept, state, blocks_of(kept, team));
    return true;
  }
  // What was told came after the request was listed: the thread found nothing to do for it, and may sleep.
  carry_out(kept, team, state, team.lost ? mpi().err_other : mpi_success);
  wake_progress_thread();
  return true;
}

void await_told_on(MpiComm comm) {
  if (under_way_now == 0 || is_serving() || !mpi().usable) return;
  static_cast<void>(thrown_by([comm] {
    if (Team* const team = team::find_team(comm); team != nullptr) team::await_told(*team);
  }));
}

void await_all_told() {
  while (under_way_now != 0) run::UnderWay::here().advance();
}

}  // namespace quadrille::api
