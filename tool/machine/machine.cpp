#include "tool/machine/machine.hpp"

#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace quadrille::tools {
namespace {

// The value after "name :" in a file of such lines.
std::string value_in(const char* file, std::string_view name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(name) || colon == std::string::npos) continue;
    const std::size_t first = line.find_first_not_of(" \t", colon + 1);
    return first == std::string::npos ? "" : line.substr(first);
  }
  return "";
}

Reach anonymous_segments() {
  Reach reach{"memfd", false, "shared memory without a name"};
  const int file = memfd_create("quadrille-info", MFD_CLOEXEC);
  if (file < 0) {
    reach.detail = fmt::format("memfd_create fails: {}", std::strerror(errno));
    return reach;
  }
  constexpr std::size_t bytes = 1 << 16;
  void* base = MAP_FAILED;
  if (ftruncate(file, bytes) == 0) {
    base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  reach.available = base != MAP_FAILED;
  if (reach.available) {
    munmap(base, bytes);
  } else {
    reach.detail = fmt::format("a segment cannot be mapped: {}", std::strerror(errno));
  }
  close(file);
  return reach;
}

Reach shared_directory() {
  Reach reach{"/dev/shm", false, ""};
  struct statvfs status;
  if (statvfs("/dev/shm", &status) != 0) {
    reach.detail = fmt::format("not there: {}", std::strerror(errno));
    return reach;
  }
  const auto mib = [&](auto blocks) { return blocks * status.f_frsize >> 20; };
  reach.available = access("/dev/shm", W_OK) == 0;
  reach.detail = fmt::format("{} MiB free of {} MiB{}", mib(status.f_bavail), mib(status.f_blocks),
                             reach.available ? "" : ", but not writable");
  return reach;
}

Reach locked_memory() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return {"locked memory", true, "unlimited"};
  return {"locked memory", limit.rlim_cur > 0, fmt::format("{} KiB", limit.rlim_cur >> 10)};
}

}  // namespace

std::string processor_name() {
  for (const char* name : {"model name", "Processor", "CPU part"}) {
    if (std::string value = value_in("/proc/cpuinfo", name); !value.empty()) return value;
  }
  return "";
}

std::size_t available_memory() {
  const std::string value = value_in("/proc/meminfo", "MemAvailable");
  return std::strtoull(value.c_str(), nullptr, 10) * 1024;
}

std::vector<Reach> reachable() { return {anonymous_segments(), shared_directory(), locked_memory()}; }

std::string first_words_of_version(std::string_view text) {
  const std::size_t line_end = std::min(text.find('\n'), text.size());
  std::string line(text.substr(0, std::min(text.find(','), line_end)));
  // MPICH writes "MPICH Version:      5.0.2".
  std::istringstream words(line);
  std::string result;
  for (std::string word; words >> word;) {
    if (word == "Version:") continue;
    result += (result.empty() ? "" : " ") + word;
  }
  return result;
}

}  // namespace quadrille::tools
