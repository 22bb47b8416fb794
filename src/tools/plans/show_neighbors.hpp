// `quadrille show` for neighbour collectives.
#pragma once

#include <string>

#include "choose/registry.hpp"

namespace quadrille::tools {

// Prints the schedules of all ranks, or of rank `me` if that is not negative. `neighborhood` and
// `grid` as in neighborhood_text.hpp; without a grid a torus of `ranks`. Returns an empty string,
// or what is wrong.
std::string show_neighbors(choose::Collective collective, const choose::Choice& choice,
                           const std::string& neighborhood, const std::string& grid, int ranks,
                           int me);

}  // namespace quadrille::tools
