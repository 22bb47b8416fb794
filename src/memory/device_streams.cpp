#include "memory/device_streams.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <utility>

#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

// Of both drivers.
constexpr int no_context = 201, would_wait_for_capture = 906;
constexpr unsigned until_equal = 1;  // of a wait; so numbers may wrap
constexpr std::size_t page_bytes = 4096, words_of_page = page_bytes / sizeof(StreamWords);

// Ordinary memory, so that it stays when its context goes. Only the registration is the context's.
struct alignas(page_bytes) Page {
  std::array<StreamWords, words_of_page> words;
};
static_assert(sizeof(Page) == page_bytes && sizeof(std::atomic<std::uint32_t>) == 4);

struct AllWords {
  std::mutex mutex;
  std::vector<Page*> pages;  // all that there ever were
  std::vector<StreamWords*> free;
  std::vector<DevicePlace> refusing;  // the driver has no streams there that wait for words
};
AllWords& all_words() { return sys::immortal<AllWords>(); }

Page* page_of(const StreamWords& words) {
  return reinterpret_cast<Page*>(reinterpret_cast<std::uintptr_t>(&words) / page_bytes * page_bytes);
}

// Where the device finds it; 0 if it does not, or not any more.
std::uintptr_t address_on_device(Page* page) {
  std::uintptr_t address = 0;
  return driver().address_on_device(&address, page, 0) == 0 ? address : 0;
}

bool is_registered(Page* page) { return address_on_device(page) == page->words[0].on_device; }

// Throws std::bad_alloc.
bool add_page(const DevicePlace& place, void* stream) {
  AllWords& all = all_words();
  all.pages.reserve(all.pages.size() + 1);
  all.free.reserve((all.pages.size() + 1) * words_of_page);  // for when they come back
  auto page = std::make_unique<Page>();
  if (driver().register_host(page.get(), page_bytes, for_all_contexts) != 0) return false;
  Page* const made = page.release();  // stays: a stream may use it from here on
  all.pages.push_back(made);
  const std::uintptr_t begin = address_on_device(made);
  for (std::size_t i = 0; i < words_of_page; ++i) {
    made->words[i].on_device = begin + i * sizeof(StreamWords);
    made->words[i].place = place;
  }
  if (begin == 0) return false;
  // The first words of a page serve to try whether streams write and wait.
  const StreamWords& first = made->words[0];
  if (!write_in_stream(stream, first, Word::ready, 1)) return false;
  if (!wait_in_stream(stream, first, Word::ready, 1)) return false;
  for (std::size_t i = words_of_page; i-- > 1;) all.free.push_back(&made->words[i]);
  return true;
}

}  // namespace

bool is_usable_stream(void* stream) {
  if (driver().is_capturing == nullptr) return true;
  int status = 0;
  const int error = driver().is_capturing(stream, &status);
  // Without a context of this thread it is none that captures.
  return error == no_context || (error == 0 && status == 0);
}

DevicePlace place_of_stream(void* stream) {
  DevicePlace place;
  if (!driver().is_cuda) {
    if (driver().get_device(&place.device) != 0) place.device = -1;
    return place;
  }
  constexpr std::uintptr_t last_without_handle = 2;  // the NULL stream's two names, and the thread's own
  if (reinterpret_cast<std::uintptr_t>(stream) > last_without_handle &&
      driver().context_of_stream(stream, &place.context) == 0) {
    return place;
  }
  if (driver().current_context(&place.context) != 0) place.context = nullptr;
  return place;
}

StreamWords* take_words(const DevicePlace& place, void* stream) {
  AllWords& all = all_words();
  const std::lock_guard lock(all.mutex);
  while (std::ranges::find(all.refusing, place) == all.refusing.end()) {
    const auto found = std::ranges::find(all.free, place, &StreamWords::place);
    if (found == all.free.end()) {
      const BesideCapture beside;
      if (!add_page(place, stream)) all.refusing.push_back(place);
      continue;
    }
    StreamWords* const words = *found;
    all.free.erase(found);
    // Another context may have got the handle of one that is gone, and with it its registrations.
    if (is_registered(page_of(*words))) return words;
  }
  return nullptr;
}

void give_words_back(StreamWords& words) {
  AllWords& all = all_words();
  const std::lock_guard lock(all.mutex);
  all.free.push_back(&words);  // there is room
}

void free_words() {
  AllWords& all = all_words();
  const std::lock_guard lock(all.mutex);
  for (Page* const page : all.pages) {
    const AtDevice at(page->words[0].place);
    if (is_registered(page)) driver().unregister_host(page);
  }
  all.pages.clear();
  all.free.clear();
  all.refusing.clear();
}

bool write_in_stream(void* stream, const StreamWords& words, Word word, std::uint32_t value) {
  return driver().write_value(stream, words.on_device + 4 * static_cast<std::uintptr_t>(word), value, 0) == 0;
}

bool wait_in_stream(void* stream, const StreamWords& words, Word word, std::uint32_t value) {
  const std::uintptr_t address = words.on_device + 4 * static_cast<std::uintptr_t>(word);
  if (driver().is_cuda) return driver().wait_for_value_cuda(stream, address, value, until_equal) == 0;
  return driver().wait_for_value_hip(stream, address, value, until_equal, UINT32_MAX) == 0;
}

bool wait_for_stream(void* stream) { return driver().synchronize(stream) == 0; }

bool is_lost(const DevicePlace& place) {
  if (driver().query_stream == nullptr) return false;
  const AtDevice at(place);
  if (place.context != nullptr && !at.has_changed()) return true;
  const BesideCapture beside;
  const int error = driver().query_stream(nullptr);
  return error != 0 && error != not_ready && error != would_wait_for_capture;
}

// ---- Streams of the library ----

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
