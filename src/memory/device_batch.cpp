#include "memory/device_batch.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "memory/device_driver.hpp"

namespace quadrille::memory {
namespace {

bool add_copy(void* graph, void* context, std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  void* node = nullptr;
  if (!driver().is_cuda) {
    return driver().add_copy_hip(&node, graph, nullptr, 0, reinterpret_cast<void*>(to),
                                 reinterpret_cast<const void*>(from), bytes, any_direction) == 0;
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

void DeviceBatch::build_graph(const DevicePlace& place) {
  forget_graph();
  void* graph = nullptr;
  if (driver().create_graph(&graph, 0) != 0) return;
  bool added = true;
  for (std::size_t i = 0; i < size() && added; ++i) {
    added = add_copy(graph, place.context, to_[i], from_[i], bytes_[i]);
  }
  if (added && take_token(place) && driver().make_graph_ready(&graph_, graph, 0) != 0) graph_ = nullptr;
  driver().destroy_graph(graph);
}

// To free its memory can wait for all that the device has to do, so it stays for the next graph.
bool DeviceBatch::take_token(const DevicePlace& place) {
  if (token_.is_alive() && token_.place() == place) return true;
  token_.give_back([] {});
  return token_.take(place);
}

void DeviceBatch::forget_graph() {
  void* const ready = std::exchange(graph_, nullptr);
  if (ready == nullptr || !token_.is_alive()) return;
  const AtDevice at(token_.place());
  driver().destroy_ready_graph(ready);
}

DeviceBatch::~DeviceBatch() {
  forget_graph();
  token_.give_back([] {});
}

bool DeviceBatch::submit_at_once(void* stream) {
  CudaCopyAttributes alike;
  std::size_t first = 0, failed = 0;
  if (driver().copy_batch != nullptr) {
    return driver().copy_batch(to_.data(), from_.data(), bytes_.data(), size(), &alike, &first, 1, stream) == 0;
  }
  return driver().copy_batch_before(to_.data(), from_.data(), bytes_.data(), size(), &alike, &first, 1, &failed,
                                    stream) == 0;
}

CopiesTogether DeviceBatch::together(bool in_one_device, bool many_times) const {
  CopiesTogether all{size(), std::accumulate(bytes_.begin(), bytes_.end(), std::size_t{0}), 16, in_one_device,
                     many_times};
  for (std::size_t i = 0; i < size(); ++i) all.unit = std::min(all.unit, unit_between(to_[i], from_[i]));
  return all;
}

void DeviceBatch::take_kernel(const DevicePlace& place, bool in_one_device, bool many_times) {
  const CopiesTogether all = together(in_one_device, many_times);
  if (!is_for_kernel(all)) return;
  const std::size_t most = bytes_of_piece(all.bytes);
  std::vector<Piece> pieces;
  pieces.reserve(all.bytes / most + 3 * size());
  for (std::size_t i = 0; i < size(); ++i) add_pieces(pieces, to_[i], from_[i], bytes_[i], most);
  pieces_.take(place, pieces, DevicePieces::When::now);
}

void DeviceBatch::make_graph(const DevicePlace& place) {
  if (!pieces_.are_there() && size() > 0) build_graph(place);
}

void DeviceBatch::put_graph_in_place(const DevicePlace& place) {
  const bool is_better_so = pieces_.are_there() && is_for_kernel(together(true, true));
  if (!driver().is_cuda || size() <= 1 || has_graph() || is_better_so) return;
  const BesideCapture beside;
  build_graph(place);
  if (has_graph()) pieces_.forget();
}

bool DeviceBatch::launch(void* stream) const {
  if (pieces_.are_there() && pieces_.submit(stream)) return true;
  return size() == 0 || (has_graph() && driver().launch_graph(graph_, stream) == 0);
}

bool DeviceBatch::submit(void* stream, bool one_too) {
  if (is_one_launch() && launch(stream)) return true;
  if (size() > (one_too ? 0U : 1U) && stream != nullptr && submit_at_once(stream)) return true;
  DeviceCopies one_by_one(stream);
  for (std::size_t i = 0; i < size(); ++i) {
    one_by_one.copy(reinterpret_cast<void*>(to_[i]), reinterpret_cast<const void*>(from_[i]), bytes_[i]);
  }
  return one_by_one.leave();
}

// The copies that were taken last may be in flight.
DeviceBatch& RepeatedCopies::fresh() {
  Kept& one = kept_[fresh_];
  one.batch.clear();
  one.times = 0;
  return one.batch;
}

DeviceBatch& RepeatedCopies::take(const DevicePlace& place, std::uint64_t listed) {
  const auto same = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& one) {
    return one.times > 0 && one.listed == listed && one.place == place && one.batch.has_same(kept_[fresh_].batch);
  });
  const bool is_good = same != kept_.end() && same->batch.is_good(place);
  if (same != kept_.end() && !is_good) same->times = 0;
  last_ = is_good ? static_cast<std::size_t>(same - kept_.begin()) : fresh_;
  Kept& taken = kept_[last_];
  taken.place = place;
  taken.listed = listed;
  taken.used = ++uses_;
  if (taken.times <= before_graph) ++taken.times;
  if (!is_good) {
    const auto last_use = [](const Kept& one) { return one.times > 0 ? one.used : 0; };
    const auto oldest = std::ranges::min_element(kept_, {}, last_use);
    fresh_ = static_cast<std::size_t>(oldest - kept_.begin());
  }
  return taken.batch;
}

}  // namespace quadrille::memory
