// Where CUDA's header is: holds the list of standin.hpp to it. It has nothing to run. Types have other names there, so
// what counts is how each parameter is passed. Older headers do not have all of them.
#define __CUDA_API_VERSION_INTERNAL  // all forms of all functions
#include <cuda.h>

#include <cstddef>
#include <type_traits>

#include "standin.hpp"

#if CUDA_VERSION >= 13000
namespace {

template <class Ours, class Theirs>
constexpr bool passed_alike() {
  constexpr bool pointers = std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;
  constexpr bool classes = std::is_class_v<Ours> == std::is_class_v<Theirs>;
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using To = std::remove_pointer_t<Ours>;
    using From = std::remove_pointer_t<Theirs>;
    if constexpr (std::is_void_v<To> || std::is_void_v<From> || std::is_function_v<From>) {
      return std::is_void_v<To> || std::is_function_v<From>;
    } else if constexpr (requires { sizeof(From); }) {
      return sizeof(To) == sizeof(From);
    } else {
      return false;
    }
  }
  return pointers && classes && sizeof(Ours) == sizeof(Theirs);
}

template <class Ours, class Theirs>
struct Same : std::false_type {};
template <class... Ours, class... Theirs>
requires(sizeof...(Ours) == sizeof...(Theirs)) struct Same<int(Ours...), CUresult(Theirs...)>
    : std::bool_constant<(passed_alike<Ours, Theirs>() && ...)> {
};

#define QUADRILLE_CHECK(name, ...) static_assert(Same<int(__VA_ARGS__), decltype(name)>::value, #name);
QUADRILLE_CUDA_CALLS(QUADRILLE_CHECK)

using namespace quadrille::standin;
static_assert(sizeof(Copy2D) == sizeof(CUDA_MEMCPY2D) &&
              offsetof(Copy2D, to_x) == offsetof(CUDA_MEMCPY2D, dstXInBytes) &&
              offsetof(Copy2D, to_pitch) == offsetof(CUDA_MEMCPY2D, dstPitch) &&
              offsetof(Copy2D, width) == offsetof(CUDA_MEMCPY2D, WidthInBytes));
static_assert(sizeof(CopyAttributes) == sizeof(CUmemcpyAttributes) &&
              offsetof(CopyAttributes, flags) == offsetof(CUmemcpyAttributes, flags));
static_assert(sizeof(IpcHandle) == sizeof(CUipcMemHandle) && sizeof(Uuid) == sizeof(CUuuid));

// Numbers of two enumerations.
constexpr bool same(int ours, int theirs) { return ours == theirs; }
static_assert(same(success, CUDA_SUCCESS) && same(invalid_value, CUDA_ERROR_INVALID_VALUE));
static_assert(same(out_of_memory, CUDA_ERROR_OUT_OF_MEMORY) && same(not_initialized, CUDA_ERROR_NOT_INITIALIZED));
static_assert(same(no_device, CUDA_ERROR_NO_DEVICE) && same(invalid_device, CUDA_ERROR_INVALID_DEVICE));
static_assert(same(invalid_image, CUDA_ERROR_INVALID_IMAGE) && same(invalid_context, CUDA_ERROR_INVALID_CONTEXT));
static_assert(same(map_failed, CUDA_ERROR_MAP_FAILED) && same(not_found, CUDA_ERROR_NOT_FOUND));
static_assert(same(invalid_handle, CUDA_ERROR_INVALID_HANDLE) && same(not_ready, CUDA_ERROR_NOT_READY));
static_assert(same(illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS));
static_assert(same(context_is_destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED));
static_assert(same(already_registered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED));
static_assert(same(not_registered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED));
static_assert(same(not_permitted, CUDA_ERROR_NOT_PERMITTED) && same(not_supported, CUDA_ERROR_NOT_SUPPORTED));

}  // namespace
#endif
