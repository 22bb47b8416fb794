#include "memory/own_stream.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "memory/device_streams.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

struct KeptStreams {
  KeptStreams() { streams.reserve(most); }
  static constexpr std::size_t most = 64;
  std::mutex mutex;
  std::vector<std::unique_ptr<OwnStream>> streams;
  bool ended = false;
};
KeptStreams& kept_streams() { return sys::immortal<KeptStreams>(); }

std::unique_ptr<OwnStream> take_kept(const DevicePlace& place) {
  KeptStreams& kept = kept_streams();
  const std::lock_guard lock(kept.mutex);
  const auto found =
      std::find_if(kept.streams.begin(), kept.streams.end(), [&](const auto& one) { return one->is_at(place); });
  if (found == kept.streams.end()) return nullptr;
  std::unique_ptr<OwnStream> taken = std::move(*found);
  kept.streams.erase(found);
  return taken;
}

}  // namespace

LentStream borrow_stream(const DevicePlace& place) {
  std::unique_ptr<OwnStream> taken = take_kept(place);
  if (taken == nullptr) taken = std::make_unique<OwnStream>();
  taken->take(place);  // what went with its context is made anew
  return LentStream(taken.release());
}

void GiveStreamBack::operator()(OwnStream* stream) const {
  std::unique_ptr<OwnStream> back(stream);
  KeptStreams& kept = kept_streams();
  const std::lock_guard lock(kept.mutex);
  if (kept.ended) {
    static_cast<void>(back.release());  // it goes with the process
    return;
  }
  if (kept.streams.size() < KeptStreams::most) kept.streams.push_back(std::move(back));
}

void free_streams() {
  std::vector<std::unique_ptr<OwnStream>> gone;
  KeptStreams& kept = kept_streams();
  const std::lock_guard lock(kept.mutex);
  kept.ended = true;
  gone.swap(kept.streams);
}

OwnStream::Look look_at_stream(const DevicePlace& place, void* stream) {
  const AtDeviceBeside at(place);
  if (driver().query_stream != nullptr) {
    const int error = driver().query_stream(stream);
    if (error == 0) return OwnStream::Look::done;
    if (error == not_ready) return OwnStream::Look::not_yet;
  }
  const bool waited = driver().synchronize(stream) == 0;
  return waited && driver().query_stream == nullptr ? OwnStream::Look::done : OwnStream::Look::failed;
}

void OwnStream::take(const DevicePlace& place) {
  if (place_ == place && token_.is_alive()) return;
  give_back();
  place_ = place;
  if (!driver().has_streams()) return;
  const AtDeviceBeside at(place);
  if (!token_.take(place)) return;
  if (driver().create_stream(&stream_, independent) != 0) stream_ = nullptr;
  if (!driver().has_events() || driver().create_event(&event_, untimed) != 0) event_ = nullptr;
}

void OwnStream::give_back() {
  token_.give_back([&] {
    if (event_ != nullptr) driver().destroy_event(event_);
    if (stream_ != nullptr) driver().destroy_stream(stream_);
  });
  event_ = stream_ = nullptr;
}

void OwnStream::mark() {
  const AtDeviceBeside at(place_);
  is_marked_ = event_ != nullptr && driver().record_event(event_, nullptr) == 0;
}

OwnStream::Look OwnStream::look_at_mark() const {
  if (!is_marked_) return look_at_stream(place_, nullptr);
  const AtDeviceBeside at(place_);
  const int error = driver().query_event(event_);
  if (error == not_ready) return Look::not_yet;
  return error == 0 ? Look::done : look_at_stream(place_, nullptr);
}

OwnStream::Look OwnStream::look() const { return look_at_stream(place_, stream_); }

}  // namespace quadrille::memory
