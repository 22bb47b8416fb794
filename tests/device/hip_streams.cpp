// HIP's names: copies, streams, events, kernels.
#include "driver.hpp"
#include "hip_calls.hpp"

#define QUADRILLE_DECLARE(name, ...) QUADRILLE_EXPORT int name(__VA_ARGS__);
QUADRILLE_HIP_STREAM_CALLS(QUADRILLE_DECLARE)

using namespace quadrille::standin;

// HIP's NULL stream is that of all threads.
template <class... Of>
static int in_stream(const Caller& caller, Handle handle, Of... of) {
  return call_in_stream(caller, handle, false, of...);
}

static int copy_in(const Caller& caller, void* to, const void* from, std::size_t bytes, int kind, Handle handle,
                   bool waits) {
  return enter_in_stream(caller, handle, false, [&](Stream& stream) {
    if (kind < hip_host_to_host || kind > hip_default) return hip_invalid_direction;
    const Direction direction = kind == hip_to_device   ? Direction::to_device
                                : kind == hip_to_host   ? Direction::to_host
                                : kind == hip_on_device ? Direction::on_device
                                                        : Direction::any;
    return copy(stream, number(to), number(from), bytes, direction, waits);
  });
}

QUADRILLE_EXPORT int hipMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  return copy_in(QUADRILLE_HERE, to, from, bytes, kind, null_stream, true);
}

QUADRILLE_EXPORT int hipMemcpyWithStream(void* to, const void* from, std::size_t bytes, int kind, Handle stream) {
  return copy_in(QUADRILLE_HERE, to, from, bytes, kind, stream, true);
}

QUADRILLE_EXPORT int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, Handle stream) {
  return copy_in(QUADRILLE_HERE, to, from, bytes, kind, stream, false);
}

QUADRILLE_EXPORT int hipMemcpyHtoD(void* to, void* from, std::size_t bytes) {
  return copy_in(QUADRILLE_HERE, to, from, bytes, hip_to_device, null_stream, true);
}

QUADRILLE_EXPORT int hipMemcpyDtoH(void* to, void* from, std::size_t bytes) {
  return copy_in(QUADRILLE_HERE, to, from, bytes, hip_to_host, null_stream, true);
}

QUADRILLE_EXPORT int hipMemcpyDtoD(void* to, void* from, std::size_t bytes) {
  return copy_in(QUADRILLE_HERE, to, from, bytes, hip_on_device, null_stream, true);
}

QUADRILLE_EXPORT int hipMemcpyHtoDAsync(void* to, void* from, std::size_t bytes, Handle stream) {
  return copy_in(QUADRILLE_HERE, to, from, bytes, hip_to_device, stream, false);
}

QUADRILLE_EXPORT int hipMemcpyDtoHAsync(void* to, void* from, std::size_t bytes, Handle stream) {
  return copy_in(QUADRILLE_HERE, to, from, bytes, hip_to_host, stream, false);
}

QUADRILLE_EXPORT int hipMemcpyDtoDAsync(void* to, void* from, std::size_t bytes, Handle stream) {
  return copy_in(QUADRILLE_HERE, to, from, bytes, hip_on_device, stream, false);
}

QUADRILLE_EXPORT int hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                      std::size_t width, std::size_t height, int kind, Handle handle) {
  return enter_in_stream(QUADRILLE_HERE, handle, false, [&](Stream& stream) {
    if (kind < hip_host_to_host || kind > hip_default) return hip_invalid_direction;
    constexpr unsigned host = 1, device = 2, unified = 4;
    Copy2D rows{};
    rows.from_type = kind == hip_default ? unified : kind == hip_to_host || kind == hip_on_device ? device : host;
    rows.to_type = kind == hip_default ? unified : kind == hip_to_device || kind == hip_on_device ? device : host;
    rows.from_host = from;
    rows.to_host = to;
    rows.from_device = number(from);
    rows.from_pitch = from_pitch;
    rows.to_device = number(to);
    rows.to_pitch = to_pitch;
    rows.width = width;
    rows.height = height;
    return copy_2d(stream, rows, false);
  });
}

QUADRILLE_EXPORT int hipMemset(void* to, int value, std::size_t bytes) {
  return in_stream(QUADRILLE_HERE, null_stream, fill, number(to), static_cast<unsigned char>(value), 1, bytes, true);
}

QUADRILLE_EXPORT int hipMemsetAsync(void* to, int value, std::size_t bytes, Handle handle) {
  return in_stream(QUADRILLE_HERE, handle, fill, number(to), static_cast<unsigned char>(value), 1, bytes, false);
}

QUADRILLE_EXPORT int hipMallocAsync(void** made, std::size_t bytes, Handle handle) {
  return enter_in_stream(QUADRILLE_HERE, handle, false, [&](Stream& stream) {
    Address address = 0;
    const int error = made == nullptr ? static_cast<int>(invalid_value) : allocate_in_order(stream, bytes, &address);
    if (error == success) *made = reinterpret_cast<void*>(address);
    return error;
  });
}

QUADRILLE_EXPORT int hipFreeAsync(void* address, Handle handle) {
  return in_stream(QUADRILLE_HERE, handle, free_in_order, number(address));
}

QUADRILLE_EXPORT int hipStreamCreate(Handle* stream) {
  return call_in_context(QUADRILLE_HERE, create_stream, stream, 0, 0);
}

QUADRILLE_EXPORT int hipStreamCreateWithFlags(Handle* stream, unsigned flags) {
  return call_in_context(QUADRILLE_HERE, create_stream, stream, flags, 0);
}

QUADRILLE_EXPORT int hipStreamCreateWithPriority(Handle* stream, unsigned flags, int priority) {
  return call_in_context(QUADRILLE_HERE, create_stream, stream, flags, priority);
}

QUADRILLE_EXPORT int hipStreamDestroy(Handle handle) {
  return enter_in_stream(QUADRILLE_HERE, handle, false, [&](Stream& stream) {
    if (&stream != handle) return invalid_handle;
    stream.destroyed = true;
    return success;
  });
}

QUADRILLE_EXPORT int hipStreamSynchronize(Handle handle) {
  return in_stream(QUADRILLE_HERE, handle, synchronize_stream);
}

QUADRILLE_EXPORT int hipStreamQuery(Handle handle) { return in_stream(QUADRILLE_HERE, handle, query_stream); }

QUADRILLE_EXPORT int hipStreamIsCapturing(Handle handle, int* status) {
  return in_stream(QUADRILLE_HERE, handle, ask_capture, status);
}

QUADRILLE_EXPORT int hipStreamBeginCapture(Handle handle, int mode) {
  return in_stream(QUADRILLE_HERE, handle, begin_capture, mode);
}

QUADRILLE_EXPORT int hipStreamEndCapture(Handle handle, Handle* graph) {
  return in_stream(QUADRILLE_HERE, handle, end_capture, graph);
}

QUADRILLE_EXPORT int hipThreadExchangeStreamCaptureMode(int* mode) {
  return call(QUADRILLE_HERE, exchange_capture_mode, mode);
}

QUADRILLE_EXPORT int hipStreamWaitEvent(Handle handle, Handle event, unsigned flags) {
  return enter_in_stream(QUADRILLE_HERE, handle, false, [&](Stream& stream) {
    return flags != 0 ? static_cast<int>(invalid_value) : wait_in_stream(stream, event);
  });
}

QUADRILLE_EXPORT int hipStreamWaitValue32(Handle handle, void* address, std::uint32_t value, unsigned flags,
                                          std::uint32_t mask) {
  return enter_in_stream(QUADRILLE_HERE, handle, false, [&](Stream& stream) {
    return mask != UINT32_MAX ? static_cast<int>(not_supported) : wait_for_value(stream, number(address), value, flags);
  });
}

QUADRILLE_EXPORT int hipStreamWriteValue32(Handle handle, void* address, std::uint32_t value, unsigned flags) {
  return in_stream(QUADRILLE_HERE, handle, write_value, number(address), value, flags);
}

QUADRILLE_EXPORT int hipLaunchHostFunc(Handle handle, HostFunction function, void* data) {
  return enter_in_stream(QUADRILLE_HERE, handle, false, [&](Stream& stream) {
    return function == nullptr ? static_cast<int>(invalid_value) : call_host(stream, [=] { function(data); });
  });
}

QUADRILLE_EXPORT int hipEventCreate(Handle* event) { return call_in_context(QUADRILLE_HERE, create_event, 0, event); }

QUADRILLE_EXPORT int hipEventCreateWithFlags(Handle* event, unsigned flags) {
  return call_in_context(QUADRILLE_HERE, create_event, flags, event);
}

QUADRILLE_EXPORT int hipEventRecord(Handle event, Handle handle) {
  return in_stream(QUADRILLE_HERE, handle, record_event, event);
}

QUADRILLE_EXPORT int hipEventQuery(Handle event) { return call(QUADRILLE_HERE, query_event, event); }
QUADRILLE_EXPORT int hipEventSynchronize(Handle event) { return call(QUADRILLE_HERE, wait_for_event, event); }

QUADRILLE_EXPORT int hipEventElapsedTime(float* milliseconds, Handle from, Handle to) {
  return call(QUADRILLE_HERE, elapsed_time, milliseconds, from, to);
}

QUADRILLE_EXPORT int hipEventDestroy(Handle event) { return call(QUADRILLE_HERE, destroy_event, event); }

QUADRILLE_EXPORT int hipModuleLaunchKernel(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                           Handle handle, void** parameters, void** extra) {
  return enter_in_stream(QUADRILLE_HERE, handle, false, [&](Stream& stream) {
    if (extra != nullptr) return static_cast<int>(not_supported);
    const Launch shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, handle};
    return launch(stream, function, shape, parameters);
  });
}

QUADRILLE_EXPORT int hipGraphCreate(Handle* graph, unsigned flags) {
  return enter(QUADRILLE_HERE, [&] { return flags != 0 ? static_cast<int>(invalid_value) : create_graph(graph); });
}

QUADRILLE_EXPORT int hipGraphAddMemcpyNode1D(Handle* node, Handle graph, const Handle* after, std::size_t count,
                                             void* to, const void* from, std::size_t bytes, int kind) {
  return enter_in_context(QUADRILLE_HERE, [&](const Context& context) {
    return kind != hip_default ? static_cast<int>(not_supported)
                               : add_copy(node, graph, after, count, number(to), number(from), bytes, context);
  });
}

QUADRILLE_EXPORT int hipGraphInstantiateWithFlags(Handle* ready, Handle graph, unsigned long long flags) {
  return enter_in_context(QUADRILLE_HERE, [&](Context&) {
    return flags != 0 ? static_cast<int>(invalid_value) : make_ready(ready, graph);
  });
}

QUADRILLE_EXPORT int hipGraphLaunch(Handle ready, Handle handle) {
  return in_stream(QUADRILLE_HERE, handle, launch_graph, ready);
}

QUADRILLE_EXPORT int hipGraphExecDestroy(Handle ready) { return call(QUADRILLE_HERE, destroy_ready, ready); }
QUADRILLE_EXPORT int hipGraphDestroy(Handle graph) { return call(QUADRILLE_HERE, destroy_graph, graph); }
