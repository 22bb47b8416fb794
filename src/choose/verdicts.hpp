// What trials found out (choose/trial.hpp), kept for calls of the same kind on other communicators of the same shape.
//
// What a rank keeps says nothing of the others: they have been in other communicators. So the ranks of a communicator
// ask each other before they go by it (api/trials.cpp). Pure.
#pragma once

#include <climits>
#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "choose/registry.hpp"
#include "choose/trial.hpp"
#include "text/reason.hpp"

namespace quadrille::choose {

// In the place of a load: of calls with a device's memory.
inline constexpr int load_on_devices = INT_MIN;

// What a trial is of, and what its times depend on.
struct Case {
  int ranks = 0, nodes = 0, ranks_on_node = 0;  // of the fullest node
  bool crowded = false;
  std::uint64_t map = 0;  // which ranks share a node
  Collective collective{};
  Bytes bytes;                   // of a block, or of what a rank moves where no rank knows all sizes
  int load = 0;                  // class of what moves in all, where all ranks know it and blocks differ
  std::uint64_t candidates = 0;  // which they were
  auto operator<=>(const Case&) const = default;
};
Case case_of(const plan::NodeMap& nodes, bool crowded, Collective collective, Bytes bytes, int load,
             std::span<const Choice> candidates);

struct Verdict {
  Choice best;
  Why why;
};

using Verdicts = std::map<Case, Verdict>;
// Programs have few shapes and sizes. Of one that has more, those that come later are not kept.
inline constexpr std::size_t most_verdicts = 4096;
// In the place of what was found before.
void keep_verdict(Verdicts& verdicts, const Case& of, Verdict verdict);

}  // namespace quadrille::choose
