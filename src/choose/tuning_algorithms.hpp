// Which algorithm was measured to be best at which block size (`quadrille tune --algorithms`): the offline choice of
// Ramesh et al., HINT, section V.D, for the collectives whose block size all ranks know.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "choose/registry.hpp"

namespace quadrille::choose {

// For blocks of at most `up_to` bytes, and more than those of the choice before.
struct SizedChoice {
  std::size_t up_to = 0;
  Choice choice;  // without algorithm: the default way, which the switch points and the model choose
};
// Ascending. Larger blocks go the default way.
using SizedChoices = std::vector<SizedChoice>;

struct AlgorithmEntry {
  Collective collective{};  // alltoall or allgather
  int ranks = 0;
  int ranks_on_node = 0;  // of the fullest node
  int nodes = 1;
  bool crowded = false;
  SizedChoices choices;
};

// At most so many choices in an entry.
inline constexpr std::size_t most_sized_choices = 64;

// What was measured for blocks of `bytes`; null: nothing was.
const SizedChoice* choice_for(const SizedChoices& choices, std::size_t bytes);

// Up to which size, beginning with the smallest, blocks go the default way or through inboxes. SIZE_MAX if all do.
std::size_t default_up_to(const SizedChoices& choices);

// Blocks of at most so many bytes go the default way, whatever was measured.
void keep_default(SizedChoices& choices, std::size_t up_to);

// "default" or "zero-rotation-bruck:radix=4".
std::string word_of(const Choice& choice);

// By dense collective. allgatherv goes by what was measured of allgather, with its largest block.
using ChoicesByCollective = std::array<SizedChoices, dense_collective_count>;

// As text that one rank can send to others. The inverse takes what it does not know for the default way.
std::string text_of(const ChoicesByCollective& choices);
ChoicesByCollective choices_from(std::string_view text);

}  // namespace quadrille::choose
