// Memory of the host through which data of a device go. Namugwanya et al., section 3.2: copy-to-CPU.
//
// The device's own engines copy to and from memory that the driver has pinned, and to pin takes longer than most calls.
// So it is kept for the next call, up to a bound, and given back at the end of MPI, when the driver still works. What
// is returned later stays: it goes with the process.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/device_waits.hpp"

namespace quadrille::memory {

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
  // wait for it (memory/device_waits.hpp), unless it must be pinned. While AtDevice of this place lives. Throws
  // std::bad_alloc.
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

// Gives back what is more than the most, if this thread may wait: else all that is returned is kept
// (memory/device_waits.hpp).
void trim_staging();

// Gives back all that is kept, and keeps no more. For the end of MPI.
void free_staging();

}  // namespace quadrille::memory
