// Engines for data in devices' memory: `pull`, copies between the ranks' own buffers, and `pipeline`, chunks over
// memory of the host. What they cannot do goes over the host as a whole.
#include <algorithm>
#include <climits>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "api/engines.hpp"
#include "api/serve.hpp"
#include "memory/device_streams.hpp"
#include "memory/held_memory.hpp"
#include "mpi/errors.hpp"
#include "run/device_pipeline.hpp"
#include "run/device_rounds.hpp"
#include "run/engines.hpp"
#include "run/native_run.hpp"
#include "team/areas.hpp"
#include "team/config.hpp"

namespace quadrille::api {
namespace {

// Notes how a call by an algorithm for data of devices was carried out. Explains it once a communicator where the user
// wants to know.
void tell_way(Collective collective, const choose::Choice& choice, team::Team& team, const Why& how) {
  team.counted.device_way = how.reason;
  if (memory::device_driver() == nullptr || !team::explains_now(team, how.reason)) return;
  team::explain(team, collective, 0, choose::to_string(choice), how);
}

// The data of all ranks of a node go over the memory of the host, whole, and there by pairs. Returns an MPI error code.
int exchange_over_host(const run::Call& call, team::Team& team) {
  return run_over_host(call, team, choose::HostBuffers::as_suits,
                       [&](const run::Call& there) { return run::run_node(there, team.group, true); });
}

// ---- Copies between the ranks' own buffers ----

void tell_pull(Collective collective, const choose::Choice& choice, team::Team& team, bool pulled) {
  tell_way(collective, choice, team, {pulled ? Reason::pulled : Reason::not_pulled});
}

// How it is to be done, by the choice and the user's settings.
run::PullWays ways_of_pull(const choose::Choice& choice) {
  free_staging_at_end();
  return {plan::value_of(choice.parameters, "leader", 0) != 0, team::config().device_kernels};
}

}  // namespace

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

// ---- In a request ----

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
    if (pull_.pulled() || pull_.was_in_streams()) {
      phase_ = Phase::over;
      return pull_.pulled() ? pull_.error() : mpi().err_other;
    }
    prepare_instead();
  }
  if (phase_ == Phase::agreeing || phase_ == Phase::agreed) return agree();
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

// Takes memory of the host for the data and makes the exchange there. Tells the other ranks whether this rank has the
// memory for both.
void PullRequest::prepare_instead() {
  const int thrown = thrown_by([&] {
    if (memory::device_driver() != nullptr) staged_ = std::make_unique<OnHost>(call_, used_blocks(call_, team_));
    if (staged_ != nullptr && !staged_->is_needed()) staged_.reset();
    instead_ = run::node_op(staged_ != nullptr ? staged_->call() : call_, team_.group, lane_.node.inbox,
                            &lane_.node.pairs, copying_);
  });
  memory::Meeting& meeting = lane_.node.pairs.meeting();
  meeting.begin();
  meeting.come(thrown == mpi_success, 0);
  phase_ = Phase::agreeing;
}

// Goes over the host if all ranks have memory for that. The request brings back what comes, and in later starts brings
// the data of a device to the host before.
int PullRequest::agree() {
  memory::Meeting& meeting = lane_.node.pairs.meeting();
  while (!meeting.met()) {
    if (!meeting.advance()) return mpi_success;
  }
  if (phase_ == Phase::agreeing) {
    meeting.finish(meeting.all_say_so(), memory::Fenced::nothing_streamed());
    phase_ = Phase::agreed;
    return advance();
  }
  if (!meeting.all_say_so()) {
    instead_.reset();
    staged_.reset();
    phase_ = Phase::over;
    return mpi().err_no_mem;
  }
  if (staged_ != nullptr) {
    request_.on_host = std::move(staged_);
    request_.begin_fetch(true);  // as the pull has waited for the program, and not for what it has done since then
  }
  phase_ = Phase::fetching;
  return advance();
}

int PullRequest::go_through_rings(bool begins) {
  phase_ = Phase::by_rings;
  const int error = begins ? instead_->start() : instead_->advance();
  if (instead_->done()) phase_ = Phase::over;
  return error;
}

// ---- Chunks over memory of the host ----

namespace {

using Outcome = run::Pipelined::Outcome;

std::size_t number_in(const choose::Choice& choice, const char* name) {
  return static_cast<std::size_t>(plan::value_of(choice.parameters, name, 1));
}

// ---- Inside a node ----

run::Pipelined run_in_chunks(const run::Call& call, const choose::Choice& choice, team::Team& team) {
  run::PipelineWays ways{number_in(choice, "chunk"), number_in(choice, "depth"),
                         plan::value_of(choice.parameters, "leader", 0) != 0};
  const bool suits = ways.chunk == 0;
  if (suits) ways.chunk = plan::suiting_chunk(ways.depth, static_cast<std::uint64_t>(team.group.ranks));
  const std::size_t ring = ways.chunk * ways.depth, least = suits ? plan::least_suiting_chunk * ways.depth : ring;
  team::OwnChunks* const chunks = team::chunks_of(team, ring, std::min(least, ring));
  if (chunks == nullptr) return {};
  ways.chunk = std::min(ways.chunk, chunks->room.rings->ring_bytes() / ways.depth);
  return run::run_pipeline(call, team.group, chunks->room, ways);
}

// The list of more takes memory, which a call that nobody wants to know of must not need.
Why how_in_chunks(const run::Pipelined& gone, const team::Team& team) {
  if (gone.outcome != Outcome::done) return {Reason::not_pipelined};
  Why how{.reason = Reason::in_chunks, .number = static_cast<double>(gone.chunk)};
  if (gone.by_leaders && team.counted.explains) how.then.push_back({Reason::by_leaders});
  return how;
}

// ---- Between nodes ----

// What exchanges the data on the host.
auto exchange_by(Collective collective, const choose::Choice& choice, team::Team& team) {
  return [choice, on = team::prepare(team, collective, choice), &team](const run::Call& call) {
    if (const EngineWork& engine = work_of(choice); engine.run != nullptr) return engine.run(call, {choice, on}, team);
    const ErrorsReturned guard(team.own());  // they are raised when the call is over
    return run::run_native(call, team.own());
  };
}

using Offer = run::DeviceRounds::Offer;

// What the MPI's functions without large counts do not take.
bool lacks_ints(const run::Call& call) {
  const auto lacks = [](const run::Side& side) {
    return side.counts_large != nullptr || side.displacements_large != nullptr || side.count > INT_MAX;
  };
  return (!call.in_place && lacks(call.send)) || lacks(call.recv);
}

// What all ranks say. Where each rank knows the largest block, a rank that knows another one is a mistake, by which
// numbers of bytes differ.
Offer hear_all(const Offer& mine, bool sized, team::Team& team) {
  std::uint64_t largest = mine.largest;
  if (!sized) team::largest_of_all(team, {&mine.largest, 1}, {&largest, 1});
  const std::uint64_t said[] = {mine.has_device, mine.cannot, mine.never_can, mine.differs, mine.lacks_ints};
  std::uint64_t sums[std::size(said)] = {};
  team::sum_of_all(team, said, sums);
  return {largest, sums[0], sums[1], sums[2], sums[3], sums[4]};
}

// Slots of a rank take no more memory than is kept for later calls.
run::RoundWays ways_of_rounds(const choose::Choice& choice, const team::Team& team) {
  constexpr std::size_t least_depth = 2;
  const std::size_t depth = std::max(number_in(choice, "depth"), least_depth);
  const std::size_t asked = number_in(choice, "chunk"), wanted = asked != 0 ? asked : plan::suiting_piece;
  const std::size_t piece =
      plan::piece_within(wanted, depth, static_cast<std::uint64_t>(team.group.ranks), memory::Staging::least_kept);
  return {piece, depth, team::config().device_kernels};
}

// True if all ranks have made it so; then `error` says how. Else all make it in another way, and know what all have
// said.
template <class Exchange>
bool run_in_rounds(const run::Call& call, const choose::Choice& choice, const Exchange& inner, team::Team& team,
                   Offer& said, int& error) {
  std::optional<run::DeviceRounds> rounds;
  said.cannot = 1;
  if (team::OwnChunks* const own = team::streams_for_rounds(team)) {
    said = rounds.emplace(call, team.group, own->room.out, own->room.in, ways_of_rounds(choice, team)).offer();
  }
  said.lacks_ints = lacks_ints(call) ? 1 : 0;
  said = hear_all(said, is_sized(call.collective), team);
  if (!rounds || said.cannot != 0 || said.differs != 0 || said.has_device == 0) return false;
  const bool good = rounds->run(said.largest, [&](const run::Call& round) { return inner(round); });
  error = team::true_on_all(team, good) ? rounds->error() : mpi().err_other;
  return true;
}

int pipeline_between_nodes(const run::Call& call, const choose::Choice& choice, team::Team& team) {
  free_staging_at_end();
  const choose::Choice named = choose::inner_of(call.collective, choice);
  const auto inner = exchange_by(call.collective, named, team);
  Offer said;
  int error = mpi_success;
  const bool piped = run_in_rounds(call, choice, inner, team, said, error);
  if (said.never_can != 0) team::refuse_chunks(team);
  const auto in_rounds = [&] {
    return Why{.reason = Reason::in_rounds, .number = static_cast<double>(ways_of_rounds(choice, team).piece)};
  };
  tell_way(call.collective, choice, team, piped ? in_rounds() : Why{Reason::not_pipelined});
  if (piped) return error;
  if (said.lacks_ints == 0 || !choose::is_of_the_mpi(*named.algorithm))
    return run_over_host(call, team, choose::HostBuffers::kept, inner);
  return run_over_host(call, team, choose::HostBuffers::kept,
                       exchange_by(call.collective, choose::plain(call.collective, "spread-out"), team));
}

}  // namespace

int pipeline(const run::Call& call, const Service& by, team::Team& team) {
  if (team.nodes.nodes > 1) return pipeline_between_nodes(call, by.choice, team);
  const run::Pipelined gone = run_in_chunks(call, by.choice, team);
  if (gone.outcome == Outcome::never) team::refuse_chunks(team);
  tell_way(call.collective, by.choice, team, how_in_chunks(gone, team));
  if (gone.outcome == Outcome::done) return gone.error;
  return gone.outcome == Outcome::lost ? mpi().err_other : exchange_over_host(call, team);
}

bool prepare_pipeline(team::Team& team, Collective collective, const choose::Choice& choice) {
  if (team.nodes.nodes == 1) return true;
  const choose::Choice inner = choose::inner_of(collective, choice);
  const EngineWork& engine = work_of(inner);
  return engine.prepare == nullptr || engine.prepare(team, collective, inner);
}

}  // namespace quadrille::api
