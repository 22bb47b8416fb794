// Units of 256 bytes, the first fit taken: it is seldom needed, and never for long.
#include "memory/spare.hpp"

#include <cstdint>
#include <mutex>

#include "sys/sys.hpp"

namespace quadrille::memory {
namespace {

constexpr std::size_t unit = 256, units = 4096;
constinit sys::SpinLock busy;
alignas(4096) constinit std::byte reserve[unit * units] = {};
constinit std::uint16_t taken[units] = {};  // [first unit of a block] how many it has

}  // namespace

void* take_spare(std::size_t bytes) noexcept {
  if (bytes > most_spare_bytes) return nullptr;
  const std::size_t wanted = bytes == 0 ? 1 : (bytes + unit - 1) / unit;
  const std::lock_guard lock(busy);
  std::size_t run = 0;  // free units before `u`
  for (std::size_t u = 0; u < units;) {
    if (taken[u] > 0) {
      run = 0;
      u += taken[u];
    } else if (++u, ++run == wanted) {
      taken[u - run] = static_cast<std::uint16_t>(wanted);
      return reserve + (u - run) * unit;
    }
  }
  return nullptr;
}

bool give_spare_back(void* memory) noexcept {
  const std::size_t at = reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(reserve);
  if (at >= sizeof reserve) return false;
  const std::lock_guard lock(busy);
  taken[at / unit] = 0;
  return true;
}

}  // namespace quadrille::memory
