// Calls that find out which of several algorithms is the fastest (choose/trial.hpp).
#pragma once

#include "api/refused.hpp"
#include "choose/trial.hpp"
#include "run/call.hpp"
#include "team/team.hpp"

namespace quadrille::api {

// A call of a program, while it runs; it may be one of a trial's.
struct Attempt {
  choose::Trial* trial = nullptr;  // null: it is none
  const choose::Choice* choice = nullptr;
  choose::Turn turn;
  double begin = 0;
  // If the call is the MPI's and a device's memory is in it: over which memory of the host it goes, whatever the MPI
  // takes.
  choose::HostBuffers buffers = choose::HostBuffers::as_suits;
  CountedAhead ahead;  // if the call is forwarded
};

// Collective over a team that is ready, for a call whose selection has rivals. When all was tried, the ranks agree on
// what was best: then the selection is settled, and the call has no trial. `bytes`: as in choose::GlobalKey.
void begin_attempt(const run::Call& call, std::size_t bytes, team::Team& team, team::CachedSelection& cached,
                   Attempt& attempt);

// Collective likewise, for a call whose selection follows the load: when all ranks together move much more or less than
// before, another trial is begun, or what came of it is taken up again. A trial that found nothing out is begun again.
void follow_load(const run::Call& call, team::Team& team, team::CachedSelection& cached);
// After both: if the MPI refuses the call, follow_load() comes again in the one that follows, and must find nothing to
// do. What it would count depends on the trial as it is now: this call may have begun or decided it.
void note_followed(const run::Call& call, team::Team& team, const team::CachedSelection& cached, CountedAhead& ahead);

// When the call is done, by whoever carried it out.
void end_attempt(const Attempt& attempt);

}  // namespace quadrille::api
