// What QUADRILLE_EXPLAIN=1 says of the ways that large blocks have between the ranks of a node.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "team/processes.hpp"
#include "team/team.hpp"

namespace quadrille::team {

// The lines of a rank of a team that is set up. They are of this rank and its peers on the node, whose numbers in
// `processes` are `members` with its own. `ways` are those that the user allows. Not collective.
std::vector<std::string> reach_lines(const Team& team, const Processes& processes, std::span<const int> members,
                                     const memory::Ways& ways);

// Says them, but nothing that was said before of other communicators of this process.
void say_reach(const std::vector<std::string>& lines);

}  // namespace quadrille::team
