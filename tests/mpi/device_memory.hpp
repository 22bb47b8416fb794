// Memory of a device for the buffers of tests, by the stand-in of CUDA's driver (tests/device).
#pragma once

#include <memory>

#include "placed.hpp"

namespace quadrille::test {

enum class MemoryKind { host, device, pool, pinned, managed };
constexpr int memory_kinds = 5;

std::unique_ptr<Memory> allocate(MemoryKind kind, std::size_t bytes);

// How often objects whose path has `caller` in it have called the driver: QUADRILLE_STANDIN's counters.
unsigned long count_calls(const char* what, const char* caller);

}  // namespace quadrille::test
