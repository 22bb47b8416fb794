#include "sys/process_memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

namespace quadrille::sys {
namespace {

using Transfer = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

// The system moves at most 2 GiB at a time, and may stop early.
bool transfer(Transfer move, pid_t process, std::uint64_t remote, std::byte* local, std::size_t bytes) {
  constexpr std::size_t most = std::size_t{1} << 30;
  while (bytes > 0) {
    const std::size_t now = std::min(bytes, most);
    const iovec here{local, now};
    const iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(remote)), now};
    const ssize_t moved = move(process, &here, 1, &there, 1, 0);
    if (moved <= 0) {
      if (moved < 0 && errno == EINTR) continue;
      return false;
    }
    local += moved;
    remote += static_cast<std::uint64_t>(moved);
    bytes -= static_cast<std::size_t>(moved);
  }
  return true;
}

}  // namespace

bool read_process(pid_t process, std::uint64_t address, std::byte* to, std::size_t bytes) {
  return transfer(process_vm_readv, process, address, to, bytes);
}

bool write_process(pid_t process, std::uint64_t address, const std::byte* from, std::size_t bytes) {
  return transfer(process_vm_writev, process, address, const_cast<std::byte*>(from), bytes);
}

}  // namespace quadrille::sys
