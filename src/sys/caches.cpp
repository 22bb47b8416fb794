// Sizes of caches, from sysfs where the system tells them there, else from the C library: on some AMD
// machines that one takes the last cache for ten times as large as it is.
#include <unistd.h>

#include <fstream>
#include <string>

#include "sys/sys.hpp"

namespace quadrille::sys {
namespace {

std::string first_word(const std::string& file) {
  std::ifstream stream(file);
  std::string word;
  stream >> word;
  return word;
}

// Reads "32768", "1024K" or "32M"; 0 if it is none of these.
std::size_t size_in_bytes(const std::string& text) {
  std::size_t bytes = 0, digits = 0;
  for (; digits < text.size() && digits < 12 && text[digits] >= '0' && text[digits] <= '9';
       ++digits) {
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

}  // namespace

std::size_t cache_bytes_in(const std::string& folder, int level) {
  for (int index = 0; index < 16; ++index) {
    const std::string cache = folder + "/index" + std::to_string(index);
    if (first_word(cache + "/level") != std::to_string(level)) continue;
    if (first_word(cache + "/type") == "Instruction") continue;
    return size_in_bytes(first_word(cache + "/size"));
  }
  return 0;
}

std::size_t cache_bytes(int level) {
  const std::size_t told = cache_bytes_in("/sys/devices/system/cpu/cpu0/cache", level);
  const int name = name_of_level(level);
  if (told > 0 || name == -1) return told;
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

}  // namespace quadrille::sys
