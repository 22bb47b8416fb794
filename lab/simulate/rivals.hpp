// What other MPIs choose without any setting, by what they publish, as algorithms of ours.
//
// Only the decisions are taken over, not how well an MPI carries them out: its time here is that of our schedule with
// its parameters. Where it has an algorithm that we have not, another stands in for it, and is named.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "choose/registry.hpp"

namespace quadrille::simulate {

struct Rival {
  std::string_view name, what;
};
// "openmpi", "mpich"
const std::vector<Rival>& rivals();

struct RivalChoice {
  std::string algorithm;  // of ours, as parse_choice() reads it; empty: none is known
  std::string says;       // what the MPI calls it, and what stands in for it
};
RivalChoice rival_choice(std::string_view rival, Collective collective, int ranks, double bytes);

}  // namespace quadrille::simulate
