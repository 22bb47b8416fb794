#include "memory/device.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "memory/device_driver.hpp"
#include "memory/device_pieces.hpp"
#include "memory/hip_errors.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {

namespace {

// Of CUDA; HIP has them, too.
constexpr int context_attribute = 1, memory_type_attribute = 2, host_pointer_attribute = 4, id_attribute = 7,
              managed_attribute = 8, device_attribute = 9, exportable_attribute = 10;
constexpr unsigned host_memory = 1, device_memory = 2, unified_memory = 4;  // of CUDA
constexpr int hip_copy_default = 4;                                         // the driver finds out the direction
constexpr std::size_t most_devices = 64;

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

int find_driver(dl_phdr_info* info, std::size_t, void* data) {
  const std::string_view name = info->dlpi_name != nullptr ? info->dlpi_name : "";
  const std::string_view file = name.substr(name.rfind('/') + 1);
  if (!file.starts_with("libcuda.so") && !file.starts_with("libamdhip64.so")) return 0;
  *static_cast<std::string*>(data) = name;
  return 1;
}

template <class Function>
bool load(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

// Each function by its name in CUDA's driver and in HIP's; null: that one has none. False if one is missing that all
// work needs.
bool load_functions(void* library, DeviceDriver& driver) {
  const bool cuda = driver.is_cuda = load(library, "cuPointerGetAttribute", driver.pointer_attribute);
  const auto find = [&](const char* of_cuda, const char* of_hip, auto& function) {
    const char* const name = cuda ? of_cuda : of_hip;
    return name != nullptr && load(library, name, function);
  };
  find("cuPointerGetAttributes", "hipDrvPointerGetAttributes", driver.pointer_attributes);
  find("cuCtxPushCurrent_v2", nullptr, driver.push_context);
  find("cuCtxPopCurrent_v2", nullptr, driver.pop_context);
  find(nullptr, "hipGetDevice", driver.get_device);
  find(nullptr, "hipSetDevice", driver.set_device);
  find("cuMemcpyAsync", nullptr, driver.copy_cuda);
  find(nullptr, "hipMemcpyAsync", driver.copy_hip);
  find("cuMemAllocHost_v2", nullptr, driver.allocate_cuda);
  find(nullptr, "hipHostMalloc", driver.allocate_hip);
  if (!find("cuMemFreeHost", "hipHostFree", driver.free_pinned)) {
    driver.allocate_cuda = nullptr;
    driver.allocate_hip = nullptr;
  }
  find("cuDevicePrimaryCtxRetain", nullptr, driver.retain_primary);
  find("cuMemcpy2DAsync_v2", nullptr, driver.copy_rows_cuda);
  find(nullptr, "hipMemcpy2DAsync", driver.copy_rows_hip);
  // Streams.
  find("cuStreamIsCapturing", "hipStreamIsCapturing", driver.is_capturing);
  find("cuThreadExchangeStreamCaptureMode", "hipThreadExchangeStreamCaptureMode", driver.exchange_capture_mode);
  find("cuStreamQuery", "hipStreamQuery", driver.query_stream);
  find("cuMemHostRegister_v2", "hipHostRegister", driver.register_host);
  find("cuMemHostUnregister", "hipHostUnregister", driver.unregister_host);
  find("cuMemHostGetDevicePointer_v2", "hipHostGetDevicePointer", driver.address_on_device);
  find("cuStreamWriteValue32_v2", "hipStreamWriteValue32", driver.write_value);
  find("cuStreamWaitValue32_v2", nullptr, driver.wait_for_value_cuda);
  find(nullptr, "hipStreamWaitValue32", driver.wait_for_value_hip);
  find("cuEventCreate", "hipEventCreateWithFlags", driver.create_event);
  find("cuEventRecord", "hipEventRecord", driver.record_event);
  find("cuEventQuery", "hipEventQuery", driver.query_event);
  find("cuEventDestroy_v2", "hipEventDestroy", driver.destroy_event);
  find("cuStreamGetCtx", nullptr, driver.context_of_stream);
  find("cuCtxGetCurrent", nullptr, driver.current_context);
  // Kernels.
  find("cuModuleLoadData", nullptr, driver.load_module);
  find("cuModuleUnload", nullptr, driver.unload_module);
  find("cuModuleGetFunction", nullptr, driver.find_function);
  find("cuLaunchKernel", nullptr, driver.launch);
  // Graphs.
  find("cuGraphCreate", "hipGraphCreate", driver.create_graph);
  find("cuGraphAddMemcpyNode", nullptr, driver.add_copy_cuda);
  find(nullptr, "hipGraphAddMemcpyNode1D", driver.add_copy_hip);
  find("cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags", driver.make_graph_ready);
  find("cuGraphLaunch", "hipGraphLaunch", driver.launch_graph);
  find("cuGraphExecDestroy", "hipGraphExecDestroy", driver.destroy_ready_graph);
  find("cuGraphDestroy", "hipGraphDestroy", driver.destroy_graph);
  // What is shared with other processes.
  find("cuMemGetAddressRange_v2", "hipMemGetAddressRange", driver.address_range);
  find("cuIpcGetMemHandle", "hipIpcGetMemHandle", driver.export_memory);
  find("cuIpcOpenMemHandle_v2", "hipIpcOpenMemHandle", driver.open_memory);
  find("cuIpcCloseMemHandle", "hipIpcCloseMemHandle", driver.close_memory);
  find("cuPointerSetAttribute", "hipPointerSetAttribute", driver.set_attribute);
  find("cuDeviceGetUuid_v2", "hipDeviceGetUuid", driver.device_uuid);
  find("cuMemAlloc_v2", "hipMalloc", driver.allocate);
  find("cuMemFree_v2", "hipFree", driver.free);
  find("cuStreamCreate", "hipStreamCreateWithFlags", driver.create_stream);
  find("cuStreamDestroy_v2", "hipStreamDestroy", driver.destroy_stream);
  find("cuMemcpyBatchAsync_v2", nullptr, driver.copy_batch);
  find("cuMemcpyBatchAsync", nullptr, driver.copy_batch_before);
  const bool has_synchronize = find("cuStreamSynchronize", "hipStreamSynchronize", driver.synchronize);
  if (cuda) {
    return has_synchronize && driver.pointer_attributes != nullptr && driver.push_context != nullptr &&
           driver.pop_context != nullptr && driver.copy_cuda != nullptr;
  }
  const bool has_attribute = load(library, "hipPointerGetAttribute", driver.pointer_attribute);
  int (*last_error)() = nullptr;
  int (*peek)() = nullptr;
  if (load(library, "hipGetLastError", last_error) && load(library, "hipPeekAtLastError", peek)) {
    hide_hip_errors(driver, last_error, peek);
  }
  return has_synchronize && has_attribute && driver.get_device != nullptr && driver.set_device != nullptr &&
         driver.copy_hip != nullptr;
}

// One attribute. False if the driver does not know the memory, or has no such attribute: then `value` is as it was, or
// zero. HIP's function for several returns no error, which would be the program's to find.
template <class Value>
bool ask(const void* address, int attribute, Value& value) {
  void* result = &value;
  if (!driver().is_cuda && driver().pointer_attributes != nullptr) {
    return driver().pointer_attributes(1, &attribute, &result, number(address)) == 0;
  }
  return driver().pointer_attribute(&value, attribute, number(address)) == 0;
}

// Memory of pools, and what is mapped by hand, has no context of its own. It stays retained, as the runtime's does.
void* primary_context(int device) {
  static std::atomic<void*> known[most_devices];
  if (device < 0 || static_cast<std::size_t>(device) >= most_devices || driver().retain_primary == nullptr)
    return nullptr;
  std::atomic<void*>& context = known[device];
  if (void* retained = context.load(std::memory_order_acquire)) return retained;
  void* retained = nullptr;
  if (driver().retain_primary(&retained, device) != 0) return nullptr;
  context.store(retained, std::memory_order_release);
  return retained;
}

}  // namespace

void note_loading() { detail::libraries_may_be_new.store(true, std::memory_order_release); }

namespace detail {

// A driver stays: programs do not unload it, and neither does its library.
const DeviceDriver* look_for_driver() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const DeviceDriver* known = driver.load(std::memory_order_acquire)) return known;
  libraries_may_be_new.store(false, std::memory_order_release);  // before looking: what comes meanwhile is seen later
  std::string path;
  if (dl_iterate_phdr(find_driver, &path) == 0) return nullptr;
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (library == nullptr) return nullptr;
  static DeviceDriver found;
  if (!load_functions(library, found)) return nullptr;
  driver.store(&found, std::memory_order_release);
  return &found;
}

}  // namespace detail

namespace {

// Where the driver gives no answer: the processor cannot read what is a device's alone.
Where as_the_processor_sees(const void* address) { return sys::is_readable(address) ? Where::host : Where::unknown; }

Where find_on_cuda(const void* address, DevicePlace& place) {
  unsigned type = 0;
  int attributes[] = {memory_type_attribute, context_attribute, device_attribute};
  void* results[] = {&type, &place.context, &place.device};
  if (driver().pointer_attributes(3, attributes, results, number(address)) != 0) return as_the_processor_sees(address);
  if (type == 0 || type == host_memory) return Where::host;
  if (place.context == nullptr) place.context = primary_context(place.device);
  return Where::device;
}

// HIP's numbers of types have changed, and managed memory has that of the host's in some versions. So: what has a
// device, and no address on the host unless it is managed. Pinned memory has both. What HIP does not say stays as it is
// here.
Where find_on_hip(const void* address, DevicePlace& place) {
  void* on_host = nullptr;
  std::uint64_t managed = 0;  // HIP writes one byte, or four
  int device = -1;
  int attributes[] = {device_attribute, host_pointer_attribute, managed_attribute};
  void* results[] = {&device, &on_host, &managed};
  if (driver().pointer_attributes != nullptr) {
    if (driver().pointer_attributes(3, attributes, results, number(address)) != 0)
      return as_the_processor_sees(address);
  } else {
    for (int i = 0; i < 3; ++i) driver().pointer_attribute(results[i], attributes[i], number(address));
    if (device < 0) return as_the_processor_sees(address);
  }
  if (device < 0 || (on_host != nullptr && managed == 0)) return Where::host;
  place.device = device;
  return Where::device;
}

// Of HIP before 7.11, which does not say it: it is tried, once for each piece of memory that is asked for lately.
bool can_be_exported_by_trying(const void* address) {
  struct Known {
    std::uint64_t id = 0;
    bool can = false;
  };
  static std::mutex mutex;
  static std::array<Known, 32> known;
  static std::size_t next = 0;
  const std::uint64_t id = memory_id(address);
  if (id == 0 || driver().export_memory == nullptr) return false;
  const std::lock_guard lock(mutex);
  for (const Known& one : known) {
    if (one.id == id) return one.can;
  }
  DevicePlace place;
  IpcHandle handle;
  bool can = find_on_hip(address, place) == Where::device;
  if (can) {
    const AtDevice at(place);
    can = driver().export_memory(&handle, number(address)) == 0;
  }
  known[next++ % known.size()] = {id, can};
  return can;
}

}  // namespace

Where find_memory(const void* address, DevicePlace& place) {
  place = {};
  return driver().is_cuda ? find_on_cuda(address, place) : find_on_hip(address, place);
}

bool find_device(const void* address, DevicePlace& place) { return find_memory(address, place) == Where::device; }

Exportable exportable(const void* address) {
  constexpr std::uint32_t no_answer = 0xA5A5A5A5;
  std::uint32_t answer = driver().is_cuda ? 0 : no_answer;  // of one byte or four
  if (!ask(address, exportable_attribute, answer)) answer = driver().is_cuda ? 0 : no_answer;
  if (answer == no_answer) return Exportable::unknown;
  return answer != 0 ? Exportable::yes : Exportable::no;
}

bool can_be_exported(const void* address) {
  const Exportable said = exportable(address);
  return said == Exportable::unknown ? can_be_exported_by_trying(address) : said == Exportable::yes;
}

AtDevice::AtDevice(const DevicePlace& place) {
  if (driver().is_cuda) {
    changed_ = place.context != nullptr && driver().push_context(place.context) == 0;
  } else if (place.device >= 0 && driver().get_device(&before_) == 0 && before_ != place.device) {
    changed_ = driver().set_device(place.device) == 0;
  }
}

AtDevice::~AtDevice() {
  if (!changed_) return;
  void* context = nullptr;
  driver().is_cuda ? driver().pop_context(&context) : driver().set_device(before_);
}

// The driver finds out what is where.
bool DeviceCopies::copy_bytes(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) const {
  if (driver().is_cuda) return driver().copy_cuda(to, from, bytes, stream_) == 0;
  return driver().copy_hip(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes, hip_copy_default,
                           stream_) == 0;
}

void DeviceCopies::copy(void* to, const void* from, std::size_t bytes) {
  under_way_ = true;
  failed_ = !copy_bytes(number(to), number(from), bytes) || failed_;
}

void DeviceCopies::copy(const DeviceRows& rows) {
  under_way_ = true;
  failed_ = !copy_rows(rows, unified_memory, unified_memory) || failed_;
}

// Pitches that no driver takes are left to copies of single rows.
bool DeviceCopies::copy_rows(const DeviceRows& rows, unsigned from_type, unsigned to_type) const {
  const std::uintptr_t to = number(rows.to), from = number(rows.from);
  const auto width = static_cast<std::ptrdiff_t>(rows.width);
  if (rows.rows > 1 && rows.to_pitch >= width && rows.from_pitch >= width) {
    const auto to_pitch = static_cast<std::size_t>(rows.to_pitch),
               from_pitch = static_cast<std::size_t>(rows.from_pitch);
    int error = -1;
    if (driver().copy_rows_cuda != nullptr) {
      const CudaRows all = {{0, 0, from_type, rows.from, from, nullptr, from_pitch},
                            {0, 0, to_type, rows.to, to, nullptr, to_pitch},
                            rows.width,
                            rows.rows};
      error = driver().copy_rows_cuda(&all, stream_);
    } else if (driver().copy_rows_hip != nullptr) {
      error = driver().copy_rows_hip(rows.to, to_pitch, rows.from, from_pitch, rows.width, rows.rows, hip_copy_default,
                                     stream_);
    }
    if (error == 0) return true;
  }
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const auto at = static_cast<std::ptrdiff_t>(row);
    if (!copy_bytes(to + static_cast<std::uintptr_t>(at * rows.to_pitch),
                    from + static_cast<std::uintptr_t>(at * rows.from_pitch), rows.width)) {
      return false;
    }
  }
  return true;
}

void DeviceCopies::to_host(const Regions& regions, std::ptrdiff_t moved, const DevicePieces& pieces) {
  move(regions, moved, pieces, true);
}

void DeviceCopies::to_device(const Regions& regions, std::ptrdiff_t moved, const DevicePieces& pieces) {
  move(regions, moved, pieces, false);
}

void DeviceCopies::move(const Regions& regions, std::ptrdiff_t moved, const DevicePieces& pieces, bool to_host) {
  under_way_ = true;
  if (pieces.are_there() && pieces.submit(stream_)) return;
  for (const Region& region : regions) {
    void* const device = reinterpret_cast<void*>(region.begin);
    void* const host = reinterpret_cast<void*>(region.begin + moved);
    const auto pitch = static_cast<std::ptrdiff_t>(region.pitch);
    const bool done =
        to_host ? copy_rows({host, device, region.bytes, region.rows, pitch, pitch}, device_memory, host_memory)
                : copy_rows({device, host, region.bytes, region.rows, pitch, pitch}, host_memory, device_memory);
    failed_ = !done || failed_;
  }
}

bool DeviceCopies::wait() {
  if (std::exchange(under_way_, false)) failed_ = driver().synchronize(stream_) != 0 || failed_;
  return !std::exchange(failed_, false);
}

bool DeviceCopies::leave() {
  under_way_ = false;
  return !std::exchange(failed_, false);
}

void* allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  if (driver().allocate_cuda != nullptr && driver().allocate_cuda(&memory, bytes) == 0) return memory;
  if (driver().allocate_hip != nullptr && driver().allocate_hip(&memory, bytes, 0) == 0) return memory;
  return nullptr;
}

void free_pinned(void* memory) { driver().free_pinned(memory); }

std::uint64_t memory_id(const void* memory) {
  std::uint64_t id = 0;
  return ask(memory, id_attribute, id) ? id : 0;
}

}  // namespace quadrille::memory
