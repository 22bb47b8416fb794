// HIP's names: devices, contexts, memory, modules. HIP starts by itself, with the first device.
#include <cstdio>

#include "driver.hpp"
#include "hip_calls.hpp"

#define QUADRILLE_DECLARE(name, ...) QUADRILLE_EXPORT int name(__VA_ARGS__);
QUADRILLE_HIP_DEVICE_CALLS(QUADRILLE_DECLARE)

namespace quadrille::standin {

const bool starts_by_itself = true;

}  // namespace quadrille::standin

using namespace quadrille::standin;

// -- Devices and contexts

QUADRILLE_EXPORT int hipInit(unsigned flags) {
  return enter_uninitialized(QUADRILLE_HERE,
                             [&] { return flags != 0 ? static_cast<int>(invalid_value) : initialize(); });
}

static int get_version(const Caller& caller, int* version) {
  return enter_uninitialized(caller, [&] {
    if (version == nullptr) return invalid_value;
    *version = 60000000;
    return success;
  });
}

QUADRILLE_EXPORT int hipDriverGetVersion(int* version) { return get_version(QUADRILLE_HERE, version); }
QUADRILLE_EXPORT int hipRuntimeGetVersion(int* version) { return get_version(QUADRILLE_HERE, version); }

// They return what they found, and are no error themselves.
QUADRILLE_EXPORT int hipGetLastError() {
  const int error = hipPeekAtLastError();
  last_error() = success;
  return error;
}

QUADRILLE_EXPORT int hipPeekAtLastError() {
  enter_uninitialized(QUADRILLE_HERE, [] { return success; });
  return last_error();
}

QUADRILLE_EXPORT int hipGetDeviceCount(int* count) {
  return enter(QUADRILLE_HERE, [&] {
    if (count == nullptr) return invalid_value;
    *count = device_count();
    return success;
  });
}

QUADRILLE_EXPORT int hipSetDevice(int device) {
  return enter(QUADRILLE_HERE, [&] {
    Handle primary = nullptr;
    const int error = retain_primary(device, &primary);
    return error != success ? error : set_current(primary);
  });
}

QUADRILLE_EXPORT int hipGetDevice(int* device) {
  return enter_in_context(QUADRILLE_HERE, [&](const Context& context) {
    if (device == nullptr) return invalid_value;
    *device = context.device;
    return success;
  });
}

QUADRILLE_EXPORT int hipDeviceGet(int* device, int ordinal) {
  return enter(QUADRILLE_HERE, [&] {
    if (device == nullptr) return invalid_value;
    if (!has_device(ordinal)) return invalid_device;
    *device = ordinal;
    return success;
  });
}

QUADRILLE_EXPORT int hipDeviceGetUuid(Uuid* uuid, int device) {
  return enter(QUADRILLE_HERE, [&] {
    if (uuid == nullptr) return invalid_value;
    if (!has_device(device)) return invalid_device;
    *uuid = uuid_of(physical(device));
    return success;
  });
}

QUADRILLE_EXPORT int hipDeviceGetName(char* name, int bytes, int device) {
  return enter(QUADRILLE_HERE, [&] {
    if (name == nullptr || bytes <= 0) return invalid_value;
    if (!has_device(device)) return invalid_device;
    std::snprintf(name, static_cast<std::size_t>(bytes), "Stand-in %d", physical(device));
    return success;
  });
}

QUADRILLE_EXPORT int hipDeviceGetPCIBusId(char* name, int bytes, int device) {
  return enter(QUADRILLE_HERE, [&] {
    if (name == nullptr || bytes < 13) return invalid_value;
    if (!has_device(device)) return invalid_device;
    std::snprintf(name, static_cast<std::size_t>(bytes), "0000:%02x:00.0", static_cast<unsigned>(physical(device) + 1));
    return success;
  });
}

QUADRILLE_EXPORT int hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return enter(QUADRILLE_HERE, [&] {
    if (can == nullptr) return invalid_value;
    if (!has_device(device) || !has_device(peer)) return invalid_device;
    *can = device != peer ? 1 : 0;
    return success;
  });
}

QUADRILLE_EXPORT int hipDeviceSynchronize() {
  return enter_in_context(QUADRILLE_HERE, [](const Context& context) {
    wait_for_all(context);
    return context.error;
  });
}

QUADRILLE_EXPORT int hipDevicePrimaryCtxRetain(Handle* context, int device) {
  return enter(QUADRILLE_HERE, [&] { return retain_primary(device, context); });
}

QUADRILLE_EXPORT int hipDevicePrimaryCtxRelease(int device) {
  return enter(QUADRILLE_HERE, [&] { return release_primary(device); });
}

QUADRILLE_EXPORT int hipCtxCreate(Handle* context, unsigned flags, int device) {
  return enter(QUADRILLE_HERE, [&] { return create_context(device, flags, context); });
}

QUADRILLE_EXPORT int hipCtxDestroy(Handle context) {
  return enter(QUADRILLE_HERE, [&] { return destroy_context(context); });
}

QUADRILLE_EXPORT int hipCtxPushCurrent(Handle handle) {
  return enter(QUADRILLE_HERE, [&] {
    Context* const context = context_of(handle);
    if (context == nullptr || context->destroyed) return invalid_context;
    stack().push_back(context);
    return success;
  });
}

QUADRILLE_EXPORT int hipCtxPopCurrent(Handle* handle) {
  return enter(QUADRILLE_HERE, [&] {
    if (stack().empty()) return invalid_context;
    if (handle != nullptr) *handle = stack().back();
    stack().pop_back();
    return success;
  });
}

QUADRILLE_EXPORT int hipCtxGetCurrent(Handle* handle) {
  return enter(QUADRILLE_HERE, [&] {
    if (handle == nullptr) return invalid_value;
    *handle = stack().empty() ? nullptr : stack().back();
    return success;
  });
}

QUADRILLE_EXPORT int hipCtxSetCurrent(Handle handle) {
  return enter(QUADRILLE_HERE, [&] { return set_current(handle); });
}

// -- Memory

static int allocate_here(const Caller& caller, Kind kind, void** made, std::size_t bytes) {
  return enter_in_context(caller, [&](Context& context) {
    Address address = 0;
    const int error = made == nullptr ? static_cast<int>(invalid_value) : allocate(context, kind, bytes, &address);
    if (error == success) *made = reinterpret_cast<void*>(address);
    return error;
  });
}

QUADRILLE_EXPORT int hipMalloc(void** made, std::size_t bytes) {
  return allocate_here(QUADRILLE_HERE, Kind::device, made, bytes);
}

QUADRILLE_EXPORT int hipHostMalloc(void** made, std::size_t bytes, unsigned) {
  return allocate_here(QUADRILLE_HERE, Kind::pinned, made, bytes);
}

QUADRILLE_EXPORT int hipMallocManaged(void** made, std::size_t bytes, unsigned) {
  return allocate_here(QUADRILLE_HERE, Kind::managed, made, bytes);
}

QUADRILLE_EXPORT int hipFree(void* address) {
  return enter_in_context(QUADRILLE_HERE, [&](Context& context) {
    const Allocation* const allocation = find(number(address));
    // Of whatever device.
    Context& owner = allocation != nullptr && allocation->context != nullptr ? *allocation->context : context;
    return free_device(owner, number(address));
  });
}

QUADRILLE_EXPORT int hipHostFree(void* address) {
  return enter_in_context(QUADRILLE_HERE, [&](Context&) { return free_host(address, Kind::pinned); });
}

QUADRILLE_EXPORT int hipHostRegister(void* address, std::size_t bytes, unsigned) {
  return enter_in_context(QUADRILLE_HERE, [&](Context& context) { return register_host(context, address, bytes); });
}

QUADRILLE_EXPORT int hipHostUnregister(void* address) {
  return enter_in_context(QUADRILLE_HERE, [&](Context&) { return free_host(address, Kind::registered); });
}

QUADRILLE_EXPORT int hipHostGetDevicePointer(void** made, void* address, unsigned flags) {
  return enter_in_context(QUADRILLE_HERE, [&](Context&) {
    const Allocation* const allocation = find(number(address));
    if (made == nullptr || flags != 0 || allocation == nullptr || allocation->is_device()) return invalid_value;
    *made = address;
    return success;
  });
}

QUADRILLE_EXPORT int hipMemGetInfo(std::size_t* available, std::size_t* total) {
  return enter_in_context(QUADRILLE_HERE, [&](Context& context) { return memory_left(context, available, total); });
}

QUADRILLE_EXPORT int hipMemGetAddressRange(void** base, std::size_t* bytes, void* address) {
  return enter_in_context(QUADRILLE_HERE, [&](Context&) {
    const Allocation* const allocation = find(number(address));
    if (allocation == nullptr) return not_found;
    if (base != nullptr) *base = reinterpret_cast<void*>(allocation->base);
    if (bytes != nullptr) *bytes = allocation->bytes;
    return success;
  });
}

QUADRILLE_EXPORT int hipPointerGetAttribute(void* data, int attribute, void* address) {
  return enter(QUADRILLE_HERE, [&] { return hip_pointer_attribute(data, attribute, number(address)); });
}

QUADRILLE_EXPORT int hipDrvPointerGetAttributes(unsigned count, int* attributes, void** data, void* address) {
  // Whatever is wrong with any of them.
  return enter(QUADRILLE_HERE, [&] {
    if (count == 0 || attributes == nullptr || data == nullptr || address == nullptr) return invalid_value;
    for (unsigned i = 0; i < count; ++i) hip_pointer_attribute(data[i], attributes[i], number(address));
    return success;
  });
}

QUADRILLE_EXPORT int hipPointerSetAttribute(const void* value, int attribute, void* address) {
  return enter(QUADRILLE_HERE, [&] { return set_pointer_attribute(value, attribute, number(address)); });
}

QUADRILLE_EXPORT int hipPointerGetAttributes(HipPointer* of, const void* address) {
  return enter(QUADRILLE_HERE, [&] {
    const Allocation* const allocation = find(number(address));
    if (of == nullptr) return invalid_value;
    if (allocation == nullptr) {
      constexpr int unregistered = 0, no_device = -2;
      *of = {unregistered, no_device, nullptr, nullptr, 0, 0};
      return success;
    }
    constexpr int host = 1, device = 2, managed = 3;
    const int type = allocation->kind == Kind::managed ? managed : allocation->is_device() ? device : host;
    void* const same = reinterpret_cast<void*>(number(address));
    *of = {type,
           allocation->device,
           same,
           allocation->is_device() ? nullptr : same,
           allocation->kind == Kind::managed ? 1 : 0,
           0};
    return success;
  });
}

QUADRILLE_EXPORT int hipIpcGetMemHandle(IpcHandle* handle, void* address) {
  return enter_in_context(QUADRILLE_HERE, [&](Context&) { return export_memory(handle, number(address)); });
}

QUADRILLE_EXPORT int hipIpcOpenMemHandle(void** made, IpcHandle handle, unsigned flags) {
  return enter_in_context(QUADRILLE_HERE, [&](Context& context) {
    Address address = 0;
    const int error =
        flags != 1 || made == nullptr ? static_cast<int>(invalid_value) : open_memory(context, &address, handle);
    if (error == success) *made = reinterpret_cast<void*>(address);
    return error;
  });
}

QUADRILLE_EXPORT int hipIpcCloseMemHandle(void* address) {
  return enter_in_context(QUADRILLE_HERE, [&](Context&) { return close_memory(number(address)); });
}

QUADRILLE_EXPORT int hipModuleLoadData(Handle* module, const void* image) {
  return enter_in_context(QUADRILLE_HERE, [&](Context&) { return load_module(module, image); });
}

QUADRILLE_EXPORT int hipModuleUnload(Handle module) {
  return enter_in_context(QUADRILLE_HERE, [&](Context&) { return unload_module(module); });
}

QUADRILLE_EXPORT int hipModuleGetFunction(Handle* function, Handle module, const char* name) {
  return enter_in_context(QUADRILLE_HERE, [&](Context&) { return find_function(function, module, name); });
}
