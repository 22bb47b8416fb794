// The functions of a driver that are called, found at run time. For memory/ alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quadrille::memory {

// CUDA's description of rows.
struct CudaRows {
  struct End {
    std::size_t x, y;
    unsigned type;
    const void* host;
    std::uintptr_t device;
    void* array;
    std::size_t pitch;
  } from, to;
  std::size_t width, height;
};

// CUDA's description of planes of rows.
struct CudaBox {
  struct End {
    std::size_t x, y, z, level;
    unsigned type;
    const void* host;
    std::uintptr_t device;
    void *array, *unused;
    std::size_t pitch, height;
  } from, to;
  std::size_t width, height, depth;
};

// Numbers of both drivers.
inline constexpr int not_ready = 600;
inline constexpr unsigned goes_along = 0;        // a stream that is in order with the NULL stream
inline constexpr unsigned independent = 1;       // and one that waits for no other one
inline constexpr unsigned untimed = 2;           // an event
inline constexpr unsigned for_all_contexts = 1;  // a registration of memory
inline constexpr unsigned any_memory = 4;        // of CUDA: the driver finds out whose memory it is
inline constexpr int any_direction = 4;          // of HIP: likewise

// Names memory for other processes.
struct IpcHandle {
  unsigned char bytes[64];
};

// CUDA's description of what the copies of a batch have in common: when they read (1: in the order of the stream), and
// hints.
struct CudaCopyAttributes {
  int read_when = 1;
  struct {
    int type = 0, id = 0;
  } from, to;
  unsigned flags = 0;
};

// The library of a driver: CUDA's, or HIP's.
struct DriverLibrary {
  DriverLibrary() = default;
  explicit DriverLibrary(void* loaded);
  // By its name in CUDA's driver and in HIP's; null: that one has none.
  void* find(const char* of_cuda, const char* of_hip) const;
  void* handle = nullptr;
  bool is_cuda = false;
  // Of HIP.
  int (*last_error)() = nullptr;
  int (*peek_at_last_error)() = nullptr;
};

// HIP keeps the error of a call that failed until the thread asks for it: a program that asks after a call of MPI would
// find an error of ours, and take it for its own. So what one of our calls leaves behind is taken away. An error that
// the program has not asked for yet stays, unless a call of ours fails after it.
void forget_error(int error);

// A function of a driver. A call of one that the driver lacks returns an error.
template <class Signature>
class DriverCall;
template <class... Arguments>
class DriverCall<int(Arguments...)> {
 public:
  DriverCall(const DriverLibrary& library, const char* of_cuda, const char* of_hip)
      : function_(reinterpret_cast<Function*>(library.find(of_cuda, of_hip))) {}
  // For tests.
  DriverCall& operator=(int (*function)(Arguments...)) {
    function_ = function;
    return *this;
  }
  bool operator==(std::nullptr_t) const { return function_ == nullptr; }
  int operator()(Arguments... arguments) const {
    constexpr int missing = -1;
    if (function_ == nullptr) return missing;
    const int error = function_(arguments...);
    if (error != 0) forget_error(error);
    return error;
  }

 private:
  using Function = int(Arguments...);
  Function* function_;
};

// The functions that are needed of a driver, in our own words: CUDA's and HIP's differ in types alone. A driver may
// lack all but those that is_usable() asks for.
struct DeviceDriver {
  DeviceDriver() = default;
  explicit DeviceDriver(const DriverLibrary& loaded) : library(loaded) {}
  DriverLibrary library;
  bool is_cuda = library.is_cuda;
  DriverCall<int(void* result, int attribute, std::uintptr_t address)> pointer_attribute{
      library, "cuPointerGetAttribute", "hipPointerGetAttribute"};
  DriverCall<int(void* stream)> synchronize{library, "cuStreamSynchronize", "hipStreamSynchronize"};
  DriverCall<int(void** memory, std::size_t bytes)> allocate_cuda{library, "cuMemAllocHost_v2", nullptr};
  DriverCall<int(void** memory, std::size_t bytes, unsigned flags)> allocate_hip{library, nullptr, "hipHostMalloc"};
  DriverCall<int(void* memory)> free_pinned{library, "cuMemFreeHost", "hipHostFree"};
  // Of memory that HIP does not know it returns no error, other than the one before; in HIP it may be missing.
  DriverCall<int(unsigned count, int* attributes, void** results, std::uintptr_t address)> pointer_attributes{
      library, "cuPointerGetAttributes", "hipDrvPointerGetAttributes"};
  // Of CUDA.
  DriverCall<int(void* context)> push_context{library, "cuCtxPushCurrent_v2", nullptr};
  DriverCall<int(void** context)> pop_context{library, "cuCtxPopCurrent_v2", nullptr};
  DriverCall<int(void** context, int device)> retain_primary{library, "cuDevicePrimaryCtxRetain", nullptr};
  DriverCall<int(std::uintptr_t to, std::uintptr_t from, std::size_t bytes, void* stream)> copy_cuda{
      library, "cuMemcpyAsync", nullptr};
  DriverCall<int(const CudaRows* rows, void* stream)> copy_rows_cuda{library, "cuMemcpy2DAsync_v2", nullptr};
  // Of HIP.
  DriverCall<int(int* device)> get_device{library, nullptr, "hipGetDevice"};
  DriverCall<int(int device)> set_device{library, nullptr, "hipSetDevice"};
  DriverCall<int(void* to, const void* from, std::size_t bytes, int kind, void* stream)> copy_hip{library, nullptr,
                                                                                                  "hipMemcpyAsync"};
  DriverCall<int(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                 std::size_t height, int kind, void* stream)>
      copy_rows_hip{library, nullptr, "hipMemcpy2DAsync"};

  // Of what a call in a stream needs (memory/device_streams.hpp). The first ones are alike in both.
  DriverCall<int(void* stream, int* status)> is_capturing{library, "cuStreamIsCapturing", "hipStreamIsCapturing"};
  DriverCall<int(int* mode)> exchange_capture_mode{library, "cuThreadExchangeStreamCaptureMode",
                                                   "hipThreadExchangeStreamCaptureMode"};
  DriverCall<int(void* stream)> query_stream{library, "cuStreamQuery", "hipStreamQuery"};
  DriverCall<int(void* memory, std::size_t bytes, unsigned flags)> register_host{library, "cuMemHostRegister_v2",
                                                                                 "hipHostRegister"};
  DriverCall<int(void* memory)> unregister_host{library, "cuMemHostUnregister", "hipHostUnregister"};
  DriverCall<int(std::uintptr_t* address, void* memory, unsigned flags)> address_on_device{
      library, "cuMemHostGetDevicePointer_v2", "hipHostGetDevicePointer"};
  DriverCall<int(void* stream, std::uintptr_t address, std::uint32_t value, unsigned flags)> write_value{
      library, "cuStreamWriteValue32_v2", "hipStreamWriteValue32"};
  DriverCall<int(void* stream, std::uintptr_t address, std::uint32_t value, unsigned flags)> wait_for_value_cuda{
      library, "cuStreamWaitValue32_v2", nullptr};
  DriverCall<int(void* stream, std::uintptr_t address, std::uint32_t value, unsigned flags, std::uint32_t mask)>
      wait_for_value_hip{library, nullptr, "hipStreamWaitValue32"};
  DriverCall<int(void** event, unsigned flags)> create_event{library, "cuEventCreate", "hipEventCreateWithFlags"};
  DriverCall<int(void* event, void* stream)> record_event{library, "cuEventRecord", "hipEventRecord"};
  DriverCall<int(void* event)> query_event{library, "cuEventQuery", "hipEventQuery"};
  DriverCall<int(void* event)> destroy_event{library, "cuEventDestroy_v2", "hipEventDestroy"};
  // These two are CUDA's.
  DriverCall<int(void* stream, void** context)> context_of_stream{library, "cuStreamGetCtx", nullptr};
  DriverCall<int(void** context)> current_context{library, "cuCtxGetCurrent", nullptr};

  // Of what a kernel needs (memory/device_pieces.hpp). CUDA's.
  DriverCall<int(void** module, const void* text)> load_module{library, "cuModuleLoadData", nullptr};
  DriverCall<int(void* module)> unload_module{library, "cuModuleUnload", nullptr};
  DriverCall<int(void** function, void* module, const char* name)> find_function{library, "cuModuleGetFunction",
                                                                                 nullptr};
  DriverCall<int(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                 unsigned block_z, unsigned shared, void* stream, void** parameters, void** extra)>
      launch{library, "cuLaunchKernel", nullptr};

  // Of what a graph of copies needs (memory/device_batch.hpp). Alike in both but for the copies.
  DriverCall<int(void** graph, unsigned flags)> create_graph{library, "cuGraphCreate", "hipGraphCreate"};
  DriverCall<int(void** node, void* graph, void* const* after, std::size_t count, const CudaBox* box, void* context)>
      add_copy_cuda{library, "cuGraphAddMemcpyNode", nullptr};
  DriverCall<int(void** node, void* graph, void* const* after, std::size_t count, void* to, const void* from,
                 std::size_t bytes, int kind)>
      add_copy_hip{library, nullptr, "hipGraphAddMemcpyNode1D"};
  DriverCall<int(void** ready, void* graph, unsigned long long flags)> make_graph_ready{
      library, "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags"};
  DriverCall<int(void* ready, void* stream)> launch_graph{library, "cuGraphLaunch", "hipGraphLaunch"};
  DriverCall<int(void* ready)> destroy_ready_graph{library, "cuGraphExecDestroy", "hipGraphExecDestroy"};
  DriverCall<int(void* graph)> destroy_graph{library, "cuGraphDestroy", "hipGraphDestroy"};

  // Of what is shared with other processes (memory/device_sharing.hpp). Alike in both.
  DriverCall<int(std::uintptr_t* base, std::size_t* bytes, std::uintptr_t address)> address_range{
      library, "cuMemGetAddressRange_v2", "hipMemGetAddressRange"};
  DriverCall<int(IpcHandle* handle, std::uintptr_t address)> export_memory{library, "cuIpcGetMemHandle",
                                                                           "hipIpcGetMemHandle"};
  DriverCall<int(std::uintptr_t* address, IpcHandle handle, unsigned flags)> open_memory{
      library, "cuIpcOpenMemHandle_v2", "hipIpcOpenMemHandle"};
  DriverCall<int(std::uintptr_t address)> close_memory{library, "cuIpcCloseMemHandle", "hipIpcCloseMemHandle"};
  DriverCall<int(const void* value, int attribute, std::uintptr_t address)> set_attribute{
      library, "cuPointerSetAttribute", "hipPointerSetAttribute"};
  // Writes 16 bytes.
  DriverCall<int(unsigned char* bytes, int device)> device_uuid{library, "cuDeviceGetUuid_v2", "hipDeviceGetUuid"};
  DriverCall<int(std::uintptr_t* address, std::size_t bytes)> allocate{library, "cuMemAlloc_v2", "hipMalloc"};
  DriverCall<int(std::uintptr_t address)> free{library, "cuMemFree_v2", "hipFree"};
  DriverCall<int(void** stream, unsigned flags)> create_stream{library, "cuStreamCreate", "hipStreamCreateWithFlags"};
  DriverCall<int(void* stream)> destroy_stream{library, "cuStreamDestroy_v2", "hipStreamDestroy"};
  // Of CUDA 13, and of CUDA 12.8.
  DriverCall<int(std::uintptr_t* to, std::uintptr_t* from, std::size_t* bytes, std::size_t count,
                 CudaCopyAttributes* attributes, std::size_t* first, std::size_t attribute_count, void* stream)>
      copy_batch{library, "cuMemcpyBatchAsync_v2", nullptr};
  DriverCall<int(std::uintptr_t* to, std::uintptr_t* from, std::size_t* bytes, std::size_t count,
                 CudaCopyAttributes* attributes, std::size_t* first, std::size_t attribute_count, std::size_t* failed,
                 void* stream)>
      copy_batch_before{library, "cuMemcpyBatchAsync", nullptr};

  // True if it has the functions that all work needs.
  bool is_usable() const {
    const bool works =
        is_cuda
            ? pointer_attributes != nullptr && push_context != nullptr && pop_context != nullptr && copy_cuda != nullptr
            : pointer_attribute != nullptr && get_device != nullptr && set_device != nullptr && copy_hip != nullptr;
    return works && synchronize != nullptr;
  }
};

}  // namespace quadrille::memory
