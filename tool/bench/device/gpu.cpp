#include "tool/bench/device/gpu.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "mpi/mpi.hpp"
#include "team/team.hpp"

namespace quadrille::tools {

// CUDA's and HIP's differ in types alone. Functions that are missing are null.
struct GpuCalls {
  int (*init)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;
  int (*count)(int*) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*identity)(void*, int) = nullptr;
  int (*memory)(std::size_t*, std::size_t*) = nullptr;
  int (*allocate)(void**, std::size_t) = nullptr;
  int (*free)(void*) = nullptr;
  int (*make_stream)(void**, unsigned) = nullptr;
  int (*free_stream)(void*) = nullptr;
  // CUDA has a context where HIP has a device.
  int (*device)(int*, int) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*set_context)(void*) = nullptr;
  int (*set_device)(int) = nullptr;
};

namespace {

constexpr unsigned stream_of_its_own = 1;  // it does not wait for the NULL stream

// What a driver is called, the newest first. What is used of them is the same in all.
std::initializer_list<const char*> files_of(DeviceKind kind) {
  static constexpr std::initializer_list<const char*> cuda = {"libcuda.so.1"},
                                                      hip = {"libamdhip64.so.7", "libamdhip64.so.6"};
  return kind == DeviceKind::cuda ? cuda : hip;
}

// Null if `problem` says why.
void* load_library(DeviceKind kind, std::string& problem) {
  std::string names;
  for (const char* file : files_of(kind)) {
    if (void* library = dlopen(file, RTLD_NOW)) return library;
    names += (names.empty() ? "" : " or ") + std::string(file);
  }
  problem = fmt::format("no driver {} found; --device {} needs a GPU and its driver", names, name_of(kind));
  return nullptr;
}

// The first name that the library lacks.
std::string find_functions(void* library, DeviceKind kind, GpuCalls& calls) {
  std::string missing;
  const bool cuda = kind == DeviceKind::cuda;
  const auto find = [&]<class Function>(const char* of_cuda, const char* of_hip, Function*& function,
                                        bool needed = true) {
    const char* const name = cuda ? of_cuda : of_hip;
    if (name == nullptr) return;
    function = reinterpret_cast<Function*>(dlsym(library, name));
    if (function == nullptr && needed && missing.empty()) missing = name;
  };
  find("cuInit", "hipInit", calls.init);
  find("cuDriverGetVersion", "hipDriverGetVersion", calls.version);
  find("cuDeviceGetCount", "hipGetDeviceCount", calls.count);
  find("cuDeviceGetName", "hipDeviceGetName", calls.name);
  find("cuDeviceGetUuid", "hipDeviceGetUuid", calls.identity);
  find("cuMemGetInfo_v2", "hipMemGetInfo", calls.memory, false);
  find("cuMemAlloc_v2", "hipMalloc", calls.allocate);
  find("cuMemFree_v2", "hipFree", calls.free);
  find("cuStreamCreate", "hipStreamCreateWithFlags", calls.make_stream);
  find("cuStreamDestroy_v2", "hipStreamDestroy", calls.free_stream);
  find("cuDeviceGet", nullptr, calls.device);
  find("cuDevicePrimaryCtxRetain", nullptr, calls.retain);
  find("cuCtxSetCurrent", nullptr, calls.set_context);
  find(nullptr, "hipSetDevice", calls.set_device);
  return missing;
}

}  // namespace

std::string_view name_of(DeviceKind kind) { return kind == DeviceKind::cuda ? "cuda" : "hip"; }

std::shared_ptr<Gpu> Gpu::open(DeviceKind kind, std::string& problem) {
  void* const library = load_library(kind, problem);
  if (library == nullptr) return nullptr;
  auto calls = std::make_unique<GpuCalls>();
  if (const std::string missing = find_functions(library, kind, *calls); !missing.empty()) {
    problem = fmt::format("the driver for --device {} has no {}: it is too old", name_of(kind), missing);
    return nullptr;
  }
  int devices = 0, error = calls->init(0);
  if (error == 0) error = calls->count(&devices);
  if (error != 0 || devices < 1) {
    problem = fmt::format("the driver for --device {} finds no GPU (error {})", name_of(kind), error);
    return nullptr;
  }
  // The tool does not watch what is loaded, as the libraries of Quadrille do.
  memory::note_loading();
  drop_cached_calls();
  if (memory::device_driver() == nullptr) {
    problem = fmt::format("Quadrille cannot use the driver for --device {}: it is too old", name_of(kind));
    return nullptr;
  }
  return std::make_shared<Gpu>(kind, std::move(calls), devices);
}

Gpu::Gpu(DeviceKind kind, std::unique_ptr<GpuCalls> calls, int devices)
    : kind_(kind), calls_(std::move(calls)), devices_(devices) {}

// The driver stays loaded, and its context with it: Quadrille frees what it has at the end of MPI.
Gpu::~Gpu() = default;

void Gpu::must(int error, std::string_view what) const {
  if (error != 0) throw std::runtime_error(fmt::format("the driver of the GPU refuses {}: error {}", what, error));
}

void Gpu::use(int rank_here) {
  const int number = rank_here % devices_;
  device_ = number;
  if (kind_ == DeviceKind::hip) {
    must(calls_->set_device(number), "a device");
    return;
  }
  must(calls_->device(&device_, number), "a device");
  void* context = nullptr;
  must(calls_->retain(&context, device_), "a context");
  must(calls_->set_context(context), "a context");
}

std::string Gpu::name() const {
  std::array<char, 256> text{};
  must(calls_->name(text.data(), static_cast<int>(text.size()) - 1, device_), "its name");
  return text.data();
}

std::string Gpu::driver_version() const {
  int version = 0;
  must(calls_->version(&version), "its version");
  // 12040 of CUDA; HIP's has three numbers, 60342134.
  if (kind_ == DeviceKind::cuda) return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  return fmt::format("{}.{}.{}", version / 10'000'000, version / 100'000 % 100, version % 100'000);
}

std::array<unsigned char, 16> Gpu::identity() const {
  std::array<unsigned char, 16> bytes{};
  must(calls_->identity(bytes.data(), device_), "its number");
  return bytes;
}

std::size_t Gpu::free_bytes() const {
  std::size_t left = 0, all = 0;
  return calls_->memory != nullptr && calls_->memory(&left, &all) == 0 ? left : 0;
}

// A power of two, as long as there is much more: what a driver puts together of leftovers is slower to copy (1.5 times
// on an H100, docs/results/gpu.md), and memory that is given back leaves no such.
void* Gpu::allocate(std::size_t bytes) {
  void* memory = nullptr;
  const std::size_t wanted = std::max<std::size_t>(bytes, 1), rounded = std::bit_ceil(wanted);
  const bool is_rounded = rounded <= free_bytes() / 64 && calls_->allocate(&memory, rounded) == 0;
  if (!is_rounded) must(calls_->allocate(&memory, wanted), fmt::format("{} bytes of its memory", bytes));
  memory::DevicePlace place;
  if (memory::find_memory(memory, place) != memory::Where::device) {
    throw std::runtime_error(
        "Quadrille takes memory of the GPU for memory of the host: another driver is loaded as well");
  }
  return memory;
}

void Gpu::free(void* memory) { calls_->free(memory); }

void* Gpu::pin(std::size_t bytes) { return memory::allocate_pinned(bytes); }
void Gpu::unpin(void* memory) { memory::free_pinned(memory); }

void* Gpu::make_stream() {
  void* stream = nullptr;
  must(calls_->make_stream(&stream, stream_of_its_own), "a stream");
  return stream;
}

void Gpu::free_stream(void* stream) { calls_->free_stream(stream); }

void Gpu::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  memory::DeviceCopies copies;
  copies.copy(to, from, bytes);
  if (!copies.wait()) throw std::runtime_error(fmt::format("the driver of the GPU refuses to copy {} bytes", bytes));
}

GpuBytes allocate_on(const std::shared_ptr<Gpu>& gpu, std::size_t bytes) {
  return {static_cast<std::byte*>(gpu->allocate(bytes)), GpuMemory{gpu, false}};
}

GpuBytes pin_for(const std::shared_ptr<Gpu>& gpu, std::size_t bytes) {
  return {static_cast<std::byte*>(gpu->pin(std::max<std::size_t>(bytes, 1))), GpuMemory{gpu, true}};
}

}  // namespace quadrille::tools
