// What waits for all the work of a device: freeing its memory or pinned memory, closing memory of another process,
// opening it, loading a kernel.
//
// A stream that waits for an enqueued call (api/enqueue.hpp) is work of the device, and what that call waits for may be
// the calling thread: it holds a lock that the call needs, or another rank enqueues its part only when this rank has
// gone on. So nothing of the kind is done while such a call is pending, nor by a thread that must not wait: memory is
// given back later, and calls do without the rest.
#pragma once

#include <cstddef>
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

enum class Held : std::uint8_t { pinned, opened, allocated, ordinary };
// Memory of a place, with its memory_id(): if the address has another number by now, the memory there is not ours.
// Ordinary memory of the host comes from operator new, aligned to cache lines, and has no number.
struct HeldMemory {
  DevicePlace place;
  Held held = Held::pinned;
  void* memory = nullptr;
  std::uint64_t id = 0;
  std::size_t bytes = 0;  // where who holds it goes by that
  // False if the driver knows that it went with its context.
  bool may_be_alive() const { return memory_id(memory) == id; }
  bool is_alive() const { return held == Held::ordinary || (id != 0 && may_be_alive()); }
};
// Gives it back now, or as soon as this thread, or another one, may wait.
void give_back(const HeldMemory& memory);
// Gives back what has waited, if this thread may wait. Without locks that an enqueued call needs.
void give_back_late();
// For the end of MPI: gives back all.
void give_back_all();

}  // namespace quadrille::memory
