// Which algorithms may be the fastest for a call: read from the registry, so a new entry is one of them by itself.
//
// Two ask. `quadrille tune --algorithms` has time for all that its engine says is worth measuring. The first calls of a
// program have not, so they leave out entries that are marked as untried.
#pragma once

#include <vector>

#include "choose/select.hpp"

namespace quadrille::choose {

// An algorithm with the values of its parameters that are worth trying. The standard values come first. `has_time`:
// also those that the first calls leave out.
std::vector<Choice> variants(const Algorithm& algorithm, int ranks, int ranks_on_node, bool has_time = false);

// False if another of the variants, with a standard value, does the same with blocks of so many bytes.
bool makes_a_difference(const Choice& choice, std::size_t bytes);

// What `quadrille tune --algorithms` measures on so many nodes. Which sizes each of them serves shows when it is
// selected.
std::vector<Choice> measured_candidates(Collective collective, int ranks, int nodes, int ranks_on_node);

// An algorithm with the values of its parameters that are worth measuring with data in a device's memory.
std::vector<Choice> variants_on_devices(const Algorithm& algorithm, bool in_one_node);

// What the first calls try. All of them can serve the call.
std::vector<Choice> tried_candidates(const GlobalKey& key);

}  // namespace quadrille::choose
