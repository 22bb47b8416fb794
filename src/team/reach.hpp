// Finding out what the ranks of a node can reach of each other's memory.
#pragma once

#include "memory/reach.hpp"
#include "run/group.hpp"

namespace quadrille::team {

// The ranks of a communicator that share memory with this one. They have `comm` for themselves.
struct NodeView {
  MPI_Comm comm;
  int me;
  int ranks;
};

// Collective over the ranks of a node, whose inboxes are made. Fills what the group knows of
// its peers, and whether large blocks can be exchanged at all.
void find_reach(const NodeView& node, run::Group& group, const memory::Ways& ways);

// Unmaps the heaps of the peers, and takes this process out of XPMEM, when no group needs them any more.
void forget_reach();

}  // namespace quadrille::team
