// Algorithms that do the same on a communicator: a NUMA-aware order is the plain one where there is one NUMA domain.
#pragma once

#include <vector>

#include "choose/registry.hpp"

namespace quadrille::team {

struct Team;

// Collective: the candidates without those whose plan is, on all ranks, that of one before which the same engine runs.
std::vector<choose::Choice> without_twins(Team& team, Collective collective,
                                          const std::vector<choose::Choice>& candidates);

}  // namespace quadrille::team
