#include "lab/simulate/engine.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace quadrille::simulate {
namespace {

constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

struct Half {
  std::uint32_t peer, note;
  friend auto operator<=>(const Half&, const Half&) = default;
};

}  // namespace

Engine::Engine(const Crowd& crowd) : crowd_(crowd) {
  std::vector<std::uint32_t> members(static_cast<std::size_t>(crowd.map.nodes));
  std::uint64_t notes = 0;
  for (std::uint32_t r = 0; r < ranks(); ++r) {
    number_on_node_.push_back(members[node_of(r)]++);
    first_note_.push_back(static_cast<std::uint32_t>(notes));
    notes += crowd.programs[r].notes.size();
    if (notes >= nobody) {
      problem_ = fmt::format("more than {} messages", nobody / 2);
      return;
    }
  }
  first_note_.push_back(static_cast<std::uint32_t>(notes));
  other_half_.assign(notes, nobody);
  owner_.reserve(notes);
  for (std::uint32_t r = 0; r < ranks(); ++r) owner_.insert(owner_.end(), crowd.programs[r].notes.size(), r);
  match();
}

Engine::Way Engine::way(std::uint32_t from, std::int32_t peer) const {
  const auto to = static_cast<std::uint32_t>(peer);
  const auto nodes = static_cast<std::uint32_t>(crowd_.map.nodes);
  const bool exclusive_or = crowd_.alike == Alike::exclusive_or;
  if (!crowd_.one_node) {
    const std::uint32_t here = node_of(from), there = node_of(to);
    return {to, from, exclusive_or ? here ^ there : (here + nodes - there) % nodes, here != there};
  }
  // What this rank sends to node m, the rank of its number on another node sends to node 0.
  const auto per_node = static_cast<std::uint32_t>(ranks());
  const std::uint32_t there = to / per_node, source = exclusive_or ? there : (nodes - there) % nodes;
  return {to % per_node, source * per_node + from, source, there != 0};
}

void Engine::match() {
  // What each rank receives, by sender; of one sender in its order, which is the order that messages keep.
  std::vector<Half> expected(notes(), Half{nobody, nobody});
  std::vector<std::uint32_t> taken(notes(), 0), count(ranks(), 0);
  for (std::uint32_t r = 0; r < ranks(); ++r) {
    const Program& program = crowd_.programs[r];
    const auto begin = expected.begin() + first_note_[r];
    for (const Stage& stage : program.stages) {
      for (std::uint32_t i = stage.receives.first; i < stage.receives.first + stage.receives.count; ++i) {
        if (program.notes[i].blocks == 0) continue;
        begin[count[r]++] = {static_cast<std::uint32_t>(program.notes[i].peer), first_note_[r] + i};
      }
    }
    std::sort(begin, begin + count[r]);
  }
  std::uint64_t matched = 0, all = 0;
  for (std::uint32_t r = 0; r < ranks() && problem_.empty(); ++r) {
    const Program& program = crowd_.programs[r];
    all += count[r];
    for (const Stage& stage : program.stages) {
      for (std::uint32_t i = stage.sends.first; i < stage.sends.first + stage.sends.count; ++i) {
        const Note& note = program.notes[i];
        if (note.blocks == 0) continue;
        const Way way = this->way(r, note.peer);
        const auto begin = expected.begin() + first_note_[way.to], end = begin + count[way.to];
        const auto group = std::lower_bound(begin, end, Half{way.label, 0});
        const auto at = group == end ? end : group + taken[static_cast<std::size_t>(group - expected.begin())]++;
        if (at >= end || at->peer != way.label) {
          problem_ = fmt::format("rank {} sends to {} what that does not receive", r, note.peer);
          return;
        }
        const Note& other = crowd_.programs[way.to].notes[at->note - first_note_[way.to]];
        if (other.blocks != note.blocks || other.told != note.told) {
          problem_ =
              fmt::format("rank {} sends {} blocks to {}, which expects {}", r, note.blocks, note.peer, other.blocks);
          return;
        }
        other_half_[first_note_[r] + i] = at->note;
        other_half_[at->note] = first_note_[r] + i;
        ++matched;
      }
    }
  }
  if (matched != all) problem_ = fmt::format("{} messages are received that nobody sends", all - matched);
}

}  // namespace quadrille::simulate
