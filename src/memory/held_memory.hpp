// Memory that calls hold for work with a device: when it may be given back, and what is kept for later calls.
//
// Some functions of drivers wait for all the work of a device: freeing its memory or pinned memory, closing memory of
// another process, opening it, loading a kernel. A stream that waits for an enqueued call (api/requests.hpp) is work of
// the device, and what that call waits for may be the calling thread: it holds a lock that the call needs, or another
// rank enqueues its part only when this rank has gone on. So nothing of the kind is done while such a call is pending,
// nor by a thread that must not wait: memory is given back later, and calls do without the rest. What goes with its
// context is not given back at all (HeldMemory, ContextToken).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

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

// Whether the context is still there in which something was made: what a program destroys takes with it all that was
// made in it, and another context may come to its place. Memory has a number that no other has; so some memory is made
// there, too.
class ContextToken {
 public:
  ContextToken& operator=(ContextToken&&) = delete;
  // While AtDevice of the place lives. False if the driver has no memory for it, or no number of it.
  bool take(const DevicePlace& place, std::size_t bytes = 64) {
    made_ = {place, Held::pinned, allocate_pinned(bytes), 0, bytes};
    if (made_.memory == nullptr) return false;
    made_.id = memory_id(made_.memory);
    // Without a number it would never be known to be alive, and all that goes with it would be made anew in each call.
    if (made_.id == 0) free_pinned(std::exchange(made_.memory, nullptr));
    return made_.memory != nullptr;
  }
  bool is_alive() const { return made_.is_alive(); }
  const DevicePlace& place() const { return made_.place; }
  // Its memory.
  void* pinned() const { return made_.memory; }
  // After `undo` has destroyed what was made in the context, unless that went with it. Does not wait where this thread
  // may not.
  template <class Undo>
  void give_back(Undo undo) {
    if (is_alive()) {
      const AtDeviceBeside at(place());
      undo();
      memory::give_back(made_);
    }
    made_ = {};
  }

 private:
  HeldMemory made_;
};

// ---- Memory of the host through which data of a device go (Namugwanya et al., section 3.2: copy-to-CPU) ----
//
// The device's own engines copy to and from memory that the driver has pinned, and to pin takes longer than most calls.
// So it is kept for the next call, up to a bound, and given back at the end of MPI, when the driver still works. What
// is returned later stays: it goes with the process.

class Staging {
 public:
  Staging& operator=(Staging&&) = delete;
  ~Staging() { give_back(); }
  enum class Kind : std::uint8_t {
    kept,      // pinned, from what is kept and back to it
    pinned,    // likewise, or none
    fresh,     // pinned anew, and given back
    ordinary,  // what of it is not used costs nothing
  };
  // At least `bytes` bytes with undefined content; ordinary memory if the driver has no other, or this thread must not
  // wait for it, unless it must be pinned. While AtDevice of this place lives. Throws std::bad_alloc.
  void take(const DevicePlace& place, std::size_t bytes, Kind kind);
  std::byte* data() const { return static_cast<std::byte*>(piece_.memory); }  // null: there is none
  bool is_pinned() const { return data() != nullptr && piece_.held == Held::pinned; }

  // What is kept between calls, at most: a quarter of a process's share of the machine's memory, if it has a process
  // for each processor, but no less than the first of these, and no more than the second. To pin more anew in each call
  // takes several times as long as to move it.
  static constexpr std::size_t least_kept = std::size_t{128} << 20, most_ever_kept = std::size_t{1} << 30;
  static std::size_t most_kept();

 private:
  void give_back();
  bool keep(const HeldMemory& piece) const;
  HeldMemory piece_;
  bool keeps_ = false;
};

// Gives back what is more than the most, if this thread may wait: else all that is returned is kept.
void trim_staging();

// Gives back all that is kept, and keeps no more. For the end of MPI.
void free_staging();

}  // namespace quadrille::memory
