#include "tools/machine.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tools/process.hpp"

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

std::size_t cache_size(int name) {
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
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

Reach xpmem() {
  constexpr const char* device = "/dev/xpmem";
  if (access(device, F_OK) != 0) {
    return {"XPMEM", false, "no /dev/xpmem; the kernel module xpmem is not loaded"};
  }
  const int file = open(device, O_RDWR | O_CLOEXEC);
  if (file < 0) return {"XPMEM", false, fmt::format("/dev/xpmem: {}", std::strerror(errno))};
  close(file);
  return {"XPMEM", true, device};
}

// Reads a word of a child's memory. Ranks are siblings, which the system may treat more strictly.
std::string why_no_cross_read() {
  volatile int word = 41;
  int ready[2], done[2];
  if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(done, O_CLOEXEC) != 0) return std::strerror(errno);
  const pid_t child = fork();
  if (child == 0) {
    word = 42;
    char byte = 0;
    close(done[1]);
    if (write(ready[1], &byte, 1) == 1 && read(done[0], &byte, 1) >= 0) _exit(0);
    _exit(1);
  }
  int seen = 0;
  char byte;
  std::string problem = child < 0 ? std::strerror(errno) : "";
  if (child > 0 && read(ready[0], &byte, 1) == 1) {
    iovec here{&seen, sizeof seen}, there{const_cast<int*>(&word), sizeof word};
    if (process_vm_readv(child, &here, 1, &there, 1, 0) != sizeof seen) {
      problem = std::strerror(errno);
    } else if (seen != 42) {
      problem = "wrong data";
    }
  }
  for (const int end : {ready[0], ready[1], done[0], done[1]}) close(end);
  if (child > 0) waitpid(child, nullptr, 0);
  return problem;
}

Reach cross_memory() {
  const std::string scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
  const std::string yama =
      scope.empty() ? "no yama" : fmt::format("yama ptrace_scope is {}", scope);
  if (const std::string problem = why_no_cross_read(); !problem.empty()) {
    return {"CMA", false, fmt::format("process_vm_readv of a child fails: {}; {}", problem, yama)};
  }
  // Scope 1 lets a process read its descendants only; ranks are siblings.
  if (!scope.empty() && scope != "0" && geteuid() != 0) {
    return {"CMA", false,
            fmt::format("{}, so ranks cannot read each other; 0 would allow it", yama)};
  }
  return {"CMA", true, fmt::format("process_vm_readv of a child works; {}", yama)};
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

Caches cache_sizes() {
  Caches caches{cache_size(_SC_LEVEL1_DCACHE_SIZE), cache_size(_SC_LEVEL2_CACHE_SIZE), 0};
  caches.last = std::max(
      {cache_size(_SC_LEVEL4_CACHE_SIZE), cache_size(_SC_LEVEL3_CACHE_SIZE), caches.second});
  // A machine that does not tell has caches all the same.
  if (caches.second == 0) caches.second = std::size_t{1} << 20;
  if (caches.last == 0) caches.last = std::size_t{32} << 20;
  return caches;
}

std::vector<Reach> reachable() {
  return {anonymous_segments(), shared_directory(), xpmem(), cross_memory(), locked_memory()};
}

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
