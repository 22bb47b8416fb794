// CUDA's names: devices and contexts.
#include "cuda_calls.hpp"

namespace quadrille::standin {

const bool starts_by_itself = false;

namespace {

// Those that programs ask for; the others are 0: not supported.
int attribute_of(int device, int attribute) {
  switch (attribute) {
    case 1:  // threads of a block
    case 2:
    case 3:
      return 1024;
    case 4:
      return 64;
    case 5:  // blocks of a grid
      return 0x7fffffff;
    case 6:
    case 7:
      return 65535;
    case 10:  // a warp
      return 32;
    case 15:  // copies beside kernels
    case 19:  // maps memory of the host
    case 31:  // kernels beside kernels
    case 41:  // one range of addresses
    case 83:  // managed memory
    case 91:  // registered memory has the host's address
    case 92:  // waits for values
    case 94:
    case 115:  // pools
    case 123:
      return 1;
    case 16:  // multiprocessors
      return 8;
    case 33:  // the place on the bus
      return physical(device) + 1;
    case 39:  // threads of a multiprocessor
      return 2048;
    case 40:  // copy engines
      return 2;
    case 75:  // compute capability
      return 9;
    default:
      return 0;
  }
}

}  // namespace
}  // namespace quadrille::standin

using namespace quadrille::standin;

QUADRILLE_EXPORT int cuInit(unsigned flags) { return start_driver(QUADRILLE_HERE, flags); }
QUADRILLE_EXPORT int cuDriverGetVersion(int* version) { return tell_version(QUADRILLE_HERE, version, 13000); }

QUADRILLE_EXPORT int cuGetErrorName(int error, const char** name) {
  return enter_uninitialized(QUADRILLE_HERE, [&] {
    static std::map<int, std::string> names;
    if (name == nullptr) return invalid_value;
    *name = names.emplace(error, "error " + std::to_string(error) + " of the stand-in driver").first->second.c_str();
    return success;
  });
}

QUADRILLE_EXPORT int cuGetErrorString(int error, const char** text) { return cuGetErrorName(error, text); }
QUADRILLE_EXPORT int cuDeviceGet(int* device, int ordinal) { return call(QUADRILLE_HERE, get_device, device, ordinal); }
QUADRILLE_EXPORT int cuDeviceGetCount(int* count) { return call(QUADRILLE_HERE, count_devices, count); }

QUADRILLE_EXPORT int cuDeviceGetUuid(Uuid* uuid, int device) { return call(QUADRILLE_HERE, get_uuid, uuid, device); }
QUADRILLE_EXPORT int cuDeviceGetUuid_v2(Uuid* uuid, int device) { return call(QUADRILLE_HERE, get_uuid, uuid, device); }

QUADRILLE_EXPORT int cuDeviceGetName(char* name, int bytes, int device) {
  return call(QUADRILLE_HERE, get_name, name, bytes, device);
}

QUADRILLE_EXPORT int cuDeviceGetPCIBusId(char* name, int bytes, int device) {
  return call(QUADRILLE_HERE, get_bus_id, name, bytes, device);
}

QUADRILLE_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
  return enter(QUADRILLE_HERE, [&] {
    if (value == nullptr || attribute <= 0 || attribute > 1000) return invalid_value;
    if (!has_device(device)) return invalid_device;
    *value = attribute_of(device, attribute);
    return success;
  });
}

QUADRILLE_EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  return enter(QUADRILLE_HERE, [&] {
    if (bytes == nullptr) return invalid_value;
    if (!has_device(device)) return invalid_device;
    *bytes = std::size_t{16} << 30;
    return success;
  });
}

QUADRILLE_EXPORT int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  return call(QUADRILLE_HERE, can_access_peer, can, device, peer);
}

QUADRILLE_EXPORT int cuDevicePrimaryCtxRetain(Handle* context, int device) {
  return call(QUADRILLE_HERE, retain_primary, device, context);
}

QUADRILLE_EXPORT int cuDevicePrimaryCtxRelease(int device) { return call(QUADRILLE_HERE, release_primary, device); }
QUADRILLE_EXPORT int cuDevicePrimaryCtxRelease_v2(int device) { return call(QUADRILLE_HERE, release_primary, device); }

QUADRILLE_EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  return enter(QUADRILLE_HERE, [&] {
    if (!has_device(device)) return invalid_device;
    const Context* const primary = driver().primary[static_cast<std::size_t>(device)];
    if (flags != nullptr) *flags = 0;
    if (active != nullptr) *active = primary != nullptr && primary->retained > 0 ? 1 : 0;
    return success;
  });
}

QUADRILLE_EXPORT int cuCtxCreate_v2(Handle* context, unsigned flags, int device) {
  return call(QUADRILLE_HERE, create_context, device, flags, context);
}

QUADRILLE_EXPORT int cuCtxCreate_v4(Handle* context, void* parameters, unsigned flags, int device) {
  return enter(QUADRILLE_HERE, [&] {
    return parameters != nullptr ? static_cast<int>(not_supported) : create_context(device, flags, context);
  });
}

QUADRILLE_EXPORT int cuCtxDestroy_v2(Handle context) { return call(QUADRILLE_HERE, destroy_context, context); }
QUADRILLE_EXPORT int cuCtxPushCurrent_v2(Handle handle) { return call(QUADRILLE_HERE, push_current, handle); }
QUADRILLE_EXPORT int cuCtxPopCurrent_v2(Handle* handle) { return call(QUADRILLE_HERE, pop_current, handle); }
QUADRILLE_EXPORT int cuCtxGetCurrent(Handle* handle) { return call(QUADRILLE_HERE, get_current, handle); }
QUADRILLE_EXPORT int cuCtxSetCurrent(Handle handle) { return call(QUADRILLE_HERE, set_current, handle); }
QUADRILLE_EXPORT int cuCtxGetDevice(int* device) { return call_in_context(QUADRILLE_HERE, get_ordinal, device); }

QUADRILLE_EXPORT int cuCtxGetApiVersion(Handle handle, unsigned* version) {
  return enter(QUADRILLE_HERE, [&] {
    if (version == nullptr) return invalid_value;
    if (handle != nullptr && context_of(handle) == nullptr) return invalid_context;
    *version = 3020;
    return success;
  });
}

QUADRILLE_EXPORT int cuCtxGetId(Handle handle, unsigned long long* id) {
  return enter(QUADRILLE_HERE, [&] {
    Context* context = context_of(handle);
    if (handle == nullptr && current(context) != success) return invalid_context;
    if (context == nullptr) return context_is_destroyed;
    *id = context->id;
    return success;
  });
}

QUADRILLE_EXPORT int cuCtxSynchronize() { return call_in_context(QUADRILLE_HERE, synchronize); }

QUADRILLE_EXPORT int cuCtxEnablePeerAccess(Handle handle, unsigned flags) {
  return enter_in_context(QUADRILLE_HERE, [&](const Context& context) {
    const Context* const peer = context_of(handle);
    if (flags != 0) return invalid_value;
    return peer == nullptr || peer->destroyed || peer == &context ? invalid_context : success;
  });
}

// -- Capture

QUADRILLE_EXPORT int cuThreadExchangeStreamCaptureMode(int* mode) {
  return call(QUADRILLE_HERE, exchange_capture_mode, mode);
}

QUADRILLE_EXPORT int cuGraphDestroy(Handle graph) { return call(QUADRILLE_HERE, destroy_graph, graph); }
