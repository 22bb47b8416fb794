// Finding out what the ranks of a node can reach of each other's memory.
#pragma once

#include "memory/reach.hpp"
#include "run/group.hpp"

namespace quadrille::team {

// Collective over the ranks of a group on one node, whose inboxes are made. Fills what the group knows of
// its peers, and whether large blocks can be exchanged at all.
void find_reach(run::Group& group, const memory::Ways& ways);

// Unmaps the heaps of the peers, and takes this process out of XPMEM, when no group needs them any more.
void forget_reach();

}  // namespace quadrille::team
