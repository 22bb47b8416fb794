// Measures the switch points inside a node where no tuning table has them.
#pragma once

#include "team/team.hpp"

namespace quadrille::api {

// Collective over a team that is ready and whose points are guessed, which they are not afterwards. Takes some hundred
// calls of an all-to-all and an allgather: with two ranks about a millisecond. What is found counts for all teams of
// this process with about as many ranks.
//
// Where ranks share processors nothing is measured: so few calls say nothing there, and many would take long.
void calibrate(team::Team& team);

}  // namespace quadrille::api
