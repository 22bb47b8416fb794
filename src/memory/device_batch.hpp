// Copies of plain bytes inside devices and between them, which the driver is given at once where it has a function for
// that (CUDA 12.8): one call a batch, however many blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quadrille::memory {

struct DeviceDriver;

class DeviceBatch {
 public:
  void clear() { to_.clear(), from_.clear(), bytes_.clear(); }
  void add(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
    to_.push_back(to), from_.push_back(from), bytes_.push_back(bytes);
  }
  std::size_t size() const { return bytes_.size(); }
  // Puts all into the stream. At once only into one that the program's NULL stream goes along with, and that is not the
  // NULL stream itself, which drivers refuse. False if one was refused; then some may be under way. While AtDevice lives.
  bool submit(const DeviceDriver& driver, void* stream);

 private:
  bool submit_at_once(const DeviceDriver& driver, void* stream);
  std::vector<std::uintptr_t> to_, from_;
  std::vector<std::size_t> bytes_;
};

}  // namespace quadrille::memory
