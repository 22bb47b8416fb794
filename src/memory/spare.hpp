// Memory for when the system has none: what a call needs besides its data.
//
// Idea    A rank that runs out of memory in a collective may not leave it alone, and what it needs to go on is little:
//         lists of blocks, of requests, of rounds. So each process has some memory in reserve since it was loaded, of
//         which nothing is touched, or even looked at, before an allocation fails. Blocks of data are not little: where
//         they need memory, all ranks learn of it if one has none.
// Cost    A comparison when memory is given back.
#pragma once

#include <cstddef>

namespace quadrille::memory {

// No larger request is served.
inline constexpr std::size_t most_spare_bytes = std::size_t{64} << 10;

// Null if there is none left. Aligned for all types, those of cache lines included.
void* take_spare(std::size_t bytes) noexcept;
// False if it is not of the reserve; then nothing is done.
bool give_spare_back(void* memory) noexcept;

}  // namespace quadrille::memory
