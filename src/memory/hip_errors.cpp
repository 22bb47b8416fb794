#include "memory/hip_errors.hpp"

#include <cstddef>

#include "memory/device_driver.hpp"

namespace quadrille::memory {
namespace {

DeviceDriver hip;  // its own functions
int (*last_error)() = nullptr;
int (*peek_at_last_error)() = nullptr;

template <auto function, class... Arguments>
int call_and_forget(Arguments... arguments) {
  const int error = (hip.*function)(arguments...);
  // Most versions keep no "not ready"; what is kept then is the program's.
  if (error != 0 && peek_at_last_error() == error) last_error();
  return error;
}

template <auto function, class... Arguments>
void stand_in_front(DeviceDriver& driver, int (*DeviceDriver::*)(Arguments...)) {
  if (driver.*function != nullptr) driver.*function = call_and_forget<function, Arguments...>;
}

template <auto... functions>
void stand_in_front_of_all(DeviceDriver& driver) {
  // CUDA's alone are not there.
  constexpr std::size_t of_cuda = 16, before = offsetof(DeviceDriver, pointer_attribute);
  constexpr std::size_t pointers = (sizeof(DeviceDriver) - before) / sizeof(void*);
  static_assert(sizeof...(functions) + of_cuda == pointers, "a function of the driver is missing in this list");
  (stand_in_front<functions>(driver, functions), ...);
}

}  // namespace

void hide_hip_errors(DeviceDriver& driver, int (*last)(), int (*peek)()) {
  last_error = last;
  peek_at_last_error = peek;
  hip = driver;
  using D = DeviceDriver;
  stand_in_front_of_all<
      &D::pointer_attribute, &D::pointer_attributes, &D::synchronize, &D::allocate_hip, &D::free_pinned, &D::get_device,
      &D::set_device, &D::copy_hip, &D::copy_rows_hip, &D::is_capturing, &D::exchange_capture_mode, &D::query_stream,
      &D::register_host, &D::unregister_host, &D::address_on_device, &D::write_value, &D::wait_for_value_hip,
      &D::create_event, &D::record_event, &D::query_event, &D::destroy_event, &D::create_graph, &D::add_copy_hip,
      &D::make_graph_ready, &D::launch_graph, &D::destroy_ready_graph, &D::destroy_graph, &D::address_range,
      &D::export_memory, &D::open_memory, &D::close_memory, &D::set_attribute, &D::device_uuid, &D::allocate, &D::free,
      &D::create_stream, &D::destroy_stream>(driver);
}

}  // namespace quadrille::memory
