// The heap, and limits that a program sets while it runs: on its address space, and on what may be swapped out.
//
// Addresses are reserved that nothing lies in: for the heap, the heaps of other ranks, and the control memory of many
// communicators. A program knows nothing of them, so neither a limit on its addresses nor locking all its memory may
// count them. For the functions that the preload library interposes (api/map_watch.cpp).
#pragma once

#include <cstddef>

namespace quadrille::memory {

// ---- Limits ----

// Bytes of addresses that are reserved in this process, for others or for later.
std::size_t heap_idle_addresses();
// `bytes` from `base` on are mapped, and are not the program's. `in_children`: a child has them, too.
void note_reserved(const void* base, std::size_t bytes, bool in_children);
void forget_reserved(const void* base);
// New memory comes from libc from now on, where it counts. What is in the heap stays.
void heap_take_no_more();

// ---- Locked memory ----

// Locks and populates the memory that the program knows of, without what is reserved. Returns 0 or -1 with errno.
int heap_lock_current();
// Memory that the heap opens from now on is locked, or not.
void heap_lock_future(bool lock);

}  // namespace quadrille::memory
