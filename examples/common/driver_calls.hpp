// The functions of the drivers and of cuFFT that the examples use, with our own types: X(name, parameters...). All
// return an error, or 0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace examples {

using CudaAddress = std::uintptr_t;  // CUdeviceptr
using CudaHandle = void*;            // of contexts, streams, arrays

// CUDA_MEMCPY2D
struct CudaRows {
  std::size_t from_x, from_y;
  unsigned from_type;
  const void* from_host;
  CudaAddress from_device;
  CudaHandle from_array;
  std::size_t from_pitch;
  std::size_t to_x, to_y;
  unsigned to_type;
  void* to_host;
  CudaAddress to_device;
  CudaHandle to_array;
  std::size_t to_pitch;
  std::size_t width, height;
};
constexpr unsigned cuda_host_memory = 1;
constexpr unsigned cuda_device_memory = 2;

enum HipKind : int { hip_to_device = 1, hip_to_host = 2, hip_on_device = 3 };  // hipMemcpyKind

// Constants of cuFFT.
constexpr int cufft_double_to_double = 0x69;  // CUFFT_Z2Z
constexpr int cufft_forward = -1;
constexpr int cufft_inverse = 1;
constexpr int cufft_invalid_plan = 1;
constexpr int cufft_alloc_failed = 2;
constexpr int cufft_invalid_value = 4;
constexpr int cufft_exec_failed = 6;

}  // namespace examples

#define EXAMPLES_CUDA_CALLS(X)                                                                             \
  X(cuInit, unsigned)                                                                                      \
  X(cuGetErrorName, int, const char**)                                                                     \
  X(cuDeviceGetCount, int*)                                                                                \
  X(cuDeviceGet, int*, int)                                                                                \
  X(cuDeviceGetName, char*, int, int)                                                                      \
  X(cuDevicePrimaryCtxRetain, examples::CudaHandle*, int)                                                  \
  X(cuCtxSetCurrent, examples::CudaHandle)                                                                 \
  X(cuCtxSynchronize)                                                                                      \
  X(cuMemAlloc_v2, examples::CudaAddress*, std::size_t)                                                    \
  X(cuMemFree_v2, examples::CudaAddress)                                                                   \
  X(cuMemAllocHost_v2, void**, std::size_t)                                                                \
  X(cuMemFreeHost, void*)                                                                                  \
  X(cuMemGetInfo_v2, std::size_t*, std::size_t*)                                                           \
  X(cuMemcpyHtoDAsync_v2, examples::CudaAddress, const void*, std::size_t, examples::CudaHandle)           \
  X(cuMemcpyDtoHAsync_v2, void*, examples::CudaAddress, std::size_t, examples::CudaHandle)                 \
  X(cuMemcpyDtoDAsync_v2, examples::CudaAddress, examples::CudaAddress, std::size_t, examples::CudaHandle) \
  X(cuMemcpy2DAsync_v2, const examples::CudaRows*, examples::CudaHandle)

#define EXAMPLES_HIP_CALLS(X)                                    \
  X(hipInit, unsigned)                                           \
  X(hipGetDeviceCount, int*)                                     \
  X(hipDeviceGetName, char*, int, int)                           \
  X(hipSetDevice, int)                                           \
  X(hipDeviceSynchronize)                                        \
  X(hipMalloc, void**, std::size_t)                              \
  X(hipFree, void*)                                              \
  X(hipHostMalloc, void**, std::size_t, unsigned)                \
  X(hipHostFree, void*)                                          \
  X(hipMemGetInfo, std::size_t*, std::size_t*)                   \
  X(hipMemcpyAsync, void*, const void*, std::size_t, int, void*) \
  X(hipMemcpy2DAsync, void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, int, void*)

#define EXAMPLES_CUFFT_CALLS(X)                                               \
  X(cufftPlanMany, int*, int, int*, int*, int, int, int*, int, int, int, int) \
  X(cufftExecZ2Z, int, void*, void*, int)                                     \
  X(cufftDestroy, int)
