// The exchange that spread-out, pairwise, nonblocking and the batched algorithms share: every block
// travels once, straight from the sender's send buffer to the receiver's recv buffer. The
// algorithms differ in the window alone.
#pragma once

#include "plan/problem.hpp"

namespace quadrille::plan {

// One round with P - 1 pairs. Pair i (1 <= i < P) sends to rank me + i and receives from rank me -
// i, so that in step i no two ranks send to the same rank. The own block is copied before.
Schedule direct_exchange(const Problem& problem, Window window);

}  // namespace quadrille::plan
