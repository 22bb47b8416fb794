// Sizes of caches, from sysfs where the system tells them there, else from the C library: on some AMD
// machines that one takes the last cache for ten times as large as it is. And which processors share one.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "sys/sys.hpp"
#include "text/text.hpp"

namespace quadrille::sys {
namespace {

struct Cache {
  int level = 0;
  std::size_t bytes = 0;  // 0: unknown
  std::string sharers;
};

// The data and unified caches of a processor. They are numbered without gaps.
std::vector<Cache> caches_in(const std::string& folder) {
  std::vector<Cache> caches;
  for (int index = 0;; ++index) {
    const std::string cache = folder + "/index" + std::to_string(index);
    const std::string level = line_in(cache + "/level");
    if (level.empty()) return caches;
    if (line_in(cache + "/type") == "Instruction") continue;
    caches.push_back({std::atoi(level.c_str()), 0, line_in(cache + "/shared_cpu_list")});
    text::read_bytes(line_in(cache + "/size"), caches.back().bytes);
  }
}

// -1: the set is empty.
int first_processor(const ProcessorSet& set) {
  for (std::size_t p = 0; p < set.size(); ++p) {
    if (set[p]) return static_cast<int>(p);
  }
  return -1;
}

// Those of a list like "0-3,8".
ProcessorSet listed_processors(const std::string& list) {
  ProcessorSet set;
  std::istringstream ranges(list);
  for (std::string range; std::getline(ranges, range, ',');) {
    const std::size_t dash = range.find('-');
    const int first = std::atoi(range.c_str());
    const int last = dash == std::string::npos ? first : std::atoi(range.c_str() + dash + 1);
    for (int p = std::max(first, 0); p <= std::min(last, max_processors - 1); ++p) set.set(static_cast<std::size_t>(p));
  }
  return set;
}

}  // namespace

std::size_t cache_bytes_in(const std::string& folder, int level) {
  for (const Cache& cache : caches_in(folder)) {
    if (cache.level == level) return cache.bytes;
  }
  return 0;
}

std::size_t last_cache_bytes_in(const std::string& folder, const ProcessorSet& set) {
  std::set<std::string> counted;
  std::size_t bytes = 0;
  // A machine has few of those that a set can hold, and each look at one that is not there takes a system call.
  const ProcessorSet present = listed_processors(line_in(folder + "/present")) & set;
  for (std::size_t processor = 0; processor < present.size(); ++processor) {
    if (!present[processor]) continue;
    Cache last;
    for (const Cache& cache : caches_in(folder + "/cpu" + std::to_string(processor) + "/cache")) {
      if (cache.level > last.level && cache.bytes > 0) last = cache;
    }
    if (last.level > 0 && counted.insert(last.sharers).second) bytes += last.bytes;
  }
  return bytes;
}

std::size_t last_cache_bytes(const ProcessorSet& set) {
  const std::size_t told = last_cache_bytes_in("/sys/devices/system/cpu", set);
  return told > 0 ? told : std::max(cache_bytes(3), cache_bytes(2));
}

Place place_of(const ProcessorSet& set, const std::string& folder) {
  const int first = first_processor(set);
  if (first < 0) return {};
  const std::string processor = folder + "/cpu" + std::to_string(first);
  const std::string package = line_in(processor + "/topology/physical_package_id");
  for (const Cache& cache : caches_in(processor + "/cache")) {
    const ProcessorSet sharers = listed_processors(cache.sharers);
    const bool holds_all = cache.level == 3 && (set & ~sharers).none();
    if (holds_all && !package.empty()) return {std::atoi(package.c_str()), first_processor(sharers)};
  }
  return {};
}

std::size_t cache_bytes(int level) {
  constexpr int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  const std::size_t told = cache_bytes_in("/sys/devices/system/cpu/cpu0/cache", level);
  if (told > 0 || level < 1 || level > 3) return told;
  const long bytes = sysconf(names[level - 1]);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

}  // namespace quadrille::sys
