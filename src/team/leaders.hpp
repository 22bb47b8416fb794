// What calls through leaders run on: memory that the ranks of a node share, plans, and what the calls of a plan need.
// All of it is taken when all ranks can still agree to do without: in the middle of a call no rank may lack any.
//
// Blocking calls have an area of the communicator. Persistent calls have their own, so that ranks may start them in
// different orders. Nonblocking calls are started in one order on all ranks, and take turns on lanes: call n goes by
// lane n modulo their number, and begins when those before it on that lane have ended.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "memory/control_pool.hpp"
#include "memory/leaders.hpp"
#include "plan/leaders.hpp"
#include "run/leaders.hpp"
#include "run/under_way.hpp"
#include "team/team.hpp"

namespace quadrille::team {

struct LeadersArea {
  memory::ControlArea memory;
  memory::Leaders leaders;
};

struct LeadersLane {
  LeadersArea area;
  std::deque<const run::Pending*> queue;  // under the mutex of run::UnderWay
};

// What all calls share whose groups, or nodes, are the same. All of it is the same on all ranks but for where it lies.
struct LeadersMemory {
  plan::NodeMap groups;
  std::optional<LeadersArea> blocking;  // empty after a request: unavailable
  std::deque<LeadersLane> lanes;
  bool asked_for_blocking = false, asked_for_lanes = false;
  unsigned calls = 0;  // on lanes
};

// Of one choice of leaders.
struct CachedLeaders {
  const choose::Algorithm* algorithm;
  plan::Parameters parameters;
  std::optional<plan::LeadersPlan> plan;  // nothing, on all ranks: some had no memory for it
  LeadersMemory* memory = nullptr;
  std::unique_ptr<run::LeadersWork> blocking;               // if there is a plan
  std::vector<std::unique_ptr<run::LeadersWork>> of_lanes;  // [lane]
  bool asked_for_lanes = false;
};

// All of these are collective, at least on the first call for a kind of area, come after prepare_messages(), and return
// the same on all ranks. An unavailable area is not tried again.

// Before a blocking call. False: there is no memory for it.
bool prepare_leaders(Team& team, Collective collective, const choose::Choice& choice);
// The plan, if there is memory for it; else null.
CachedLeaders* leaders_for(Team& team, Collective collective, const choose::Choice& choice);

// For a nonblocking call. Its lane; null: there is no memory for it.
struct LeadersOnLane {
  LeadersLane* lane = nullptr;
  run::LeadersWork* work = nullptr;
};
LeadersOnLane next_leaders_lane(Team& team, CachedLeaders& on);
// Makes what the first of them makes.
void prepare_lanes(Team& team, Collective collective, const choose::Choice& choice);
// Not collective: the plan, if there are lanes for it already, so that next_leaders_lane() asks nobody; else null.
CachedLeaders* leaders_at_hand(Team& team, const choose::Choice& choice);

// For a persistent call whose largest block has so many bytes on all ranks; SIZE_MAX: they do not know.
struct OwnLeaders {
  LeadersArea area;
  std::unique_ptr<run::LeadersWork> work;
};
std::optional<OwnLeaders> own_leaders(Team& team, const CachedLeaders& on, std::size_t largest);

}  // namespace quadrille::team
