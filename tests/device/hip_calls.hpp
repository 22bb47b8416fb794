// What libamdhip64.so.6 exports: X(name, parameters...). All return an error.
#pragma once

#include "standin.hpp"

namespace quadrille::standin {

struct HipPointer {
  int type, device;
  void *on_device, *on_host;
  int is_managed;
  unsigned flags;
};

enum HipKind : int { hip_host_to_host = 0, hip_to_device = 1, hip_to_host = 2, hip_on_device = 3, hip_default = 4 };
constexpr int hip_invalid_direction = 21;

}  // namespace quadrille::standin

#define QUADRILLE_HIP_DEVICE_CALLS(X)                                      \
  X(hipInit, unsigned)                                                     \
  X(hipDriverGetVersion, int*)                                             \
  X(hipRuntimeGetVersion, int*)                                            \
  X(hipGetDeviceCount, int*)                                               \
  X(hipGetLastError)                                                       \
  X(hipPeekAtLastError)                                                    \
  X(hipSetDevice, int)                                                     \
  X(hipGetDevice, int*)                                                    \
  X(hipDeviceGet, int*, int)                                               \
  X(hipDeviceGetUuid, quadrille::standin::Uuid*, int)                      \
  X(hipDeviceGetName, char*, int, int)                                     \
  X(hipDeviceGetPCIBusId, char*, int, int)                                 \
  X(hipDeviceCanAccessPeer, int*, int, int)                                \
  X(hipDeviceSynchronize)                                                  \
  X(hipDevicePrimaryCtxRetain, quadrille::standin::Handle*, int)           \
  X(hipDevicePrimaryCtxRelease, int)                                       \
  X(hipCtxCreate, quadrille::standin::Handle*, unsigned, int)              \
  X(hipCtxDestroy, quadrille::standin::Handle)                             \
  X(hipCtxPushCurrent, quadrille::standin::Handle)                         \
  X(hipCtxPopCurrent, quadrille::standin::Handle*)                         \
  X(hipCtxGetCurrent, quadrille::standin::Handle*)                         \
  X(hipCtxSetCurrent, quadrille::standin::Handle)                          \
  X(hipMalloc, void**, std::size_t)                                        \
  X(hipFree, void*)                                                        \
  X(hipHostMalloc, void**, std::size_t, unsigned)                          \
  X(hipHostFree, void*)                                                    \
  X(hipHostRegister, void*, std::size_t, unsigned)                         \
  X(hipHostUnregister, void*)                                              \
  X(hipHostGetDevicePointer, void**, void*, unsigned)                      \
  X(hipMallocManaged, void**, std::size_t, unsigned)                       \
  X(hipMemGetInfo, std::size_t*, std::size_t*)                             \
  X(hipMemGetAddressRange, void**, std::size_t*, void*)                    \
  X(hipPointerGetAttribute, void*, int, void*)                             \
  X(hipDrvPointerGetAttributes, unsigned, int*, void**, void*)             \
  X(hipPointerSetAttribute, const void*, int, void*)                       \
  X(hipPointerGetAttributes, quadrille::standin::HipPointer*, const void*) \
  X(hipIpcGetMemHandle, quadrille::standin::IpcHandle*, void*)             \
  X(hipIpcOpenMemHandle, void**, quadrille::standin::IpcHandle, unsigned)  \
  X(hipIpcCloseMemHandle, void*)                                           \
  X(hipModuleLoadData, quadrille::standin::Handle*, const void*)           \
  X(hipModuleUnload, quadrille::standin::Handle)                           \
  X(hipModuleGetFunction, quadrille::standin::Handle*, quadrille::standin::Handle, const char*)

#define QUADRILLE_HIP_STREAM_CALLS(X)                                                                              \
  X(hipMemcpy, void*, const void*, std::size_t, int)                                                               \
  X(hipMemcpyWithStream, void*, const void*, std::size_t, int, quadrille::standin::Handle)                         \
  X(hipMemcpyAsync, void*, const void*, std::size_t, int, quadrille::standin::Handle)                              \
  X(hipMemcpyHtoD, void*, void*, std::size_t)                                                                      \
  X(hipMemcpyDtoH, void*, void*, std::size_t)                                                                      \
  X(hipMemcpyDtoD, void*, void*, std::size_t)                                                                      \
  X(hipMemcpyHtoDAsync, void*, void*, std::size_t, quadrille::standin::Handle)                                     \
  X(hipMemcpyDtoHAsync, void*, void*, std::size_t, quadrille::standin::Handle)                                     \
  X(hipMemcpyDtoDAsync, void*, void*, std::size_t, quadrille::standin::Handle)                                     \
  X(hipMemcpy2DAsync, void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, int,                 \
    quadrille::standin::Handle)                                                                                    \
  X(hipMemset, void*, int, std::size_t)                                                                            \
  X(hipMemsetAsync, void*, int, std::size_t, quadrille::standin::Handle)                                           \
  X(hipMallocAsync, void**, std::size_t, quadrille::standin::Handle)                                               \
  X(hipFreeAsync, void*, quadrille::standin::Handle)                                                               \
  X(hipStreamCreate, quadrille::standin::Handle*)                                                                  \
  X(hipStreamCreateWithFlags, quadrille::standin::Handle*, unsigned)                                               \
  X(hipStreamCreateWithPriority, quadrille::standin::Handle*, unsigned, int)                                       \
  X(hipStreamDestroy, quadrille::standin::Handle)                                                                  \
  X(hipStreamSynchronize, quadrille::standin::Handle)                                                              \
  X(hipStreamQuery, quadrille::standin::Handle)                                                                    \
  X(hipStreamIsCapturing, quadrille::standin::Handle, int*)                                                        \
  X(hipStreamBeginCapture, quadrille::standin::Handle, int)                                                        \
  X(hipStreamEndCapture, quadrille::standin::Handle, quadrille::standin::Handle*)                                  \
  X(hipThreadExchangeStreamCaptureMode, int*)                                                                      \
  X(hipStreamWaitEvent, quadrille::standin::Handle, quadrille::standin::Handle, unsigned)                          \
  X(hipStreamWaitValue32, quadrille::standin::Handle, void*, std::uint32_t, unsigned, std::uint32_t)               \
  X(hipStreamWriteValue32, quadrille::standin::Handle, void*, std::uint32_t, unsigned)                             \
  X(hipLaunchHostFunc, quadrille::standin::Handle, quadrille::standin::HostFunction, void*)                        \
  X(hipGraphCreate, quadrille::standin::Handle*, unsigned)                                                         \
  X(hipGraphAddMemcpyNode1D, quadrille::standin::Handle*, quadrille::standin::Handle,                              \
    const quadrille::standin::Handle*, std::size_t, void*, const void*, std::size_t, int)                          \
  X(hipGraphInstantiateWithFlags, quadrille::standin::Handle*, quadrille::standin::Handle, unsigned long long)     \
  X(hipGraphLaunch, quadrille::standin::Handle, quadrille::standin::Handle)                                        \
  X(hipGraphExecDestroy, quadrille::standin::Handle)                                                               \
  X(hipGraphDestroy, quadrille::standin::Handle)                                                                   \
  X(hipEventCreate, quadrille::standin::Handle*)                                                                   \
  X(hipEventCreateWithFlags, quadrille::standin::Handle*, unsigned)                                                \
  X(hipEventRecord, quadrille::standin::Handle, quadrille::standin::Handle)                                        \
  X(hipEventQuery, quadrille::standin::Handle)                                                                     \
  X(hipEventSynchronize, quadrille::standin::Handle)                                                               \
  X(hipEventElapsedTime, float*, quadrille::standin::Handle, quadrille::standin::Handle)                           \
  X(hipEventDestroy, quadrille::standin::Handle)                                                                   \
  X(hipModuleLaunchKernel, quadrille::standin::Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
    unsigned, quadrille::standin::Handle, void**, void**)

#define QUADRILLE_HIP_CALLS(X) QUADRILLE_HIP_DEVICE_CALLS(X) QUADRILLE_HIP_STREAM_CALLS(X)
