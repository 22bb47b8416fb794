#include "memory/device_batch.hpp"

#include <algorithm>
#include <numeric>

#include "memory/device.hpp"
#include "memory/device_driver.hpp"
#include "memory/device_streams.hpp"

namespace quadrille::memory {

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
  if (!pieces_.are_there() && size() > 0) graph_.make(place, to_, from_, bytes_);
}

void DeviceBatch::put_graph_in_place(const DevicePlace& place) {
  const bool is_better_so = pieces_.are_there() && is_for_kernel(together(true, true));
  if (!driver().is_cuda || size() <= 1 || graph_.is_there() || is_better_so) return;
  const BesideCapture beside;
  graph_.make(place, to_, from_, bytes_);
  if (graph_.is_there()) pieces_.forget();
}

bool DeviceBatch::launch(void* stream) const {
  if (pieces_.are_there() && pieces_.submit(stream)) return true;
  return size() == 0 || (graph_.is_there() && graph_.launch(stream));
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

}  // namespace quadrille::memory
