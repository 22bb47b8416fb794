// Spread-out all-to-all.
//
// Idea    All P - 1 messages are posted at once. Rank p begins with rank p + 1 and goes round, so
//         that the ranks do not all send to rank 0 first.
// Source  The baseline of Fan et al., HPDC 2022, section 1 (there after Kang et al., SC 2020).
// Cost    1 round, P - 1 messages, P - 1 blocks, 1 local copy (the own block), no scratch.
//
// Example, P = 4, rank 1:
//   copy  send[1] -> recv[1]
//   send  to 2: send[2]     to 3: send[3]     to 0: send[0]
//   recv  from 0: recv[0]   from 3: recv[3]   from 2: recv[2]
#include "plan/algorithms.hpp"
#include "plan/direct_exchange.hpp"

namespace quadrille::plan {

Schedule spread_out(const Problem& problem) { return direct_exchange(problem, {}); }

}  // namespace quadrille::plan
