// Whether what a thread remembers of earlier calls still holds.
#pragma once

#include <atomic>
#include <cstdint>

namespace quadrille {

// Grows whenever something that is remembered may be wrong: a datatype or communicator was freed, whose handle the MPI
// may give to another one, or calls are served by other algorithms from now on.
inline std::atomic<std::uint64_t> generation{1};

inline std::uint64_t cache_generation() { return generation.load(std::memory_order_acquire); }
inline void drop_cached_calls() { generation.fetch_add(1, std::memory_order_acq_rel); }

}  // namespace quadrille
