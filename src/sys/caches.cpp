// Sizes of caches, from sysfs where the system tells them there, else from the C library: on some AMD
// machines that one takes the last cache for ten times as large as it is.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "sys/sys.hpp"

namespace quadrille::sys {
namespace {

constexpr int most_caches = 16;  // of a processor

std::string first_word(const std::string& file) {
  std::ifstream stream(file);
  std::string word;
  stream >> word;
  return word;
}

// Reads "32768", "1024K" or "32M"; 0 if it is none of these.
std::size_t size_in_bytes(const std::string& text) {
  std::size_t bytes = 0, digits = 0;
  for (; digits < text.size() && digits < 12 && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    bytes = bytes * 10 + static_cast<std::size_t>(text[digits] - '0');
  }
  const std::string unit = text.substr(digits);
  if (digits == 0) return 0;
  if (unit.empty()) return bytes;
  if (unit == "K") return bytes << 10;
  if (unit == "M") return bytes << 20;
  return 0;
}

int name_of_level(int level) {
  switch (level) {
    case 1:
      return _SC_LEVEL1_DCACHE_SIZE;
    case 2:
      return _SC_LEVEL2_CACHE_SIZE;
    case 3:
      return _SC_LEVEL3_CACHE_SIZE;
  }
  return -1;
}

// The folder of the data or unified cache of a level; one that does not exist if there is no such cache.
std::string cache_folder(const std::string& caches, int level) {
  for (int index = 0; index < most_caches; ++index) {
    std::string cache = caches + "/index" + std::to_string(index);
    if (first_word(cache + "/level") != std::to_string(level)) continue;
    if (first_word(cache + "/type") != "Instruction") return cache;
  }
  return caches + "/none";
}

// The highest level whose size is known; 0 if none is.
int last_level_in(const std::string& caches) {
  int last = 0;
  for (int level = 1; level <= 4; ++level) {
    if (cache_bytes_in(caches, level) > 0) last = level;
  }
  return last;
}

bool contains(const ProcessorSet& set, int processor) {
  return (set.words[processor / 64] >> (processor % 64) & 1U) != 0;
}

}  // namespace

std::size_t cache_bytes_in(const std::string& folder, int level) {
  return size_in_bytes(first_word(cache_folder(folder, level) + "/size"));
}

ProcessorSet every_processor() {
  ProcessorSet set;
  for (std::uint64_t& word : set.words) word = ~std::uint64_t{0};
  return set;
}

std::size_t last_cache_bytes_in(const std::string& folder, const ProcessorSet& set) {
  std::set<std::string> counted;
  std::size_t bytes = 0;
  for (int processor = 0; processor < max_processors; ++processor) {
    if (!contains(set, processor)) continue;
    const std::string caches = folder + "/cpu" + std::to_string(processor) + "/cache";
    const int level = last_level_in(caches);
    if (level == 0) continue;
    const std::string sharers = first_word(cache_folder(caches, level) + "/shared_cpu_list");
    if (counted.insert(sharers).second) bytes += cache_bytes_in(caches, level);
  }
  return bytes;
}

std::size_t last_cache_bytes(const ProcessorSet& set) {
  const std::size_t told = last_cache_bytes_in("/sys/devices/system/cpu", set);
  return told > 0 ? told : std::max(cache_bytes(3), cache_bytes(2));
}

std::size_t cache_bytes(int level) {
  const std::size_t told = cache_bytes_in("/sys/devices/system/cpu/cpu0/cache", level);
  const int name = name_of_level(level);
  if (told > 0 || name == -1) return told;
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

}  // namespace quadrille::sys
