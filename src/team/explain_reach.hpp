// What QUADRILLE_EXPLAIN=1 says of the ways that large blocks have between the ranks of a node.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "team/processes.hpp"
#include "team/team.hpp"

namespace quadrille::team {

// `what` is to be said once a process, whichever communicator it is about: `where`.
struct ReachLine {
  std::string where, what;
};

// The lines of a rank of a team that is set up. They are of this rank and its peers on the node, whose numbers in
// `processes` are `members` with its own. `ways` are those that the user allows. Not collective.
std::vector<ReachLine> reach_lines(const Team& team, const Processes& processes, std::span<const int> members,
                                   const memory::Ways& ways);

}  // namespace quadrille::team
