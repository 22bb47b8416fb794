// The machine that QUADRILLE_TOPOLOGY describes in place of the real one.
#pragma once

#include <string>
#include <vector>

namespace quadrille::tools {

// Fills `unit_domains` with the label (team/numa.hpp) of each of its processing units, which ranks take in turn; leaves
// it empty if the variable is not set. Returns an empty string, or one line that says what is wrong.
std::string read_topology(std::vector<int>& unit_domains);

}  // namespace quadrille::tools
