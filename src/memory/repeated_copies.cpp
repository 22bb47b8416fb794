#include "memory/repeated_copies.hpp"

#include <algorithm>

namespace quadrille::memory {

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
