// Allocations. A device's memory is in one range of addresses that nobody else has; the lowest free ones are given, so
// that what was freed comes back with the next allocation.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "driver.hpp"

namespace quadrille::standin {
namespace {

constexpr std::size_t arena_bytes = std::size_t{1} << 38;
constexpr std::size_t page = 4096;
constexpr std::size_t overwritten = std::size_t{64} << 20;  // of each allocation, at most
constexpr unsigned char fresh = 0xA5, freed = 0xDD;

Address arena() {
  static const Address begin = [] {
    void* const at = mmap(nullptr, arena_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) std::abort();
    return reinterpret_cast<Address>(at);
  }();
  return begin;
}

// What is mapped by hand is in the upper half.
constexpr std::size_t half = arena_bytes / 2;

// The first gap between the entries of a map by address, and a page to the next one, so that who goes beyond an end is
// nowhere.
template <class Entries>
Address find_gap(const Entries& entries, Address begin, std::size_t bytes) {
  Address at = begin;
  for (auto entry = entries.lower_bound(begin); entry != entries.end() && entry->first - begin < half; ++entry) {
    if (entry->first - at >= bytes + page) return at;
    at = entry->first + pages(entry->second.bytes) + page;
  }
  return begin + half - at >= bytes + page ? at : 0;
}

void overwrite(const Allocation& allocation, int value) {
  std::memset(allocation.data, value, std::min(allocation.bytes, overwritten));
}

// The program sees nothing but addresses; the driver has the bytes elsewhere.
bool map_twice(Allocation& allocation) {
  allocation.base = find_gap(driver().allocations, arena(), pages(allocation.bytes));
  if (allocation.base == 0) return false;
  void* const data =
      mmap(nullptr, allocation.mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, allocation.file, 0);
  if (data == MAP_FAILED) return false;
  void* const seen = mmap(reinterpret_cast<void*>(allocation.base), pages(allocation.bytes), PROT_NONE,
                          MAP_SHARED | MAP_FIXED | MAP_NORESERVE, allocation.file, 0);
  if (seen == MAP_FAILED) {
    munmap(data, allocation.mapped);
    return false;
  }
  allocation.data = static_cast<char*>(data);
  return true;
}

Allocation& keep(Allocation allocation) {
  allocation.id = ++driver().last_id;
  return driver().allocations[allocation.base] = allocation;
}

int allocate_host(Context& context, Kind kind, std::size_t bytes, Address* made) {
  void* const at = mmap(nullptr, pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return out_of_memory;
  Allocation allocation;
  allocation.kind = kind;
  allocation.base = reinterpret_cast<Address>(at);
  allocation.bytes = bytes;
  allocation.mapped = pages(bytes);
  allocation.data = static_cast<char*>(at);
  allocation.context = &context;
  allocation.device = context.device;
  keep(allocation);
  *made = allocation.base;
  return success;
}

}  // namespace

bool is_in_arena(Address address) { return address - arena() < arena_bytes; }

int map_file(Kind kind, int file, std::size_t bytes, std::size_t mapped, Allocation*& made) {
  struct stat status {};
  Allocation allocation;
  allocation.kind = kind;
  allocation.bytes = bytes;
  allocation.mapped = mapped;
  allocation.file = file;
  if (fstat(file, &status) != 0 || !map_twice(allocation)) return map_failed;
  allocation.inode = status.st_ino;
  made = &keep(allocation);
  return success;
}

std::size_t memory_left(int device) {
  std::size_t taken = 0;
  for (const auto& [base, allocation] : driver().allocations) {
    const bool counts = allocation.is_device() && allocation.kind != Kind::opened && allocation.kind != Kind::mapped;
    if (counts && allocation.device == device) taken += allocation.bytes;
  }
  for (const auto& [handle, made] : driver().made) {
    if (made.properties.location.id == device) taken += made.bytes;
  }
  return driver().settings.memory - std::min(driver().settings.memory, taken);
}

int get_memory_left(const Context& context, std::size_t* available, std::size_t* total) {
  if (available == nullptr || total == nullptr) return invalid_value;
  *available = memory_left(context.device);
  *total = driver().settings.memory;
  return success;
}

Address find_reservable(std::size_t bytes) { return find_gap(driver().reservations, arena() + half, bytes); }

int allocate(Context& context, Kind kind, std::size_t bytes, Address* made) {
  if (made == nullptr || bytes == 0) return invalid_value;
  if (bytes > half) return out_of_memory;
  if (kind == Kind::pinned || kind == Kind::managed) return allocate_host(context, kind, bytes, made);
  if (bytes > memory_left(context.device)) return out_of_memory;
  const int file = memfd_create("quadrille-device", MFD_CLOEXEC);
  if (file < 0) return out_of_memory;
  Allocation* allocation = nullptr;
  const std::size_t mapped = pages(bytes) + page;
  if (ftruncate(file, static_cast<off_t>(mapped)) != 0 || map_file(kind, file, bytes, mapped, allocation) != success) {
    close(file);
    return out_of_memory;
  }
  allocation->context = kind == Kind::pool ? nullptr : &context;
  allocation->device = context.device;
  allocation->footer()->alive = 1;
  overwrite(*allocation, fresh);
  *made = allocation->base;
  return success;
}

int allocate_pointer(Context& context, Kind kind, void** made, std::size_t bytes) {
  Address address = 0;
  const int error = made == nullptr ? static_cast<int>(invalid_value) : allocate(context, kind, bytes, &address);
  if (error == success) *made = reinterpret_cast<void*>(address);
  return error;
}

Allocation* find(Address address) {
  auto& allocations = driver().allocations;
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin()) return nullptr;
  Allocation& allocation = std::prev(next)->second;
  return address - allocation.base < allocation.bytes ? &allocation : nullptr;
}

std::size_t bytes_from(const Allocation& allocation, Address address) {
  std::size_t bytes = allocation.bytes - (address - allocation.base);
  if (allocation.kind != Kind::mapped) return bytes;
  const auto& allocations = driver().allocations;
  // A page of nobody's is between two reservations.
  for (auto next = allocations.find(address + bytes);
       next != allocations.end() && next->second.accessible == allocation.accessible;
       next = allocations.find(address + bytes)) {
    bytes += next->second.bytes;
  }
  return bytes;
}

char* reach(Allocation& allocation, Address address, std::size_t bytes) {
  if (!allocation.accessible || bytes > bytes_from(allocation, address)) return nullptr;
  if (allocation.is_file() && __atomic_load_n(&allocation.footer()->alive, __ATOMIC_ACQUIRE) == 0) {
    ++driver().stale;
    return nullptr;
  }
  return allocation.data + (address - allocation.base);
}

char* reach(Address address, std::size_t bytes) {
  Allocation* const allocation = find(address);
  if (allocation == nullptr) return is_in_arena(address) ? nullptr : reinterpret_cast<char*>(address);
  return reach(*allocation, address, bytes);
}

void release(Allocation& allocation) {
  if (allocation.is_file()) {
    if (allocation.kind != Kind::opened) {
      overwrite(allocation, freed);
      __atomic_store_n(&allocation.footer()->alive, 0, __ATOMIC_RELEASE);
    }
    munmap(allocation.data, allocation.mapped);
    mmap(reinterpret_cast<void*>(allocation.base), pages(allocation.bytes), PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    close(allocation.file);
  } else if (allocation.kind != Kind::registered) {
    munmap(allocation.data, allocation.mapped);
  }
  driver().allocations.erase(allocation.base);
}

void release_all(const Context& context) {
  std::vector<Address> gone;
  for (const auto& [base, allocation] : driver().allocations) {
    if (allocation.context == &context) gone.push_back(base);
  }
  for (const Address base : gone) release(driver().allocations[base]);
}

int free_device(Context& context, Address address) {
  if (address == 0) return success;
  Allocation* allocation = find(address);
  if (allocation == nullptr || allocation->base != address) return invalid_value;
  if (allocation->kind != Kind::device && allocation->kind != Kind::managed && allocation->kind != Kind::pool) {
    return invalid_value;
  }
  // That of a pool does not wait for what uses it, says CUDA.
  if (allocation->kind != Kind::pool) {
    if (allocation->context != &context) return invalid_context;
    wait_for_all(context);
    allocation = find(address);
    if (allocation == nullptr) return invalid_value;
  }
  release(*allocation);
  return success;
}

int free_host(void* at, Kind kind) {
  const auto address = reinterpret_cast<Address>(at);
  const int unknown_memory = kind == Kind::registered ? not_registered : invalid_value;
  Allocation* allocation = find(address);
  if (allocation == nullptr || allocation->base != address || allocation->kind != kind) return unknown_memory;
  wait_for_all(*allocation->context);
  allocation = find(address);
  if (allocation == nullptr) return unknown_memory;
  release(*allocation);
  return success;
}

int register_host(Context& context, void* at, std::size_t bytes) {
  const auto address = reinterpret_cast<Address>(at);
  if (address == 0 || bytes == 0 || address + bytes < address || is_in_arena(address)) return invalid_value;
  auto& allocations = driver().allocations;
  const auto next = allocations.lower_bound(address);
  const bool meets_next = next != allocations.end() && next->first < address + bytes;
  if (find(address) != nullptr || meets_next) return already_registered;
  Allocation allocation;
  allocation.kind = Kind::registered;
  allocation.base = address;
  allocation.bytes = bytes;
  allocation.data = static_cast<char*>(at);
  allocation.context = &context;
  allocation.device = context.device;
  keep(allocation);
  return success;
}

}  // namespace quadrille::standin
