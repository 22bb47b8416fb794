#include "api/pipeline.hpp"

#include <utility>

#include "api/pull.hpp"
#include "api/serve.hpp"
#include "memory/device.hpp"
#include "run/device_pipeline.hpp"
#include "team/own_rings.hpp"

namespace quadrille::api {
namespace {

using Outcome = run::DevicePipeline::Outcome;

void explain_pipeline(Collective collective, const choose::Choice& choice, team::Team& team, bool piped) {
  bool& explained = piped ? team.counted.pipeline_explained : team.counted.no_pipeline_explained;
  if (!team.counted.explains || std::exchange(explained, true)) return;
  team::explain(team, collective, 0, choose::to_string(choice),
                piped ? "the device's data go over the host in chunks, both ways at once"
                      : "some rank cannot bring its data over in chunks; they go over the host as a whole");
}

Outcome run_in_chunks(const run::Call& call, const choose::Choice& choice, team::Team& team, int& error) {
  const auto value = [&](const char* name) { return static_cast<std::size_t>(plan::value_of(choice.parameters, name, 1)); };
  const run::PipelineWays ways{value("chunk"), value("depth")};
  team::OwnChunks* const chunks = team::chunks_of(team, ways.chunk * ways.depth);
  if (chunks == nullptr) return Outcome::never;
  run::DevicePipeline in_chunks(call, team.group, {team.group.pairs, *chunks->rings, chunks->out, chunks->in},
                                memory::device_driver(), ways);
  const Outcome outcome = in_chunks.run();
  error = in_chunks.error();
  return outcome;
}

}  // namespace

int pipeline(const run::Call& call, const choose::Choice& choice, team::Team& team) {
  int error = MPI_SUCCESS;
  const Outcome outcome = run_in_chunks(call, choice, team, error);
  if (outcome == Outcome::never) team::refuse_chunks(team);
  if (memory::device_driver() != nullptr) explain_pipeline(call.collective, choice, team, outcome == Outcome::done);
  if (outcome == Outcome::done) return error;
  return outcome == Outcome::lost ? MPI_ERR_OTHER : exchange_over_host(call, team);
}

}  // namespace quadrille::api
