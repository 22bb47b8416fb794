// What the tests of the heap share. What the kernel says of it is an oracle that shares nothing with the library.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace quadrille::test {

inline constexpr std::size_t MiB = std::size_t{1} << 20;

// The line of /proc/self/maps that holds `address`; empty if there is none. Allocates small blocks only.
std::string mapping_of(const void* address);

// Whether memory at `address` is shared memory of the heap, as the kernel sees it.
bool in_shared_heap(const void* address);

// Whether any mapping of this process is the heap's.
bool has_heap();

// Whether the environment says that large blocks shall come from the heap, and there is room enough.
bool expects_heap();

// Bytes of memory that a segment holds; 0 if unknown.
std::size_t resident_bytes(int descriptor);
// Those of the heap's segment, from the open descriptors of this process.
std::size_t heap_resident_bytes();

// How many of these bytes are mapped as huge pages, by the mappings that lie inside.
std::size_t huge_bytes(const void* begin, std::size_t bytes);
// What the kernel was advised for the page at an address: "huge", "small" or "".
std::string advice_at(const void* address);

// Bytes of addresses that this process has taken, and of memory that is locked (/proc/self/status).
std::size_t address_space();
std::size_t locked_bytes();

// Fills and checks a block with bytes that depend on `seed` and the offset.
void fill(void* block, std::size_t bytes, std::uint32_t seed);
bool holds(const void* block, std::size_t bytes, std::uint32_t seed);

// How a child ends: its exit code, or -signal. Waits for it.
int end_of(pid_t child);

}  // namespace quadrille::test
