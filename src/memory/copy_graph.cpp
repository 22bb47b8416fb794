#include "memory/copy_graph.hpp"

#include <utility>

#include "memory/device_driver.hpp"

namespace quadrille::memory {
namespace {

constexpr unsigned any_memory = 4;    // of CUDA: the driver finds out
constexpr int hip_any_direction = 4;  // likewise

bool add_copy(void* graph, void* context, std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  void* node = nullptr;
  if (!driver().is_cuda) {
    return driver().add_copy_hip(&node, graph, nullptr, 0, reinterpret_cast<void*>(to),
                                 reinterpret_cast<const void*>(from), bytes, hip_any_direction) == 0;
  }
  CudaBox box{};
  box.from.type = box.to.type = any_memory;
  box.from.device = from;
  box.to.device = to;
  box.from.pitch = box.to.pitch = box.width = bytes;
  box.from.height = box.to.height = box.height = box.depth = 1;
  return driver().add_copy_cuda(&node, graph, nullptr, 0, &box, context) == 0;
}

}  // namespace

void CopyGraph::make(const DevicePlace& place, std::span<const std::uintptr_t> to, std::span<const std::uintptr_t> from,
                     std::span<const std::size_t> bytes) {
  forget();
  void* graph = nullptr;
  if (driver().create_graph(&graph, 0) != 0) return;
  bool added = true;
  for (std::size_t i = 0; i < bytes.size() && added; ++i) {
    added = add_copy(graph, place.context, to[i], from[i], bytes[i]);
  }
  if (added && take_token(place) && driver().make_graph_ready(&ready_, graph, 0) != 0) ready_ = nullptr;
  driver().destroy_graph(graph);
}

bool CopyGraph::launch(void* stream) const { return driver().launch_graph(ready_, stream) == 0; }

// To free its memory can wait for all that the device has to do, so it stays for the next graph.
bool CopyGraph::take_token(const DevicePlace& place) {
  if (token_.is_alive() && token_.place() == place) return true;
  token_.give_back([] {});
  return token_.take(place);
}

void CopyGraph::forget() {
  void* const ready = std::exchange(ready_, nullptr);
  if (ready == nullptr || !token_.is_alive()) return;
  const AtDevice at(token_.place());
  driver().destroy_ready_graph(ready);
}

CopyGraph::~CopyGraph() {
  forget();
  token_.give_back([] {});
}

}  // namespace quadrille::memory
