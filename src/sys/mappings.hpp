// The mappings of this process, as the kernel tells them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quadrille::sys {

struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  bool accessible = false;             // may be read, written or run
  std::uint64_t device = 0, file = 0;  // as in FileIdentity; 0 for anonymous memory
};

// Calls `use` for each mapping, in the order of addresses, until it returns false. Does so without malloc, so that it
// serves inside fork(). False if the list cannot be read.
bool for_each_mapping(bool (*use)(void* context, const Mapping&), void* context);

}  // namespace quadrille::sys
