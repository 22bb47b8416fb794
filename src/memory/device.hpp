// Memory of a GPU: the processor may not touch it, and a program that runs on GPUs may give it to any call.
//
// Only a driver that the program itself has loaded is asked; no toolkit is needed to build. Whether there is one is
// looked for after a library was loaded, and not else: who has loaded none pays nothing.
#pragma once

#include <atomic>
#include <cstddef>

namespace quadrille::memory {

struct DeviceDriver;

// A library may have been loaded.
void note_loading();

namespace detail {
inline std::atomic<bool> libraries_may_be_new{true};
inline std::atomic<const DeviceDriver*> driver{nullptr};
const DeviceDriver* look_for_driver();
}  // namespace detail

// The driver that the program has loaded; null if there is none.
inline const DeviceDriver* device_driver() {
  if (detail::libraries_may_be_new.load(std::memory_order_acquire)) return detail::look_for_driver();
  return detail::driver.load(std::memory_order_acquire);
}

// Is this an address in a device's memory? Asks the driver.
bool is_device(const DeviceDriver& driver, const void* address);

// Copies between a device and the host, either way, and waits for it. False if the driver refuses.
bool copy_device(const DeviceDriver& driver, void* to, const void* from, std::size_t bytes);

}  // namespace quadrille::memory
