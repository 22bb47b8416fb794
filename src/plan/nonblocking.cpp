// Nonblocking exchange.
//
// Idea    The steps of pairwise exchange, all begun before the first is waited for. Nobody waits
//         for a late peer before the end, but all messages are in the network together.
//         Written as a schedule this is spread-out: two papers give one exchange two names, and
//         both names are known here.
// Source  Namugwanya et al., section 2, algorithm 2.
// Cost    1 round, P - 1 messages, P - 1 blocks, 1 local copy (the own block), no scratch.
//
// Example, P = 3, rank 0:
//   copy  send[0] -> recv[0]
//   send  to 1: send[1]     to 2: send[2]
//   recv  from 2: recv[2]   from 1: recv[1]
#include "plan/algorithms.hpp"
#include "plan/direct_exchange.hpp"

namespace quadrille::plan {

Schedule nonblocking(const Problem& problem) { return direct_exchange(problem, {Window::Wait::all, 0}); }

}  // namespace quadrille::plan
