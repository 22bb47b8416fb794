// The messages of algorithms that move blocks inside a node through its memory, and straight from their source to their
// destination between nodes.
#pragma once

#include "plan/problem.hpp"

namespace quadrille::plan {

// Ends the schedule with a round of them, if there are any. `blocks`: send buffers have a block for each destination;
// else block 0 is for all.
void exchange_between_nodes(const Problem& problem, bool blocks, Builder& builder);

}  // namespace quadrille::plan
