// Compares driver_calls.hpp with the headers of CUDA and cuFFT, if these are installed. There is nothing to run.
#define __CUDA_API_VERSION_INTERNAL  // all forms of all functions
#include <cuda.h>
#include <cufft.h>

#include <cstddef>
#include <type_traits>

#include "driver_calls.hpp"

namespace {

template <class Ours, class Theirs>
constexpr bool passed_alike() {
  return std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> && sizeof(Ours) == sizeof(Theirs);
}

template <class Ours, class Theirs>
struct Same : std::false_type {};
template <class... Ours, class Result, class... Theirs>
requires(std::is_enum_v<Result> && sizeof...(Ours) == sizeof...(Theirs)) struct Same<int(Ours...), Result(Theirs...)>
    : std::bool_constant<(passed_alike<Ours, Theirs>() && ...)> {
};

#define EXAMPLES_CHECK(name, ...) static_assert(Same<int(__VA_ARGS__), decltype(name)>::value, #name);
EXAMPLES_CUDA_CALLS(EXAMPLES_CHECK)
EXAMPLES_CUFFT_CALLS(EXAMPLES_CHECK)

using examples::CudaRows;
static_assert(sizeof(CudaRows) == sizeof(CUDA_MEMCPY2D) &&
              offsetof(CudaRows, from_host) == offsetof(CUDA_MEMCPY2D, srcHost) &&
              offsetof(CudaRows, from_device) == offsetof(CUDA_MEMCPY2D, srcDevice) &&
              offsetof(CudaRows, from_pitch) == offsetof(CUDA_MEMCPY2D, srcPitch) &&
              offsetof(CudaRows, to_host) == offsetof(CUDA_MEMCPY2D, dstHost) &&
              offsetof(CudaRows, to_device) == offsetof(CUDA_MEMCPY2D, dstDevice) &&
              offsetof(CudaRows, to_pitch) == offsetof(CUDA_MEMCPY2D, dstPitch) &&
              offsetof(CudaRows, width) == offsetof(CUDA_MEMCPY2D, WidthInBytes) &&
              offsetof(CudaRows, height) == offsetof(CUDA_MEMCPY2D, Height));

constexpr bool same(int ours, int theirs) { return ours == theirs; }
static_assert(same(examples::cuda_host_memory, CU_MEMORYTYPE_HOST));
static_assert(same(examples::cuda_device_memory, CU_MEMORYTYPE_DEVICE));
static_assert(same(examples::cufft_double_to_double, CUFFT_Z2Z) && same(examples::cufft_forward, CUFFT_FORWARD));
static_assert(same(examples::cufft_inverse, CUFFT_INVERSE) && same(examples::cufft_invalid_plan, CUFFT_INVALID_PLAN));
static_assert(same(examples::cufft_alloc_failed, CUFFT_ALLOC_FAILED));
static_assert(same(examples::cufft_invalid_value, CUFFT_INVALID_VALUE));
static_assert(same(examples::cufft_exec_failed, CUFFT_EXEC_FAILED) && same(CUFFT_SUCCESS, 0));

}  // namespace
