// What `quadrille tune --algorithms` measures against each other.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "choose/registry.hpp"
#include "team/team.hpp"

namespace quadrille::tools {

// One of those that are measured.
struct Contender {
  std::string name;
  choose::Choice choice{};  // without algorithm: the usual way, with this limit of the inboxes
  std::size_t inbox_limit = 0;
  bool usual = false;
};

// Collective, over the ranks of `team`, for a collective whose ranks all know the size of the largest block. The usual
// ways come first. With data on the host, and in a device's memory.
std::vector<Contender> contenders_on_host(team::Team& team, Collective collective);
std::vector<Contender> contenders_on_devices(team::Team& team, Collective collective);

}  // namespace quadrille::tools
