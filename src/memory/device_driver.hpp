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
inline constexpr unsigned independent = 1;  // a stream that waits for no other one
inline constexpr unsigned untimed = 2;      // an event

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

// The functions that are needed of a driver, in our own words: CUDA's and HIP's differ in types alone. The last ones
// may be missing.
struct DeviceDriver {
  bool is_cuda = false;
  int (*pointer_attribute)(void* result, int attribute, std::uintptr_t address) = nullptr;
  int (*synchronize)(void* stream) = nullptr;
  int (*allocate_cuda)(void** memory, std::size_t bytes) = nullptr;
  int (*allocate_hip)(void** memory, std::size_t bytes, unsigned flags) = nullptr;
  int (*free_pinned)(void* memory) = nullptr;
  // Of memory that HIP does not know it returns no error, other than the one before; in HIP it may be missing.
  int (*pointer_attributes)(unsigned count, int* attributes, void** results, std::uintptr_t address) = nullptr;
  // CUDA
  int (*push_context)(void* context) = nullptr;
  int (*pop_context)(void** context) = nullptr;
  int (*retain_primary)(void** context, int device) = nullptr;
  int (*copy_cuda)(std::uintptr_t to, std::uintptr_t from, std::size_t bytes, void* stream) = nullptr;
  int (*copy_rows_cuda)(const CudaRows* rows, void* stream) = nullptr;
  // HIP
  int (*get_device)(int* device) = nullptr;
  int (*set_device)(int device) = nullptr;
  int (*copy_hip)(void* to, const void* from, std::size_t bytes, int kind, void* stream) = nullptr;
  int (*copy_rows_hip)(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                       std::size_t height, int kind, void* stream) = nullptr;

  // Of what a call in a stream needs (memory/device_streams.hpp); any may be missing. The first ones are alike in both.
  int (*is_capturing)(void* stream, int* status) = nullptr;
  int (*exchange_capture_mode)(int* mode) = nullptr;
  int (*query_stream)(void* stream) = nullptr;
  int (*register_host)(void* memory, std::size_t bytes, unsigned flags) = nullptr;
  int (*unregister_host)(void* memory) = nullptr;
  int (*address_on_device)(std::uintptr_t* address, void* memory, unsigned flags) = nullptr;
  int (*write_value)(void* stream, std::uintptr_t address, std::uint32_t value, unsigned flags) = nullptr;
  int (*wait_for_value_cuda)(void* stream, std::uintptr_t address, std::uint32_t value, unsigned flags) = nullptr;
  int (*wait_for_value_hip)(void* stream, std::uintptr_t address, std::uint32_t value, unsigned flags,
                            std::uint32_t mask) = nullptr;
  int (*create_event)(void** event, unsigned flags) = nullptr;
  int (*record_event)(void* event, void* stream) = nullptr;
  int (*query_event)(void* event) = nullptr;
  int (*destroy_event)(void* event) = nullptr;
  int (*context_of_stream)(void* stream, void** context) = nullptr;  // of CUDA, and so is the next one
  int (*current_context)(void** context) = nullptr;

  // Of what a kernel needs (memory/device_pieces.hpp). CUDA's; any may be missing.
  int (*load_module)(void** module, const void* text) = nullptr;
  int (*unload_module)(void* module) = nullptr;
  int (*find_function)(void** function, void* module, const char* name) = nullptr;
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                unsigned block_z, unsigned shared, void* stream, void** parameters, void** extra) = nullptr;

  // Of what a graph of copies needs (memory/copy_graph.hpp); any may be missing. Alike in both but for the copies.
  int (*create_graph)(void** graph, unsigned flags) = nullptr;
  int (*add_copy_cuda)(void** node, void* graph, void* const* after, std::size_t count, const CudaBox* box,
                       void* context) = nullptr;
  int (*add_copy_hip)(void** node, void* graph, void* const* after, std::size_t count, void* to, const void* from,
                      std::size_t bytes, int kind) = nullptr;
  int (*make_graph_ready)(void** ready, void* graph, unsigned long long flags) = nullptr;
  int (*launch_graph)(void* ready, void* stream) = nullptr;
  int (*destroy_ready_graph)(void* ready) = nullptr;
  int (*destroy_graph)(void* graph) = nullptr;

  // Of what is shared with other processes (memory/device_sharing.hpp); any may be missing. Alike in both.
  int (*address_range)(std::uintptr_t* base, std::size_t* bytes, std::uintptr_t address) = nullptr;
  int (*export_memory)(IpcHandle* handle, std::uintptr_t address) = nullptr;
  int (*open_memory)(std::uintptr_t* address, IpcHandle handle, unsigned flags) = nullptr;
  int (*close_memory)(std::uintptr_t address) = nullptr;
  int (*set_attribute)(const void* value, int attribute, std::uintptr_t address) = nullptr;
  int (*device_uuid)(unsigned char* bytes, int device) = nullptr;  // 16
  int (*allocate)(std::uintptr_t* address, std::size_t bytes) = nullptr;
  int (*free)(std::uintptr_t address) = nullptr;
  int (*create_stream)(void** stream, unsigned flags) = nullptr;
  int (*destroy_stream)(void* stream) = nullptr;
  // Of CUDA 13, and of CUDA 12.8.
  int (*copy_batch)(std::uintptr_t* to, std::uintptr_t* from, std::size_t* bytes, std::size_t count,
                    CudaCopyAttributes* attributes, std::size_t* first, std::size_t attribute_count,
                    void* stream) = nullptr;
  int (*copy_batch_before)(std::uintptr_t* to, std::uintptr_t* from, std::size_t* bytes, std::size_t count,
                           CudaCopyAttributes* attributes, std::size_t* first, std::size_t attribute_count,
                           std::size_t* failed, void* stream) = nullptr;

  bool has_streams() const { return create_stream != nullptr && destroy_stream != nullptr && query_stream != nullptr; }
  bool has_events() const {
    return create_event != nullptr && record_event != nullptr && query_event != nullptr && destroy_event != nullptr;
  }
};

}  // namespace quadrille::memory
