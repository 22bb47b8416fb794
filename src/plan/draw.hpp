// A schedule as text, for people.
#pragma once

#include <string>

#include "plan/schedule.hpp"

namespace quadrille::plan {

// The schedule of rank `me`, a line an action. Consecutive blocks are drawn together:
//
//   round 1
//     copy  send[0] -> scratch[0]
//     send  to 0: scratch[0..1]
//     recv  from 2: scratch[2..3]
//     copy  scratch[2..3] -> recv[1..2]
//
// "recv[3..1]" is recv[3], recv[2], recv[1].
std::string draw(const Schedule& schedule, int me);

}  // namespace quadrille::plan
