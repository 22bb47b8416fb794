// Which algorithm was measured to be best at which block size (`quadrille tune --algorithms`): the offline choice of
// Ramesh et al., HINT, section V.D, for the collectives whose block size all ranks know.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "choose/registry.hpp"

namespace quadrille::choose {

// For blocks of at most `up_to` bytes, and more than those of the choice before.
struct SizedChoice {
  std::size_t up_to = 0;
  Choice choice;         // without algorithm: the default way, which the switch points and the model choose
  bool measured = true;  // false: between what was measured, as above the largest
};
// Ascending. Larger blocks were not measured.
using SizedChoices = std::vector<SizedChoice>;

// Of collectives whose sizes no rank knows alone, the bytes are those that the busiest rank sends and receives.
struct AlgorithmEntry {
  Collective collective{};  // a dense one
  int ranks = 0;
  int ranks_on_node = 0;  // of the fullest node
  int nodes = 1;
  bool crowded = false;
  SizedChoices choices;
  bool on_devices = false;  // of calls in which some ranks' data are in a device's memory

  // Where all ranks share a node their number says everything.
  auto beside_ranks() const {
    return std::tuple(collective, crowded, nodes == 1, nodes == 1 ? 0 : ranks_on_node, on_devices);
  }
};

// What decides whether combining pays, as the paper's cut-off has it: neighbours that are other processes (s), and of
// the algorithm with the fewest messages these (D) and the blocks it sends (V).
struct NeighborhoodKind {
  std::int64_t neighbors = 0;
  std::int64_t rounds = 0;
  std::int64_t blocks = 0;
  bool operator==(const NeighborhoodKind&) const = default;
};

// Of neighbours between nodes. Plain: it is broadcast as it is.
struct NeighborEntry {
  Collective collective{};
  int ranks = 0;
  int ranks_on_node = 1;  // of the fullest node
  bool crowded = false;
  NeighborhoodKind kind;
  std::size_t largest_combined = 0;  // bytes of a block

  auto beside_ranks() const { return std::tuple(collective, crowded, ranks_on_node, kind); }
  bool operator==(const NeighborEntry&) const = default;
};

// Of neighbours inside a node: orders of copies by load and store, or the default exchange.
struct InsideEntry {
  Collective collective{};
  int ranks = 0;
  bool crowded = false;
  NeighborhoodKind kind;
  SizedChoices choices;

  auto beside_ranks() const { return std::tuple(collective, crowded, kind); }
};
// The orders that may replace the default exchange for this collective, in the order of the registry.
std::vector<const Algorithm*> inside_orders(Collective collective);

// At most so many choices in an entry.
inline constexpr std::size_t most_sized_choices = 64;

// What was measured for blocks of `bytes`; null: nothing was.
const SizedChoice* choice_for(const SizedChoices& choices, std::size_t bytes);

// Up to which size, beginning with the smallest, blocks go the default way or through inboxes. SIZE_MAX if all do.
std::size_t default_up_to(const SizedChoices& choices);

// Blocks of at most so many bytes go the default way, whatever was measured.
void keep_default(SizedChoices& choices, std::size_t up_to);

// `choice` was the best for blocks of `from` to `to` bytes, from 1 on. What was known of others stays. False, and
// nothing is changed, if there would be too many choices.
bool put_choice(SizedChoices& choices, std::size_t from, std::size_t to, const Choice& choice);

// "default" or "zero-rotation-bruck:radix=4"; "unknown" of what was not measured.
std::string word_of(const SizedChoice& one);
// The inverse: fills all but `up_to`. Returns an empty string, or what is wrong.
std::string read_word(Collective collective, std::string_view word, SizedChoice& one);

// By dense collective. If nothing was measured of allgatherv it goes by allgather, with its largest block.
using ChoicesByCollective = std::array<SizedChoices, dense_collective_count>;

// What was measured, by where the data are; and of neighbours inside a node.
struct MeasuredChoices {
  ChoicesByCollective on_host, on_devices;
  std::vector<InsideEntry> inside = {};
};

// As text that one rank can send to others. The inverse takes what it does not know for the default way, and does not
// have the ranks of entries.
std::string text_of(const MeasuredChoices& choices);
MeasuredChoices choices_from(std::string_view text);

}  // namespace quadrille::choose
