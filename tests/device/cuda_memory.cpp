// CUDA's names: memory, pointers, memory of other processes, modules, streams and events but for what is put into
// streams.
#include "cuda_calls.hpp"

using namespace quadrille::standin;

QUADRILLE_EXPORT int cuMemAlloc_v2(Address* made, std::size_t bytes) {
  return call_in_context(QUADRILLE_HERE, allocate, Kind::device, bytes, made);
}

QUADRILLE_EXPORT int cuMemFree_v2(Address address) { return call_in_context(QUADRILLE_HERE, free_device, address); }

QUADRILLE_EXPORT int cuMemAllocHost_v2(void** made, std::size_t bytes) {
  return call_in_context(QUADRILLE_HERE, allocate_pointer, Kind::pinned, made, bytes);
}

QUADRILLE_EXPORT int cuMemHostAlloc(void** made, std::size_t bytes, unsigned) {
  return call_in_context(QUADRILLE_HERE, allocate_pointer, Kind::pinned, made, bytes);
}

QUADRILLE_EXPORT int cuMemFreeHost(void* address) {
  return call_in_context(QUADRILLE_HERE, free_host, address, Kind::pinned);
}

QUADRILLE_EXPORT int cuMemHostRegister_v2(void* address, std::size_t bytes, unsigned) {
  return call_in_context(QUADRILLE_HERE, register_host, address, bytes);
}

QUADRILLE_EXPORT int cuMemHostUnregister(void* address) {
  return call_in_context(QUADRILLE_HERE, free_host, address, Kind::registered);
}

QUADRILLE_EXPORT int cuMemHostGetDevicePointer_v2(Address* made, void* address, unsigned flags) {
  return enter_in_context(QUADRILLE_HERE, [&](Context&) {
    const Allocation* const allocation = find(reinterpret_cast<Address>(address));
    if (made == nullptr || flags != 0 || allocation == nullptr || allocation->is_device()) return invalid_value;
    *made = reinterpret_cast<Address>(address);
    return success;
  });
}

QUADRILLE_EXPORT int cuMemAllocManaged(Address* made, std::size_t bytes, unsigned flags) {
  return enter_in_context(QUADRILLE_HERE, [&](Context& context) {
    constexpr unsigned global = 1, host = 2;
    if (flags != global && flags != host) return static_cast<int>(invalid_value);
    return allocate(context, Kind::managed, bytes, made);
  });
}

QUADRILLE_EXPORT int cuMemGetAddressRange_v2(Address* base, std::size_t* bytes, Address address) {
  return enter_in_context(QUADRILLE_HERE, [&](Context&) {
    const Allocation* const allocation = find(address);
    if (allocation == nullptr) return not_found;
    if (base != nullptr) *base = allocation->base;
    if (bytes != nullptr) *bytes = allocation->bytes;
    return success;
  });
}

QUADRILLE_EXPORT int cuMemGetInfo_v2(std::size_t* available, std::size_t* total) {
  return call_in_context(QUADRILLE_HERE, get_memory_left, available, total);
}

static int get_pool(const Caller& caller, Handle* pool, int device) {
  return enter(caller, [&] {
    if (pool == nullptr) return invalid_value;
    if (!has_device(device)) return invalid_device;
    *pool = driver().primary.data() + device;
    return success;
  });
}

QUADRILLE_EXPORT int cuDeviceGetDefaultMemPool(Handle* pool, int device) {
  return get_pool(QUADRILLE_HERE, pool, device);
}

QUADRILLE_EXPORT int cuDeviceGetMemPool(Handle* pool, int device) { return get_pool(QUADRILLE_HERE, pool, device); }

QUADRILLE_EXPORT int cuPointerGetAttribute(void* data, int attribute, Address address) {
  return call(QUADRILLE_HERE, pointer_attribute, data, attribute, address);
}

QUADRILLE_EXPORT int cuPointerGetAttributes(unsigned count, int* attributes, void** data, Address address) {
  return call(QUADRILLE_HERE, pointer_attributes, count, attributes, data, address);
}

QUADRILLE_EXPORT int cuPointerSetAttribute(const void* value, int attribute, Address address) {
  return call(QUADRILLE_HERE, set_pointer_attribute, value, attribute, address);
}

QUADRILLE_EXPORT int cuIpcGetMemHandle(IpcHandle* handle, Address address) {
  return call_in_context(QUADRILLE_HERE, export_memory, handle, address);
}

QUADRILLE_EXPORT int cuIpcOpenMemHandle_v2(Address* address, IpcHandle handle, unsigned flags) {
  return enter_in_context(QUADRILLE_HERE, [&](Context& context) {
    // It has to be asked for, although it means nothing on one device.
    return flags != 1 ? static_cast<int>(invalid_value) : open_memory(context, address, handle);
  });
}

QUADRILLE_EXPORT int cuIpcCloseMemHandle(Address address) {
  return call_in_context(QUADRILLE_HERE, close_memory, address);
}

QUADRILLE_EXPORT int cuIpcGetEventHandle(IpcHandle*, Handle) {
  return enter_in_context(QUADRILLE_HERE, [](Context&) { return not_supported; });
}

QUADRILLE_EXPORT int cuIpcOpenEventHandle(Handle*, IpcHandle) {
  return enter_in_context(QUADRILLE_HERE, [](Context&) { return not_supported; });
}

QUADRILLE_EXPORT int cuModuleLoadData(Handle* module, const void* image) {
  return call_in_context(QUADRILLE_HERE, load_module, module, image);
}

QUADRILLE_EXPORT int cuModuleLoadDataEx(Handle* module, const void* image, unsigned, int*, void**) {
  return call_in_context(QUADRILLE_HERE, load_module, module, image);
}

QUADRILLE_EXPORT int cuModuleUnload(Handle module) { return call_in_context(QUADRILLE_HERE, unload_module, module); }

QUADRILLE_EXPORT int cuModuleGetFunction(Handle* function, Handle module, const char* name) {
  return call_in_context(QUADRILLE_HERE, find_function, function, module, name);
}

// What kernels keep between them is nowhere.
QUADRILLE_EXPORT int cuModuleGetGlobal_v2(Address*, std::size_t*, Handle, const char*) {
  return enter_in_context(QUADRILLE_HERE, [](Context&) { return not_found; });
}

QUADRILLE_EXPORT int cuStreamCreate(Handle* stream, unsigned flags) {
  return call_in_context(QUADRILLE_HERE, create_stream, stream, flags, 0);
}

QUADRILLE_EXPORT int cuStreamCreateWithPriority(Handle* stream, unsigned flags, int priority) {
  return call_in_context(QUADRILLE_HERE, create_stream, stream, flags, priority);
}

QUADRILLE_EXPORT int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return enter_in_context(QUADRILLE_HERE, [&](Context&) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
    return success;
  });
}

// What it has to do is done all the same.
QUADRILLE_EXPORT int cuStreamDestroy_v2(Handle handle) {
  return enter_in_context(QUADRILLE_HERE, [&](Context& context) {
    Stream* const stream = stream_of(handle, false, context);
    if (stream == nullptr || stream != handle) return invalid_handle;
    stream->destroyed = true;
    return success;
  });
}

QUADRILLE_EXPORT int cuEventCreate(Handle* event, unsigned flags) {
  return call_in_context(QUADRILLE_HERE, create_event, flags, event);
}

QUADRILLE_EXPORT int cuEventQuery(Handle event) { return call(QUADRILLE_HERE, query_event, event); }
QUADRILLE_EXPORT int cuEventSynchronize(Handle event) { return call(QUADRILLE_HERE, wait_for_event, event); }

QUADRILLE_EXPORT int cuEventElapsedTime(float* milliseconds, Handle from, Handle to) {
  return call(QUADRILLE_HERE, elapsed_time, milliseconds, from, to);
}

QUADRILLE_EXPORT int cuEventElapsedTime_v2(float* milliseconds, Handle from, Handle to) {
  return call(QUADRILLE_HERE, elapsed_time, milliseconds, from, to);
}

QUADRILLE_EXPORT int cuEventDestroy_v2(Handle event) { return call(QUADRILLE_HERE, destroy_event, event); }

QUADRILLE_EXPORT int cuGraphCreate(Handle* graph, unsigned flags) {
  return enter(QUADRILLE_HERE, [&] { return flags != 0 ? static_cast<int>(invalid_value) : create_graph(graph); });
}

// Of plain bytes.
QUADRILLE_EXPORT int cuGraphAddMemcpyNode(Handle* node, Handle graph, const Handle* after, std::size_t count,
                                          const Copy3D* box, Handle handle) {
  return enter(QUADRILLE_HERE, [&] {
    const Context* const context = context_of(handle);
    if (context == nullptr || context->destroyed) return static_cast<int>(invalid_context);
    constexpr unsigned device = 2, unified = 4;
    if (box == nullptr || box->height != 1 || box->depth != 1 || box->from_pitch < box->width ||
        box->to_pitch < box->width)
      return static_cast<int>(invalid_value);
    for (const unsigned type : {box->from_type, box->to_type}) {
      if (type != device && type != unified) return static_cast<int>(not_supported);
    }
    const Address from = box->from_device + box->from_x, to = box->to_device + box->to_x;
    return add_copy(node, graph, after, count, to, from, box->width, *context);
  });
}

QUADRILLE_EXPORT int cuGraphInstantiateWithFlags(Handle* ready, Handle graph, unsigned long long flags) {
  return enter_in_context(QUADRILLE_HERE, [&](Context&) {
    return flags != 0 ? static_cast<int>(invalid_value) : make_ready(ready, graph);
  });
}

QUADRILLE_EXPORT int cuGraphExecDestroy(Handle ready) { return call(QUADRILLE_HERE, destroy_ready, ready); }
