// Memory that is mapped by hand: addresses are reserved, memory is made and mapped there, and access is given, each by
// a call of its own. A buffer may lie on several such pieces, one behind the other; who copies it does not notice.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "driver.hpp"

namespace quadrille::standin {
namespace {

constexpr int pinned_type = 1, device_location = 1;

bool is_granular(std::size_t bytes) { return bytes != 0 && bytes % mapping_granularity == 0; }

std::pair<const Address, Reservation>* reservation_of(Address at, std::size_t bytes) {
  auto& reservations = driver().reservations;
  const auto next = reservations.upper_bound(at);
  if (next == reservations.begin()) return nullptr;
  auto& found = *std::prev(next);
  const std::size_t offset = at - found.first;
  return offset < found.second.bytes && bytes <= found.second.bytes - offset ? &found : nullptr;
}

// The pieces that make up these bytes; none if they are not whole ones without a hole.
std::vector<Allocation*> pieces_of(Address at, std::size_t bytes) {
  std::vector<Allocation*> pieces;
  for (const Address end = at + bytes; at < end;) {
    const auto found = driver().allocations.find(at);
    if (found == driver().allocations.end() || found->second.kind != Kind::mapped) return {};
    pieces.push_back(&found->second);
    at += found->second.bytes;
    if (at > end) return {};
  }
  return pieces;
}

bool is_taken(Address at, std::size_t bytes) {
  const auto& allocations = driver().allocations;
  const auto next = allocations.lower_bound(at);
  return find(at) != nullptr || (next != allocations.end() && next->first < at + bytes);
}

void hide(void* at, std::size_t bytes) {
  mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void drop_unused(std::uint64_t handle) {
  const auto found = driver().made.find(handle);
  if (found->second.held || found->second.mappings != 0) return;
  close(found->second.file);
  driver().made.erase(found);
}

}  // namespace

int reserve(Address* at, std::size_t bytes) {
  if (at == nullptr || !is_granular(bytes)) return invalid_value;
  const Address base = find_reservable(bytes);
  if (base == 0) return out_of_memory;
  void* const data = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return out_of_memory;
  driver().reservations[base] = {bytes, static_cast<char*>(data)};
  *at = base;
  return success;
}

int give_back(Address at, std::size_t bytes) {
  const auto found = driver().reservations.find(at);
  if (found == driver().reservations.end() || found->second.bytes != bytes || is_taken(at, bytes)) return invalid_value;
  munmap(found->second.data, bytes);
  driver().reservations.erase(found);
  return success;
}

int make_memory(std::uint64_t* handle, std::size_t bytes, const MemoryProperties* properties) {
  if (handle == nullptr || properties == nullptr || !is_granular(bytes)) return invalid_value;
  if (properties->type != pinned_type || properties->location.type != device_location) return not_supported;
  if (!has_device(properties->location.id)) return invalid_device;
  if (bytes > memory_left(properties->location.id)) return out_of_memory;
  const int file = memfd_create("quadrille-mapped", MFD_CLOEXEC);
  if (file < 0) return out_of_memory;
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    close(file);
    return out_of_memory;
  }
  *handle = ++driver().last_made;
  driver().made[*handle] = {file, bytes, *properties};
  return success;
}

int let_go(std::uint64_t handle) {
  const auto found = driver().made.find(handle);
  if (found == driver().made.end() || found->second.held == 0) return invalid_value;
  --found->second.held;
  drop_unused(handle);
  return success;
}

int map_memory(Address at, std::size_t bytes, std::size_t offset, std::uint64_t handle) {
  const auto made = driver().made.find(handle);
  const auto* const reservation = reservation_of(at, bytes);
  if (made == driver().made.end() || made->second.held == 0 || reservation == nullptr) return invalid_value;
  if (offset != 0 || bytes != made->second.bytes) return invalid_value;  // of a whole piece alone, says CUDA
  if ((at - reservation->first) % mapping_granularity != 0 || is_taken(at, bytes)) return invalid_value;
  const int file = made->second.file;
  char* const data = reservation->second.data + (at - reservation->first);
  if (mmap(data, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file, 0) == MAP_FAILED ||
      mmap(reinterpret_cast<void*>(at), bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file, 0) ==
          MAP_FAILED) {
    hide(data, bytes);
    return map_failed;
  }
  Allocation piece;
  piece.kind = Kind::mapped;
  piece.base = at;
  piece.bytes = piece.mapped = bytes;
  piece.data = data;
  piece.device = made->second.properties.location.id;
  piece.id = ++driver().last_id;
  piece.made = handle;
  piece.accessible = false;
  driver().allocations[at] = piece;
  if (!made->second.mapped_before) std::memset(data, 0xA5, bytes);
  made->second.mapped_before = true;
  ++made->second.mappings;
  return success;
}

// It does not wait for what uses it: the program has to.
int unmap(Address at, std::size_t bytes) {
  const std::vector<Allocation*> pieces = pieces_of(at, bytes);
  if (pieces.empty()) return invalid_value;
  for (const Allocation* piece : pieces) {
    const Address base = piece->base;
    const std::uint64_t handle = piece->made;
    hide(piece->data, piece->bytes);
    hide(reinterpret_cast<void*>(base), piece->bytes);
    driver().allocations.erase(base);
    --driver().made.at(handle).mappings;
    drop_unused(handle);
  }
  return success;
}

int give_access(Address at, std::size_t bytes, const Access* access, std::size_t count) {
  const std::vector<Allocation*> pieces = pieces_of(at, bytes);
  if (pieces.empty() || access == nullptr || count == 0) return invalid_value;
  for (std::size_t i = 0; i < count; ++i) {
    if (access[i].location.type != device_location || !has_device(access[i].location.id)) return invalid_device;
    for (Allocation* piece : pieces) {
      if (access[i].location.id == piece->device) piece->accessible = access[i].flags == read_and_write;
    }
  }
  return success;
}

int hold_again(std::uint64_t* handle, Address at) {
  const Allocation* const piece = find(at);
  if (handle == nullptr || piece == nullptr || piece->kind != Kind::mapped) return invalid_value;
  ++driver().made.at(piece->made).held;
  *handle = piece->made;
  return success;
}

int properties_of(MemoryProperties* properties, std::uint64_t handle) {
  const auto found = driver().made.find(handle);
  if (properties == nullptr || found == driver().made.end()) return invalid_value;
  *properties = found->second.properties;
  return success;
}

}  // namespace quadrille::standin
