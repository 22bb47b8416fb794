// The choices of algorithms that the tests force, read from the registry.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "choose/registry.hpp"

namespace quadrille::test {

// A collective and what is forced on it; "" is Quadrille's own choice.
struct Forced {
  Collective collective;
  std::string algorithm;
};

// For GoogleTest's messages.
inline std::ostream& operator<<(std::ostream& out, const Forced& forced) {
  return out << name_of(forced.collective) << " by " << (forced.algorithm.empty() ? "choice" : forced.algorithm);
}

// Every algorithm that serves one of the collectives, with several values of each parameter.
// Without `force` only Quadrille's own choice.
std::vector<Forced> forced_choices(const std::vector<Collective>& collectives, bool force);

// Whether Quadrille is sure to serve a call, whatever its size and datatypes, on several ranks.
bool surely_served(const Forced& forced);

// A name for GoogleTest: letters, digits and underscores.
std::string test_name(const Forced& forced);

}  // namespace quadrille::test
