#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "sys/kernel_files.hpp"
#include "sys/sys.hpp"

namespace quadrille::sys {
namespace {

// A number for a descriptor of ours, far from those of the program, which counts from 3; and one that the table of
// this process has room for. A table that several threads share grows only after all processors have passed through
// the kernel, which takes 5 to 20 ms.
int high_descriptor() {
  constexpr int most = 900, from_the_end = 16;
  const auto room = static_cast<int>(KernelFile{"/proc/self/status"}.number_behind("FDSize:"));
  return room > 2 * from_the_end ? std::min(most, room - from_the_end) : most;
}

std::byte* raw_mmap(void* address, std::size_t bytes, int protection, int flags, int descriptor) {
  const long result = syscall(SYS_mmap, address, bytes, protection, flags, descriptor, 0L);
  return result == -1 ? nullptr : reinterpret_cast<std::byte*>(result);
}

// Copies [from, end) of a file to the same offsets of `target`.
bool read_range(int descriptor, std::byte* target, std::size_t from, std::size_t end) {
  while (from < end) {
    const ssize_t got = pread(descriptor, target + from, end - from, static_cast<off_t>(from));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    from += static_cast<std::size_t>(got);
  }
  return true;
}

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

std::string line_in(const std::string& path) {
  const KernelFile file{path};
  return std::string(file.text().substr(0, file.text().find('\n')));
}

std::size_t limit_of(int resource) {
  rlimit limit{};
  const bool known = getrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0;
  return known && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : SIZE_MAX;
}

rlimit raised_limit(const rlimit& asked, std::size_t idle, std::size_t hard_now) {
  const auto raised = [&](rlim_t limit) { return limit > RLIM_INFINITY - idle ? RLIM_INFINITY : limit + idle; };
  rlimit limit{raised(asked.rlim_cur), raised(asked.rlim_max)};
  // Who asks for more than he may have is to be refused as he would be.
  if (asked.rlim_max <= hard_now) limit.rlim_max = std::min<rlim_t>(limit.rlim_max, hard_now);
  if (asked.rlim_cur <= asked.rlim_max) limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  return limit;
}

Reason heap_obstacle(std::size_t bytes) {
  // A limited program expects malloc to fail at its limit, so no large address range is taken.
  if (limit_of(RLIMIT_AS) != SIZE_MAX) return Reason::address_space_limited;
  // Growing a file past this limit raises a signal.
  if (limit_of(RLIMIT_FSIZE) < bytes) return Reason::file_size_limited;
  // Shared pages would be accounted when they are touched, and a shortage would be a bus error.
  const bool accounts_all = line_in("/proc/sys/vm/overcommit_memory").starts_with('2');
  return accounts_all ? Reason::no_overcommit : Reason::none;
}

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

int online_processors() { return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))); }

std::size_t physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  return pages > 0 ? static_cast<std::size_t>(pages) * page_size() : 0;
}

int create_heap_file(std::size_t bytes) {
  const int low = create_segment(bytes, false, "quadrille-heap");
  const int high = low < 0 ? low : fcntl(low, F_DUPFD_CLOEXEC, high_descriptor());
  if (high < 0) return low;
  close(low);
  return high;
}

bool identify(int descriptor, FileIdentity& identity) {
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) return false;
  identity = {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
  return true;
}

bool still_is(int descriptor, const FileIdentity& identity) {
  FileIdentity now;
  return identify(descriptor, now) && now.device == identity.device && now.file == identity.file;
}

std::size_t huge_page_bytes() {
  static const std::size_t told = KernelFile{"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"}.number(0);
  return told > 0 ? told : std::size_t{2} << 20;
}

bool shares_huge_pages() {
  const std::string values = line_in("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  return !values.empty() && values.find("[never]") == values.npos && values.find("[deny]") == values.npos;
}

void advise_pages(std::byte* base, std::size_t bytes, bool huge) {
  const std::uintptr_t size = huge_page_bytes(), address = reinterpret_cast<std::uintptr_t>(base);
  const std::uintptr_t begin = (address + size - 1) / size * size, end = (address + bytes) / size * size;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

std::size_t process_number() { return static_cast<std::size_t>(getpid()); }

std::size_t heap_skew(std::size_t number, std::size_t bytes) {
  const std::size_t places = std::min<std::size_t>(512, bytes / page_size() / 1024 + 1);
  return number * 257 % places * page_size();
}

// A huge page needs an address that is aligned as its offset in the file is. Heaps lie one below the other, at an odd
// number of huge pages: at a distance of a power of two, huge pages of all peers would share a set of the table of
// translations.
std::byte* map_heap(int descriptor, std::size_t bytes) {
  const std::size_t huge = huge_page_bytes(), space = bytes + 2 * huge;
  std::byte* start = raw_mmap(nullptr, space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  if (start == nullptr) return nullptr;
  const std::size_t before = huge - reinterpret_cast<std::uintptr_t>(start) % huge;
  std::byte* base = raw_mmap(start + before, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, descriptor);
  if (base == nullptr) {
    unmap_raw(start, space);
    return nullptr;
  }
  unmap_raw(start, before);
  unmap_raw(base + bytes, space - before - bytes);
  munlock(base, bytes);  // after mlockall(MCL_FUTURE) pages would otherwise come when access does
  madvise(base, bytes, MADV_DONTDUMP);
  return base;
}

bool open_pages(std::byte* base, std::size_t bytes) {
  if (mprotect(base, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  madvise(base, bytes, MADV_DODUMP);
  return true;
}

std::byte* map_peer(int descriptor, std::size_t bytes) {
  if (!holds(descriptor, bytes)) return nullptr;
  std::byte* base = map_heap(descriptor, bytes);
  if (base == nullptr) return nullptr;
  // Without MADV_DONTFORK a child could write into the memory of another rank.
  if (madvise(base, bytes, MADV_DONTFORK) != 0 || mprotect(base, bytes, PROT_READ | PROT_WRITE) != 0) {
    unmap_raw(base, bytes);
    return nullptr;
  }
  return base;
}

bool drop_shared_pages(std::byte* base, std::size_t bytes) { return madvise(base, bytes, MADV_REMOVE) == 0; }

bool drop_private_pages(std::byte* base, std::size_t bytes) { return madvise(base, bytes, MADV_DONTNEED) == 0; }

bool punch_hole(int descriptor, std::size_t offset, std::size_t bytes) {
  return fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                   static_cast<off_t>(bytes)) == 0;
}

std::byte* map_private(std::size_t bytes) {
  return raw_mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

void unmap_raw(std::byte* base, std::size_t bytes) { syscall(SYS_munmap, base, bytes); }

std::size_t held_bytes(int descriptor) {
  constexpr std::size_t unit = 512;  // whatever the file system's blocks are
  struct stat status {};
  return fstat(descriptor, &status) == 0 ? static_cast<std::size_t>(status.st_blocks) * unit : 0;
}

// Only what the file holds is read: holes stay holes.
std::byte* copy_segment(int descriptor, std::size_t bytes) {
  std::byte* copy = map_private(bytes);
  if (copy == nullptr) return nullptr;
  std::size_t at = 0;
  while (at < bytes) {
    const off_t data = lseek(descriptor, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // nothing but holes up to the end
    const off_t hole = data < 0 ? -1 : lseek(descriptor, data, SEEK_HOLE);
    const std::size_t end = std::min(bytes, static_cast<std::size_t>(std::max(hole, off_t{0})));
    if (hole < 0 || static_cast<std::size_t>(hole) <= at ||
        (static_cast<std::size_t>(data) < end && !read_range(descriptor, copy, static_cast<std::size_t>(data), end))) {
      unmap_raw(copy, bytes);
      return nullptr;
    }
    at = static_cast<std::size_t>(hole);
  }
  return copy;
}

bool move_pages(std::byte* from, std::size_t bytes, std::byte* target) {
  return syscall(SYS_mremap, from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target) != -1;
}

bool read_process(pid_t process, std::uint64_t address, std::byte* to, std::size_t bytes) {
  return transfer(process_vm_readv, process, address, to, bytes);
}

bool write_process(pid_t process, std::uint64_t address, const std::byte* from, std::size_t bytes) {
  return transfer(process_vm_writev, process, address, const_cast<std::byte*>(from), bytes);
}

}  // namespace quadrille::sys
