// A device for enqueue_check.cpp: the stand-in of CUDA's driver or of HIP's, with kernels that are functions of the
// test.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "../device/standin.hpp"

namespace quadrille::test::enqueued {

using standin::Handle;

// Of either driver; null where there is only one that has it.
struct EnqueuedDevice {
#define QUADRILLE_MEMBER(name, ...) int (*name)(__VA_ARGS__) = nullptr;
  QUADRILLE_CUDA_CALLS(QUADRILLE_MEMBER)
#undef QUADRILLE_MEMBER
  int (*malloc_hip)(void**, std::size_t) = nullptr;
  int (*free_hip)(void*) = nullptr;
  int (*stream_hip)(Handle*, unsigned) = nullptr;
  int (*synchronize)(Handle) = nullptr;
  int (*load_module)(Handle*, const void*) = nullptr;
  int (*find_function)(Handle*, Handle, const char*) = nullptr;
  int (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**,
                void**) = nullptr;
  int (*pin)(void**, std::size_t) = nullptr;
  int (*pin_hip)(void**, std::size_t, unsigned) = nullptr;
  int (*wait_hip)(Handle, void*, std::uint32_t, unsigned, std::uint32_t) = nullptr;
  int (*begin_capture)(Handle, int) = nullptr;
  int (*end_capture)(Handle, Handle*) = nullptr;
  int (*is_capturing)(Handle, int*) = nullptr;
  quadrille_standin_count_t* count = nullptr;
  quadrille_standin_set_t* set = nullptr;
  quadrille_standin_host_t* host = nullptr;
  Handle context = nullptr, kernel = nullptr;
  bool is_there() const { return count != nullptr; }
  bool is_cuda() const { return cuInit != nullptr; }
};
inline EnqueuedDevice device;

inline void must(int error, const char* what) {
  if (error == 0) return;
  std::fprintf(stderr, "the driver says %d: %s\n", error, what);
  std::abort();
}

template <class Function>
void load(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) must(-1, name);
}

using Kernel = std::function<void()>;

inline void run_kernel(const standin::Launch*, void** parameters) {
  Kernel* kernel = nullptr;
  std::memcpy(&kernel, parameters[0], sizeof kernel);
  (*kernel)();
  delete kernel;
}

// What the device does when the stream has come there.
inline Kernel* launch(Handle stream, Kernel work) {
  auto* kernel = new Kernel(std::move(work));
  void* parameters[] = {&kernel};
  must(device.launch(device.kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), "launch");
  return kernel;
}

inline void load_device(const char* path) {
  void* const library = dlopen(path, RTLD_NOW);
  if (library == nullptr) must(-1, dlerror());
  const bool cuda = dlsym(library, "cuInit") != nullptr;
  quadrille_standin_kernel_t* set_kernel = nullptr;
  load(library, "quadrille_standin_count", device.count);
  load(library, "quadrille_standin_set", device.set);
  load(library, "quadrille_standin_host", device.host);
  load(library, "quadrille_standin_kernel", set_kernel);
  const auto find = [&](const char* of_cuda, const char* of_hip, auto& function) {
    load(library, cuda ? of_cuda : of_hip, function);
  };
  find("cuStreamSynchronize", "hipStreamSynchronize", device.synchronize);
  find("cuModuleLoadData", "hipModuleLoadData", device.load_module);
  find("cuModuleGetFunction", "hipModuleGetFunction", device.find_function);
  find("cuLaunchKernel", "hipModuleLaunchKernel", device.launch);
  find("cuStreamBeginCapture_v2", "hipStreamBeginCapture", device.begin_capture);
  find("cuStreamEndCapture", "hipStreamEndCapture", device.end_capture);
  find("cuStreamIsCapturing", "hipStreamIsCapturing", device.is_capturing);
  if (cuda) {
#define QUADRILLE_LOAD(name, ...) load(library, #name, device.name);
    QUADRILLE_CUDA_CALLS(QUADRILLE_LOAD)
#undef QUADRILLE_LOAD
    must(device.cuInit(0), "init");
    must(device.cuDevicePrimaryCtxRetain(&device.context, 0), "context");
    must(device.cuCtxPushCurrent_v2(device.context), "push");
  } else {
    load(library, "hipMalloc", device.malloc_hip);
    load(library, "hipFree", device.free_hip);
    load(library, "hipHostMalloc", device.pin_hip);
    load(library, "hipStreamCreateWithFlags", device.stream_hip);
    load(library, "hipStreamWaitValue32", device.wait_hip);
  }
  Handle module = nullptr;
  must(device.load_module(
           &module, ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry work(.param .u64 p) { ret; }"),
       "module");
  set_kernel("work", run_kernel);
  must(device.find_function(&device.kernel, module, "work"), "function");
}

inline std::uintptr_t allocate(std::size_t bytes) {
  std::uintptr_t made = 0;
  if (device.is_cuda()) {
    must(device.cuMemAlloc_v2(&made, bytes), "memory");
  } else {
    void* address = nullptr;
    must(device.malloc_hip(&address, bytes), "memory");
    made = reinterpret_cast<std::uintptr_t>(address);
  }
  return made;
}

inline void release(std::uintptr_t address) {
  must(device.is_cuda() ? device.cuMemFree_v2(address) : device.free_hip(reinterpret_cast<void*>(address)), "free");
}

// Beside the NULL stream, unless it is `blocking`.
inline Handle make_stream(bool blocking = false) {
  Handle stream = nullptr;
  const unsigned flags = blocking ? 0 : 1;
  must(device.is_cuda() ? device.cuStreamCreate(&stream, flags) : device.stream_hip(&stream, flags), "stream");
  return stream;
}

// What keeps streams until it is opened.
class Gate {
 public:
  Gate() {
    void* memory = nullptr;
    must(device.is_cuda() ? device.cuMemAllocHost_v2(&memory, 4) : device.pin_hip(&memory, 4, 0), "pinned memory");
    word_ = new (memory) std::atomic<std::uint32_t>(0);
  }
  void keep(Handle stream) {
    void* const memory = word_;
    must(device.is_cuda() ? device.cuStreamWaitValue32_v2(stream, reinterpret_cast<std::uintptr_t>(memory), 1, 0)
                          : device.wait_hip(stream, memory, 1, 0, UINT32_MAX),
         "wait");
  }
  void open() { word_->store(1, std::memory_order_release); }

 private:
  std::atomic<std::uint32_t>* word_ = nullptr;
};

}  // namespace quadrille::test::enqueued
