#include "team/areas.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "mpi/mpi.hpp"
#include "run/blocks.hpp"
#include "run/engines.hpp"

namespace quadrille::team {

// ---- Rings for the edges of one call ----
//
// In control memory. They are no larger than what the call sends through them, so that many small calls need little.
//
// Example, ranks 0 and 1 with an edge each way: rank 0 tells rank 1 "of my 1152 bytes, my ring to you begins at 0 and
// has 1024", and hears the same. Both know that the memory of rank 1 follows that of rank 0. Rank 0 takes 2304 bytes
// out of the pool and tells where.

namespace {

using memory::RingHead;

// What a rank tells another.
struct Told {
  std::uint64_t all;    // bytes of all rings that it writes to, heads included
  std::uint64_t at;     // where among them that to the other begins
  std::uint64_t bytes;  // of data; 0: it has none to the other
};

constexpr std::size_t least_ring_bytes = 1024;

// Room for four starts, as far as a ring of the communicator has that: the sender looks at how far the receiver is when
// half of it is full, and small blocks go into a quarter of it at a time.
std::size_t ring_bytes_for(const run::Call& call, const run::NeighborPair& pair, std::size_t most) {
  const run::Blocks send(call.send);
  const bool gather = is_allgather(call.collective);
  std::size_t bytes = sizeof(Told);  // for answers
  for (const int b : pair.send_blocks) bytes += 16 + std::min(send.bytes_of(gather ? 0 : b), most);
  return 4 * bytes;
}

std::vector<Told> what_to_tell(const run::Group& group, const run::NodeEdges& edges, const run::Call& call) {
  std::vector<Told> told(static_cast<std::size_t>(group.ranks));
  std::size_t all = 0;
  for (const run::NeighborPair& pair : edges.pairs) {
    const std::size_t wanted = std::max(ring_bytes_for(call, pair, group.pairs.ring_bytes()), least_ring_bytes);
    const std::size_t bytes = std::min(sys::round_up(wanted, sys::cache_line), group.pairs.ring_bytes());
    told[static_cast<std::size_t>(pair.peer)] = {0, all, bytes};
    all += sizeof(RingHead) + bytes;
  }
  for (Told& one : told) one.all = all;
  return told;
}

// What all ranks are told by each other. Through the inboxes: while a rank waits there, it goes on with what it has
// started, which another may wait for before it comes here.
void exchange(std::vector<Told>& told, std::vector<Told>& heard, run::Group& group) {
  run::run_inbox_alltoall(run::EqualSide{reinterpret_cast<std::byte*>(told.data()), sizeof(Told)},
                          run::EqualSide{reinterpret_cast<std::byte*>(heard.data()), sizeof(Told)}, group);
}

memory::Ring ring_at(std::byte* place, std::size_t bytes) { return {reinterpret_cast<RingHead*>(place), bytes}; }

// An area of so many bytes for all ranks, if all is well on each. Collective.
std::optional<memory::ControlArea> own_area(Team& team, std::size_t bytes, bool is_well = true) {
  const run::Group& group = team.group;
  const auto taken = group.me == 0 ? team.area.pool()->take(bytes, group.ranks) : std::nullopt;
  const std::uint64_t mine[] = {taken.has_value() ? *taken + 1 : 0, is_well ? 0U : 1U};
  std::uint64_t all[] = {0, 0};
  largest_of_all(team, mine, all);
  if (all[0] == 0) return std::nullopt;
  memory::ControlArea area(team.area.pool(), all[0] - 1, bytes);
  if (all[1] != 0) return std::nullopt;
  return area;
}

// All that a lane with so many rings allocates.
void prepare_lane(Lane& lane, const Team& team, std::size_t rings) {
  lane.node.tree = team.meeting_tree;
  lane.rings.reserve(rings);
}

// A lane of a persistent call, with its area alone. Null, on all ranks, if there is no area. Collective.
OwnLane own_lane(Team& team, std::size_t bytes, std::size_t rings = 0, bool is_well = true) {
  OwnLane own;
  // What the others wait for comes after what may fail.
  const int thrown = thrown_by([&] {
    own = std::make_unique<Lane>();
    prepare_lane(*own, team, rings);
  });
  std::optional<memory::ControlArea> area = own_area(team, bytes, is_well && thrown == mpi_success);
  if (!area) return nullptr;
  own->node.area = std::move(*area);
  return own;
}

}  // namespace

OwnLane own_rings(Team& team, const run::NodeEdges& edges, const run::Call& call) {
  run::Group& group = team.group;
  std::vector<Told> told, heard;
  std::vector<std::size_t> first;  // [rank] where the rings begin that it writes to
  const int thrown = thrown_by([&] {
    told = what_to_tell(group, edges, call);
    heard.resize(told.size());
    first.resize(told.size());
  });
  if (!true_on_all(team, thrown == mpi_success)) return nullptr;
  exchange(told, heard, group);
  std::transform_exclusive_scan(heard.begin(), heard.end(), first.begin(), std::size_t{0}, std::plus<>(),
                                [](const Told& one) { return one.all; });
  const std::size_t total = std::max<std::size_t>(first.back() + heard.back().all, 1);
  // Unless it is a graph whose ranks disagree about an edge.
  const bool fits = std::all_of(edges.pairs.begin(), edges.pairs.end(), [&](const run::NeighborPair& pair) {
    return heard[static_cast<std::size_t>(pair.peer)].bytes != 0;
  });
  OwnLane own = own_lane(team, total, edges.pairs.size(), fits);
  if (own == nullptr) return nullptr;
  for (const run::NeighborPair& pair : edges.pairs) {
    const auto peer = static_cast<std::size_t>(pair.peer);
    std::byte* const base = own->node.area.base();
    own->rings.push_back({ring_at(base + first[static_cast<std::size_t>(group.me)] + told[peer].at, told[peer].bytes),
                          ring_at(base + first[peer] + heard[peer].at, heard[peer].bytes)});
  }
  return own;
}

OwnLane own_inbox(Team& team, std::size_t bytes) {
  const memory::InboxLayout layout = memory::inbox_layout_for(team.group.ranks, bytes);
  OwnLane own = own_lane(team, layout.segment_bytes());
  if (own != nullptr) own->node.inbox = memory::Inbox(own->node.area.base(), layout, team.group.me);
  return own;
}

namespace {

// Where things are in a NodeArea.
struct NodeLayout {
  NodeLayout(const run::Group& group, std::size_t ring_bytes, std::size_t slot_bytes) {
    const std::size_t wanted = std::max(ring_bytes, least_ring_bytes) / sys::cache_line * sys::cache_line;
    pairs = memory::pairs_layout_with(group.ranks, std::min(wanted, group.pairs.ring_bytes()));
    inbox = memory::inbox_layout_for(group.ranks, std::clamp(slot_bytes, least_slot_bytes, memory::most_slot_bytes));
  }
  // As many bytes for a rank, whatever the number of ranks.
  static NodeLayout of_lane(const run::Group& group) {
    const std::size_t bytes = bytes_of_rank / static_cast<std::size_t>(group.ranks);
    return {group, bytes, bytes / 2};
  }
  // Room for four starts with blocks of at most so many bytes, as ring_bytes_for(); slots as far as those of a lane.
  static NodeLayout of_call(const run::Group& group, std::size_t most) {
    const std::size_t slots = bytes_of_rank / static_cast<std::size_t>(group.ranks) / 2;
    return {group, 4 * std::min(most + 16, group.pairs.ring_bytes()), std::min(most, slots)};
  }
  std::size_t bytes() const { return inbox.segment_bytes() + pairs.segment_bytes(); }

  memory::InboxLayout inbox;
  memory::PairsLayout pairs;

 private:
  static constexpr std::size_t bytes_of_rank = std::size_t{64} << 10, least_slot_bytes = 256;
};

// Puts the inbox and the pairs into the area. Allocates nothing: the ranks have agreed on the area.
void lay_out(NodeArea& node, const Team& team, const NodeLayout& layout) {
  std::byte* const base = node.area.base();
  node.inbox = memory::Inbox(base, layout.inbox, team.group.me);
  node.pairs = memory::Pairs(base + layout.inbox.segment_bytes(), layout.pairs, team.group.me, std::move(node.tree));
}

// Bytes of this rank's largest block.
std::uint64_t largest_sent(const run::Call& call, int ranks) {
  if (call.in_place) return run::bytes_of(call.recv, ranks).largest;
  return run::bytes_of(call.send, is_allgather(call.collective) ? 1 : ranks).largest;
}

}  // namespace

OwnLane own_node_area(Team& team, const run::Call& call) {
  const std::uint64_t mine = largest_sent(call, team.group.ranks);
  std::uint64_t largest = 0;
  largest_of_all(team, {&mine, 1}, {&largest, 1});
  const NodeLayout layout = NodeLayout::of_call(team.group, largest);
  OwnLane own = own_lane(team, layout.bytes());
  if (own != nullptr) lay_out(own->node, team, layout);
  return own;
}

std::optional<OwnPull> own_pull(Team& team) {
  const int ranks = team.group.ranks;
  // What the others wait for comes after what may fail.
  OwnPull own;
  const int thrown = thrown_by([&] {
    own.sharing = std::make_unique<memory::DeviceSharing>(nullptr, ranks, team.group.me, false);
    own.stream = std::make_unique<memory::OwnStream>();
  });
  std::optional<memory::ControlArea> area = own_area(team, memory::DeviceSharing::bytes(ranks), thrown == mpi_success);
  if (!area) return std::nullopt;
  own.area = std::move(*area);
  own.sharing->lie_at(own.area.base());
  return own;
}

OwnChunks* chunks_of(Team& team, std::size_t ring_bytes, std::size_t least) {
  // What the others wait for comes after what may fail.
  OwnChunks* const chunks = streams_for_rounds(team);
  if (team.refuses_chunks) return nullptr;
  std::size_t has = chunks != nullptr && chunks->room.rings ? chunks->room.rings->ring_bytes() : 0;
  if (has >= ring_bytes || (has >= least && chunks->asked >= ring_bytes)) return chunks;
  // The area of before is given back when there is another: so what there is room for does not depend on when each rank
  // gives it back.
  const int ranks = team.group.ranks;
  for (std::size_t bytes = ring_bytes; bytes >= least && bytes > has; bytes /= 2) {
    std::optional<memory::ControlArea> area =
        own_area(team, memory::ChunkRings::bytes(ranks, bytes), chunks != nullptr);
    if (!area) continue;
    chunks->room.rings.reset();
    chunks->area = std::move(*area);
    has = chunks->room.rings.emplace(chunks->area.base(), ranks, bytes).ring_bytes();
  }
  if (has < least) {
    refuse_chunks(team);
    return nullptr;
  }
  chunks->asked = ring_bytes;
  return chunks;
}

OwnChunks* streams_for_rounds(Team& team) {
  if (team.chunks == nullptr && !team.refuses_chunks) {
    static_cast<void>(thrown_by([&] { team.chunks = std::make_shared<OwnChunks>(team.group.ranks); }));
  }
  return team.chunks.get();
}

void refuse_chunks(Team& team) {
  team.chunks.reset();
  team.refuses_chunks = true;
}

LanesMemory take_lanes(const Team& team) {
  const std::size_t bytes = NodeLayout::of_lane(team.group).bytes();
  LanesMemory memory;
  for (std::uint64_t& lane : memory) lane = team.area.pool()->take(bytes, team.group.ranks).value_or(no_lane);
  return memory;
}

std::shared_ptr<Lanes> lanes_without_memory(const Team& team) {
  auto made = std::make_shared<Lanes>();
  made->lanes.resize(most_lanes);
  for (Lane& lane : made->lanes) prepare_lane(lane, team, static_cast<std::size_t>(team.group.ranks - 1));
  return made;
}

void lay_lanes(Team& team, std::shared_ptr<Lanes> made, const LanesMemory& memory) {
  const run::Group& group = team.group;
  const NodeLayout layout = NodeLayout::of_lane(group);
  std::size_t laid = 0;
  for (const std::uint64_t chunk : memory) {
    if (chunk == no_lane) continue;
    Lane& lane = made->lanes[laid++];
    lane.node.area = {team.area.pool(), chunk, layout.bytes()};
    lay_out(lane.node, team, layout);
    run::list_rings(lane.node.pairs, group.me, group.ranks, lane.rings);
  }
  made->lanes.resize(laid);
  team.lanes = std::move(made);
}

Lanes& lanes_of(Team& team) {
  if (team.lanes != nullptr) return *team.lanes;
  std::shared_ptr<Lanes> made;
  const int thrown = thrown_by([&] { made = lanes_without_memory(team); });
  // If one rank has no memory for its lanes, the call returns MPI_ERR_NO_MEM on all ranks.
  if (!true_on_all(team, thrown == mpi_success)) throw std::bad_alloc();
  LanesMemory mine{}, memory;
  if (team.group.me == 0) mine = take_lanes(team);
  largest_of_all(team, mine, memory);
  lay_lanes(team, std::move(made), memory);
  return *team.lanes;
}

bool can_pull(const Lanes& lanes) { return !lanes.lanes.empty() && lanes.lanes.front().pull.has_value(); }

bool prepare_pull_lanes(Team& team) {
  Lanes& lanes = lanes_of(team);
  if (!std::exchange(lanes.asked_to_pull, true)) {
    bool all = true;
    for (Lane& lane : lanes.lanes) all = all && (lane.pull = own_pull(team)).has_value();
    if (!all) {
      for (Lane& lane : lanes.lanes) lane.pull.reset();
    }
  }
  return can_pull(lanes);
}

// ---- Leaders ----

namespace {

// What a rank says of its node's memory; of the answers the largest is taken.
constexpr std::uint64_t silent = 0, no_area = UINT64_MAX;

// Whether `make` throws on no rank. Collective.
template <class Make>
bool made_on_all(Team& team, const Make& make) {
  return true_on_all(team, thrown_by(make) == mpi_success);
}

// The first rank of each group takes the memory, and all ranks learn where.
std::optional<LeadersArea> take_area(Team& team, const plan::LeadersPlan& plan, const memory::Leaders::Parts& parts) {
  const int here = plan.here();
  const std::size_t bytes = memory::Leaders::bytes(here, parts);
  std::vector<std::uint64_t> mine, all;
  if (!made_on_all(team, [&] { mine.assign(plan.nodes, silent), all.resize(plan.nodes); })) return std::nullopt;
  if (plan.number == 0) {
    const auto taken = team.area.is_there() ? team.area.pool()->take(bytes, here) : std::nullopt;
    mine[plan.node] = taken.has_value() ? *taken + 1 : no_area;
  }
  largest_of_all(team, mine, all);
  LeadersArea area;
  if (all[plan.node] != no_area) area.memory = memory::ControlArea(team.area.pool(), all[plan.node] - 1, bytes);
  if (std::find(all.begin(), all.end(), no_area) != all.end()) return std::nullopt;
  area.leaders = memory::Leaders(area.memory.base(), here, parts);
  return area;
}

LeadersMemory& memory_for(Team& team, plan::NodeMap groups) {
  for (const auto& known : team.leaders) {
    if (known->groups.node_of == groups.node_of) return *known;
  }
  team.leaders.push_back(std::make_shared<LeadersMemory>());
  team.leaders.back()->groups = std::move(groups);
  return *team.leaders.back();
}

// Null if nobody has asked for them.
CachedLeaders* known_leaders(const Team& team, const choose::Choice& choice) {
  const auto& all = team.chosen.leaders;
  const auto found = std::ranges::find_if(
      all, [&](const auto& one) { return one->algorithm == choice.algorithm && one->parameters == choice.parameters; });
  return found == all.end() ? nullptr : found->get();
}

std::unique_ptr<run::LeadersWork> work_for(const Team& team, const plan::LeadersPlan& plan) {
  return std::make_unique<run::LeadersWork>(plan, team.group.messages().comm);
}

}  // namespace

CachedLeaders* leaders_for(Team& team, Collective collective, const choose::Choice& choice) {
  if (CachedLeaders* const known = known_leaders(team, choice)) return known->plan ? known : nullptr;
  const plan::Problem problem{team.group.ranks, team.group.me, &team.nodes, choice.parameters, domains_of(team)};
  team.chosen.leaders.push_back(std::make_unique<CachedLeaders>());
  CachedLeaders& made = *team.chosen.leaders.back();
  made.algorithm = choice.algorithm;
  made.parameters = choice.parameters;
  const auto fill = [&] {
    made.memory = &memory_for(team, plan::leaders_groups(problem));
    made.plan = plan::leaders_plan(problem, choose::leaders_kind_of(collective));
    made.blocking = work_for(team, *made.plan);
  };
  if (made_on_all(team, fill)) return &made;
  made.blocking.reset();
  made.plan.reset();
  return nullptr;
}

bool prepare_leaders(Team& team, Collective collective, const choose::Choice& choice) {
  CachedLeaders* const on = leaders_for(team, collective, choice);
  if (on == nullptr) return false;
  LeadersMemory& memory = *on->memory;
  if (!std::exchange(memory.asked_for_blocking, true)) {
    memory.blocking = take_area(team, *on->plan, memory::Leaders::usual_parts);
  }
  return memory.blocking.has_value();
}

void take_lanes_for(Team& team, CachedLeaders& on) {
  constexpr std::size_t most = 2;
  LeadersMemory& all = *on.memory;
  bool takes = !std::exchange(all.asked_for_lanes, true);
  while (takes && all.lanes.size() < most) {
    std::optional<LeadersArea> area = take_area(team, *on.plan, memory::Leaders::usual_parts);
    takes = area.has_value();
    if (takes) all.lanes.push_back({std::move(*area), {}});
  }
  if (all.lanes.empty() || on.asked_for_lanes) return;
  const auto fill = [&] {
    while (on.of_lanes.size() < all.lanes.size()) on.of_lanes.push_back(work_for(team, *on.plan));
  };
  if (!made_on_all(team, fill)) on.of_lanes.clear();
  on.asked_for_lanes = true;
}

LeadersOnLane next_leaders_lane(Team& team, CachedLeaders& on) {
  take_lanes_for(team, on);
  LeadersMemory& all = *on.memory;
  if (all.lanes.empty() || on.of_lanes.empty()) return {};
  const std::size_t lane = all.calls++ % all.lanes.size();
  return {&all.lanes[lane], on.of_lanes[lane].get()};
}

CachedLeaders* leaders_at_hand(Team& team, const choose::Choice& choice) {
  CachedLeaders* const known = known_leaders(team, choice);
  // Their lanes' memory was asked for before.
  return known != nullptr && known->asked_for_lanes ? known : nullptr;
}

std::optional<OwnLeaders> own_leaders(Team& team, const CachedLeaders& on, std::size_t largest) {
  const bool sized = on.plan->kind != plan::LeadersKind::uneven && largest != SIZE_MAX;
  std::optional<LeadersArea> area =
      take_area(team, *on.plan, sized ? run::parts_for(*on.plan, largest) : memory::Leaders::usual_parts);
  if (!area) return std::nullopt;
  std::unique_ptr<run::LeadersWork> work;
  if (!made_on_all(team, [&] { work = work_for(team, *on.plan); })) return std::nullopt;
  return OwnLeaders{std::move(*area), std::move(work)};
}

}  // namespace quadrille::team
