#include "team/explain_reach.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>

#include "memory/heap.hpp"
#include "memory/xpmem.hpp"
#include "sys/process_memory.hpp"
#include "team/config.hpp"
#include "text/reason.hpp"

namespace quadrille::team {
namespace {

// One way to the peers.
struct Way {
  const char* name;
  bool memory::Ways::*allowed;
  Reason missing;
  int peers = 0;     // to how many of them
  Why why_not = {};  // to the others
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

// Tried once more, with a word that says nothing new.
Why why_no_cma(const Card& card, bool reads) {
  std::uint64_t word = card.word;
  auto* bytes = reinterpret_cast<std::byte*>(&word);
  const auto process = static_cast<pid_t>(card.process);
  errno = 0;
  // Before a process writes, it must have read the right word.
  if (!sys::read_process(process, card.word_at, bytes, sizeof word)) return {Reason::read_failed, std::strerror(errno)};
  if (word != card.word) return {Reason::another_process};
  if (!reads && card.watched != 0) return {Reason::peer_is_checked};
  if (!reads && !sys::write_process(process, card.word_at, bytes, sizeof word)) {
    return {Reason::write_failed, std::strerror(errno)};
  }
  return {Reason::failed_at_setup};
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// The ways in the order in which they are preferred.
class Peers {
 public:
  Peers(const Team& team, const Processes& processes, std::span<const int> members, const memory::Ways& ways)
      : group_(team.group), ways_(ways), guessed_(team.agreed().points_are_guessed) {
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (members[m] == group_.me) continue;
      ++count_;
      look_at(group_.reach().peers[m], processes.ranks[static_cast<std::size_t>(members[m])].card);
    }
  }

  // "heap, cma-read from 10240 bytes on, ring"
  std::string had() const {
    std::vector<std::string> words;
    for (const Way& way : all_) {
      if (way.peers == 0) continue;
      const bool kernel = way.allowed == &memory::Ways::cma_read || way.allowed == &memory::Ways::cma_write;
      words.push_back(way.name);
      if (way.peers < count_) words.back() += fmt::format(" (to {} of {} ranks)", way.peers, count_);
      if (kernel && group_.reach().rings && !guessed_)
        words.back() += fmt::format(" from {} bytes on", group_.reach().points.cma_from);
    }
    return words.empty() ? "messages only" : join(words);
  }

  // "xpmem is unavailable: ...", of each way that is allowed and missing.
  std::vector<ReachLine> missing(bool forced) const {
    std::vector<ReachLine> lines;
    for (const Way& way : all_) {
      if (!(ways_.*way.allowed) || way.peers == count_) continue;
      lines.push_back(
          {"", (forced ? "QUADRILLE_REACH: " : "") + text::words_of({.reason = way.missing, .then = {way.why_not}})});
    }
    return lines;
  }

 private:
  void look_at(const memory::Peer& peer, const Card& card) {
    count(heap_, peer.maps_my_heap && peer.heap != nullptr, [] { return why_no_heap(); });
    count(xpmem_, peer.attaches_me, [&] { return why_no_xpmem(ways_, group_.reach().rings); });
    count(cma_read_, peer.reads_me, [&] { return why_no_cma(card, true); });
    count(cma_write_, peer.i_write, [&] { return why_no_cma(card, false); });
    count(ring_, group_.reach().rings, [] { return Why{Reason::too_many_for_rings}; });
  }
  template <class Ask>
  void count(Way& way, bool there, const Ask& why) const {
    if (there) {
      ++way.peers;
    } else if (ways_.*way.allowed && way.why_not.reason == Reason::none) {
      way.why_not = why();
    }
  }

  const run::Group& group_;
  const memory::Ways& ways_;
  const bool guessed_;  // whether the switch points are still to be measured
  int count_ = 0;
  Way all_[5] = {{"heap", &memory::Ways::heap, Reason::no_heap},
                 {"xpmem", &memory::Ways::xpmem, Reason::no_xpmem},
                 {"cma-read", &memory::Ways::cma_read, Reason::no_cma_read},
                 {"cma-write", &memory::Ways::cma_write, Reason::no_cma_write},
                 {"ring", &memory::Ways::ring, Reason::no_ring}};
  Way &heap_ = all_[0], &xpmem_ = all_[1], &cma_read_ = all_[2], &cma_write_ = all_[3], &ring_ = all_[4];
};

bool are_all(const memory::Ways& ways) {
  return ways.heap && ways.xpmem && ways.cma_read && ways.cma_write && ways.ring;
}

}  // namespace

std::vector<ReachLine> reach_lines(const Team& team, const Processes& processes, std::span<const int> members,
                                   const memory::Ways& ways) {
  const std::string where =
      fmt::format("{} ranks, {} node{}: ", team.group.ranks, team.nodes.nodes, team.nodes.nodes == 1 ? "" : "s");
  const std::string head = "large blocks inside a node go by ";
  if (team.inbox_obstacle != Reason::none) {
    return {{where, head + "messages only: " + text::words_of({team.inbox_obstacle})}};
  }
  if (members.size() == 1) return {};
  const Peers peers(team, processes, members, ways);
  std::vector<ReachLine> lines = peers.missing(!are_all(ways));
  lines.insert(lines.begin(), {where, head + peers.had()});
  return lines;
}

void say_reach(const std::vector<ReachLine>& lines) {
  static auto* const mutex = new std::mutex;
  static auto* const said = new std::set<std::string>;
  const std::lock_guard lock(*mutex);
  for (const ReachLine& line : lines) {
    if (said->insert(line.what).second) say(line.where + line.what);
  }
}

}  // namespace quadrille::team
