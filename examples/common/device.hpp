// One GPU, with the driver of CUDA or HIP. The driver's library is loaded at run time, so that the build needs neither
// a toolkit nor a driver.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace examples {

// Not a std::runtime_error, because it may occur on one rank only, unknown to the others (run_program).
class DeviceError : public std::exception {
 public:
  explicit DeviceError(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

enum class Direction { to_device, to_host, on_device };

class Device {
 public:
  virtual ~Device() = default;
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* memory) = 0;
  // Allocates pinned host memory.
  virtual void* allocate_pinned(std::size_t bytes) = 0;
  virtual void free_pinned(void* memory) = 0;
  virtual std::size_t free_bytes() = 0;
  // Copies run in the order of the NULL stream; wait() waits for them.
  virtual void copy(void* to, const void* from, std::size_t bytes, Direction direction) = 0;
  // `rows` times `width` bytes; the rows begin `pitch` bytes after each other.
  virtual void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t rows, Direction direction) = 0;
  virtual void wait() = 0;

  const std::string& name() const { return name_; }
  int number() const { return number_; }

 protected:
  std::string name_;
  int number_ = 0;
};

// `kind` is "cuda" or "hip". The ranks of a node use its GPUs in turn. The context of libraries like cuFFT is made
// current. Throws DeviceError.
std::unique_ptr<Device> open_device(const std::string& kind, int rank_of_node);

// Memory of a device, or of the host without a device. Null for zero bytes.
class Memory {
 public:
  Memory() = default;
  Memory(std::size_t bytes, Device* device);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    Memory(std::move(other)).swap(*this);
    return *this;
  }
  ~Memory();

  char* data() const { return data_; }
  Device* device() const { return device_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  void swap(Memory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(device_, other.device_);
  }

  char* data_ = nullptr;
  Device* device_ = nullptr;
};

// A place of rows of bytes. Without a device: in host memory.
struct Rows {
  Device* device;
  char* data;
  std::size_t pitch;
};

// Copies between any two of these. The caller waits for a device that takes part.
void copy_rows(const Rows& to, const Rows& from, std::size_t width, std::size_t rows);

inline void wait_for(Device* device) {
  if (device != nullptr) device->wait();
}

}  // namespace examples
