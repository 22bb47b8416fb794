// What waits for all the work of a device: freeing its memory or pinned memory, closing memory of another process,
// opening it, loading a kernel.
//
// A stream that waits for an enqueued call (api/enqueue.hpp) is work of the device, and what that call waits for may be
// the calling thread: it holds a lock that the call needs, or another rank enqueues its part only when this rank has
// gone on. So nothing of the kind is done while such a call is pending, nor by a thread that must not wait: memory is
// given back later, and calls do without the rest.
#pragma once

#include <cstdint>

#include "memory/device.hpp"

namespace quadrille::memory {

// Calls that have a place in a stream, from before anything is put there until all streams have passed it.
void note_call_in_stream();
void note_call_over();
bool any_call_in_stream();

// While it lives, this thread must not wait for a device.
class MustNotWait {
 public:
  MustNotWait();
  MustNotWait& operator=(MustNotWait&&) = delete;
  ~MustNotWait();
};
bool must_not_wait();
// Is there neither such a thread nor such a call?
bool may_wait_for_devices();

enum class Held : std::uint8_t { pinned, opened, allocated };
// Gives memory of a place back now, or as soon as this thread, or another one, may wait. `id`: memory_id(); what has
// another one by then is not ours.
void give_back(const DevicePlace& place, Held held, void* memory, std::uint64_t id);
// Gives back what has waited, if this thread may wait. Without locks that an enqueued call needs.
void give_back_late();
// For the end of MPI: gives back all.
void give_back_all();

}  // namespace quadrille::memory
