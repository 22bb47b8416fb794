// Quadrille's functions of the collectives with one count for all blocks, by number.
#pragma once

#include "abi/functions.hpp"
#include "collective/collective.hpp"

namespace quadrille::tools {

using UniformFunction = decltype(&Quadrille_Alltoall);

#define QUADRILLE_UNIFORM_FUNCTION(collective, Name, ...) \
  inline auto uniform_function(Of<Collective::collective>) { return &Quadrille_##Name; }
QUADRILLE_COLLECTIVES(QUADRILLE_UNIFORM_FUNCTION)
#undef QUADRILLE_UNIFORM_FUNCTION

// Null for all others.
inline UniformFunction uniform_function(Collective collective) {
  UniformFunction found = nullptr;
  do_as(
      collective,
      [&](auto one) {
        if constexpr (is_regular(one)) found = uniform_function(one);
        return 0;
      },
      0);
  return found;
}

}  // namespace quadrille::tools
