// Measures the switch points inside a node where no tuning table has them.
#pragma once

#include "team/team.hpp"

namespace quadrille::api {

// Collective over a team that is ready and whose points are guessed, which they are not afterwards. Takes some hundred
// calls of an all-to-all and an allgather: with two ranks about a millisecond. What is found counts for all teams of
// this process with about as many ranks.
//
// Where ranks share processors, only large blocks of private memory are measured, with fewer calls.
void calibrate(team::Team& team);

}  // namespace quadrille::api
