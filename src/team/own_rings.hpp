// Rings and inboxes beside those of the communicator's blocking calls: one persistent call has its own, and nonblocking
// calls share some, lanes, which they use one after the other.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "memory/control_pool.hpp"
#include "memory/device_sharing.hpp"
#include "memory/inbox.hpp"
#include "memory/own_stream.hpp"
#include "memory/pairs.hpp"
#include "run/call.hpp"
#include "run/device_pipeline.hpp"
#include "run/node_neighbors.hpp"
#include "run/under_way.hpp"
#include "team/team.hpp"

namespace quadrille::team {

// An inbox and pairs with rings, for the exchange of large blocks and for copies.
struct NodeArea {
  memory::ControlArea area;
  memory::Inbox inbox;
  memory::Pairs pairs;
};

// What a call needs, beside pairs, in which ranks copy from each other's memory of a device (run/device_pull.hpp).
struct OwnPull {
  memory::ControlArea area;
  std::unique_ptr<memory::DeviceSharing> sharing;
  std::unique_ptr<memory::OwnStream> stream;
};
// Collective over a team whose ranks share a node and have rings. Nothing, on all ranks, if one has no memory for it.
std::optional<OwnPull> own_pull(Team& team);

// Memory from each rank to each, and the calls that wait for it. Nonblocking calls are started in one
// order on all ranks; call n takes lane n modulo their number, and begins when the calls before it on that lane have
// ended. A persistent call has one for itself.
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
void make_lanes(Team& team, const LanesMemory& memory);

}  // namespace quadrille::team
