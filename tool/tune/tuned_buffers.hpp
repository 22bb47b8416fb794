// The buffers of what `quadrille tune --algorithms` measures: in the host's memory, or in a device's.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>

#include "memory/measured_buffers.hpp"
#include "tool/bench/device/gpu.hpp"

namespace quadrille::tools {

class TunedBuffers {
 public:
  // Without a GPU in the host's memory; `shared`: in the ranks' heap.
  TunedBuffers(std::size_t bytes, bool shared, const std::shared_ptr<Gpu>& gpu) {
    if (gpu == nullptr) {
      host_ = std::make_unique<memory::MeasuredBuffers>(bytes, shared);
      return;
    }
    try {
      send_ = allocate_on(gpu, bytes);
      recv_ = allocate_on(gpu, bytes);
    } catch (const std::runtime_error&) {
      recv_.reset();  // good() says so
    }
  }

  // False if there was no memory.
  bool good() const { return host_ != nullptr ? host_->good() : recv_ != nullptr; }
  std::byte* recv() const { return host_ != nullptr ? host_->recv() : recv_.get(); }
  // On the host as MeasuredBuffers has it. A device's caches are its own affair.
  const std::byte* send(std::size_t bytes) { return host_ != nullptr ? host_->send(bytes) : send_.get(); }
  // As the receiver of a block does, on the host.
  void read(std::size_t bytes) {
    if (host_ != nullptr) host_->read(bytes);
  }

 private:
  std::unique_ptr<memory::MeasuredBuffers> host_;
  GpuBytes send_, recv_;
};

}  // namespace quadrille::tools
