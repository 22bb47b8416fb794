// `quadrille tune --neighbors`: up to which block combining the messages of neighbours is better.
#pragma once

#include <string>
#include <vector>

#include "choose/tuning.hpp"
#include "plan/neighborhood.hpp"
#include "team/team.hpp"

namespace quadrille::tools {

struct NamedNeighborhood {
  std::string name;  // as it was asked for
  plan::Neighborhood around;
};

// Those that `words` name; if they name none, Moore neighbourhoods in two dimensions, and in three if there are ranks
// for that. Returns an empty string, or one line that says what is wrong.
std::string neighborhoods_to_tune(const std::vector<std::string>& words, int ranks,
                                  std::vector<NamedNeighborhood>& neighborhoods);

// Collective: measures neighbor_alltoall and neighbor_allgather on tori of all ranks, over messages: combined, all
// directly, and by the MPI; rank 0 prints the times. `batches` of each. A neighbourhood in which nothing can be
// combined is left out.
std::vector<choose::NeighborEntry> tune_neighbors(team::Team& world, int batches,
                                                  const std::vector<NamedNeighborhood>& neighborhoods);

}  // namespace quadrille::tools
