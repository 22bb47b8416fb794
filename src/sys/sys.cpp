#include "sys/sys.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace quadrille::sys {
int create_segment(std::size_t bytes) {
  int descriptor = memfd_create("quadrille", MFD_CLOEXEC);
  if (descriptor < 0) {
    // Older systems: a file of the shared-memory file system that never has a name.
    descriptor = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  }
  if (descriptor < 0) return -1;
  if (ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    close(descriptor);
    return -1;
  }
  return descriptor;
}

std::byte* map_segment(int descriptor, std::size_t bytes) {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
}

void unmap_segment(std::byte* base, std::size_t bytes) { munmap(base, bytes); }

void close_descriptor(int descriptor) {
  if (descriptor >= 0) close(descriptor);
}

ProcessorSet allowed_processors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  ProcessorSet set;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return set;
  for (int p = 0; p < CPU_SETSIZE && p < max_processors; ++p) {
    if (CPU_ISSET(p, &mask)) set.words[p / 64] |= std::uint64_t{1} << (p % 64);
  }
  return set;
}

int count(const ProcessorSet& set) {
  int total = 0;
  for (const std::uint64_t word : set.words) total += std::popcount(word);
  return total;
}

bool run_on(int processor) {
  if (processor < 0 || processor >= CPU_SETSIZE) return false;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(processor, &mask);
  return sched_setaffinity(0, sizeof mask, &mask) == 0;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace quadrille::sys
