// A stand-in of libxpmem that needs no kernel module.
//
// It attaches what another process has mapped of a memfd, by mapping the same memfd here. So it is a true
// mapping, like that of a kernel that never hears of changes: what the owner later maps there instead is
// not seen. Private memory cannot be attached, but for a single page, of which there is a copy as of now:
// enough to look at a word that does not change. Who ever asked for more than a page gets no such copies: it wants to
// share the memory.
#include "xpmem_standin.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>

namespace {

struct Address {
  std::int64_t access;
  off_t offset;
};

// Where a range of a process is in a file.
struct Place {
  std::uint64_t inode = 0, offset = 0;
};

// False if the range is not wholly mapped from one file, in order, and shared.
bool find_place(int process, std::uint64_t begin, std::uint64_t end, Place& place) {
  std::FILE* maps = std::fopen(("/proc/" + std::to_string(process) + "/maps").c_str(), "re");
  if (maps == nullptr) return false;
  char line[4096], access[5];
  std::uint64_t first = 0, last = 0, offset = 0, inode = 0, at = begin;
  while (at < end && std::fgets(line, sizeof line, maps) != nullptr) {
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64, &first, &last, access, &offset,
                    &inode) != 5) {
      break;
    }
    if (last <= at) continue;
    if (first > at || access[3] != 's') break;
    const std::uint64_t here = offset + (at - first);
    if (at == begin) {
      place = {inode, here};
    } else if (inode != place.inode || here != place.offset + (at - begin)) {
      break;
    }
    at = last;
  }
  std::fclose(maps);
  return at >= end;
}

// A descriptor for the memfd that the process has open; -1 if it has closed it.
int open_file(int process, std::uint64_t inode) {
  const std::string folder = "/proc/" + std::to_string(process) + "/fd";
  DIR* list = opendir(folder.c_str());
  if (list == nullptr) return -1;
  int found = -1;
  while (const dirent* entry = readdir(list)) {
    const std::string path = folder + "/" + entry->d_name;
    char target[64] = {};
    if (readlink(path.c_str(), target, sizeof target - 1) < 0) continue;
    struct stat status {};
    if (std::string(target).find("memfd:") == std::string::npos) continue;
    if (stat(path.c_str(), &status) != 0 || status.st_ino != inode) continue;
    found = open(path.c_str(), O_RDWR | O_CLOEXEC);
    break;
  }
  closedir(list);
  return found;
}

constexpr std::size_t page = 4096;

void* copy_of_page(int process, std::uint64_t begin) {
  void* here = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (here == MAP_FAILED) return here;
  const iovec to{here, page}, from{reinterpret_cast<void*>(begin), page};
  if (process_vm_readv(process, &to, 1, &from, 1, 0) == static_cast<ssize_t>(page)) return here;
  munmap(here, page);
  return MAP_FAILED;
}

// An access is a number of its own, and stands for a process.
struct Access {
  int process;
  bool wants_more;  // than a page
};

std::mutex mutex;
std::map<std::int64_t, Access>& accesses() {
  static auto* list = new std::map<std::int64_t, Access>;
  return *list;
}
std::map<void*, std::size_t>& attached() {
  static auto* list = new std::map<void*, std::size_t>;
  return *list;
}

}  // namespace

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT XpmemStandin xpmem_standin = {0x26003, false, false, false, 0, 0, 0, 0, 0};

EXPORT int xpmem_version() { return xpmem_standin.version; }

EXPORT std::int64_t xpmem_make(void*, std::size_t, int, void*) { return xpmem_standin.fail_make ? -1 : getpid(); }

EXPORT int xpmem_remove(std::int64_t) {
  ++xpmem_standin.removes;
  return 0;
}

EXPORT std::int64_t xpmem_get(std::int64_t segment, int, int, void*) {
  if (xpmem_standin.fail_get) return -1;
  const std::lock_guard lock(mutex);
  const std::int64_t access = ++xpmem_standin.gets;
  accesses()[access] = {static_cast<int>(segment), false};
  return access;
}

EXPORT int xpmem_release(std::int64_t) {
  ++xpmem_standin.releases;
  return 0;
}

EXPORT void* xpmem_attach(Address from, std::size_t bytes, void*) {
  const std::lock_guard lock(mutex);
  if (xpmem_standin.fail_attach) {
    ++xpmem_standin.failed_attaches;
    return MAP_FAILED;
  }
  Access& access = accesses()[from.access];
  access.wants_more |= bytes > page;
  const int process = access.process;
  const auto begin = static_cast<std::uint64_t>(from.offset);
  void* here = MAP_FAILED;
  Place place;
  if (find_place(process, begin, begin + bytes, place)) {
    const int file = open_file(process, place.inode);
    here = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(place.offset));
    if (file >= 0) close(file);
  }
  if (here == MAP_FAILED && !access.wants_more) here = copy_of_page(process, begin);
  if (here == MAP_FAILED) {
    ++xpmem_standin.failed_attaches;
    return here;
  }
  attached()[here] = bytes;
  ++xpmem_standin.attaches;
  return here;
}

EXPORT int xpmem_detach(void* here) {
  const std::lock_guard lock(mutex);
  const auto found = attached().find(here);
  if (found == attached().end()) return -1;
  munmap(here, found->second);
  attached().erase(found);
  ++xpmem_standin.detaches;
  return 0;
}

}  // extern "C"
