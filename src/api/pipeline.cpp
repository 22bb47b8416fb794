#include <algorithm>
#include <climits>
#include <cstdint>
#include <iterator>

#include "api/engines.hpp"
#include "api/pull.hpp"
#include "api/serve.hpp"
#include "memory/staging.hpp"
#include "mpi/errors.hpp"
#include "run/device_pipeline.hpp"
#include "run/device_rounds.hpp"
#include "run/native_run.hpp"
#include "team/ask.hpp"
#include "team/config.hpp"
#include "team/own_rings.hpp"

namespace quadrille::api {
namespace {

using Outcome = run::Pipelined::Outcome;

std::size_t number_in(const choose::Choice& choice, const char* name) {
  return static_cast<std::size_t>(plan::value_of(choice.parameters, name, 1));
}

team::DeviceWay way_of(bool piped) { return piped ? team::DeviceWay::pipelined : team::DeviceWay::not_pipelined; }

// ---- Inside a node ----

// How a call has gone.
struct InChunks {
  run::Pipelined piped = {};
  std::size_t chunk = 0;
};

InChunks run_in_chunks(const run::Call& call, const choose::Choice& choice, team::Team& team) {
  run::PipelineWays ways{number_in(choice, "chunk"), number_in(choice, "depth"),
                         plan::value_of(choice.parameters, "leader", 0) != 0};
  const bool suits = ways.chunk == 0;
  if (suits) ways.chunk = plan::suiting_chunk(ways.depth, static_cast<std::uint64_t>(team.group.ranks));
  const std::size_t ring = ways.chunk * ways.depth, least = suits ? plan::least_suiting_chunk * ways.depth : ring;
  team::OwnChunks* const chunks = team::chunks_of(team, ring, std::min(least, ring));
  if (chunks == nullptr) return {};
  ways.chunk = std::min(ways.chunk, chunks->rings->ring_bytes() / ways.depth);
  const run::PipelineMeans means{team.group.pairs, *team.group.sharing, *chunks->rings,
                                 chunks->out,      chunks->in,          *chunks->room};
  return {run::run_pipeline(call, team.group, means, ways), ways.chunk};
}

Why how_in_chunks(const InChunks& gone) {
  if (gone.piped.outcome != Outcome::done) return {Reason::not_pipelined};
  Why how{.reason = Reason::in_chunks, .number = static_cast<double>(gone.chunk)};
  if (gone.piped.by_leaders) how.then.push_back({Reason::by_leaders});
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

// What the MPI's functions without large counts take.
bool has_ints(const run::Call& call) {
  for (const run::Side* side : {&call.send, &call.recv}) {
    if (side == &call.send && call.in_place) continue;
    if (side->counts_large != nullptr || side->displacements_large != nullptr || side->count > INT_MAX) return false;
  }
  return true;
}

// What all ranks say.
struct Said {
  run::DeviceRounds::Offer offer;
  bool ints = true;
};

// Where each rank knows the largest block, a rank that knows another one is a mistake, by which numbers of bytes
// differ.
Said hear_all(const Said& mine, bool sized, team::Team& team) {
  const auto& [offer, ints] = mine;
  Said all = mine;
  if (!sized) team::largest_of_all(team, {&offer.largest, 1}, {&all.offer.largest, 1});
  const std::uint64_t said[] = {offer.has_device, offer.cannot, offer.never_can, offer.differs, ints ? 0U : 1U};
  std::uint64_t sums[std::size(said)] = {};
  team::sum_of_all(team, said, sums);
  all.offer = {all.offer.largest, sums[0], sums[1], sums[2], sums[3]};
  all.ints = sums[4] == 0;
  return all;
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
                   Said& said, int& error) {
  said = {{}, has_ints(call)};
  team::OwnChunks* const streams = team::streams_for_rounds(team);
  if (streams == nullptr) {
    said.offer.cannot = 1;
    said = hear_all(said, is_sized(call.collective), team);
    return false;
  }
  run::DeviceRounds rounds(call, team.group, streams->out, streams->in, ways_of_rounds(choice, team));
  said.offer = rounds.offer();
  said = hear_all(said, is_sized(call.collective), team);
  if (said.offer.cannot != 0 || said.offer.differs != 0 || said.offer.has_device == 0) return false;
  const bool good = rounds.run(said.offer.largest, [&](const run::Call& round) { return inner(round); });
  error = team::true_on_all(team, good) ? rounds.error() : mpi().err_other;
  return true;
}

int pipeline_between_nodes(const run::Call& call, const choose::Choice& choice, team::Team& team) {
  free_staging_at_end();
  const choose::Choice named = choose::inner_of(call.collective, choice);
  const auto inner = exchange_by(call.collective, named, team);
  Said said;
  int error = mpi_success;
  const bool piped = run_in_rounds(call, choice, inner, team, said, error);
  if (said.offer.never_can != 0) team::refuse_chunks(team);
  tell_way(call.collective, choice, team, way_of(piped), [&] {
    if (!piped) return Why{Reason::not_pipelined};
    return Why{.reason = Reason::in_rounds, .number = static_cast<double>(ways_of_rounds(choice, team).piece)};
  });
  if (piped) return error;
  if (said.ints || !choose::is_of_the_mpi(*named.algorithm))
    return run_over_host(call, team, choose::HostBuffers::kept, inner);
  return run_over_host(call, team, choose::HostBuffers::kept,
                       exchange_by(call.collective, choose::plain(call.collective, "spread-out"), team));
}

}  // namespace

int pipeline(const run::Call& call, const Service& by, team::Team& team) {
  if (team.nodes.nodes > 1) return pipeline_between_nodes(call, by.choice, team);
  const InChunks gone = run_in_chunks(call, by.choice, team);
  const Outcome outcome = gone.piped.outcome;
  if (outcome == Outcome::never) team::refuse_chunks(team);
  const bool piped = outcome == Outcome::done;
  tell_way(call.collective, by.choice, team, way_of(piped), [&] { return how_in_chunks(gone); });
  if (piped) return gone.piped.error;
  return outcome == Outcome::lost ? mpi().err_other : exchange_over_host(call, team);
}

bool prepare_pipeline(team::Team& team, Collective collective, const choose::Choice& choice) {
  if (team.nodes.nodes == 1) return true;
  const choose::Choice inner = choose::inner_of(collective, choice);
  const EngineWork& engine = work_of(inner);
  return engine.prepare == nullptr || engine.prepare(team, collective, inner);
}

}  // namespace quadrille::api
