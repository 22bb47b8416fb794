#include "memory/lent_context.hpp"

#include <atomic>

#include "memory/device_driver.hpp"
#include "memory/device_streams.hpp"

namespace quadrille::memory {
namespace {

std::atomic<void*> lent_context = nullptr;  // CUDA's
std::atomic<int> lent_device = -1;          // HIP's

}  // namespace

void lend_context(const DevicePlace& place) {
  if (place.context != nullptr) lent_context.store(place.context, std::memory_order_release);
  if (place.device >= 0) lent_device.store(place.device, std::memory_order_release);
}

void lend_current_context() {
  if (device_driver() != nullptr) lend_context(place_of_stream(nullptr));
}

void borrow_context(Borrowed& borrowed) {
  const DevicePlace lent{lent_context.load(std::memory_order_acquire), lent_device.load(std::memory_order_acquire)};
  if (lent == borrowed.place) return;
  const DeviceDriver* const driver = device_driver();
  if (driver == nullptr) return;
  if (!driver->is_cuda) {
    if (lent.device >= 0) driver->set_device(lent.device);
  } else if (lent.context != borrowed.place.context) {
    // What was borrowed before goes; it may have been destroyed meanwhile, which is no matter.
    void* before = nullptr;
    if (borrowed.is_current) driver->pop_context(&before);
    borrowed.is_current = driver->push_context(lent.context) == 0;
  }
  borrowed.place = lent;
}

}  // namespace quadrille::memory
