// Memory of a GPU: the processor may not touch it, and a program that runs on GPUs may give it to any call.
//
// Only a driver that the program itself has loaded is asked; no toolkit is needed to build. Whether there is one is
// looked for after a library was loaded, and not else: who has loaded none pays nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace quadrille::memory {

struct DeviceDriver;
class DevicePieces;
class Regions;

// This thread is about to load a library, or has loaded one. Waits for nothing.
void note_loading();

namespace detail {
// Who noted loads that no look has surely come after. A thread that looks has loaded what it noted; the end of another
// thread's load nobody sees, so all threads look for as long as loads take (device.cpp).
struct Loads {
  static constexpr std::int32_t nobody = 0, several = -1, before_us = -2;
  std::uint32_t notes = 0;
  std::int32_t by = before_us;  // these, or the number of a thread
};
inline std::atomic<Loads> loads{Loads{}};
inline std::atomic<std::uint64_t> last_note{0};  // when, by sys::nanoseconds()
inline std::atomic<const DeviceDriver*> driver{nullptr};
const DeviceDriver* look_for_driver();
inline bool may_be_loading() { return loads.load(std::memory_order_acquire).by != Loads::nobody; }
}  // namespace detail

// The driver that the program has loaded; null if there is none.
inline const DeviceDriver* device_driver() {
  const DeviceDriver* const known = detail::driver.load(std::memory_order_acquire);
  return known != nullptr || !detail::may_be_loading() ? known : detail::look_for_driver();
}

// Whether there is one, or another thread may be loading it: a call that is remembered would not look any more.
inline bool driver_may_come() { return device_driver() != nullptr || detail::may_be_loading(); }

// The same where one is known: what has to do with memory of a device has found it by then.
inline const DeviceDriver& driver() { return *detail::driver.load(std::memory_order_acquire); }

// Where memory of a device belongs. Work on it is made there.
struct DevicePlace {
  void* context = nullptr;  // of CUDA
  int device = -1;
  bool operator==(const DevicePlace&) const = default;
  // Of a stream, of which only the context is known where there are contexts.
  bool has_stream_of(const DevicePlace& stream) const {
    return context != nullptr ? context == stream.context : *this == stream;
  }
};

// Whose memory is at an address, and where does it belong, if it is a device's? Unknown: the driver does not answer,
// and the processor cannot read it. Managed memory counts as a device's.
enum class Where : std::uint8_t { host, device, unknown };
Where find_memory(const void* address, DevicePlace& place);

// Can other processes open the memory at this address of a device? Not that of pools, managed memory, and what is
// mapped by hand: MPIs that take device memory may fail with those.
bool can_be_exported(const void* address);
// What the driver says of that. HIP before 7.11 says nothing.
enum class Exportable : std::uint8_t { no, yes, unknown };
Exportable exportable(const void* address);

// While it lives, this thread's calls of the driver are for a place. What was current before comes back.
class AtDevice {
 public:
  explicit AtDevice(const DevicePlace& place);
  AtDevice& operator=(AtDevice&&) = delete;
  ~AtDevice();
  // Another one is current now than before.
  bool has_changed() const { return changed_; }

 private:
  bool changed_ = false;
  int before_ = -1;
};

// While it lives, calls that a capture of another stream forbids to this thread do not disturb it. Without a driver it
// does nothing.
class BesideCapture {
 public:
  BesideCapture();
  BesideCapture& operator=(BesideCapture&&) = delete;
  ~BesideCapture();

 private:
  int mode_ = 0;
  bool changed_ = false;
};

// For work of ours at a place, in streams of ours: both while it lives.
struct AtDeviceBeside {
  explicit AtDeviceBeside(const DevicePlace& place) : at(place) {}
  const AtDevice at;
  const BesideCapture beside;
};

// Rows of `width` bytes, at distances of any sign.
struct DeviceRows {
  void* to;
  const void* from;
  std::size_t width, rows;
  std::ptrdiff_t to_pitch, from_pitch;
};

// Copies between a device's memory and the host's, or inside a device's. They are put into a stream: the NULL stream,
// unless another one is given, as a program's own copies that wait are: so what it has put there, or into a stream that
// goes along with that one, is done before. All of a batch wait once, together. To be used while AtDevice lives.
class DeviceCopies {
 public:
  explicit DeviceCopies(void* stream = nullptr) : stream_(stream) {}
  DeviceCopies& operator=(DeviceCopies&&) = delete;
  ~DeviceCopies() { wait(); }
  enum class To : std::uint8_t { host, device };
  // Regions of a device's memory, which lie `moved` bytes further on the host. By a kernel, if `pieces` of them are
  // there and the driver takes it.
  void move(To to, const Regions& regions, std::ptrdiff_t moved, const DevicePieces& pieces);
  // Both are of a device, or one of them.
  void copy(void* to, const void* from, std::size_t bytes) { copy({to, from, bytes, 1, 0, 0}); }
  void copy(const DeviceRows& rows);
  // Returns when all are done. False if the driver has refused any.
  bool wait();
  // The same, but nobody waits: they are done in the order of the stream.
  bool leave();

 private:
  bool copy_bytes(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) const;
  // The types are CUDA's, of memory.
  bool copy_rows(const DeviceRows& rows, unsigned from_type, unsigned to_type) const;
  void* const stream_;
  bool under_way_ = false, failed_ = false;
};

// Memory of the host that the device's own engines reach; null if the driver refuses. While AtDevice lives.
void* allocate_pinned(std::size_t bytes);
void free_pinned(void* memory);
// A number that no other piece of memory has or had; 0 if the driver does not know it, or no longer: memory goes with
// its context.
std::uint64_t memory_id(const void* memory);

// ---- In which context a thread of ours is when it calls the MPI ----
//
// An MPI that takes a device's memory copies it in the context of the thread that happens to make progress on a
// message: in a thread that has none, other bytes arrive than were sent, and nothing is said of it (seen with UCX). So
// the program's threads lend what they have.

// That of memory which the MPI is given.
void lend_context(const DevicePlace& place);
// That which is current in this thread, if the program has loaded a driver and there is one.
void lend_current_context();
// What a thread of ours has borrowed.
struct Borrowed {
  DevicePlace place;  // what was lent, whether or not the driver took it
  bool is_current = false;
};
// By that thread, before it makes progress on anything: what was lent last is current from now on.
void borrow_context(Borrowed& borrowed);

}  // namespace quadrille::memory
