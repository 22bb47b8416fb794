// Capture: work that is put into a stream becomes part of a graph and is not done. What is
// captured is counted and forgotten. What this is for: a call that must not be made while a stream captures is refused,
// and the capture is lost, as CUDA has it.
#include <cstring>
#include <initializer_list>
#include <thread>
#include <utility>

#include "driver.hpp"

namespace quadrille::standin {
namespace {

constexpr int most_mode = 2;
thread_local CaptureMode mode_of_thread = CaptureMode::global;

bool is_one_of(const std::string& function, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const std::size_t length = std::strlen(name);
    // Also with an ending: _v2, _ptsz.
    if (function.compare(0, length, name) == 0 && (function.size() == length || function[length] == '_')) return true;
  }
  return false;
}

// Calls that may wait for work that will not be done before the capture is over.
bool is_unsafe(const std::string& function) {
  return is_one_of(function, {"cuMemAlloc",
                              "cuMemAllocHost",
                              "cuMemHostAlloc",
                              "cuMemAllocManaged",
                              "cuMemFree",
                              "cuMemFreeHost",
                              "cuMemHostRegister",
                              "cuMemHostUnregister",
                              "cuEventQuery",
                              "cuEventSynchronize",
                              "cuCtxSynchronize",
                              "cuMemcpy",
                              "cuMemcpyHtoD",
                              "cuMemcpyDtoH",
                              "hipMalloc",
                              "hipHostMalloc",
                              "hipFree",
                              "hipHostFree",
                              "hipHostRegister",
                              "hipHostUnregister",
                              "hipEventQuery",
                              "hipEventSynchronize",
                              "hipDeviceSynchronize",
                              "hipMemcpy"});
}

bool asks_whether(const std::string& function) {
  return is_one_of(function, {"cuStreamIsCapturing", "hipStreamIsCapturing"});
}

void invalidate(Stream& stream) { stream.capture = Capture::invalid; }

}  // namespace

// A thread's own captures concern it alone, unless they are of the whole process.
int refuse_unsafe(const char* function) {
  if (mode_of_thread == CaptureMode::relaxed || !is_unsafe(function)) return success;
  int refused = success;
  for (const auto& stream : driver().streams) {
    if (stream->capture != Capture::active || stream->capture_mode == CaptureMode::relaxed) continue;
    const bool ours = stream->capturer == std::this_thread::get_id();
    if (stream->capture_mode != CaptureMode::global && !ours) continue;
    invalidate(*stream);
    refused = capture_unsupported;
  }
  return refused;
}

int refuse_in_capture(const char* function, Stream& stream) {
  if (stream.capture != Capture::none &&
      is_one_of(function, {"cuStreamSynchronize", "cuStreamQuery", "hipStreamSynchronize", "hipStreamQuery"})) {
    invalidate(stream);
    return capture_unsupported;
  }
  if (&stream != stream.context->legacy) return success;
  // What is put into the NULL stream would wait for what the blocking ones capture.
  int refused = success;
  for (const auto& other : driver().streams) {
    if (other->context != stream.context || !other->blocking || other->capture == Capture::none) continue;
    refused = capture_implicit;
    if (!asks_whether(function)) invalidate(*other);
  }
  return refused;
}

int begin_capture(Stream& stream, int mode) {
  if (mode < 0 || mode > most_mode) return invalid_value;
  if (&stream == stream.context->legacy) return capture_unsupported;
  if (stream.capture != Capture::none) return invalid_value;
  stream.capture = Capture::active;
  stream.capture_mode = static_cast<CaptureMode>(mode);
  stream.capturer = std::this_thread::get_id();
  stream.captured = 0;
  return success;
}

// The graph has nothing in it.
int end_capture(Stream& stream, Handle* graph) {
  if (graph == nullptr) return invalid_value;
  *graph = nullptr;
  const Capture capture = std::exchange(stream.capture, Capture::none);
  if (capture == Capture::none) return capture_unsupported;
  if (capture == Capture::invalid) return capture_invalidated;
  *graph = graph_of_capture();
  return success;
}

int ask_capture(const Stream& stream, int* status) {
  if (status == nullptr) return invalid_value;
  *status = static_cast<int>(stream.capture);
  return success;
}

int exchange_capture_mode(int* mode) {
  if (mode == nullptr || *mode < 0 || *mode > most_mode) return invalid_value;
  *mode = static_cast<int>(std::exchange(mode_of_thread, static_cast<CaptureMode>(*mode)));
  return success;
}

}  // namespace quadrille::standin
