// The choice for a v or w call by the cost model, from what all ranks agree that it moves.
#pragma once

#include <cstdint>

#include "api/refused.hpp"
#include "run/call.hpp"
#include "team/team.hpp"

namespace quadrille::api {

// Bytes of the largest block and of all blocks of a side.
struct Bytes {
  std::uint64_t largest = 0;
  std::uint64_t all = 0;
};
Bytes bytes_of(const run::Side& side, int blocks);

// Collective over an eligible team that is ready, for a call whose selection says `by_load`: its choice, that of the
// last call, becomes the model's for this one. After the same answer several times in a row the next calls keep it
// without asking (choose/asking.hpp). Returns an MPI error code.
int choose_by_load(const run::Call& call, team::Team& team, team::CachedSelection& cached, CountedAhead& ahead);

}  // namespace quadrille::api
