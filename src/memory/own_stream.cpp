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
  const auto found = std::ranges::find_if(kept.streams, [&](const auto& one) { return one->place() == place; });
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

bool OwnStream::take(const DevicePlace& place, std::size_t marks) {
  for (Mark& one : marks_) one.is_set = false;
  if (place_ == place && stream_ != nullptr && marks_.size() >= marks && token_.is_alive()) return true;
  give_back();
  marks_.reserve(marks);
  place_ = place;
  const AtDeviceBeside at(place);
  if (!token_.take(place)) return false;
  if (driver().create_stream(&stream_, kind_) != 0) stream_ = nullptr;
  void* event = nullptr;
  while (marks_.size() < marks && driver().create_event(&event, untimed) == 0) marks_.push_back({event, false});
  return stream_ != nullptr && marks_.size() == marks;
}

void OwnStream::give_back() {
  token_.give_back([&] {
    for (const Mark& one : marks_) driver().destroy_event(one.event);
    if (stream_ != nullptr) driver().destroy_stream(stream_);
  });
  marks_.clear();
  stream_ = nullptr;
}

void OwnStream::mark() {
  const AtDeviceBeside at(place_);
  if (!marks_.empty()) marks_.front().is_set = driver().record_event(marks_.front().event, nullptr) == 0;
}

OwnStream::Look OwnStream::look_at_mark() const {
  if (marks_.empty() || !marks_.front().is_set) return look_at_stream(place_, nullptr);
  const AtDeviceBeside at(place_);
  const int error = driver().query_event(marks_.front().event);
  if (error == not_ready) return Look::not_yet;
  return error == 0 ? Look::done : look_at_stream(place_, nullptr);
}

OwnStream::Look OwnStream::look() const { return look_at_stream(place_, stream_); }

bool OwnStream::mark(std::size_t number) {
  Mark& one = marks_[number];
  one.is_set = driver().record_event(one.event, stream_) == 0;
  if (!one.is_set) wait_for_stream(stream_);
  return one.is_set;
}

OwnStream::Look OwnStream::look(std::size_t number) {
  if (number >= marks_.size() || !marks_[number].is_set) return Look::done;
  const AtDeviceBeside at(place_);
  const int error = driver().query_event(marks_[number].event);
  if (error == not_ready) return Look::not_yet;
  marks_[number].is_set = false;
  if (error == 0) return Look::done;
  wait_for_stream(stream_);
  return Look::failed;
}

}  // namespace quadrille::memory
