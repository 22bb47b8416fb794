// CUDA's names: what is put into streams. Compiled twice: once more with the NULL stream as the thread's own, for the
// names that end so.
#include "cuda_calls.hpp"

#ifdef QUADRILLE_STANDIN_PER_THREAD
#define QUADRILLE_BLOCKING(name) name##_ptds
#define QUADRILLE_STREAM(name) name##_ptsz
static constexpr bool per_thread = true;
#else
#define QUADRILLE_BLOCKING(name) name
#define QUADRILLE_STREAM(name) name
static constexpr bool per_thread = false;
#endif

using namespace quadrille::standin;

template <class... Of>
static int in_stream(const Caller& caller, Handle handle, Of... of) {
  return call_in_stream(caller, handle, per_thread, of...);
}

template <class Value, class Member>
static int tell(const Caller& caller, Handle handle, Value* value, Member Stream::*member) {
  return enter_in_stream(caller, handle, per_thread, [&](const Stream& stream) {
    if (value == nullptr) return invalid_value;
    *value = stream.*member;
    return success;
  });
}

// -- Copies that wait for the host where CUDA says so

static int copy_now(const Caller& caller, Address to, Address from, std::size_t bytes, Direction direction) {
  return in_stream(caller, null_stream, copy, to, from, bytes, direction, true);
}

static int copy_later(const Caller& caller, Address to, Address from, std::size_t bytes, Direction direction,
                      Handle handle) {
  return in_stream(caller, handle, copy, to, from, bytes, direction, false);
}

QUADRILLE_EXPORT int QUADRILLE_BLOCKING(cuMemcpy)(Address to, Address from, std::size_t bytes) {
  return copy_now(QUADRILLE_HERE, to, from, bytes, Direction::any);
}

QUADRILLE_EXPORT int QUADRILLE_BLOCKING(cuMemcpyHtoD_v2)(Address to, const void* from, std::size_t bytes) {
  return copy_now(QUADRILLE_HERE, to, number(from), bytes, Direction::to_device);
}

QUADRILLE_EXPORT int QUADRILLE_BLOCKING(cuMemcpyDtoH_v2)(void* to, Address from, std::size_t bytes) {
  return copy_now(QUADRILLE_HERE, number(to), from, bytes, Direction::to_host);
}

QUADRILLE_EXPORT int QUADRILLE_BLOCKING(cuMemcpyDtoD_v2)(Address to, Address from, std::size_t bytes) {
  return copy_now(QUADRILLE_HERE, to, from, bytes, Direction::on_device);
}

QUADRILLE_EXPORT int QUADRILLE_BLOCKING(cuMemcpyPeer)(Address to, Handle, Address from, Handle, std::size_t bytes) {
  return copy_now(QUADRILLE_HERE, to, from, bytes, Direction::on_device);
}

QUADRILLE_EXPORT int QUADRILLE_BLOCKING(cuMemcpy2D_v2)(const Copy2D* copy) {
  return enter_in_stream(QUADRILLE_HERE, null_stream, per_thread, [&](Stream& stream) {
    return copy == nullptr ? static_cast<int>(invalid_value) : copy_2d(stream, *copy, true);
  });
}

QUADRILLE_EXPORT int QUADRILLE_BLOCKING(cuMemsetD8_v2)(Address to, unsigned char value, std::size_t count) {
  return in_stream(QUADRILLE_HERE, null_stream, fill, to, value, 1, count, true);
}

QUADRILLE_EXPORT int QUADRILLE_BLOCKING(cuMemsetD32_v2)(Address to, unsigned value, std::size_t count) {
  return in_stream(QUADRILLE_HERE, null_stream, fill, to, value, 4, count, true);
}

// -- Copies in the order of a stream

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuMemcpyAsync)(Address to, Address from, std::size_t bytes, Handle stream) {
  return copy_later(QUADRILLE_HERE, to, from, bytes, Direction::any, stream);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuMemcpyHtoDAsync_v2)(Address to, const void* from, std::size_t bytes,
                                                            Handle stream) {
  return copy_later(QUADRILLE_HERE, to, number(from), bytes, Direction::to_device, stream);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuMemcpyDtoHAsync_v2)(void* to, Address from, std::size_t bytes, Handle stream) {
  return copy_later(QUADRILLE_HERE, number(to), from, bytes, Direction::to_host, stream);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuMemcpyDtoDAsync_v2)(Address to, Address from, std::size_t bytes,
                                                            Handle stream) {
  return copy_later(QUADRILLE_HERE, to, from, bytes, Direction::on_device, stream);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuMemcpyPeerAsync)(Address to, Handle, Address from, Handle, std::size_t bytes,
                                                         Handle stream) {
  return copy_later(QUADRILLE_HERE, to, from, bytes, Direction::on_device, stream);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuMemcpy2DAsync_v2)(const Copy2D* copy, Handle handle) {
  return enter_in_stream(QUADRILLE_HERE, handle, per_thread, [&](Stream& stream) {
    return copy == nullptr ? static_cast<int>(invalid_value) : copy_2d(stream, *copy, false);
  });
}

// It has no place in the NULL stream.
static int copy_many(const Caller& caller, Address* to, Address* from, std::size_t* bytes, std::size_t count,
                     CopyAttributes* attributes, std::size_t* begins, std::size_t attribute_count, std::size_t* failed,
                     Handle handle) {
  return enter_in_stream(caller, handle, per_thread, [&](Stream& stream) {
    if (handle == null_stream || &stream == stream.context->legacy) return static_cast<int>(invalid_value);
    return copy_batch(stream, to, from, bytes, count, attributes, begins, attribute_count, failed);
  });
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuMemcpyBatchAsync)(Address* to, Address* from, std::size_t* bytes,
                                                          std::size_t count, CopyAttributes* attributes,
                                                          std::size_t* begins, std::size_t attribute_count,
                                                          std::size_t* failed, Handle stream) {
  return copy_many(QUADRILLE_HERE, to, from, bytes, count, attributes, begins, attribute_count, failed, stream);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuMemcpyBatchAsync_v2)(Address* to, Address* from, std::size_t* bytes,
                                                             std::size_t count, CopyAttributes* attributes,
                                                             std::size_t* begins, std::size_t attribute_count,
                                                             Handle stream) {
  return copy_many(QUADRILLE_HERE, to, from, bytes, count, attributes, begins, attribute_count, nullptr, stream);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuMemsetD8Async)(Address to, unsigned char value, std::size_t count,
                                                       Handle handle) {
  return in_stream(QUADRILLE_HERE, handle, fill, to, value, 1, count, false);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuMemsetD32Async)(Address to, unsigned value, std::size_t count, Handle handle) {
  return in_stream(QUADRILLE_HERE, handle, fill, to, value, 4, count, false);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuMemAllocAsync)(Address* made, std::size_t bytes, Handle handle) {
  return in_stream(QUADRILLE_HERE, handle, allocate_in_order, bytes, made);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuMemFreeAsync)(Address address, Handle handle) {
  return in_stream(QUADRILLE_HERE, handle, free_in_order, address);
}

// -- Streams themselves

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuStreamSynchronize)(Handle handle) {
  return in_stream(QUADRILLE_HERE, handle, synchronize_stream);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuStreamQuery)(Handle handle) {
  return in_stream(QUADRILLE_HERE, handle, query_stream);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuStreamGetCtx)(Handle handle, Handle* context) {
  return tell(QUADRILLE_HERE, handle, context, &Stream::context);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuStreamGetFlags)(Handle handle, unsigned* flags) {
  return tell(QUADRILLE_HERE, handle, flags, &Stream::flags);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuStreamGetPriority)(Handle handle, int* priority) {
  return tell(QUADRILLE_HERE, handle, priority, &Stream::priority);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuStreamGetId)(Handle handle, unsigned long long* id) {
  return tell(QUADRILLE_HERE, handle, id, &Stream::id);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuStreamIsCapturing)(Handle handle, int* status) {
  return in_stream(QUADRILLE_HERE, handle, ask_capture, status);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuStreamBeginCapture_v2)(Handle handle, int mode) {
  return in_stream(QUADRILLE_HERE, handle, begin_capture, mode);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuStreamEndCapture)(Handle handle, Handle* graph) {
  return in_stream(QUADRILLE_HERE, handle, end_capture, graph);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuStreamWaitEvent)(Handle handle, Handle event, unsigned flags) {
  return enter_in_stream(QUADRILLE_HERE, handle, per_thread, [&](Stream& stream) {
    return flags > 1 ? static_cast<int>(invalid_value) : wait_in_stream(stream, event);
  });
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuStreamWaitValue32_v2)(Handle handle, Address address, std::uint32_t value,
                                                              unsigned flags) {
  return in_stream(QUADRILLE_HERE, handle, wait_for_value, address, value, flags);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuStreamWriteValue32_v2)(Handle handle, Address address, std::uint32_t value,
                                                               unsigned flags) {
  return in_stream(QUADRILLE_HERE, handle, write_value, address, value, flags);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuLaunchHostFunc)(Handle handle, HostFunction function, void* data) {
  return enter_in_stream(QUADRILLE_HERE, handle, per_thread, [&](Stream& stream) {
    return function == nullptr ? static_cast<int>(invalid_value) : call_host(stream, [=] { function(data); });
  });
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuStreamAddCallback)(Handle handle, StreamFunction function, void* data,
                                                           unsigned flags) {
  return enter_in_stream(QUADRILLE_HERE, handle, per_thread, [&](Stream& stream) {
    if (function == nullptr || flags != 0) return static_cast<int>(invalid_value);
    return call_host(stream, [=] { function(handle, success, data); });
  });
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuLaunchKernel)(Handle function, unsigned grid_x, unsigned grid_y,
                                                      unsigned grid_z, unsigned block_x, unsigned block_y,
                                                      unsigned block_z, unsigned shared, Handle handle,
                                                      void** parameters, void** extra) {
  return enter_in_stream(QUADRILLE_HERE, handle, per_thread, [&](Stream& stream) {
    // A kernel is of the current context, and so has its stream to be.
    if (stream.context != stack().back()) return static_cast<int>(invalid_handle);
    if (extra != nullptr) return static_cast<int>(not_supported);
    const Launch shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, handle};
    return launch(stream, function, shape, parameters);
  });
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuEventRecord)(Handle event, Handle handle) {
  return in_stream(QUADRILLE_HERE, handle, record_event, event);
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuEventRecordWithFlags)(Handle event, Handle handle, unsigned flags) {
  return enter_in_stream(QUADRILLE_HERE, handle, per_thread, [&](Stream& stream) {
    return flags > 1 ? static_cast<int>(invalid_value) : record_event(stream, event);
  });
}

QUADRILLE_EXPORT int QUADRILLE_STREAM(cuGraphLaunch)(Handle ready, Handle handle) {
  return in_stream(QUADRILLE_HERE, handle, launch_graph, ready);
}
