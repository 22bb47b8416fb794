// HIP's names: copies, streams, events, kernels.
#include "driver.hpp"
#include "hip_calls.hpp"

#define QUADRILLE_DECLARE(name, ...) QUADRILLE_EXPORT int name(__VA_ARGS__);
QUADRILLE_HIP_STREAM_CALLS(QUADRILLE_DECLARE)

using namespace quadrille::standin;

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
  return enter_in_stream(QUADRILLE_HERE, null_stream, false, [&](Stream& stream) {
    return fill(stream, number(to), static_cast<unsigned char>(value), 1, bytes, true);
  });
}

QUADRILLE_EXPORT int hipMemsetAsync(void* to, int value, std::size_t bytes, Handle handle) {
  return enter_in_stream(QUADRILLE_HERE, handle, false, [&](Stream& stream) {
    return fill(stream, number(to), static_cast<unsigned char>(value), 1, bytes, false);
  });
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
  return enter_in_stream(QUADRILLE_HERE, handle, false,
                         [&](Stream& stream) { return free_in_order(stream, number(address)); });
}

static int create_stream(const Caller& caller, Handle* stream, unsigned flags, int priority) {
  return enter_in_context(caller, [&](Context& context) {
    if (stream == nullptr || flags > 1) return invalid_value;
    *stream = make_stream(context, flags, priority);
    return success;
  });
}

QUADRILLE_EXPORT int hipStreamCreate(Handle* stream) { return create_stream(QUADRILLE_HERE, stream, 0, 0); }

QUADRILLE_EXPORT int hipStreamCreateWithFlags(Handle* stream, unsigned flags) {
  return create_stream(QUADRILLE_HERE, stream, flags, 0);
}

QUADRILLE_EXPORT int hipStreamCreateWithPriority(Handle* stream, unsigned flags, int priority) {
  return create_stream(QUADRILLE_HERE, stream, flags, priority);
}

QUADRILLE_EXPORT int hipStreamDestroy(Handle handle) {
  return enter_in_stream(QUADRILLE_HERE, handle, false, [&](Stream& stream) {
    if (&stream != handle) return invalid_handle;
    stream.destroyed = true;
    return success;
  });
}

QUADRILLE_EXPORT int hipStreamSynchronize(Handle handle) {
  return enter_in_stream(QUADRILLE_HERE, handle, false, [](Stream& stream) {
    const Context& context = *stream.context;
    wait_for(stream.last);
    return context.error;
  });
}

QUADRILLE_EXPORT int hipStreamQuery(Handle handle) {
  return enter_in_stream(QUADRILLE_HERE, handle, false, [](Stream& stream) {
    return ask_for(stream.last) ? stream.context->error : static_cast<int>(not_ready);
  });
}

QUADRILLE_EXPORT int hipStreamIsCapturing(Handle handle, int* status) {
  return enter_in_stream(QUADRILLE_HERE, handle, false,
                         [&](const Stream& stream) { return ask_capture(stream, status); });
}

QUADRILLE_EXPORT int hipStreamBeginCapture(Handle handle, int mode) {
  return enter_in_stream(QUADRILLE_HERE, handle, false, [&](Stream& stream) { return begin_capture(stream, mode); });
}

QUADRILLE_EXPORT int hipStreamEndCapture(Handle handle, Handle* graph) {
  return enter_in_stream(QUADRILLE_HERE, handle, false, [&](Stream& stream) { return end_capture(stream, graph); });
}

QUADRILLE_EXPORT int hipThreadExchangeStreamCaptureMode(int* mode) {
  return enter(QUADRILLE_HERE, [&] { return exchange_capture_mode(mode); });
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
  return enter_in_stream(QUADRILLE_HERE, handle, false,
                         [&](Stream& stream) { return write_value(stream, number(address), value, flags); });
}

QUADRILLE_EXPORT int hipLaunchHostFunc(Handle handle, HostFunction function, void* data) {
  return enter_in_stream(QUADRILLE_HERE, handle, false, [&](Stream& stream) {
    return function == nullptr ? static_cast<int>(invalid_value) : call_host(stream, [=] { function(data); });
  });
}

QUADRILLE_EXPORT int hipEventCreate(Handle* event) {
  return enter_in_context(QUADRILLE_HERE, [&](Context& context) { return create_event(context, 0, event); });
}

QUADRILLE_EXPORT int hipEventCreateWithFlags(Handle* event, unsigned flags) {
  return enter_in_context(QUADRILLE_HERE, [&](Context& context) { return create_event(context, flags, event); });
}

QUADRILLE_EXPORT int hipEventRecord(Handle event, Handle handle) {
  return enter_in_stream(QUADRILLE_HERE, handle, false, [&](Stream& stream) { return record_event(stream, event); });
}

QUADRILLE_EXPORT int hipEventQuery(Handle event) {
  return enter(QUADRILLE_HERE, [&] { return query_event(event); });
}

QUADRILLE_EXPORT int hipEventSynchronize(Handle event) {
  return enter(QUADRILLE_HERE, [&] { return wait_for_event(event); });
}

QUADRILLE_EXPORT int hipEventElapsedTime(float* milliseconds, Handle from, Handle to) {
  return enter(QUADRILLE_HERE, [&] { return elapsed_time(milliseconds, from, to); });
}

QUADRILLE_EXPORT int hipEventDestroy(Handle event) {
  return enter(QUADRILLE_HERE, [&] { return destroy_event(event); });
}

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
  return enter_in_stream(QUADRILLE_HERE, handle, false, [&](Stream& stream) { return launch_graph(stream, ready); });
}

QUADRILLE_EXPORT int hipGraphExecDestroy(Handle ready) {
  return enter(QUADRILLE_HERE, [&] { return destroy_ready(ready); });
}

QUADRILLE_EXPORT int hipGraphDestroy(Handle graph) {
  return enter(QUADRILLE_HERE, [&] { return destroy_graph(graph); });
}
