// Calls that find out which of several algorithms is the fastest: by trying them (choose/trial.hpp), or, of a v or w
// call, by the cost model, from what all ranks agree that it moves.
#pragma once

#include "api/admission.hpp"
#include "choose/trial.hpp"
#include "run/call.hpp"
#include "team/team.hpp"

namespace quadrille::api {

// A call of a program, while it runs; it may be one of a trial's.
struct Attempt {
  choose::Trial* trial = nullptr;  // null: it is none
  const choose::Choice* choice = nullptr;
  // If the call is the MPI's and a device's memory is in it: over which memory of the host it goes, whatever the MPI
  // takes.
  choose::HostBuffers buffers = choose::HostBuffers::as_suits;
  CountedAhead ahead;  // if the call is forwarded
};

// Collective over a team that is ready, for a call whose selection has rivals. When all was tried, the ranks agree on
// what was best: then the selection is settled, and the call has no trial, until that is checked. `bytes`: as in
// choose::GlobalKey. If the MPI refuses the call, this comes again in the one that follows, and must find nothing to
// do: what was counted is undone.
void begin_attempt(const run::Call& call, std::size_t bytes, team::Team& team, team::CachedSelection& cached,
                   Attempt& attempt);
// For a request, which tries nothing: its selection becomes what calls like it have decided last, if they have. Which
// selections a rank has kept, and which it made anew, no other rank knows.
void go_by_decision(const run::Call& call, std::size_t bytes, team::Team& team, team::CachedSelection& cached);
// As many calls go by what was decided before it is checked, where all ranks know the size, and each of these calls
// counts. Null: all.
int* until_check(const team::CachedSelection& cached);

// When the call is done, by whoever carried it out.
void end_attempt(const Attempt& attempt);

// ---- By the model ----

// Collective over an eligible team that is ready, for a call whose selection says `by_load`: its choice, that of the
// last call, becomes the model's for this one. After the same answer several times in a row the next calls keep it
// without asking (choose/asking.hpp). Returns an MPI error code.
int choose_by_load(const run::Call& call, team::Team& team, team::CachedSelection& cached, CountedAhead& ahead);

}  // namespace quadrille::api
