#include "memory/reach.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <string_view>
#include <utility>

#include "memory/heap.hpp"
#include "sys/code.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

constexpr std::pair<std::string_view, bool Ways::*> all_ways[] = {
    {"heap", &Ways::heap},         {"xpmem", &Ways::xpmem},         {"cma", &Ways::cma_read}, {"cma", &Ways::cma_write},
    {"cma-read", &Ways::cma_read}, {"cma-write", &Ways::cma_write}, {"ring", &Ways::ring}};

}  // namespace

std::string parse_ways(const std::string& text, Ways& ways) {
  Ways read{false, false, false, false, false};
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    bool known = false;
    for (const auto& [of, way] : all_ways) {
      if (of == name) known = read.*way = true;
    }
    if (!known) return "expected names of heap, xpmem, cma, cma-read, cma-write, ring, not \"" + name + "\"";
    begin = end + 1;
  }
  ways = read;
  return {};
}

// ---- XPMEM ----

namespace {

// Constants of xpmem.h.
constexpr int permit_by_mode = 1;
constexpr int read_and_write = 2;  // also for reading: a page that only reads may be of zeros that are
                                   // not the owner's once he writes
constexpr int known_major_version = 2;
constexpr std::uintptr_t owner_only = 0600;

// More than a page at once, so that neighbouring blocks are found attached.
constexpr std::uint64_t chunk = std::uint64_t{2} << 20;
// Programs have no memory from here on (x86-64 and AArch64 with 47 bits; above it, pages are attached).
constexpr std::uint64_t end_of_memory = 0x7ffffffff000;

std::uint64_t round_down(std::uint64_t value, std::uint64_t unit) { return value / unit * unit; }

// All that was offered lies in [begin, end), in whole chunks as peers attach it.
struct Offered {
  std::atomic<std::uint64_t> begin{UINT64_MAX}, end{0};
  std::atomic<std::uint64_t> generation{1};
};
constinit Offered offered;

}  // namespace

XpmemHere start_xpmem(const char* name) {
  const auto without = [](Why why) { return XpmemHere{{}, -1, std::move(why)}; };
  void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return without({Reason::library_not_found, name});
  const auto find = [library](const char* function) { return sys::Symbol{dlsym(library, function)}; };
  const XpmemCalls calls{find("xpmem_version"), find("xpmem_make"),   find("xpmem_remove"), find("xpmem_get"),
                         find("xpmem_release"), find("xpmem_attach"), find("xpmem_detach")};
  if (calls.version == nullptr || calls.make == nullptr || calls.remove == nullptr || calls.get == nullptr ||
      calls.release == nullptr || calls.attach == nullptr || calls.detach == nullptr) {
    return without({Reason::library_lacks_function, name});
  }
  const int version = calls.version();
  if (version < 0) return without({Reason::no_xpmem_in_kernel});
  const int here = version >> 16;
  if (here != known_major_version)
    return without({.reason = Reason::xpmem_version, .number = static_cast<double>(here)});
  const std::int64_t segment = calls.make(nullptr, SIZE_MAX, permit_by_mode, reinterpret_cast<void*>(owner_only));
  if (segment == 0 || segment == -1) return without({Reason::no_xpmem_segment});
  return {calls, segment, {}};
}

void stop_xpmem(XpmemHere& here) {
  if (here.segment != -1) here.calls.remove(here.segment);
  here.segment = -1;
}

XpmemHere& xpmem_here() {
  static auto* here = new XpmemHere(start_xpmem("libxpmem.so.0"));  // outlives all destructors
  return *here;
}

XpmemPeer::XpmemPeer(const XpmemCalls& calls, std::int64_t segment) : calls_(&calls) {
  if (segment == -1) return;
  access_ = calls.get(segment, read_and_write, permit_by_mode, nullptr);
  if (access_ == 0) access_ = -1;
}

XpmemPeer::~XpmemPeer() {
  drop_all();
  if (access_ != -1) calls_->release(access_);
}

bool XpmemPeer::usable() const { return access_ != -1; }

XpmemPeer::XpmemPeer(XpmemPeer&& other) noexcept { *this = std::move(other); }

XpmemPeer& XpmemPeer::operator=(XpmemPeer&& other) noexcept {
  std::swap(calls_, other.calls_);
  std::swap(access_, other.access_);
  std::swap(generation_, other.generation_);
  std::swap(clock_, other.clock_);
  std::swap(parts_, other.parts_);
  return *this;
}

// Null on failure.
std::byte* XpmemPeer::attach(std::uint64_t begin, std::uint64_t end) const {
  void* here = calls_->attach({access_, static_cast<off_t>(begin)}, end - begin, nullptr);
  return here == reinterpret_cast<void*>(-1) ? nullptr : static_cast<std::byte*>(here);
}

bool XpmemPeer::reads_word(std::uint64_t address, std::uint64_t word) const {
  if (!usable()) return false;
  const std::uint64_t begin = round_down(address, sys::page_size());
  std::byte* here = attach(begin, begin + sys::page_size());
  if (here == nullptr) return false;
  const bool same = *reinterpret_cast<volatile std::uint64_t*>(here + (address - begin)) == word;
  calls_->detach(here);
  return same;
}

std::byte* XpmemPeer::map(std::uint64_t address, std::size_t bytes, std::uint64_t generation) {
  constexpr std::uint64_t last = UINT64_MAX - chunk;  // so that rounding does not wrap
  if (!usable() || address > last || bytes > last - address) return nullptr;
  if (generation != generation_) drop_all();
  generation_ = generation;
  const auto found =
      std::ranges::find_if(parts_, [&](const Part& p) { return p.begin <= address && address + bytes <= p.end; });
  Part* part = found != parts_.end() ? &*found : attach_around(address, bytes);
  if (part == nullptr) return nullptr;
  part->used = ++clock_;
  return part->here + (address - part->begin);
}

XpmemPeer::Part* XpmemPeer::attach_around(std::uint64_t address, std::size_t bytes) {
  if (parts_.size() >= most_attached) drop_oldest();
  for (const std::uint64_t unit : {chunk, static_cast<std::uint64_t>(sys::page_size())}) {
    const std::uint64_t begin = round_down(address, unit), end = sys::round_up(address + bytes, unit);
    if (unit == chunk && end > end_of_memory) continue;
    if (std::byte* here = attach(begin, end)) {
      parts_.push_back({begin, end, here, 0});
      return &parts_.back();
    }
  }
  return nullptr;
}

void XpmemPeer::drop_oldest() {
  const auto oldest = std::ranges::min_element(parts_, {}, &Part::used);
  calls_->detach(oldest->here);
  *oldest = parts_.back();
  parts_.pop_back();
}

void XpmemPeer::drop_all() {
  for (const Part& part : parts_) calls_->detach(part.here);
  parts_.clear();
}

std::uint64_t note_offered(const void* address, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const std::uint64_t begin = round_down(first, chunk), end = sys::round_up(first + bytes, chunk);
  for (std::uint64_t known = offered.begin.load();
       begin < known && !offered.begin.compare_exchange_weak(known, begin);) {
  }
  for (std::uint64_t known = offered.end.load(); end > known && !offered.end.compare_exchange_weak(known, end);) {
  }
  if (!mappings_are_watched()) offered.generation.fetch_add(1);  // peers attach anew in each call
  return offered.generation.load();
}

void note_unmapped(const void* address, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const std::uint64_t begin = offered.begin.load(), end = offered.end.load();
  if (first < end && (first >= begin || bytes > begin - first)) offered.generation.fetch_add(1);
}

}  // namespace quadrille::memory
