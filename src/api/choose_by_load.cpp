#include "api/choose_by_load.hpp"

#include <algorithm>

#include "choose/model.hpp"
#include "team/ask.hpp"

namespace quadrille::api {

Bytes bytes_of(const run::Side& side, int blocks) {
  Bytes bytes;
  for (int b = 0; b < blocks; ++b) {
    if (side.count_of(b) <= 0) continue;
    const auto block = static_cast<std::uint64_t>(side.count_of(b)) * type_info(side.type_of(b)).size;
    bytes.largest = std::max(bytes.largest, block);
    bytes.all += block;
  }
  return bytes;
}

int choose_by_load(const run::Call& call, team::Team& team, team::CachedSelection& cached, CountedAhead& ahead) {
  choose::Asking& asking = team.asked.asking[static_cast<std::size_t>(call.collective)];
  ahead.note(asking.unasked, 1);
  if (!choose::must_ask(asking)) return mpi_success;
  if (const int error = team::prepare_messages(team); error != mpi_success) return error;
  const int ranks = team.group.ranks;
  const Bytes mine = bytes_of(call.in_place ? call.recv : call.send, ranks);
  Bytes most;
  const int error = mpi().Allreduce(&mine, &most, 2, mpi().uint64, mpi().op_max, team.group.messages().comm);
  if (error != mpi_success) team::lose(team);
  const choose::Load load{static_cast<double>(most.all) / ranks, static_cast<double>(most.largest)};
  cached.settle(choose::fastest(team::key_of(team, call.collective, 0), load).choice);
  choose::note_answer(asking, row_of(cached.selection.choice.algorithm->engine).answer);
  return mpi_success;
}

}  // namespace quadrille::api
