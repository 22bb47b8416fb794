#include "api/pull.hpp"

#include <optional>
#include <utility>

#include "api/engines.hpp"
#include "api/enqueue.hpp"
#include "api/requests.hpp"
#include "api/serve.hpp"
#include "memory/device_streams.hpp"
#include "memory/device_waits.hpp"
#include "run/engines.hpp"
#include "team/config.hpp"

namespace quadrille::api {
namespace {

void tell_pull(Collective collective, const choose::Choice& choice, team::Team& team, bool pulled) {
  tell_way(collective, choice, team, {pulled ? Reason::pulled : Reason::not_pulled});
}

// How it is to be done, by the choice and the user's settings.
run::PullWays ways_of_pull(const choose::Choice& choice) {
  free_staging_at_end();
  return {plan::value_of(choice.parameters, "leader", 0) != 0, team::config().device_kernels};
}

}  // namespace

void tell_way(Collective collective, const choose::Choice& choice, team::Team& team, const Why& how) {
  team.counted.device_way = how.reason;
  if (memory::device_driver() == nullptr || !team::explains_now(team, how.reason)) return;
  team::explain(team, collective, 0, choose::to_string(choice), how);
}

int exchange_over_host(const run::Call& call, team::Team& team) {
  return run_over_host(call, team, choose::HostBuffers::as_suits,
                       [&](const run::Call& there) { return run::run_node(there, team.group, true); });
}

int pull(const run::Call& call, const Service& by, team::Team& team) {
  // What nonblocking calls need for that is made here, as they may not wait.
  const bool has_lanes = team.nodes.nodes == 1 && team.group.reach().rings;
  if (team.taken.now() == team::Team::Taken::Stage::ready && has_lanes) team::prepare_pull_lanes(team);
  sweep_turns();  // what is pending no more does not keep it from opening memory
  run::DevicePull by_copies(call, team.group, {team.group.pairs, *team.group.sharing}, ways_of_pull(by.choice));
  const bool pulled = by_copies.run();
  tell_pull(call.collective, by.choice, team, pulled);
  return pulled ? by_copies.error() : exchange_over_host(call, team);
}

// ---- As a request ----

PullRequest::PullRequest(const run::Call& call, Quadrille_Request_state& request, team::Team& team, team::Lane& lane,
                         const choose::Choice& choice)
    : call_(call),
      request_(request),
      team_(team),
      lane_(lane),
      copying_(team.group.copying),
      pull_(call_, team.group, {lane.node.pairs, *lane.pull->sharing, lane.pull->stream.get()}, ways_of_pull(choice)),
      choice_(choice) {}

bool PullRequest::prepare() {
  const bool can = pull_.prepare();
  tell_pull(call_.collective, choice_, team_, can);
  return can;
}

int PullRequest::start() {
  if (instead_ != nullptr) return go_through_rings(true);  // a persistent one that has failed to pull
  const memory::MustNotWait guard;
  phase_ = Phase::pulling;
  if (request_.in_stream()) {
    pull_.begin_in_stream(*request_.turn);
  } else {
    pull_.begin();
  }
  return advance();
}

Reason PullRequest::why_not_in_stream(const memory::DevicePlace& place) const {
  if (instead_ != nullptr) return Reason::pull_failed;
  if (!pull_.can_be_in_stream()) return Reason::several_launches;
  return pull_.has_place() && !pull_.place().has_stream_of(place) ? Reason::another_context : Reason::none;
}

bool PullRequest::copy_in(void* stream) {
  using memory::Word;
  if (!pull_.copies_in_stream()) return true;
  const memory::StreamTurn& turn = *request_.turn;
  return memory::wait_in_stream(stream, *turn.words, Word::go, turn.last) && pull_.copy_in(stream) &&
         memory::write_in_stream(stream, *turn.words, Word::copied, turn.last);
}

int PullRequest::advance() {
  const memory::MustNotWait guard;
  if (phase_ == Phase::pulling) {
    if (!goes_on()) return mpi_success;
    tell_pull(call_.collective, choice_, team_, pull_.pulled());
    if (!pull_.pulled() && !pull_.was_in_streams()) return go_over_host();
    phase_ = Phase::over;
    return pull_.pulled() ? pull_.error() : mpi().err_other;
  }
  if (phase_ == Phase::fetching) return request_.has_fetched() ? go_through_rings(true) : mpi_success;
  return phase_ == Phase::by_rings ? go_through_rings(false) : mpi_success;
}

// Pulls as far as it can without waiting; true if it is done. A capture of the program is not disturbed.
bool PullRequest::goes_on() {
  std::optional<memory::BesideCapture> beside;
  if (!request_.in_stream()) beside.emplace();
  while (!pull_.done()) {
    if (!pull_.advance()) return false;
  }
  return true;
}

// The request brings back what comes, and in later starts the data of a device to the host before.
int PullRequest::go_over_host() {
  const run::Call* on = &call_;
  if (memory::device_driver() != nullptr) {
    auto on_host = std::make_unique<OnHost>(call_, used_blocks(call_, team_));
    if (on_host->is_needed()) {
      request_.on_host = std::move(on_host);
      request_.begin_fetch(true);  // as the pull has waited for the program, and not for what it has done since then
      on = &request_.on_host->call();
    }
  }
  instead_ = run::node_op(*on, team_.group, lane_.node.inbox, &lane_.node.pairs, copying_);
  phase_ = Phase::fetching;
  return advance();
}

int PullRequest::go_through_rings(bool begins) {
  phase_ = Phase::by_rings;
  const int error = begins ? instead_->start() : instead_->advance();
  if (instead_->done()) phase_ = Phase::over;
  return error;
}

}  // namespace quadrille::api
