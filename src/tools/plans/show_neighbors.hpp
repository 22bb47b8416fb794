// `quadrille show` for neighbour collectives.
#pragma once

#include <string>

#include "choose/registry.hpp"
#include "tools/plans/show.hpp"

namespace quadrille::tools {

// Prints the schedules of all ranks, or of the one that the options name. Their neighbourhood and grid are as in
// neighborhood_text.hpp. Returns an empty string, or what is wrong.
std::string show_neighbors(Collective collective, const choose::Choice& choice,
                           const ShowOptions& options);

}  // namespace quadrille::tools
