// Declares what libcuda.so.1 exports, so that each definition is held to the list in standin.hpp.
#pragma once

#include "driver.hpp"

#define QUADRILLE_DECLARE(name, ...) QUADRILLE_EXPORT int name(__VA_ARGS__);
#define QUADRILLE_DECLARE_PTDS(name, ...) QUADRILLE_EXPORT int name##_ptds(__VA_ARGS__);
#define QUADRILLE_DECLARE_PTSZ(name, ...) QUADRILLE_EXPORT int name##_ptsz(__VA_ARGS__);
QUADRILLE_CUDA_CALLS(QUADRILLE_DECLARE)
QUADRILLE_CUDA_BLOCKING_CALLS(QUADRILLE_DECLARE_PTDS)
QUADRILLE_CUDA_STREAM_CALLS(QUADRILLE_DECLARE_PTSZ)
