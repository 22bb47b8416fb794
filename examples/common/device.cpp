#include "device.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>

#include "driver_calls.hpp"

namespace examples {
namespace {

// The library of a driver. Drivers require that their library stays loaded.
class Library {
 public:
  Library(const char* what, std::initializer_list<const char*> names) {
    std::string why;
    for (const char* name : names) {
      handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) return;
      if (why.empty()) why = dlerror();
    }
    throw DeviceError(std::string("there is no driver of ") + what + ": " + why);
  }

  template <class Function>
  void load(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    if (function == nullptr) throw DeviceError(std::string("the driver has no ") + name);
  }

 private:
  void* handle_ = nullptr;
};

// -- CUDA

class CudaDevice : public Device {
 public:
  explicit CudaDevice(int rank_of_node) : library_("CUDA", {"libcuda.so.1", "libcuda.so"}) {
#define EXAMPLES_LOAD(name, ...) library_.load(#name, name);
    EXAMPLES_CUDA_CALLS(EXAMPLES_LOAD)
#undef EXAMPLES_LOAD
    check(cuInit(0), "cuInit");
    int count = 0;
    check(cuDeviceGetCount(&count), "cuDeviceGetCount");
    if (count == 0) throw DeviceError("the driver of CUDA finds no device");
    number_ = rank_of_node % count;
    int device = 0;
    check(cuDeviceGet(&device, number_), "cuDeviceGet");
    char name[256] = {};
    check(cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName");
    name_ = name;
    // Never released: Quadrille or the MPI may have memory in this context until the program ends.
    CudaHandle context = nullptr;
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  }

  void* allocate(std::size_t bytes) override {
    CudaAddress made = 0;
    check(cuMemAlloc_v2(&made, bytes), "cuMemAlloc");
    return reinterpret_cast<void*>(made);
  }
  void free(void* memory) override { cuMemFree_v2(address(memory)); }
  void* allocate_pinned(std::size_t bytes) override {
    void* made = nullptr;
    check(cuMemAllocHost_v2(&made, bytes), "cuMemAllocHost");
    return made;
  }
  void free_pinned(void* memory) override { cuMemFreeHost(memory); }
  std::size_t free_bytes() override {
    std::size_t free = 0, total = 0;
    check(cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
    return free;
  }

  void copy(void* to, const void* from, std::size_t bytes, Direction direction) override {
    switch (direction) {
      case Direction::to_device:
        return check(cuMemcpyHtoDAsync_v2(address(to), from, bytes, nullptr), "cuMemcpyHtoDAsync");
      case Direction::to_host:
        return check(cuMemcpyDtoHAsync_v2(to, address(from), bytes, nullptr), "cuMemcpyDtoHAsync");
      case Direction::on_device:
        return check(cuMemcpyDtoDAsync_v2(address(to), address(from), bytes, nullptr), "cuMemcpyDtoDAsync");
    }
  }

  void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                 std::size_t rows, Direction direction) override {
    CudaRows copy{};
    if (direction == Direction::to_device) {
      copy.from_type = cuda_host_memory;
      copy.from_host = from;
    } else {
      copy.from_type = cuda_device_memory;
      copy.from_device = address(from);
    }
    if (direction == Direction::to_host) {
      copy.to_type = cuda_host_memory;
      copy.to_host = to;
    } else {
      copy.to_type = cuda_device_memory;
      copy.to_device = address(to);
    }
    copy.from_pitch = from_pitch;
    copy.to_pitch = to_pitch;
    copy.width = width;
    copy.height = rows;
    check(cuMemcpy2DAsync_v2(&copy, nullptr), "cuMemcpy2DAsync");
  }

  void wait() override { check(cuCtxSynchronize(), "cuCtxSynchronize"); }

 private:
  static CudaAddress address(const void* pointer) { return reinterpret_cast<CudaAddress>(pointer); }

  void check(int error, const char* function) const {
    if (error == 0) return;
    const char* name = nullptr;
    if (cuGetErrorName(error, &name) != 0 || name == nullptr) name = "an unknown error";
    throw DeviceError(std::string(function) + ": " + name);
  }

  Library library_;
#define EXAMPLES_MEMBER(name, ...) int (*name)(__VA_ARGS__) = nullptr;
  EXAMPLES_CUDA_CALLS(EXAMPLES_MEMBER)
};

// -- HIP

class HipDevice : public Device {
 public:
  explicit HipDevice(int rank_of_node)
      : library_("HIP", {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}) {
#define EXAMPLES_LOAD(name, ...) library_.load(#name, name);
    EXAMPLES_HIP_CALLS(EXAMPLES_LOAD)
#undef EXAMPLES_LOAD
    check(hipInit(0), "hipInit");
    int count = 0;
    check(hipGetDeviceCount(&count), "hipGetDeviceCount");
    if (count == 0) throw DeviceError("the driver of HIP finds no device");
    number_ = rank_of_node % count;
    char name[256] = {};
    check(hipDeviceGetName(name, sizeof name, number_), "hipDeviceGetName");
    name_ = name;
    check(hipSetDevice(number_), "hipSetDevice");
  }

  void* allocate(std::size_t bytes) override {
    void* made = nullptr;
    check(hipMalloc(&made, bytes), "hipMalloc");
    return made;
  }
  void free(void* memory) override { hipFree(memory); }
  void* allocate_pinned(std::size_t bytes) override {
    void* made = nullptr;
    check(hipHostMalloc(&made, bytes, 0), "hipHostMalloc");
    return made;
  }
  void free_pinned(void* memory) override { hipHostFree(memory); }
  std::size_t free_bytes() override {
    std::size_t free = 0, total = 0;
    check(hipMemGetInfo(&free, &total), "hipMemGetInfo");
    return free;
  }
  void copy(void* to, const void* from, std::size_t bytes, Direction direction) override {
    check(hipMemcpyAsync(to, from, bytes, kind_of(direction), nullptr), "hipMemcpyAsync");
  }
  void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                 std::size_t rows, Direction direction) override {
    check(hipMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows, kind_of(direction), nullptr),
          "hipMemcpy2DAsync");
  }
  void wait() override { check(hipDeviceSynchronize(), "hipDeviceSynchronize"); }

 private:
  static HipKind kind_of(Direction direction) {
    if (direction == Direction::to_device) return hip_to_device;
    return direction == Direction::to_host ? hip_to_host : hip_on_device;
  }

  static void check(int error, const char* function) {
    if (error != 0) throw DeviceError(std::string(function) + ": error " + std::to_string(error));
  }

  Library library_;
  EXAMPLES_HIP_CALLS(EXAMPLES_MEMBER)
};

}  // namespace

std::unique_ptr<Device> open_device(const std::string& kind, int rank_of_node) {
  if (kind == "cuda") return std::make_unique<CudaDevice>(rank_of_node);
  return std::make_unique<HipDevice>(rank_of_node);
}

Memory::Memory(std::size_t bytes, Device* device) : device_(device) {
  if (bytes == 0) return;
  if (device != nullptr) {
    data_ = static_cast<char*>(device->allocate(bytes));
    return;
  }
  // The alignment that FFTW's vector code requires.
  constexpr std::size_t alignment = 64;
  data_ = static_cast<char*>(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
  if (data_ == nullptr) throw std::bad_alloc();
}

Memory::~Memory() {
  if (data_ == nullptr) return;
  if (device_ != nullptr) {
    device_->free(data_);
  } else {
    std::free(data_);
  }
}

void copy_rows(const Rows& to, const Rows& from, std::size_t width, std::size_t rows) {
  if (width == 0 || rows == 0) return;
  const bool in_one_piece = (to.pitch == width && from.pitch == width) || rows == 1;
  Device* const device = to.device != nullptr ? to.device : from.device;
  if (device == nullptr) {
    if (in_one_piece) {
      std::memcpy(to.data, from.data, width * rows);
      return;
    }
    for (std::size_t row = 0; row < rows; ++row) {
      std::memcpy(to.data + row * to.pitch, from.data + row * from.pitch, width);
    }
    return;
  }
  const Direction direction = to.device == nullptr     ? Direction::to_host
                              : from.device == nullptr ? Direction::to_device
                                                       : Direction::on_device;
  if (in_one_piece) {
    device->copy(to.data, from.data, width * rows, direction);
  } else {
    device->copy_rows(to.data, to.pitch, from.data, from.pitch, width, rows, direction);
  }
}

}  // namespace examples
