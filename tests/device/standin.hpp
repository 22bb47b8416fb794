// A stand-in for the drivers of GPUs: what it offers to programs and tests, in types of our own. No toolkit is needed.
//
// Three libraries are built, each in a folder of its own, for LD_LIBRARY_PATH or dlopen:
//   lib/standin-cuda/libcuda.so.1        CUDA's driver
//   lib/standin-hip/libamdhip64.so.6     the same code behind HIP's names
//   lib/standin-nvml/libnvidia-ml.so.1   as much of NVML as UCX calls
//
// What it is for:
//   * A device's memory is memory of the host that is mapped twice: with no access at the address that the program
//   sees,
//     and elsewhere for the driver alone. Who touches it with the processor crashes. A freed address comes back with
//     the next allocation, and what was freed is overwritten, also where another process still has it open.
//   * Nothing is done earlier than CUDA promises, if the test wants it so. What is submitted lies in queues, and only
//   the
//     order of streams, events, the NULL stream and blocking calls holds. A wait that is left out shows as wrong bytes.
//   * It is stricter than a real driver, where a program that a real one accepts is likely to be wrong: memory is used
//   in
//     a context that it belongs to; a copy with a direction has to be in that direction.
//   * Calls are counted by who makes them; any call can be made to fail.
//
// Settings, in the environment when the driver is initialised, or later by quadrille_standin_set:
//   QUADRILLE_STANDIN_DEVICES    how many (1). CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES choose and order them by
//                                number.
//   QUADRILLE_STANDIN_MEMORY     bytes that each process has of each device (16 GiB).
//   QUADRILLE_STANDIN_STREAMS    eager: work is done when it is submitted (default).
//                                lazy: nothing is done until somebody synchronises, queries or waits; then what this
//                                needs.
//                                random:SEED: each call of the driver does some drawn work first.
//   QUADRILLE_STANDIN_PATIENCE   milliseconds (20) after which lazy streams do what the host can see without a call of
//                                the driver: writes of values, waits for them, functions of the host, and what lies
//                                before.
//   QUADRILLE_STANDIN_NO_IPC     1: no memory can be exported.
//   QUADRILLE_STANDIN_HIP_IPC_ATTRIBUTE  1: HIP says whether others can open memory, as ROCm 7.11 does. Else that is
//                                not supported.
//   QUADRILLE_STANDIN_FAIL       FUNCTION:N[+][:ERROR],...: the N-th call fails (N+: and all after it). FUNCTION may be
//                                `operation`: the N-th piece of work of a stream, after which its context is unusable.
//
// A graph has copies of plain bytes, which are added to it; that of a stream's capture has nothing in it. Memory can be
// mapped by hand, in pieces of 64 KiB. There are no arrays, textures, events between processes and green contexts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quadrille::standin {

using Address = std::uintptr_t;  // CUdeviceptr
using Handle = void*;            // of contexts, streams, events, pools, modules and functions

struct Uuid {
  unsigned char bytes[16];
};
struct IpcHandle {
  unsigned char bytes[64];
};
struct Copy2D {
  std::size_t from_x, from_y;
  unsigned from_type;
  const void* from_host;
  Address from_device;
  Handle from_array;
  std::size_t from_pitch;
  std::size_t to_x, to_y;
  unsigned to_type;
  void* to_host;
  Address to_device;
  Handle to_array;
  std::size_t to_pitch;
  std::size_t width, height;
};
struct Copy3D {
  std::size_t from_x, from_y, from_z, from_level;
  unsigned from_type;
  const void* from_host;
  Address from_device;
  Handle from_array, unused_from;
  std::size_t from_pitch, from_height;
  std::size_t to_x, to_y, to_z, to_level;
  unsigned to_type;
  void* to_host;
  Address to_device;
  Handle to_array, unused_to;
  std::size_t to_pitch, to_height;
  std::size_t width, height, depth;
};
struct Location {
  int type, id;
};
// Of memory that is mapped by hand, and who may use it.
struct MemoryProperties {
  int type, handle_types;
  Location location;
  void* of_windows;
  unsigned char compression, is_rdma_capable;
  unsigned short usage;
  unsigned char reserved[4];
};
struct Access {
  Location location;
  int flags;
};
struct CopyAttributes {
  int from_order;
  Location from_hint, to_hint;
  unsigned flags;
};
using HostFunction = void (*)(void*);
using StreamFunction = void (*)(Handle stream, int error, void* data);

// What a kernel's twin on the host is called with, once for a whole grid.
struct Launch {
  unsigned grid[3], block[3], shared;
  Handle stream;
};
using Twin = void (*)(const Launch* launch, void** parameters);

enum Error : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  map_failed = 205,
  not_found = 500,
  invalid_handle = 400,
  not_ready = 600,
  illegal_address = 700,
  context_is_destroyed = 709,
  already_registered = 712,
  not_registered = 713,
  not_permitted = 800,
  not_supported = 801,
  capture_unsupported = 900,
  capture_invalidated = 901,
  capture_implicit = 906,
  unknown = 999,
};

// Streams that have no handle of their own.
inline const Handle null_stream = nullptr;
inline const Handle legacy_stream = reinterpret_cast<Handle>(std::uintptr_t{1});
inline const Handle per_thread_stream = reinterpret_cast<Handle>(std::uintptr_t{2});

}  // namespace quadrille::standin

// CUDA's functions: X(name, parameters...). All return an error.
#define QUADRILLE_CUDA_DEVICE_CALLS(X)                                 \
  X(cuInit, unsigned)                                                  \
  X(cuDriverGetVersion, int*)                                          \
  X(cuGetErrorName, int, const char**)                                 \
  X(cuGetErrorString, int, const char**)                               \
  X(cuDeviceGet, int*, int)                                            \
  X(cuDeviceGetCount, int*)                                            \
  X(cuDeviceGetUuid, quadrille::standin::Uuid*, int)                   \
  X(cuDeviceGetUuid_v2, quadrille::standin::Uuid*, int)                \
  X(cuDeviceGetName, char*, int, int)                                  \
  X(cuDeviceGetAttribute, int*, int, int)                              \
  X(cuDeviceGetPCIBusId, char*, int, int)                              \
  X(cuDeviceTotalMem_v2, std::size_t*, int)                            \
  X(cuDeviceCanAccessPeer, int*, int, int)                             \
  X(cuDevicePrimaryCtxRetain, quadrille::standin::Handle*, int)        \
  X(cuDevicePrimaryCtxRelease, int)                                    \
  X(cuDevicePrimaryCtxRelease_v2, int)                                 \
  X(cuDevicePrimaryCtxGetState, int, unsigned*, int*)                  \
  X(cuCtxCreate_v2, quadrille::standin::Handle*, unsigned, int)        \
  X(cuCtxCreate_v4, quadrille::standin::Handle*, void*, unsigned, int) \
  X(cuCtxDestroy_v2, quadrille::standin::Handle)                       \
  X(cuCtxPushCurrent_v2, quadrille::standin::Handle)                   \
  X(cuCtxPopCurrent_v2, quadrille::standin::Handle*)                   \
  X(cuCtxGetCurrent, quadrille::standin::Handle*)                      \
  X(cuCtxSetCurrent, quadrille::standin::Handle)                       \
  X(cuCtxGetDevice, int*)                                              \
  X(cuCtxGetApiVersion, quadrille::standin::Handle, unsigned*)         \
  X(cuCtxGetId, quadrille::standin::Handle, unsigned long long*)       \
  X(cuCtxSynchronize)                                                  \
  X(cuCtxEnablePeerAccess, quadrille::standin::Handle, unsigned)

#define QUADRILLE_CUDA_MEMORY_CALLS(X)                                                                                \
  X(cuMemAlloc_v2, quadrille::standin::Address*, std::size_t)                                                         \
  X(cuMemFree_v2, quadrille::standin::Address)                                                                        \
  X(cuMemAllocHost_v2, void**, std::size_t)                                                                           \
  X(cuMemHostAlloc, void**, std::size_t, unsigned)                                                                    \
  X(cuMemFreeHost, void*)                                                                                             \
  X(cuMemHostRegister_v2, void*, std::size_t, unsigned)                                                               \
  X(cuMemHostUnregister, void*)                                                                                       \
  X(cuMemHostGetDevicePointer_v2, quadrille::standin::Address*, void*, unsigned)                                      \
  X(cuMemAllocManaged, quadrille::standin::Address*, std::size_t, unsigned)                                           \
  X(cuMemGetAddressRange_v2, quadrille::standin::Address*, std::size_t*, quadrille::standin::Address)                 \
  X(cuMemGetInfo_v2, std::size_t*, std::size_t*)                                                                      \
  X(cuDeviceGetDefaultMemPool, quadrille::standin::Handle*, int)                                                      \
  X(cuDeviceGetMemPool, quadrille::standin::Handle*, int)                                                             \
  X(cuPointerGetAttribute, void*, int, quadrille::standin::Address)                                                   \
  X(cuPointerGetAttributes, unsigned, int*, void**, quadrille::standin::Address)                                      \
  X(cuPointerSetAttribute, const void*, int, quadrille::standin::Address)                                             \
  X(cuIpcGetMemHandle, quadrille::standin::IpcHandle*, quadrille::standin::Address)                                   \
  X(cuIpcOpenMemHandle_v2, quadrille::standin::Address*, quadrille::standin::IpcHandle, unsigned)                     \
  X(cuIpcCloseMemHandle, quadrille::standin::Address)                                                                 \
  X(cuIpcGetEventHandle, quadrille::standin::IpcHandle*, quadrille::standin::Handle)                                  \
  X(cuIpcOpenEventHandle, quadrille::standin::Handle*, quadrille::standin::IpcHandle)                                 \
  X(cuModuleLoadData, quadrille::standin::Handle*, const void*)                                                       \
  X(cuModuleLoadDataEx, quadrille::standin::Handle*, const void*, unsigned, int*, void**)                             \
  X(cuModuleUnload, quadrille::standin::Handle)                                                                       \
  X(cuModuleGetFunction, quadrille::standin::Handle*, quadrille::standin::Handle, const char*)                        \
  X(cuModuleGetGlobal_v2, quadrille::standin::Address*, std::size_t*, quadrille::standin::Handle, const char*)        \
  X(cuEventCreate, quadrille::standin::Handle*, unsigned)                                                             \
  X(cuEventQuery, quadrille::standin::Handle)                                                                         \
  X(cuEventSynchronize, quadrille::standin::Handle)                                                                   \
  X(cuEventElapsedTime, float*, quadrille::standin::Handle, quadrille::standin::Handle)                               \
  X(cuEventElapsedTime_v2, float*, quadrille::standin::Handle, quadrille::standin::Handle)                            \
  X(cuEventDestroy_v2, quadrille::standin::Handle)                                                                    \
  X(cuStreamCreate, quadrille::standin::Handle*, unsigned)                                                            \
  X(cuStreamCreateWithPriority, quadrille::standin::Handle*, unsigned, int)                                           \
  X(cuStreamDestroy_v2, quadrille::standin::Handle)                                                                   \
  X(cuCtxGetStreamPriorityRange, int*, int*)                                                                          \
  X(cuThreadExchangeStreamCaptureMode, int*)                                                                          \
  X(cuGraphCreate, quadrille::standin::Handle*, unsigned)                                                             \
  X(cuGraphAddMemcpyNode, quadrille::standin::Handle*, quadrille::standin::Handle, const quadrille::standin::Handle*, \
    std::size_t, const quadrille::standin::Copy3D*, quadrille::standin::Handle)                                       \
  X(cuGraphInstantiateWithFlags, quadrille::standin::Handle*, quadrille::standin::Handle, unsigned long long)         \
  X(cuGraphExecDestroy, quadrille::standin::Handle)                                                                   \
  X(cuGraphDestroy, quadrille::standin::Handle)                                                                       \
  X(cuGetProcAddress_v2, const char*, void**, int, std::uint64_t, int*)

#define QUADRILLE_CUDA_MAPPED_CALLS(X)                                                                         \
  X(cuMemAddressReserve, quadrille::standin::Address*, std::size_t, std::size_t, quadrille::standin::Address,  \
    unsigned long long)                                                                                        \
  X(cuMemAddressFree, quadrille::standin::Address, std::size_t)                                                \
  X(cuMemGetAllocationGranularity, std::size_t*, const quadrille::standin::MemoryProperties*, int)             \
  X(cuMemCreate, std::uint64_t*, std::size_t, const quadrille::standin::MemoryProperties*, unsigned long long) \
  X(cuMemRelease, std::uint64_t)                                                                               \
  X(cuMemMap, quadrille::standin::Address, std::size_t, std::size_t, std::uint64_t, unsigned long long)        \
  X(cuMemUnmap, quadrille::standin::Address, std::size_t)                                                      \
  X(cuMemSetAccess, quadrille::standin::Address, std::size_t, const quadrille::standin::Access*, std::size_t)  \
  X(cuMemRetainAllocationHandle, std::uint64_t*, void*)                                                        \
  X(cuMemGetAllocationPropertiesFromHandle, quadrille::standin::MemoryProperties*, std::uint64_t)

// What UCX is linked to, but finds out that it is not there: mapped memory and pools of other processes.
#define QUADRILLE_CUDA_UNSUPPORTED_CALLS(X)                                                          \
  X(cuMemExportToShareableHandle, void*, std::uint64_t, int, unsigned long long)                     \
  X(cuMemImportFromShareableHandle, std::uint64_t*, void*, int)                                      \
  X(cuMemPoolCreate, quadrille::standin::Handle*, const void*)                                       \
  X(cuMemPoolDestroy, quadrille::standin::Handle)                                                    \
  X(cuMemPoolExportPointer, void*, quadrille::standin::Address)                                      \
  X(cuMemPoolExportToShareableHandle, void*, quadrille::standin::Handle, int, unsigned long long)    \
  X(cuMemPoolImportFromShareableHandle, quadrille::standin::Handle*, void*, int, unsigned long long) \
  X(cuMemPoolImportPointer, quadrille::standin::Address*, quadrille::standin::Handle, void*)         \
  X(cuMemPoolSetAccess, quadrille::standin::Handle, const void*, std::size_t)                        \
  X(cuMemRangeGetAttribute, void*, std::size_t, int, quadrille::standin::Address, std::size_t)

// These have a second form, in which the NULL stream is the thread's own: with the ending _ptds if they wait for the
// host in general, else _ptsz.
#define QUADRILLE_CUDA_BLOCKING_CALLS(X)                                                                \
  X(cuMemcpy, quadrille::standin::Address, quadrille::standin::Address, std::size_t)                    \
  X(cuMemcpyHtoD_v2, quadrille::standin::Address, const void*, std::size_t)                             \
  X(cuMemcpyDtoH_v2, void*, quadrille::standin::Address, std::size_t)                                   \
  X(cuMemcpyDtoD_v2, quadrille::standin::Address, quadrille::standin::Address, std::size_t)             \
  X(cuMemcpyPeer, quadrille::standin::Address, quadrille::standin::Handle, quadrille::standin::Address, \
    quadrille::standin::Handle, std::size_t)                                                            \
  X(cuMemcpy2D_v2, const quadrille::standin::Copy2D*)                                                   \
  X(cuMemsetD8_v2, quadrille::standin::Address, unsigned char, std::size_t)                             \
  X(cuMemsetD32_v2, quadrille::standin::Address, unsigned, std::size_t)

#define QUADRILLE_CUDA_STREAM_CALLS(X)                                                                                \
  X(cuMemcpyAsync, quadrille::standin::Address, quadrille::standin::Address, std::size_t, quadrille::standin::Handle) \
  X(cuMemcpyHtoDAsync_v2, quadrille::standin::Address, const void*, std::size_t, quadrille::standin::Handle)          \
  X(cuMemcpyDtoHAsync_v2, void*, quadrille::standin::Address, std::size_t, quadrille::standin::Handle)                \
  X(cuMemcpyDtoDAsync_v2, quadrille::standin::Address, quadrille::standin::Address, std::size_t,                      \
    quadrille::standin::Handle)                                                                                       \
  X(cuMemcpyPeerAsync, quadrille::standin::Address, quadrille::standin::Handle, quadrille::standin::Address,          \
    quadrille::standin::Handle, std::size_t, quadrille::standin::Handle)                                              \
  X(cuMemcpy2DAsync_v2, const quadrille::standin::Copy2D*, quadrille::standin::Handle)                                \
  X(cuMemcpyBatchAsync, quadrille::standin::Address*, quadrille::standin::Address*, std::size_t*, std::size_t,        \
    quadrille::standin::CopyAttributes*, std::size_t*, std::size_t, std::size_t*, quadrille::standin::Handle)         \
  X(cuMemcpyBatchAsync_v2, quadrille::standin::Address*, quadrille::standin::Address*, std::size_t*, std::size_t,     \
    quadrille::standin::CopyAttributes*, std::size_t*, std::size_t, quadrille::standin::Handle)                       \
  X(cuMemsetD8Async, quadrille::standin::Address, unsigned char, std::size_t, quadrille::standin::Handle)             \
  X(cuMemsetD32Async, quadrille::standin::Address, unsigned, std::size_t, quadrille::standin::Handle)                 \
  X(cuMemAllocAsync, quadrille::standin::Address*, std::size_t, quadrille::standin::Handle)                           \
  X(cuMemFreeAsync, quadrille::standin::Address, quadrille::standin::Handle)                                          \
  X(cuStreamSynchronize, quadrille::standin::Handle)                                                                  \
  X(cuStreamQuery, quadrille::standin::Handle)                                                                        \
  X(cuStreamGetCtx, quadrille::standin::Handle, quadrille::standin::Handle*)                                          \
  X(cuStreamGetFlags, quadrille::standin::Handle, unsigned*)                                                          \
  X(cuStreamGetPriority, quadrille::standin::Handle, int*)                                                            \
  X(cuStreamGetId, quadrille::standin::Handle, unsigned long long*)                                                   \
  X(cuStreamIsCapturing, quadrille::standin::Handle, int*)                                                            \
  X(cuStreamBeginCapture_v2, quadrille::standin::Handle, int)                                                         \
  X(cuStreamEndCapture, quadrille::standin::Handle, quadrille::standin::Handle*)                                      \
  X(cuStreamWaitEvent, quadrille::standin::Handle, quadrille::standin::Handle, unsigned)                              \
  X(cuStreamWaitValue32_v2, quadrille::standin::Handle, quadrille::standin::Address, std::uint32_t, unsigned)         \
  X(cuStreamWriteValue32_v2, quadrille::standin::Handle, quadrille::standin::Address, std::uint32_t, unsigned)        \
  X(cuLaunchHostFunc, quadrille::standin::Handle, quadrille::standin::HostFunction, void*)                            \
  X(cuLaunchKernel, quadrille::standin::Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
    quadrille::standin::Handle, void**, void**)                                                                       \
  X(cuGraphLaunch, quadrille::standin::Handle, quadrille::standin::Handle)                                            \
  X(cuStreamAddCallback, quadrille::standin::Handle, quadrille::standin::StreamFunction, void*, unsigned)             \
  X(cuEventRecord, quadrille::standin::Handle, quadrille::standin::Handle)                                            \
  X(cuEventRecordWithFlags, quadrille::standin::Handle, quadrille::standin::Handle, unsigned)

#define QUADRILLE_CUDA_CALLS(X)       \
  QUADRILLE_CUDA_DEVICE_CALLS(X)      \
  QUADRILLE_CUDA_MAPPED_CALLS(X)      \
  QUADRILLE_CUDA_UNSUPPORTED_CALLS(X) \
  QUADRILLE_CUDA_MEMORY_CALLS(X) QUADRILLE_CUDA_BLOCKING_CALLS(X) QUADRILLE_CUDA_STREAM_CALLS(X)

// For tests alone.
extern "C" {
// How often FUNCTION was called (`cuMemAlloc_v2`), or `allocations`, `opens`, `copies`, `launches`, `calls`, by objects
// whose path has `caller` in it; all, if that is null. `operations`: pieces of work that streams have done, of
// whomever. `pending`: those that they have not. `stale`: uses of opened memory that its owner had freed.
// `registrations`, `streams`, `events`: how many there are now.
using quadrille_standin_count_t = unsigned long(const char* what, const char* caller);
// As if the environment had had it: the name without QUADRILLE_STANDIN_. False if the value means nothing.
using quadrille_standin_set_t = bool(const char* name, const char* value);
// What a kernel does, by the name that it has in its module.
using quadrille_standin_kernel_t = void(const char* name, quadrille::standin::Twin twin);
// Where a device's memory can be touched: for a kernel's twin, and for tests. Null if it is not all of one allocation.
using quadrille_standin_host_t = void*(quadrille::standin::Address address, std::size_t bytes);
}
