// Pairwise exchange.
//
// Idea    One message out and one in at a time: in step i rank p sends to p + i and receives from
//         p - i, and goes on when both are done. Least load on the network, most waiting.
// Source  Namugwanya et al., section 2, algorithm 1.
// Cost    P - 1 rounds of one message and one block, 1 local copy (the own block), no scratch.
//
// Example, P = 4, rank 1:
//   copy    send[1] -> recv[1]
//   step 1  send[2] to 2, recv[0] from 0
//   step 2  send[3] to 3, recv[3] from 3
//   step 3  send[0] to 0, recv[2] from 2
#include "plan/algorithms.hpp"
#include "plan/direct_exchange.hpp"

namespace quadrille::plan {

Schedule pairwise(const Problem& problem) { return direct_exchange(problem, {Window::Wait::all, 1}); }

}  // namespace quadrille::plan
