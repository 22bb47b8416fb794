// A device for enqueue_check.cpp: the stand-in of CUDA's driver or of HIP's, with kernels that are functions of the
// test.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "../device/table.hpp"

namespace quadrille::test::enqueued {

using standin::Handle;

struct EnqueuedDevice : standin::Table {
  Handle context = nullptr, work = nullptr;  // work: the kernel
  bool is_there() const { return count != nullptr; }
  // Functions that both drivers have.
  auto synchronize() const { return is_cuda() ? cuStreamSynchronize : hipStreamSynchronize; }
  auto load_module() const { return is_cuda() ? cuModuleLoadData : hipModuleLoadData; }
  auto find_function() const { return is_cuda() ? cuModuleGetFunction : hipModuleGetFunction; }
  auto launch() const { return is_cuda() ? cuLaunchKernel : hipModuleLaunchKernel; }
  auto begin_capture() const { return is_cuda() ? cuStreamBeginCapture_v2 : hipStreamBeginCapture; }
  auto end_capture() const { return is_cuda() ? cuStreamEndCapture : hipStreamEndCapture; }
  auto is_capturing() const { return is_cuda() ? cuStreamIsCapturing : hipStreamIsCapturing; }
};
inline EnqueuedDevice device;

inline void must(int error, const char* what) {
  if (error == 0) return;
  std::fprintf(stderr, "the driver says %d: %s\n", error, what);
  std::abort();
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
  must(device.launch()(device.work, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), "launch");
  return kernel;
}

inline void load_device(const char* path) {
  if (!device.load(path)) must(-1, dlerror());
  if (device.is_cuda()) {
    must(device.cuInit(0), "init");
    must(device.cuDevicePrimaryCtxRetain(&device.context, 0), "context");
    must(device.cuCtxPushCurrent_v2(device.context), "push");
  }
  Handle module = nullptr;
  constexpr const char* text =
      ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry work(.param .u64 p) { ret; }";
  must(device.load_module()(&module, text), "module");
  device.kernel("work", run_kernel);
  must(device.find_function()(&device.work, module, "work"), "function");
}

inline std::uintptr_t allocate(std::size_t bytes) {
  std::uintptr_t made = 0;
  if (device.is_cuda()) {
    must(device.cuMemAlloc_v2(&made, bytes), "memory");
  } else {
    void* address = nullptr;
    must(device.hipMalloc(&address, bytes), "memory");
    made = reinterpret_cast<std::uintptr_t>(address);
  }
  return made;
}

inline void release(std::uintptr_t address) {
  must(device.is_cuda() ? device.cuMemFree_v2(address) : device.hipFree(reinterpret_cast<void*>(address)), "free");
}

// Beside the NULL stream, unless it is `blocking`.
inline Handle make_stream(bool blocking = false) {
  Handle stream = nullptr;
  const unsigned flags = blocking ? 0 : 1;
  must(device.is_cuda() ? device.cuStreamCreate(&stream, flags) : device.hipStreamCreateWithFlags(&stream, flags),
       "stream");
  return stream;
}

// What keeps streams until it is opened.
class Gate {
 public:
  Gate() {
    void* memory = nullptr;
    must(device.is_cuda() ? device.cuMemAllocHost_v2(&memory, 4) : device.hipHostMalloc(&memory, 4, 0),
         "pinned memory");
    word_ = new (memory) std::atomic<std::uint32_t>(0);
  }
  void keep(Handle stream) {
    void* const memory = word_;
    must(device.is_cuda() ? device.cuStreamWaitValue32_v2(stream, reinterpret_cast<std::uintptr_t>(memory), 1, 0)
                          : device.hipStreamWaitValue32(stream, memory, 1, 0, UINT32_MAX),
         "wait");
  }
  void open() { word_->store(1, std::memory_order_release); }

 private:
  std::atomic<std::uint32_t>* word_ = nullptr;
};

}  // namespace quadrille::test::enqueued
