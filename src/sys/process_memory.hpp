// Reading and writing the memory of another process of this machine, where the system allows it (cross
// memory attach).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace quadrille::sys {

// Copies `bytes` bytes at `address` of `process` to `to`. False if the system refused or part of the
// memory is not there; `to` may then have been written in part.
bool read_process(pid_t process, std::uint64_t address, std::byte* to, std::size_t bytes);

// Copies `bytes` bytes from `from` to `address` of `process`. Same return rule.
bool write_process(pid_t process, std::uint64_t address, const std::byte* from, std::size_t bytes);

}  // namespace quadrille::sys
