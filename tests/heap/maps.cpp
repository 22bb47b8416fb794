#include "maps.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace quadrille::test {
namespace {

constexpr const char* heap_name = "/memfd:quadrille-heap";

std::string find_mapping(const void* address, const char* name) {
  std::string found;
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  char line[512];
  while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
    std::uintptr_t begin = 0, end = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2) continue;
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    const bool hit = name != nullptr ? std::strstr(line, name) != nullptr : begin <= wanted && wanted < end;
    if (hit) {
      found = line;
      break;
    }
  }
  if (maps != nullptr) std::fclose(maps);
  return found;
}

// Runs `use(begin, end, line)` for each line that tells of the mapping [begin, end).
template <class Use>
void for_each_line_of_smaps(Use use) {
  std::FILE* smaps = std::fopen("/proc/self/smaps", "re");
  char line[512];
  std::uintptr_t begin = 0, end = 0;
  while (smaps != nullptr && std::fgets(line, sizeof line, smaps) != nullptr) {
    std::uintptr_t from = 0, to = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) == 2) {
      begin = from;
      end = to;
    } else {
      use(begin, end, line);
    }
  }
  if (smaps != nullptr) std::fclose(smaps);
}

// Of a line such as "VmLck:      64 kB".
std::size_t status_bytes(const char* name) {
  std::size_t kilobytes = 0;
  std::FILE* status = std::fopen("/proc/self/status", "re");
  char line[256];
  const std::size_t length = std::strlen(name);
  while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr) {
    if (std::strncmp(line, name, length) == 0) std::sscanf(line + length, "%zu", &kilobytes);
  }
  if (status != nullptr) std::fclose(status);
  return kilobytes * 1024;
}

std::uint8_t value_at(std::size_t offset, std::uint32_t seed) {
  const std::uint64_t mixed = (offset + 1) * 0x9e3779b97f4a7c15ULL ^ seed * 0xff51afd7ed558ccdULL;
  return static_cast<std::uint8_t>(mixed >> 40);
}

}  // namespace

std::string mapping_of(const void* address) { return find_mapping(address, nullptr); }

bool in_shared_heap(const void* address) {
  const std::string line = mapping_of(address);
  return line.find(heap_name) != std::string::npos && line.find("rw-s") != std::string::npos;
}

bool has_heap() { return !find_mapping(nullptr, heap_name).empty(); }

bool expects_heap() {
  const char* mode = std::getenv("QUADRILLE_HEAP");
  return mode != nullptr && std::strcmp(mode, "off") != 0 && std::getenv("QUADRILLE_HEAP_BYTES") == nullptr;
}

std::size_t resident_bytes(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 ? static_cast<std::size_t>(status.st_blocks) * 512 : 0;
}

std::size_t heap_resident_bytes() {
  for (int descriptor = 3; descriptor < 2048; ++descriptor) {
    char path[64], target[256] = {};
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    if (readlink(path, target, sizeof target - 1) <= 0) continue;
    if (std::strstr(target, heap_name) != nullptr) return resident_bytes(descriptor);
  }
  return 0;
}

std::size_t huge_bytes(const void* begin, std::size_t bytes) {
  std::size_t sum = 0;
  for_each_line_of_smaps([&](std::uintptr_t from, std::uintptr_t to, const char* line) {
    const auto first = reinterpret_cast<std::uintptr_t>(begin);
    std::size_t kilobytes = 0;
    const bool inside = first <= from && to <= first + bytes;
    if (inside && std::sscanf(line, "ShmemPmdMapped: %zu", &kilobytes) == 1) sum += kilobytes * 1024;
  });
  return sum;
}

std::string advice_at(const void* address) {
  std::string advice;
  for_each_line_of_smaps([&](std::uintptr_t from, std::uintptr_t to, const char* line) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    if (wanted < from || wanted >= to || std::strncmp(line, "VmFlags:", 8) != 0) return;
    advice = std::strstr(line, " hg") != nullptr ? "huge" : std::strstr(line, " nh") != nullptr ? "small" : "";
  });
  return advice;
}

std::size_t address_space() { return status_bytes("VmSize:"); }
std::size_t locked_bytes() { return status_bytes("VmLck:"); }

void fill(void* block, std::size_t bytes, std::uint32_t seed) {
  auto* data = static_cast<std::uint8_t*>(block);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = value_at(i, seed);
}

bool holds(const void* block, std::size_t bytes, std::uint32_t seed) {
  const auto* data = static_cast<const std::uint8_t*>(block);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (data[i] != value_at(i, seed)) return false;
  }
  return true;
}

int end_of(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1000;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace quadrille::test
