// `quadrille show` for neighbour collectives.
#pragma once

#include <span>
#include <string>

#include "choose/registry.hpp"
#include "plan/neighborhood.hpp"
#include "plan/schedule.hpp"
#include "tool/plans/show.hpp"

namespace quadrille::tools {

// The schedule of rank `me`. `domains`: as those of the orders of copies; empty: one.
plan::Schedule neighbor_schedule(Collective collective, const choose::Choice& choice, const plan::Grid& grid,
                                 const plan::Neighborhood& around, std::span<const int> domains, int me);

// Prints the schedules of all ranks, or of the one that the options name. Their neighbourhood and grid are as in
// neighborhood_text.hpp. Returns an empty string, or what is wrong.
std::string show_neighbors(Collective collective, const choose::Choice& choice, const ShowOptions& options);

}  // namespace quadrille::tools
