// CUDA's names for what the stand-in does not have. Programs that are linked to them find that out when they call them.
#include "cuda_calls.hpp"

using namespace quadrille::standin;

#define QUADRILLE_UNSUPPORTED(name, ...)                                          \
  QUADRILLE_EXPORT int name(__VA_ARGS__) {                                        \
    return enter(QUADRILLE_HERE, [] { return static_cast<int>(not_supported); }); \
  }
QUADRILLE_CUDA_UNSUPPORTED_CALLS(QUADRILLE_UNSUPPORTED)
