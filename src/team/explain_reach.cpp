// What QUADRILLE_EXPLAIN=1 says of the ways that large blocks have between the ranks of a node.
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <vector>

#include "memory/heap.hpp"
#include "memory/xpmem.hpp"
#include "team/processes.hpp"
#include "team/team.hpp"
#include "text/reason.hpp"

namespace quadrille::team {
namespace {

// One way to the peers.
struct Way {
  const char* name;
  bool allowed;
  Reason missing;
  std::optional<std::size_t> from = {};  // bytes from which blocks take it, if that is known
  int peers = 0;                         // to how many of them
  Why why_not = {};                      // to the others

  template <class Ask>
  void count(bool there, const Ask& why) {
    if (there) {
      ++peers;
    } else if (allowed && why_not.reason == Reason::none) {
      why_not = why();
    }
  }
  // "cma-read (to 2 of 3 ranks) from 10240 bytes on"
  std::string words(int of_peers) const {
    return name + (peers < of_peers ? fmt::format(" (to {} of {} ranks)", peers, of_peers) : "") +
           (from ? fmt::format(" from {} bytes on", *from) : "");
  }
};

Why why_no_heap() {
  if (memory::heap_active()) return {Reason::heaps_not_mapped};
  Why why = memory::heap_why_not();
  return why.reason == Reason::none ? Why{Reason::no_heap_here} : why;
}

Why why_no_xpmem(const memory::Ways& ways, bool rings) {
  if (!ways.ring || !rings) return {Reason::xpmem_requires_ring};
  const Why& why = memory::xpmem_here().why_not;
  return why.reason == Reason::none ? Why{Reason::memory_not_attached} : why;
}

// Tried once more.
Why why_no_cma_now(const Card& card, bool writes) {
  Why why = why_no_cma(card, writes);
  return why.reason == Reason::none ? Why{Reason::failed_at_setup} : why;
}

}  // namespace

void explain_reach(const Team& team, const Processes& processes, std::span<const int> members,
                   const memory::Ways& ways) {
  const std::string where =
      fmt::format("{} ranks, {} node{}: ", team.group.ranks, team.nodes.nodes, team.nodes.nodes == 1 ? "" : "s");
  const auto say_ways = [&where](const std::string& ways_there) {
    const std::string what = "large blocks inside a node go by " + ways_there;
    say_once(where + what, what);
  };
  if (team.inbox_obstacle != Reason::none) {
    return say_ways("messages only: " + text::words_of({team.inbox_obstacle}));
  }
  if (members.size() == 1) return;
  const run::Reach& reach = team.group.reach();
  std::optional<std::size_t> cma_from;  // unless the switch points are still to be measured
  if (reach.rings && team.agreed().points != Points::guessed) cma_from = reach.points.cma_from;
  // In the order in which they are preferred.
  Way all[] = {{"heap", ways.heap, Reason::no_heap},
               {"xpmem", ways.xpmem, Reason::no_xpmem},
               {"cma-read", ways.cma_read, Reason::no_cma_read, cma_from},
               {"cma-write", ways.cma_write, Reason::no_cma_write, cma_from},
               {"ring", ways.ring, Reason::no_ring}};
  auto& [heap, xpmem, cma_read, cma_write, ring] = all;
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (members[m] == team.group.me) continue;
    const memory::Peer& peer = reach.peers[m];
    const Card& card = processes.ranks[static_cast<std::size_t>(members[m])].card;
    heap.count(peer.can.map && peer.heap != nullptr, [] { return why_no_heap(); });
    xpmem.count(peer.can.attach, [&] { return why_no_xpmem(ways, reach.rings); });
    cma_read.count(peer.can.read, [&] { return why_no_cma_now(card, false); });
    cma_write.count(peer.i_can.write, [&] { return why_no_cma_now(card, true); });
    ring.count(reach.rings, [] { return Why{Reason::too_many_for_rings}; });
  }
  const int peers = static_cast<int>(members.size()) - 1;
  const bool forced = !(ways.heap && ways.xpmem && ways.cma_read && ways.cma_write && ways.ring);
  std::vector<std::string> had;
  for (const Way& way : all) {
    if (way.peers > 0) had.push_back(way.words(peers));
  }
  say_ways(had.empty() ? "messages only" : fmt::format("{}", fmt::join(had, ", ")));
  for (const Way& way : all) {
    if (!way.allowed || way.peers == peers) continue;
    say_once((forced ? "QUADRILLE_REACH: " : "") + text::words_of({.reason = way.missing, .then = {way.why_not}}));
  }
}

}  // namespace quadrille::team
