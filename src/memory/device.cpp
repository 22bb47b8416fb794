#include "memory/device.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "memory/device_driver.hpp"
#include "memory/device_pieces.hpp"
#include "memory/device_streams.hpp"
#include "sys/code.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {

namespace {

// Of CUDA; HIP has them, too.
constexpr int context_attribute = 1, memory_type_attribute = 2, host_pointer_attribute = 4, id_attribute = 7,
              managed_attribute = 8, device_attribute = 9, exportable_attribute = 10;
constexpr unsigned host_memory = 1, device_memory = 2;  // of CUDA
constexpr int relaxed_capture = 2;
constexpr std::size_t most_devices = 64;

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// A look at the libraries, of which so many were ever loaded at the last one, and now.
struct Look {
  unsigned long long before, now;
  std::string driver;  // its path
};

int find_driver(dl_phdr_info* info, std::size_t, void* data) {
  Look& look = *static_cast<Look*>(data);
  look.now = info->dlpi_adds;
  if (look.now == look.before) return 1;
  const std::string_view name = info->dlpi_name != nullptr ? info->dlpi_name : "";
  const std::string_view file = name.substr(name.rfind('/') + 1);
  if (!file.starts_with("libcuda.so") && !file.starts_with("libamdhip64.so")) return 0;
  look.driver = name;
  return 1;
}

// One attribute. False if the driver does not know the memory, or has no such attribute: then `value` is as it was, or
// zero. HIP's function for several returns no error, which would be the program's to find.
template <class Value>
bool ask(const void* address, int attribute, Value& value) {
  void* result = &value;
  if (!driver().is_cuda && driver().pointer_attributes != nullptr) {
    return driver().pointer_attributes(1, &attribute, &result, number(address)) == 0;
  }
  return driver().pointer_attribute(&value, attribute, number(address)) == 0;
}

// Memory of pools, and what is mapped by hand, has no context of its own. It stays retained, as the runtime's does.
void* primary_context(int device) {
  static std::atomic<void*> known[most_devices];
  if (device < 0 || static_cast<std::size_t>(device) >= most_devices) return nullptr;
  std::atomic<void*>& context = known[device];
  if (void* retained = context.load(std::memory_order_acquire)) return retained;
  void* retained = nullptr;
  if (driver().retain_primary(&retained, device) != 0) return nullptr;
  context.store(retained, std::memory_order_release);
  return retained;
}

// For so long another thread's load is looked for. A library on a file system of the network takes seconds.
constexpr std::uint64_t patience = 10'000'000'000;

// Has all been loaded by now that was noted?
bool have_ended(const detail::Loads& loads) {
  return loads.by == detail::Loads::before_us || loads.by == sys::thread_number() ||
         sys::nanoseconds() > detail::last_note.load(std::memory_order_relaxed) + patience;
}

}  // namespace

DriverLibrary::DriverLibrary(void* loaded)
    : handle(loaded), is_cuda(loaded != nullptr && dlsym(loaded, "cuPointerGetAttribute") != nullptr) {
  last_error = sys::Symbol{find(nullptr, "hipGetLastError")};
  if (last_error != nullptr) peek_at_last_error = sys::Symbol{find(nullptr, "hipPeekAtLastError")};
}

void* DriverLibrary::find(const char* of_cuda, const char* of_hip) const {
  const char* const name = is_cuda ? of_cuda : of_hip;
  return handle != nullptr && name != nullptr ? dlsym(handle, name) : nullptr;
}

// Most versions keep no "not ready"; what is kept then is the program's.
void forget_error(int error) {
  const DriverLibrary& of = driver().library;
  if (of.peek_at_last_error != nullptr && of.peek_at_last_error() == error) of.last_error();
}

void note_loading() {
  using detail::Loads;
  detail::last_note.store(sys::nanoseconds(), std::memory_order_relaxed);
  const std::int32_t me = sys::thread_number();
  Loads before = detail::loads.load(std::memory_order_relaxed), now;
  do {
    const bool alone = before.by == me || before.by == Loads::nobody || before.by == Loads::before_us;
    now = {before.notes + 1, alone ? me : Loads::several};
  } while (!detail::loads.compare_exchange_weak(before, now, std::memory_order_acq_rel));
}

namespace detail {

const DeviceDriver* look_for_driver() {
  static std::mutex mutex;
  std::unique_lock lock(mutex);
  if (const DeviceDriver* known = driver.load(std::memory_order_acquire)) return known;
  Loads noted = loads.load(std::memory_order_acquire);
  const bool ended = have_ended(noted);
  static unsigned long long loaded = 0;
  Look look{loaded, loaded, {}};
  dl_iterate_phdr(find_driver, &look);
  static DeviceDriver kept;
  if (!look.driver.empty()) {
    // Without the lock: this waits until another thread's load has ended, and what that begins may call us.
    lock.unlock();
    // A driver stays: programs do not unload it, and neither does its library.
    const DriverLibrary library(dlopen(look.driver.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
    const DeviceDriver found(library);
    lock.lock();
    if (found.is_usable() && driver.load(std::memory_order_acquire) == nullptr) {
      kept = found;
      driver.store(&kept, std::memory_order_release);
    }
  }
  loaded = look.now;
  // What was noted meanwhile is looked for again.
  if (ended) loads.compare_exchange_strong(noted, {noted.notes, Loads::nobody}, std::memory_order_acq_rel);
  return driver.load(std::memory_order_acquire);
}

}  // namespace detail

namespace {

// Where the driver gives no answer: the processor cannot read what is a device's alone.
Where as_the_processor_sees(const void* address) { return sys::is_readable(address) ? Where::host : Where::unknown; }

Where find_on_cuda(const void* address, DevicePlace& place) {
  unsigned type = 0;
  int attributes[] = {memory_type_attribute, context_attribute, device_attribute};
  void* results[] = {&type, &place.context, &place.device};
  if (driver().pointer_attributes(3, attributes, results, number(address)) != 0) return as_the_processor_sees(address);
  if (type == 0 || type == host_memory) return Where::host;
  if (place.context == nullptr) place.context = primary_context(place.device);
  return Where::device;
}

// HIP's numbers of types have changed, and managed memory has that of the host's in some versions. So: what has a
// device, and no address on the host unless it is managed. Pinned memory has both. What HIP does not say stays as it is
// here.
Where find_on_hip(const void* address, DevicePlace& place) {
  void* on_host = nullptr;
  std::uint64_t managed = 0;  // HIP writes one byte, or four
  int device = -1;
  int attributes[] = {device_attribute, host_pointer_attribute, managed_attribute};
  void* results[] = {&device, &on_host, &managed};
  if (driver().pointer_attributes != nullptr) {
    if (driver().pointer_attributes(3, attributes, results, number(address)) != 0)
      return as_the_processor_sees(address);
  } else {
    for (int i = 0; i < 3; ++i) driver().pointer_attribute(results[i], attributes[i], number(address));
    if (device < 0) return as_the_processor_sees(address);
  }
  if (device < 0 || (on_host != nullptr && managed == 0)) return Where::host;
  place.device = device;
  return Where::device;
}

// Of HIP before 7.11, which does not say it: it is tried, once for each piece of memory that is asked for lately.
bool can_be_exported_by_trying(const void* address) {
  struct Known {
    std::uint64_t id = 0;
    bool can = false;
  };
  static std::mutex mutex;
  static std::array<Known, 32> known;
  static std::size_t next = 0;
  const std::uint64_t id = memory_id(address);
  if (id == 0) return false;
  const std::lock_guard lock(mutex);
  for (const Known& one : known) {
    if (one.id == id) return one.can;
  }
  DevicePlace place;
  IpcHandle handle;
  const bool is_of_device = find_on_hip(address, place) == Where::device;
  const AtDevice at(place);
  const bool can = is_of_device && driver().export_memory(&handle, number(address)) == 0;
  known[next++ % known.size()] = {id, can};
  return can;
}

}  // namespace

Where find_memory(const void* address, DevicePlace& place) {
  place = {};
  return driver().is_cuda ? find_on_cuda(address, place) : find_on_hip(address, place);
}

Exportable exportable(const void* address) {
  constexpr std::uint32_t no_answer = 0xA5A5A5A5;
  std::uint32_t answer = driver().is_cuda ? 0 : no_answer;  // of one byte or four
  if (!ask(address, exportable_attribute, answer)) answer = driver().is_cuda ? 0 : no_answer;
  if (answer == no_answer) return Exportable::unknown;
  return answer != 0 ? Exportable::yes : Exportable::no;
}

bool can_be_exported(const void* address) {
  const Exportable said = exportable(address);
  return said == Exportable::unknown ? can_be_exported_by_trying(address) : said == Exportable::yes;
}

AtDevice::AtDevice(const DevicePlace& place) {
  if (driver().is_cuda) {
    changed_ = place.context != nullptr && driver().push_context(place.context) == 0;
  } else if (place.device >= 0 && driver().get_device(&before_) == 0 && before_ != place.device) {
    changed_ = driver().set_device(place.device) == 0;
  }
}

AtDevice::~AtDevice() {
  if (!changed_) return;
  void* context = nullptr;
  driver().is_cuda ? driver().pop_context(&context) : driver().set_device(before_);
}

BesideCapture::BesideCapture() : mode_(relaxed_capture) {
  if (device_driver() == nullptr) return;
  changed_ = driver().exchange_capture_mode != nullptr && driver().exchange_capture_mode(&mode_) == 0;
}
BesideCapture::~BesideCapture() {
  if (changed_) driver().exchange_capture_mode(&mode_);
}

// The driver finds out what is where.
bool DeviceCopies::copy_bytes(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) const {
  if (driver().is_cuda) return driver().copy_cuda(to, from, bytes, stream_) == 0;
  return driver().copy_hip(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes, any_direction,
                           stream_) == 0;
}

void DeviceCopies::copy(const DeviceRows& rows) {
  under_way_ = true;
  failed_ = !copy_rows(rows, any_memory, any_memory) || failed_;
}

// Pitches that no driver takes are left to copies of single rows.
bool DeviceCopies::copy_rows(const DeviceRows& rows, unsigned from_type, unsigned to_type) const {
  const std::uintptr_t to = number(rows.to), from = number(rows.from);
  const auto width = static_cast<std::ptrdiff_t>(rows.width);
  if (rows.rows > 1 && rows.to_pitch >= width && rows.from_pitch >= width) {
    const auto to_pitch = static_cast<std::size_t>(rows.to_pitch),
               from_pitch = static_cast<std::size_t>(rows.from_pitch);
    const CudaRows all = {{0, 0, from_type, rows.from, from, nullptr, from_pitch},
                          {0, 0, to_type, rows.to, to, nullptr, to_pitch},
                          rows.width,
                          rows.rows};
    const int error = driver().is_cuda ? driver().copy_rows_cuda(&all, stream_)
                                       : driver().copy_rows_hip(rows.to, to_pitch, rows.from, from_pitch, rows.width,
                                                                rows.rows, any_direction, stream_);
    if (error == 0) return true;
  }
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const auto at = static_cast<std::ptrdiff_t>(row);
    if (!copy_bytes(to + static_cast<std::uintptr_t>(at * rows.to_pitch),
                    from + static_cast<std::uintptr_t>(at * rows.from_pitch), rows.width)) {
      return false;
    }
  }
  return true;
}

void DeviceCopies::move(To to, const Regions& regions, std::ptrdiff_t moved, const DevicePieces& pieces) {
  under_way_ = true;
  if (pieces.are_there() && pieces.submit(stream_)) return;
  for (const Region& region : regions) {
    void* const device = reinterpret_cast<void*>(region.begin);
    void* const host = reinterpret_cast<void*>(region.begin + moved);
    const auto pitch = static_cast<std::ptrdiff_t>(region.pitch);
    const bool done =
        to == To::host ? copy_rows({host, device, region.bytes, region.rows, pitch, pitch}, device_memory, host_memory)
                       : copy_rows({device, host, region.bytes, region.rows, pitch, pitch}, host_memory, device_memory);
    failed_ = !done || failed_;
  }
}

bool DeviceCopies::wait() {
  if (std::exchange(under_way_, false)) failed_ = driver().synchronize(stream_) != 0 || failed_;
  return !std::exchange(failed_, false);
}

bool DeviceCopies::leave() {
  under_way_ = false;
  return !std::exchange(failed_, false);
}

void* allocate_pinned(std::size_t bytes) {
  if (driver().free_pinned == nullptr) return nullptr;
  void* memory = nullptr;
  const bool is_there =
      driver().is_cuda ? driver().allocate_cuda(&memory, bytes) == 0 : driver().allocate_hip(&memory, bytes, 0) == 0;
  return is_there ? memory : nullptr;
}

void free_pinned(void* memory) { driver().free_pinned(memory); }

std::uint64_t memory_id(const void* memory) {
  std::uint64_t id = 0;
  return ask(memory, id_attribute, id) ? id : 0;
}

namespace {

std::atomic<void*> lent_context = nullptr;  // CUDA's
std::atomic<int> lent_device = -1;          // HIP's

}  // namespace

void lend_context(const DevicePlace& place) {
  if (place.context != nullptr) lent_context.store(place.context, std::memory_order_release);
  if (place.device >= 0) lent_device.store(place.device, std::memory_order_release);
}

void lend_current_context() {
  if (device_driver() != nullptr) lend_context(place_of_stream(nullptr));
}

void borrow_context(Borrowed& borrowed) {
  const DevicePlace lent{lent_context.load(std::memory_order_acquire), lent_device.load(std::memory_order_acquire)};
  if (lent == borrowed.place) return;
  const DeviceDriver* const driver = device_driver();
  if (driver == nullptr) return;
  if (!driver->is_cuda) {
    if (lent.device >= 0) driver->set_device(lent.device);
  } else if (lent.context != borrowed.place.context) {
    // What was borrowed before goes; it may have been destroyed meanwhile, which is no matter.
    void* before = nullptr;
    if (borrowed.is_current) driver->pop_context(&before);
    borrowed.is_current = driver->push_context(lent.context) == 0;
  }
  borrowed.place = lent;
}

}  // namespace quadrille::memory
