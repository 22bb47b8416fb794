// What each engine does with a call: one table with a row an engine. What there is to know of an engine without running
// it stands in choose/engines.hpp.
#pragma once

#include "choose/engines.hpp"
#include "run/call.hpp"
#include "run/group.hpp"
#include "team/neighbors.hpp"
#include "team/team.hpp"

namespace quadrille::api {

struct Making;  // api/making.hpp

// What serves a call.
struct Service {
  const choose::Choice& choice;
  const team::Prepared& on;
};

struct EngineWork {
  choose::Engine engine;
  // May a rank need messages among the ranks of the communicator? All ranks say the same.
  bool (*may_send)(Collective, const run::Group&);
  // Carries a blocking call out, and returns an MPI error code. Null: no calls of collectives that the MPI has too come
  // here; they are the MPI's own, or there is a door for the engine alone (exchange.cpp).
  int (*run)(const run::Call&, const Service&, team::Team&);
  // Makes the run that carries a request out, and returns an MPI error code. A blocking call may wait for all ranks in
  // its middle; a request may not, since its rank does something else meanwhile. So another engine may stand in, and
  // says so. The selection is that of the call. Null: there are no requests.
  int (*make)(Making&, team::CachedSelection&);
  // Whether a rank can leave a call in the middle. An order of copies, in which others write to its memory, and engines
  // for devices do not allow that. Calls that the MPI carries out end by themselves.
  bool can_be_left = true;
  // Before the first blocking call by a choice: collective, and returns the same on all ranks. False: the call goes to
  // the MPI. Null: nothing is to be made ready.
  bool (*prepare)(team::Team&, Collective, const choose::Choice&) = nullptr;
};

const EngineWork& work_of(const choose::Choice& choice);

// Calls `use` with the plan of a choice: the arguments of run::BoundRun between the call and the traffic.
template <class Use>
auto with_plan(Collective collective, const Service& by, const team::Team& team, const Use& use) {
  const team::Prepared& on = by.on;
  if (on.direct != nullptr) return use(on.schedule, *on.direct);
  if (is_neighbor(collective)) return use(*on.schedule, team::slots_of(team, by.choice), on.moving);
  return use(*on.schedule, on.moving);
}

// ---- Engines for data in devices' memory ----

// Carries out a dense call by copies between the ranks' own buffers. All ranks are on one node and share memory. If
// some rank cannot copy so, all ranks exchange the data in the memory of the host. Returns an MPI error code.
int pull(const run::Call& call, const Service& by, team::Team& team);

// Carries out a dense call over memory of the host, in chunks: inside a node through the memory that all ranks share,
// between nodes in rounds, which the inner algorithm of the choice exchanges. If some rank cannot do that, all ranks
// exchange the data in the memory of the host as a whole. Returns an MPI error code.
int pipeline(const run::Call& call, const Service& by, team::Team& team);
// Prepares the inner algorithm: see EngineWork::prepare.
bool prepare_pipeline(team::Team& team, Collective collective, const choose::Choice& choice);

// Whether a rank can leave a call of this engine where fault tolerance asks for that (team/faults.hpp). Always true
// without fault tolerance.
bool can_be_left(const EngineWork& engine);

}  // namespace quadrille::api
