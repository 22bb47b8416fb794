// The all-to-all and the allgather of several nodes through leaders: what is packed where in the memory that the ranks
// of a node share, and who sends what of it. The schedule that is proved (leaders.cpp) and the engine that runs
// (run/leaders.cpp) both come from this plan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "plan/problem.hpp"
#include "plan/schedule.hpp"

namespace quadrille::plan {

// What moves: blocks of an all-to-all that all have one size, blocks of an all-to-all whose sizes their sources and
// destinations know, or blocks of an allgather, whose sizes all ranks know.
enum class LeadersKind : std::uint8_t { uniform, uneven, gather };

// Whether leaders may exchange by it.
bool fits_among_leaders(Build exchange, LeadersKind kind);

// A run of blocks: those of the ranks [first, first + count) lie one behind the other in the area from `at` on.
struct LeadersRun {
  int first = 0;
  int count = 0;
  std::size_t at = 0;
};

// What a leader exchanges with the leader of another node. Numbers of places in the area.
struct LeadersStream {
  int peer = 0;                          // rank
  std::size_t node = 0;                  // that of the peer
  int share_first = 0, share_count = 0;  // what comes is for these members of this node
  std::size_t send_at = 0, send_count = 0;
  std::size_t recv_at = 0, recv_count = 0;
};

// Of uneven blocks: what this rank packs for a stream, and what it finds in one.
struct LeadersOut {
  std::size_t at = 0;   // first place of the stream
  std::vector<int> to;  // the ranks that it is for
};
struct LeadersIn {
  std::size_t node = 0, at = 0;
  std::vector<int> from;      // the ranks of the other node
  int share = 0, number = 0;  // so many ranks is it for, and this one's number among them
};

// The area of a node is an array of places, each for one block, in five parts. Where a part lies in memory must not
// depend on the plan: a rank may still read what came in one call while others write what goes out in the next.
//   own, own_too  blocks that stay in the node and, in an allgather, all that the node sends; used by two calls in
//                 turn, because a rank may begin the next call while others still read them
//   out, in       what leaders send and receive; an allgather has no `out`
//   scratch       of the exchanges among leaders
enum class LeadersPart : std::uint8_t { own, own_too, out, in, scratch };
inline constexpr std::size_t leaders_parts = 5;
// The bytes of each part, for each rank of the node; memory/leaders.hpp has them.
inline constexpr std::array<std::size_t, leaders_parts> leaders_part_bytes = {256 << 10, 256 << 10, 1 << 20, 1 << 20,
                                                                              1 << 20};

struct LeadersPlan {
  LeadersKind kind = LeadersKind::uniform;
  std::size_t piece = 0;  // most bytes of a block that are to move at a time; uneven: through leaders
  int me = 0, ranks = 0;
  std::vector<int> members;          // the ranks of this node, in order
  int number = 0;                    // of this rank among them
  std::size_t node = 0, nodes = 1;   // of what acts as a node
  std::vector<int> packs;            // the ranks for which it packs, in that order; of an allgather nothing
  std::vector<std::size_t> send_at;  // [rank] place of this rank's block for it; of an allgather only [me]
  std::vector<LeadersRun> received;  // all blocks for this rank, by their sources; the own ones in the first part
  std::array<std::size_t, leaders_parts + 1> parts{};  // first place of each part, and the end of all
  std::vector<int> source_of;                          // allgather: [place] whose block it holds
  int leads = -1;                                      // number of this rank among the leaders of its node; -1: none
  int leaders = 0;                                     // of this node
  std::vector<LeadersOut> outs;                        // uneven
  std::vector<LeadersIn> ins;
  std::vector<LeadersStream> streams;  // of a leader: [number in the exchange]; of an all-to-all its own has no blocks
  Schedule exchange;                   // of a leader: block b of send and recv is that of stream b; peers are ranks.
                                       // Uneven: of send the blocks b * (1 + members) to (b + 1) * (1 + members) - 1
  std::size_t scratch_at = 0;          // scratch of this leader's exchange, `slot` places a block
  std::size_t slot = 0;
  std::array<std::size_t, leaders_parts> most_places{};  // of a part, for each rank of a node; on the node with most

  std::size_t first_of(LeadersPart part) const { return parts[static_cast<std::size_t>(part)]; }
  int here() const { return static_cast<int>(members.size()); }
  bool gathers() const { return kind == LeadersKind::gather; }
  std::size_t own_places() const { return first_of(LeadersPart::own_too); }
  std::size_t places() const { return parts.back(); }

  // ---- Of a leader's exchange, what its blocks are in the area ----

  struct Places {
    std::size_t at, count;
  };
  Places places_of(const Span& span) const;
  const LeadersStream& stream_of(const Span& span) const;  // not of scratch
  std::size_t blocks_of(const Message& message) const;
  std::size_t blocks_of(const Copy& copy) const;  // 0: they lie there already
};

// What acts as a node: the parameter `group` splits nodes into groups of at most so many ranks, of one NUMA domain as
// far as may be.
NodeMap leaders_groups(const Problem& problem);

// The orders of packing, in the order of the parameter `order`.
enum class LeadersOrder : std::uint8_t { row, rotated, morton };
inline constexpr std::array<std::string_view, 3> leaders_order_names = {"row", "rotated", "morton"};

LeadersPlan leaders_plan(const Problem& problem, LeadersKind kind);

// The bytes that a place has room for, on all nodes, in an area of such parts.
std::size_t most_a_place(const LeadersPlan& plan,
                         const std::array<std::size_t, leaders_parts>& parts = leaders_part_bytes);

}  // namespace quadrille::plan
