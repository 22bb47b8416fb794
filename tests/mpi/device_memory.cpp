#include "device_memory.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../device/table.hpp"

namespace quadrille::test {
namespace {

// Of what QUADRILLE_TEST_DRIVER names, loaded before main(), as by a program that is linked to the driver. A real
// driver (tests/device/over_driver.cpp) lacks some of a stand-in.
struct Driver : standin::Table {
  bool is_standin = true;
  Driver();
};

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "the stand-in of the driver: %s\n", what);
  std::abort();
}

Driver::Driver() {
  const char* const path = std::getenv("QUADRILLE_TEST_DRIVER");
  require(path != nullptr, "QUADRILLE_TEST_DRIVER does not say where it is");
  if (!load(path)) require(false, dlerror());
  is_standin = dlsym(dlopen(path, RTLD_NOW), "quadrille_over_driver") == nullptr;
  require(count != nullptr && host != nullptr, "this is none");
  standin::Handle context = nullptr;
  require(cuInit(0) == 0, "cuInit");
  require(cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0, "the primary context");
}

const Driver driver;

class HostMemory : public Memory {
 public:
  HostMemory(unsigned char* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}
  unsigned char* address() override { return memory_; }
  unsigned char* view() override { return memory_; }
  void put(const unsigned char* bytes) override { std::memcpy(memory_, bytes, bytes_); }
  void get(unsigned char* bytes) override { std::memcpy(bytes, memory_, bytes_); }

 private:
  unsigned char* memory_;
  std::size_t bytes_;
};

class OrdinaryMemory : public HostMemory {
 public:
  explicit OrdinaryMemory(std::size_t bytes) : OrdinaryMemory(new unsigned char[bytes], bytes) {}

 private:
  OrdinaryMemory(unsigned char* memory, std::size_t bytes) : HostMemory(memory, bytes), owned_(memory) {}
  std::unique_ptr<unsigned char[]> owned_;
};

class PinnedMemory : public HostMemory {
 public:
  explicit PinnedMemory(std::size_t bytes) : HostMemory(pin(bytes), bytes) {}
  ~PinnedMemory() override { require(driver.cuMemFreeHost(address()) == 0, "cuMemFreeHost"); }

 private:
  static unsigned char* pin(std::size_t bytes) {
    void* memory = nullptr;
    require(driver.cuMemAllocHost_v2(&memory, bytes) == 0, "cuMemAllocHost");
    return static_cast<unsigned char*>(memory);
  }
};

class ManagedMemory : public HostMemory {
 public:
  explicit ManagedMemory(std::size_t bytes) : HostMemory(manage(bytes), bytes) {}
  ~ManagedMemory() override {
    require(driver.cuMemFree_v2(reinterpret_cast<standin::Address>(address())) == 0, "cuMemFree");
  }

 private:
  static unsigned char* manage(std::size_t bytes) {
    constexpr unsigned global = 1;
    standin::Address memory = 0;
    require(driver.cuMemAllocManaged(&memory, bytes, global) == 0, "cuMemAllocManaged");
    return reinterpret_cast<unsigned char*>(memory);
  }
};

// Of a device, wherever it is from.
class DeviceMemory : public Memory {
 public:
  explicit DeviceMemory(std::size_t bytes) : bytes_(bytes) {}
  unsigned char* address() override { return reinterpret_cast<unsigned char*>(memory_); }
  unsigned char* view() override { return driver.is_standin ? look() : nullptr; }
  // What a program gives to MPI must be there: an MPI that takes such memory does not wait for a stream.
  void put(const unsigned char* bytes) override {
    require(driver.cuMemcpyHtoD_v2(memory_, bytes, bytes_) == 0 && driver.cuStreamSynchronize(nullptr) == 0, "put");
  }
  // What has come must be there as well, without waiting: so it is looked at, and not copied by the driver.
  void get(unsigned char* bytes) override { std::memcpy(bytes, look(), bytes_); }

 private:
  unsigned char* look() { return static_cast<unsigned char*>(driver.host(memory_, bytes_)); }

 protected:
  std::size_t bytes_;
  standin::Address memory_ = 0;
};

class AllocatedMemory : public DeviceMemory {
 public:
  AllocatedMemory(std::size_t bytes, bool of_a_pool) : DeviceMemory(bytes), of_a_pool_(of_a_pool) {
    const int error =
        of_a_pool ? driver.cuMemAllocAsync(&memory_, bytes, nullptr) : driver.cuMemAlloc_v2(&memory_, bytes);
    require(error == 0 && driver.cuStreamSynchronize(nullptr) == 0, "memory of a device");
  }
  ~AllocatedMemory() override {
    const int error = of_a_pool_ ? driver.cuMemFreeAsync(memory_, nullptr) : driver.cuMemFree_v2(memory_);
    require(error == 0 && driver.cuStreamSynchronize(nullptr) == 0, "freeing memory of a device");
  }

 private:
  bool of_a_pool_;
};

// Mapped by hand, piece by piece, so that the end of one is in the midst of the buffer: as PyTorch's segments that
// grow.
class MappedMemory : public DeviceMemory {
 public:
  explicit MappedMemory(std::size_t bytes) : DeviceMemory(bytes) {
    constexpr standin::MemoryProperties of_device{1, 0, {1, 0}, nullptr, 0, 0, 0, {}};
    constexpr standin::Access all{{1, 0}, 3};
    require(driver.cuMemGetAllocationGranularity(&piece_, &of_device, 0) == 0, "granularity");
    const std::size_t before = bytes / 2 >= piece_ ? 0 : piece_ - bytes / 2 / 16 * 16;
    pieces_ = (before + bytes + piece_ - 1) / piece_;
    require(driver.cuMemAddressReserve(&base_, pieces_ * piece_, 0, 0, 0) == 0, "cuMemAddressReserve");
    for (std::size_t i = 0; i < pieces_; ++i) {
      std::uint64_t made = 0;
      require(driver.cuMemCreate(&made, piece_, &of_device, 0) == 0 &&
                  driver.cuMemMap(base_ + i * piece_, piece_, 0, made, 0) == 0 && driver.cuMemRelease(made) == 0,
              "mapping memory");
    }
    require(driver.cuMemSetAccess(base_, pieces_ * piece_, &all, 1) == 0, "cuMemSetAccess");
    memory_ = base_ + before;
  }
  ~MappedMemory() override {
    require(driver.cuMemUnmap(base_, pieces_ * piece_) == 0 && driver.cuMemAddressFree(base_, pieces_ * piece_) == 0,
            "unmapping memory");
  }

 private:
  standin::Address base_ = 0;
  std::size_t piece_ = 0, pieces_ = 0;
};

}  // namespace

std::unique_ptr<Memory> allocate(MemoryKind kind, std::size_t bytes) {
  switch (kind) {
    case MemoryKind::host:
      return std::make_unique<OrdinaryMemory>(bytes);
    case MemoryKind::device:
      return std::make_unique<AllocatedMemory>(bytes, false);
    case MemoryKind::pool:
      return std::make_unique<AllocatedMemory>(bytes, true);
    case MemoryKind::pinned:
      return std::make_unique<PinnedMemory>(bytes);
    case MemoryKind::managed:
      return std::make_unique<ManagedMemory>(bytes);
    case MemoryKind::mapped:
      return std::make_unique<MappedMemory>(bytes);
  }
  return nullptr;
}

void set_later(Memory& memory, unsigned char value, std::size_t bytes) {
  const auto address = reinterpret_cast<standin::Address>(memory.address());
  require(driver.cuMemsetD8Async(address, value, bytes, nullptr) == 0, "cuMemsetD8Async");
}

void set_driver(const char* name, const char* value) { require(driver.set(name, value), name); }
void replace_kernel(const char* name, standin::Twin twin) { driver.kernel(name, twin); }

unsigned long count_calls(const char* what, const char* caller) { return driver.count(what, caller); }

}  // namespace quadrille::test
