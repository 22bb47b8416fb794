// The allocator on the heap's segment (memory/heap_parts.hpp): one arena of jemalloc whose memory comes from there.
// jemalloc's own records lie outside the segment, so that a stray write of a peer can damage data at worst, never the
// allocator.
#pragma once

#include <cstddef>

#include "text/reason.hpp"

namespace quadrille::memory {

// Makes the arena. At most once in a process. Returns none, or why there is no arena.
Reason arena_start();

// Where the memory ends that was ever handed to the arena, from the start of the segment.
std::size_t arena_reach();

// `alignment` is a power of two. Null if the range is full.
void* arena_allocate(std::size_t bytes, std::size_t alignment, bool zero);
void arena_free(void* address);
// Keeps the content; null if the range is full, then `address` stays as it is.
void* arena_resize(void* address, std::size_t bytes);
// Changes the size in place, as far as that goes.
void arena_resize_in_place(void* address, std::size_t bytes);
// Bytes that the program may use at `address`.
std::size_t arena_usable(const void* address);

// Gives back pages that have been free for a second.
void arena_decay();
// Gives back all free pages now.
void arena_trim();

}  // namespace quadrille::memory
