// Memory that ranks of a node share beside that of the communicator's blocking calls: rings and inboxes, and what calls
// through leaders run on. Blocking calls by leaders have an area of the communicator. Persistent calls have their own,
// so that ranks may start them in different orders. Nonblocking calls are started in one order on all ranks, and take
// turns on lanes: call n goes by lane n modulo their number, and begins when those before it on that lane have ended.
//
// All of it is taken when all ranks can still agree to do without: in the middle of a call no rank may lack any.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "memory/control_memory.hpp"
#include "memory/control_pool.hpp"
#include "memory/device_sharing.hpp"
#include "memory/device_streams.hpp"
#include "memory/leaders.hpp"
#include "plan/leaders.hpp"
#include "run/call.hpp"
#include "run/device_pipeline.hpp"
#include "run/engines.hpp"
#include "run/leaders.hpp"
#include "run/under_way.hpp"
#include "team/team.hpp"

namespace quadrille::team {

// ---- Rings and inboxes ----

// An inbox and pairs with rings, for the exchange of large blocks and for copies.
struct NodeArea {
  memory::ControlArea area;
  memory::Inbox inbox;
  memory::Pairs pairs;
  memory::MeetingTree tree;  // of the pairs, until they lie in the area
};

// What a call needs, beside pairs, in which ranks copy from each other's memory of a device (run/device_pull.hpp).
struct OwnPull {
  memory::ControlArea area;
  std::unique_ptr<memory::DeviceSharing> sharing;
  std::unique_ptr<memory::OwnStream> stream;
};
// Collective over a team whose ranks share a node and have rings. Nothing, on all ranks, if one has no memory for it.
std::optional<OwnPull> own_pull(Team& team);

// Memory from each rank to each, and the calls that wait for it.
struct Lane {
  NodeArea node;
  std::vector<run::PairRings> rings;      // of its pairs, [distance - 1]; of an own one [pair of the edges]
  std::optional<OwnPull> pull;            // of a shared lane: nothing until a call needs it, then on all of them
  std::deque<const run::Pending*> queue;  // under the mutex of run::UnderWay
};

// The lane of one persistent call, with only what that call needs. Making one is collective over a team whose ranks
// share a node and have rings. Null, on all ranks, if there is no memory left or one rank has none for its lane.
using OwnLane = std::unique_ptr<Lane>;
// Rings for a neighbour collective.
OwnLane own_rings(Team& team, const run::NodeEdges& edges, const run::Call& call);
// An inbox, and pairs whose rings have room for its blocks, as far as those of the communicator have.
OwnLane own_node_area(Team& team, const run::Call& call);
// An inbox whose slots have room for blocks of `bytes`.
OwnLane own_inbox(Team& team, std::size_t bytes);

// What calls need in which data of devices go over memory of the node in chunks (run/device_pipeline.hpp).
struct OwnChunks {
  explicit OwnChunks(int ranks) : room(ranks) {}
  memory::ControlArea area;  // of the rings, which go before it
  std::size_t asked = 0;     // ring bytes: for no more there was room when so many were asked for
  run::PipelineRoom room;
};
// With rings of so many bytes, or of half as many and so on, but no less than `least`, if there is no memory for more.
// Collective over a team whose ranks share a node, if it has none that are large enough. Null, on all ranks, if there
// is no memory, or calls are not to be made so.
OwnChunks* chunks_of(Team& team, std::size_t ring_bytes, std::size_t least);
// The same where the ranks are on several nodes, which need streams alone. Null if this rank has no memory, and on all
// ranks when they were refused.
OwnChunks* streams_for_rounds(Team& team);
// From now on they are not to be made so, on all ranks. What there is for them is given back.
void refuse_chunks(Team& team);

struct Lanes {
  std::vector<Lane> lanes;     // none: there is no memory for them
  unsigned calls = 0;          // the same on all ranks
  bool asked_to_pull = false;  // likewise: each lane has memory to pull by now, or none has
};
// Collective when it is first called on a team whose ranks share a node and have rings.
Lanes& lanes_of(Team& team);
// Likewise: has each lane what it needs to pull? The same on all ranks.
bool prepare_pull_lanes(Team& team);
bool can_pull(const Lanes& lanes);

// Where their memory lies. One rank takes it and tells the others, who need nothing else of each other.
inline constexpr std::size_t most_lanes = 4;
inline constexpr std::uint64_t no_lane = UINT64_MAX;
using LanesMemory = std::array<std::uint64_t, most_lanes>;
LanesMemory take_lanes(const Team& team);
// Lanes without an area, with everything that they allocate.
std::shared_ptr<Lanes> lanes_without_memory(const Team& team);
// Gives the team as many of the lanes as have an area in `memory`. Allocates nothing.
void lay_lanes(Team& team, std::shared_ptr<Lanes> made, const LanesMemory& memory);

// ---- Leaders ----

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
// Makes what the first of them makes: as many lanes as there is memory for.
void take_lanes_for(Team& team, CachedLeaders& on);
// Not collective: the plan, if there are lanes for it already, so that next_leaders_lane() asks nobody; else null.
CachedLeaders* leaders_at_hand(Team& team, const choose::Choice& choice);

// For a persistent call whose largest block has so many bytes on all ranks; SIZE_MAX: they do not know.
struct OwnLeaders {
  LeadersArea area;
  std::unique_ptr<run::LeadersWork> work;
};
std::optional<OwnLeaders> own_leaders(Team& team, const CachedLeaders& on, std::size_t largest);

}  // namespace quadrille::team
