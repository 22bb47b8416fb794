// Rings for the edges of one call, in control memory. They are no larger than what the call sends through them, so
// that many small calls need little.
//
// Example, ranks 0 and 1 with an edge each way: rank 0 tells rank 1 "of my 1152 bytes, my ring to you begins at 0 and
// has 1024", and hears the same. Both know that the memory of rank 1 follows that of rank 0. Rank 0 takes 2304 bytes
// out of the pool and tells where.
#include "team/own_rings.hpp"

#include <algorithm>
#include <new>
#include <numeric>
#include <vector>

#include "run/blocks.hpp"
#include "run/engines.hpp"
#include "run/node_dense_run.hpp"

namespace quadrille::team {
namespace {

using memory::RingHead;

// What a rank tells another.
struct Told {
  std::uint64_t all;    // bytes of all rings that it writes to, heads included
  std::uint64_t at;     // where among them that to the other begins
  std::uint64_t bytes;  // of data; 0: it has none to the other
};

// Whether all is well on a rank and, on rank 0, the memory that it took; -1: there is none.
struct Verdict {
  std::int64_t chunk;
  std::uint64_t fits;
};

constexpr std::size_t least_ring_bytes = 1024;

std::vector<Told> what_to_tell(const run::Group& group, const run::NodeEdges& edges, const RingBytes& bytes_for) {
  std::vector<Told> told(static_cast<std::size_t>(group.ranks));
  std::size_t all = 0;
  for (const run::NeighborPair& pair : edges.pairs) {
    const std::size_t wanted = std::max(bytes_for(pair), least_ring_bytes);
    const std::size_t lines = (wanted + sys::cache_line - 1) / sys::cache_line * sys::cache_line;
    const std::size_t bytes = std::min(lines, group.pairs.ring_bytes());
    told[static_cast<std::size_t>(pair.peer)] = {0, all, bytes};
    all += sizeof(RingHead) + bytes;
  }
  for (Told& one : told) one.all = all;
  return told;
}

// What all ranks are told by each other. Through the inboxes: while a rank waits there, it goes on with what it has
// started, which another may wait for before it comes here.
std::vector<Told> exchange(const std::vector<Told>& mine, run::Group& group) {
  std::vector<Told> heard(mine.size());
  run::run_inbox_bytes(reinterpret_cast<const std::byte*>(mine.data()), reinterpret_cast<std::byte*>(heard.data()),
                       sizeof(Told), group);
  return heard;
}

std::vector<Verdict> gather(const Verdict& mine, run::Group& group) {
  std::vector<Verdict> all(static_cast<std::size_t>(group.ranks));
  run::run_inbox_gather(reinterpret_cast<const std::byte*>(&mine), reinterpret_cast<std::byte*>(all.data()),
                        sizeof(Verdict), group);
  return all;
}

memory::Ring ring_at(std::byte* place, std::size_t bytes) { return {reinterpret_cast<RingHead*>(place), bytes}; }

}  // namespace

// Room for four starts, as far as a ring of the communicator has that: the sender looks at how far the receiver is when
// half of it is full, and small blocks go into a quarter of it at a time.
std::size_t ring_bytes_for(const run::Call& call, const run::NeighborPair& pair, std::size_t most) {
  const run::Blocks send(call.in_place ? call.recv : call.send);
  const bool gather = is_allgather(call.collective);
  std::size_t bytes = sizeof(Told);  // for answers
  for (const int b : pair.send_blocks) bytes += 16 + std::min(send.bytes_of(gather && !call.in_place ? 0 : b), most);
  return 4 * bytes;
}

namespace {

// An area of so many bytes for all ranks, if all is well on each. Collective.
std::optional<memory::ControlArea> own_area(Team& team, std::size_t bytes, bool is_well = true) {
  run::Group& group = team.group;
  Verdict verdict{-1, is_well ? std::uint64_t{1} : std::uint64_t{0}};
  if (group.me == 0) {
    const std::optional<std::size_t> taken = team.area.pool()->take(bytes, group.ranks);
    if (taken.has_value()) verdict.chunk = static_cast<std::int64_t>(*taken);
  }
  const std::vector<Verdict> verdicts = gather(verdict, group);
  if (verdicts[0].chunk < 0) return std::nullopt;
  memory::ControlArea area(team.area.pool(), static_cast<std::size_t>(verdicts[0].chunk), bytes);
  if (!std::all_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.fits != 0; })) return std::nullopt;
  return area;
}

}  // namespace

std::optional<run::OwnRings> own_rings(Team& team, const run::NodeEdges& edges, const RingBytes& bytes_for) {
  run::Group& group = team.group;
  const std::vector<Told> told = what_to_tell(group, edges, bytes_for), heard = exchange(told, group);
  std::vector<std::size_t> first(heard.size());  // [rank] where the rings begin that it writes to
  std::transform_exclusive_scan(heard.begin(), heard.end(), first.begin(), std::size_t{0}, std::plus<>(),
                                [](const Told& one) { return one.all; });
  const std::size_t total = std::max<std::size_t>(first.back() + heard.back().all, 1);
  // Unless it is a graph whose ranks disagree about an edge.
  const bool fits = std::all_of(edges.pairs.begin(), edges.pairs.end(), [&](const run::NeighborPair& pair) {
    return heard[static_cast<std::size_t>(pair.peer)].bytes != 0;
  });
  std::optional<memory::ControlArea> area = own_area(team, total, fits);
  if (!area) return std::nullopt;
  run::OwnRings rings{std::move(*area), {}};
  for (const run::NeighborPair& pair : edges.pairs) {
    const auto peer = static_cast<std::size_t>(pair.peer);
    std::byte* const base = rings.area.base();
    rings.pairs.push_back({ring_at(base + first[static_cast<std::size_t>(group.me)] + told[peer].at, told[peer].bytes),
                           ring_at(base + first[peer] + heard[peer].at, heard[peer].bytes)});
  }
  return rings;
}

std::optional<OwnInbox> own_inbox(Team& team, std::size_t bytes) {
  const memory::InboxLayout layout = memory::inbox_layout_for(team.group.ranks, bytes);
  std::optional<memory::ControlArea> area = own_area(team, layout.segment_bytes());
  if (!area) return std::nullopt;
  OwnInbox own{std::move(*area), {}};
  own.inbox = memory::Inbox(own.area.base(), layout, team.group.me);
  return own;
}

std::optional<OwnPairs> own_pairs(Team& team) {
  const memory::PairsLayout layout = memory::tables_layout(team.group.ranks);
  std::optional<memory::ControlArea> area = own_area(team, layout.segment_bytes());
  if (!area) return std::nullopt;
  OwnPairs own{std::move(*area), {}};
  own.pairs = memory::Pairs(own.area.base(), layout, team.group.me, team.meeting_radix);
  return own;
}

std::optional<OwnPull> own_pull(Team& team) {
  const int ranks = team.group.ranks, me = team.group.me;
  const memory::PairsLayout layout = memory::tables_layout(ranks);
  std::optional<memory::ControlArea> area =
      own_area(team, layout.segment_bytes() + memory::DeviceSharing::bytes(ranks));
  if (!area) return std::nullopt;
  OwnPull own{std::move(*area), {}, {}, std::make_unique<memory::OwnStream>()};
  own.pairs = memory::Pairs(own.area.base(), layout, me, team.meeting_radix);
  own.sharing = std::make_unique<memory::DeviceSharing>(own.area.base() + layout.segment_bytes(), ranks, me, false);
  return own;
}

namespace {

// Null if this rank has no memory.
std::shared_ptr<OwnChunks> make_chunks(const Team& team) {
  try {
    return std::make_shared<OwnChunks>(team.group.ranks);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

OwnChunks* chunks_of(Team& team, std::size_t ring_bytes, std::size_t least) {
  if (team.refuses_chunks) return nullptr;
  const std::size_t has = team.chunks != nullptr ? team.chunks->rings->ring_bytes() : 0;
  if (has >= ring_bytes || (has >= least && team.chunks->asked >= ring_bytes)) return team.chunks.get();
  // What the others wait for comes after what may fail. The area of before is given back when there is another: so what
  // there is room for does not depend on when each rank gives it back.
  std::shared_ptr<OwnChunks> made = make_chunks(team);
  const int ranks = team.group.ranks;
  for (std::size_t bytes = ring_bytes; bytes >= least && bytes > has; bytes /= 2) {
    std::optional<memory::ControlArea> area = own_area(team, memory::ChunkRings::bytes(ranks, bytes), made != nullptr);
    if (!area) continue;
    made->area = std::move(*area);
    made->rings.emplace(made->area.base(), ranks, bytes);
    made->asked = ring_bytes;
    if (team.chunks != nullptr) std::swap(made->room, team.chunks->room);  // with what later calls count on
    team.chunks = std::move(made);
    return team.chunks.get();
  }
  if (has >= least) {
    team.chunks->asked = ring_bytes;
    return team.chunks.get();
  }
  refuse_chunks(team);
  return nullptr;
}

OwnChunks* streams_for_rounds(Team& team) {
  if (team.chunks == nullptr && !team.refuses_chunks) team.chunks = make_chunks(team);
  return team.chunks.get();
}

void refuse_chunks(Team& team) {
  team.chunks.reset();
  team.refuses_chunks = true;
}

namespace {

// Of each of `ranks`, a ring to each of them: that from rank a to rank b is number a * ranks + b.
struct LaneLayout {
  explicit LaneLayout(const run::Group& group) : ranks(static_cast<std::size_t>(group.ranks)) {
    // As many bytes for a rank, whatever the number of ranks.
    constexpr std::size_t bytes_of_rank = std::size_t{64} << 10;
    const std::size_t bytes = bytes_of_rank / ranks;
    ring_bytes =
        std::min(std::max(bytes, least_ring_bytes) / sys::cache_line * sys::cache_line, group.pairs.ring_bytes());
    inbox = memory::inbox_layout_for(group.ranks, std::clamp(bytes / 2, least_ring_bytes / 4, memory::most_slot_bytes));
  }
  std::size_t ring() const { return sizeof(RingHead) + ring_bytes; }
  std::size_t rings() const { return ranks * ranks * ring(); }
  memory::Ring between(std::byte* base, int from, int to) const {
    const std::size_t number = static_cast<std::size_t>(from) * ranks + static_cast<std::size_t>(to);
    return ring_at(base + number * ring(), ring_bytes);
  }

  std::size_t ranks;
  std::size_t ring_bytes = 0;  // of data
  memory::InboxLayout inbox{};
};

std::int64_t take(memory::ControlPool& pool, std::size_t bytes, int users) {
  const std::optional<std::size_t> taken = pool.take(bytes, users);
  return taken ? static_cast<std::int64_t>(*taken) : -1;
}

Lane make_lane(const Team& team, const Lanes& lanes, const LaneLayout& layout, const LaneChunks& at) {
  const run::Group& group = team.group;
  const std::shared_ptr<memory::ControlPool>& pool = team.area.pool();
  Lane lane;
  lane.rings.area = {pool, static_cast<std::size_t>(at.rings), layout.rings()};
  std::byte* const base = lane.rings.area.base();
  for (const run::NeighborPair& pair : lanes.with_own.pairs) {
    lane.rings.pairs.push_back({layout.between(base, group.me, pair.peer), layout.between(base, pair.peer, group.me)});
  }
  lane.inbox.area = {pool, static_cast<std::size_t>(at.inbox), layout.inbox.segment_bytes()};
  lane.inbox.inbox = memory::Inbox(lane.inbox.area.base(), layout.inbox, group.me);
  return lane;
}

}  // namespace

LanesMemory take_lanes(const Team& team) {
  const LaneLayout layout(team.group);
  memory::ControlPool& pool = *team.area.pool();
  const int users = team.group.ranks;
  LanesMemory memory;
  for (LaneChunks& lane : memory) {
    lane.rings = take(pool, layout.rings(), users);
    lane.inbox = lane.rings < 0 ? -1 : take(pool, layout.inbox.segment_bytes(), users);
    if (lane.inbox >= 0) continue;
    for (int user = 0; user < users && lane.rings >= 0; ++user) {
      pool.leave(static_cast<std::size_t>(lane.rings), layout.rings());
    }
    lane.rings = -1;
    break;
  }
  return memory;
}

void make_lanes(Team& team, const LanesMemory& memory) {
  const run::Group& group = team.group;
  const LaneLayout layout(group);
  auto made = std::make_shared<Lanes>();
  made->with_own = run::edges_among_all(group.me, group.ranks, true);
  made->without_own = run::edges_among_all(group.me, group.ranks, false);
  for (const LaneChunks& at : memory) {
    if (at.rings >= 0) made->lanes.push_back(make_lane(team, *made, layout, at));
  }
  team.lanes = std::move(made);
}

Lanes& lanes_of(Team& team) {
  if (team.lanes != nullptr) return *team.lanes;
  LanesMemory memory;
  if (team.group.me == 0) memory = take_lanes(team);
  for (LaneChunks& lane : memory) {
    const Verdict mine{lane.rings, static_cast<std::uint64_t>(lane.inbox)};
    const Verdict told = gather(mine, team.group)[0];
    lane = {told.chunk, static_cast<std::int64_t>(told.fits)};
  }
  make_lanes(team, memory);
  return *team.lanes;
}

bool can_pull(const Lanes& lanes) { return !lanes.lanes.empty() && lanes.lanes.front().pull.has_value(); }

bool prepare_pull_lanes(Team& team) {
  Lanes& lanes = lanes_of(team);
  if (can_pull(lanes) || lanes.cannot_pull) return can_pull(lanes);
  for (Lane& lane : lanes.lanes) {
    lane.pull = own_pull(team);
    if (lane.pull) continue;
    for (Lane& made : lanes.lanes) made.pull.reset();
    lanes.cannot_pull = true;
    return false;
  }
  return can_pull(lanes);
}

}  // namespace quadrille::team
