// The GPU of a rank of the benchmark. Here the driver is the program's to load; it is found at run time, and no toolkit
// is needed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "memory/device.hpp"

namespace quadrille::tools {

enum class DeviceKind : std::uint8_t { cuda, hip };
std::string_view name_of(DeviceKind kind);

// The functions of the driver beside those that Quadrille calls itself (memory/device.hpp).
struct GpuCalls;

// What is done with it is done for the thread that has called use(). All that a driver refuses is thrown as a
// std::runtime_error.
class Gpu {
 public:
  // Loads the driver and initialises it. Null if there is none, or no device: `problem` says in one line what is
  // missing.
  static std::shared_ptr<Gpu> open(DeviceKind kind, std::string& problem);
  Gpu(DeviceKind kind, std::unique_ptr<GpuCalls> calls, int devices);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();

  // Takes device `rank_here` modulo the devices: ranks of a machine are dealt out in turn.
  void use(int rank_here);
  bool is_used() const { return device_ >= 0; }

  DeviceKind kind() const { return kind_; }
  int devices() const { return devices_; }  // that this process may see
  std::string name() const;                 // of the device that is used
  std::string driver_version() const;       // "12.4"
  // Another one for each device, whatever number a process knows it by.
  std::array<unsigned char, 16> identity() const;
  std::size_t free_bytes() const;  // 0: it does not say
  // A stand-in of a driver (tests/device), whose times say nothing.
  bool is_standin() const { return name().starts_with("Stand-in"); }

  void* allocate(std::size_t bytes);
  void free(void* memory);
  // Memory of the host that the device's engines reach; null if there is none.
  void* pin(std::size_t bytes);
  void unpin(void* memory);
  void* make_stream();
  void free_stream(void* stream);

  // One of the two is the device's, or both are. Has been done when it returns.
  void copy(void* to, const void* from, std::size_t bytes);

 private:
  void must(int error, std::string_view what) const;
  DeviceKind kind_;
  std::unique_ptr<GpuCalls> calls_;
  int devices_ = 0, device_ = -1;
};

// Memory of a GPU, or of the host for it, that goes with its owner.
struct GpuMemory {
  std::shared_ptr<Gpu> gpu;
  bool pinned = false;
  void operator()(std::byte* memory) const { pinned ? gpu->unpin(memory) : gpu->free(memory); }
};
using GpuBytes = std::unique_ptr<std::byte[], GpuMemory>;
GpuBytes allocate_on(const std::shared_ptr<Gpu>& gpu, std::size_t bytes);
GpuBytes pin_for(const std::shared_ptr<Gpu>& gpu, std::size_t bytes);  // null if the driver has none

}  // namespace quadrille::tools
