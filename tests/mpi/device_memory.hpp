// Memory of a device for the buffers of tests, by the stand-in of CUDA's driver (tests/device).
#pragma once

#include <memory>

#include "placed.hpp"

namespace quadrille::standin {
struct Launch;
}

namespace quadrille::test {

enum class MemoryKind { host, device, pool, pinned, managed, mapped };

std::unique_ptr<Memory> allocate(MemoryKind kind, std::size_t bytes);

// Puts so many bytes of this value into memory of a device, in the order of the NULL stream, and waits for nothing.
void set_later(Memory& memory, unsigned char value, std::size_t bytes);

// How often objects whose path has `caller` in it have called the driver: QUADRILLE_STANDIN's counters.
unsigned long count_calls(const char* what, const char* caller);

// A setting of the stand-in, such as FAIL; and what a kernel of this name does instead of what its text says.
void set_driver(const char* name, const char* value);
void replace_kernel(const char* name, void (*twin)(const standin::Launch*, void**));

}  // namespace quadrille::test
