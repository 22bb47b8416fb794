// Which messages the MPI sends without asking the receiver.
#pragma once

#include <cstddef>

#include "team/team.hpp"

namespace quadrille::tools {

// Collective: how many bytes may have a message between nodes, or of one node between ranks, that is sent though nobody
// receives it. 0: even a long one is.
std::size_t eager_limit(team::Team& team);

}  // namespace quadrille::tools
