// HIP's names: devices, contexts, memory, modules. HIP starts by itself, with the first device.
#include "driver.hpp"
#include "hip_calls.hpp"

#define QUADRILLE_DECLARE(name, ...) QUADRILLE_EXPORT int name(__VA_ARGS__);
QUADRILLE_HIP_DEVICE_CALLS(QUADRILLE_DECLARE)

namespace quadrille::standin {

const bool starts_by_itself = true;

}  // namespace quadrille::standin

using namespace quadrille::standin;

// -- Devices and contexts

QUADRILLE_EXPORT int hipInit(unsigned flags) { return start_driver(QUADRILLE_HERE, flags); }

QUADRILLE_EXPORT int hipDriverGetVersion(int* version) { return tell_version(QUADRILLE_HERE, version, 60000000); }
QUADRILLE_EXPORT int hipRuntimeGetVersion(int* version) { return tell_version(QUADRILLE_HERE, version, 60000000); }

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

QUADRILLE_EXPORT int hipGetDeviceCount(int* count) { return call(QUADRILLE_HERE, count_devices, count); }

QUADRILLE_EXPORT int hipSetDevice(int device) {
  return enter(QUADRILLE_HERE, [&] {
    Handle primary = nullptr;
    const int error = retain_primary(device, &primary);
    return error != success ? error : set_current(primary);
  });
}

QUADRILLE_EXPORT int hipGetDevice(int* device) { return call_in_context(QUADRILLE_HERE, get_ordinal, device); }

QUADRILLE_EXPORT int hipDeviceGet(int* device, int ordinal) {
  return call(QUADRILLE_HERE, get_device, device, ordinal);
}

QUADRILLE_EXPORT int hipDeviceGetUuid(Uuid* uuid, int device) { return call(QUADRILLE_HERE, get_uuid, uuid, device); }

QUADRILLE_EXPORT int hipDeviceGetName(char* name, int bytes, int device) {
  return call(QUADRILLE_HERE, get_name, name, bytes, device);
}

QUADRILLE_EXPORT int hipDeviceGetPCIBusId(char* name, int bytes, int device) {
  return call(QUADRILLE_HERE, get_bus_id, name, bytes, device);
}

QUADRILLE_EXPORT int hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return call(QUADRILLE_HERE, can_access_peer, can, device, peer);
}

QUADRILLE_EXPORT int hipDeviceSynchronize() { return call_in_context(QUADRILLE_HERE, synchronize); }

QUADRILLE_EXPORT int hipDevicePrimaryCtxRetain(Handle* context, int device) {
  return call(QUADRILLE_HERE, retain_primary, device, context);
}

QUADRILLE_EXPORT int hipDevicePrimaryCtxRelease(int device) { return call(QUADRILLE_HERE, release_primary, device); }

QUADRILLE_EXPORT int hipCtxCreate(Handle* context, unsigned flags, int device) {
  return call(QUADRILLE_HERE, create_context, device, flags, context);
}

QUADRILLE_EXPORT int hipCtxDestroy(Handle context) { return call(QUADRILLE_HERE, destroy_context, context); }
QUADRILLE_EXPORT int hipCtxPushCurrent(Handle handle) { return call(QUADRILLE_HERE, push_current, handle); }
QUADRILLE_EXPORT int hipCtxPopCurrent(Handle* handle) { return call(QUADRILLE_HERE, pop_current, handle); }
QUADRILLE_EXPORT int hipCtxGetCurrent(Handle* handle) { return call(QUADRILLE_HERE, get_current, handle); }
QUADRILLE_EXPORT int hipCtxSetCurrent(Handle handle) { return call(QUADRILLE_HERE, set_current, handle); }

// -- Memory

QUADRILLE_EXPORT int hipMalloc(void** made, std::size_t bytes) {
  return call_in_context(QUADRILLE_HERE, allocate_pointer, Kind::device, made, bytes);
}

QUADRILLE_EXPORT int hipHostMalloc(void** made, std::size_t bytes, unsigned) {
  return call_in_context(QUADRILLE_HERE, allocate_pointer, Kind::pinned, made, bytes);
}

QUADRILLE_EXPORT int hipMallocManaged(void** made, std::size_t bytes, unsigned) {
  return call_in_context(QUADRILLE_HERE, allocate_pointer, Kind::managed, made, bytes);
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
  return call_in_context(QUADRILLE_HERE, free_host, address, Kind::pinned);
}

QUADRILLE_EXPORT int hipHostRegister(void* address, std::size_t bytes, unsigned) {
  return call_in_context(QUADRILLE_HERE, register_host, address, bytes);
}

QUADRILLE_EXPORT int hipHostUnregister(void* address) {
  return call_in_context(QUADRILLE_HERE, free_host, address, Kind::registered);
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
  return call_in_context(QUADRILLE_HERE, get_memory_left, available, total);
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
  return call(QUADRILLE_HERE, hip_pointer_attribute, data, attribute, number(address));
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
  return call(QUADRILLE_HERE, set_pointer_attribute, value, attribute, number(address));
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
  return call_in_context(QUADRILLE_HERE, export_memory, handle, number(address));
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
  return call_in_context(QUADRILLE_HERE, close_memory, number(address));
}

QUADRILLE_EXPORT int hipModuleLoadData(Handle* module, const void* image) {
  return call_in_context(QUADRILLE_HERE, load_module, module, image);
}

QUADRILLE_EXPORT int hipModuleUnload(Handle module) { return call_in_context(QUADRILLE_HERE, unload_module, module); }

QUADRILLE_EXPORT int hipModuleGetFunction(Handle* function, Handle module, const char* name) {
  return call_in_context(QUADRILLE_HERE, find_function, function, module, name);
}
