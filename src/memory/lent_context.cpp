#include "memory/lent_context.hpp"

#include <atomic>

#include "memory/device_driver.hpp"

namespace quadrille::memory {
namespace {

std::atomic<void*> lent_context = nullptr;  // CUDA's
std::atomic<int> lent_device = -1;          // HIP's

// What was borrowed before goes; it may have been destroyed meanwhile, which is no matter.
void borrow(Borrowed& borrowed, const DeviceDriver& driver, void* context) {
  void* before = nullptr;
  if (borrowed.is_current) driver.pop_context(&before);
  borrowed.is_current = driver.push_context(context) == 0;
  borrowed.context = context;
}

}  // namespace

void lend_context(const DevicePlace& place) {
  if (place.context != nullptr) lent_context.store(place.context, std::memory_order_release);
  if (place.device >= 0) lent_device.store(place.device, std::memory_order_release);
}

void lend_current_context() {
  const DeviceDriver* const driver = device_driver();
  if (driver == nullptr) return;
  DevicePlace place;
  if (driver->is_cuda) {
    if (driver->current_context == nullptr || driver->current_context(&place.context) != 0) return;
  } else if (driver->get_device(&place.device) != 0) {
    return;
  }
  lend_context(place);
}

void borrow_context(Borrowed& borrowed) {
  void* const context = lent_context.load(std::memory_order_acquire);
  const int device = lent_device.load(std::memory_order_acquire);
  if (context == borrowed.context && device == borrowed.device) return;
  const DeviceDriver* const driver = device_driver();
  if (driver == nullptr) return;
  if (driver->is_cuda) {
    if (context != borrowed.context && context != nullptr) borrow(borrowed, *driver, context);
  } else if (device >= 0) {
    driver->set_device(device);
  }
  borrowed.device = device;
}

}  // namespace quadrille::memory
