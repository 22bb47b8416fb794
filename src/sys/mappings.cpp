#include "sys/mappings.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "sys/sys.hpp"

namespace quadrille::sys {
namespace {

// Reads a number of hexadecimal or decimal digits, and moves `text` behind it.
std::uint64_t number(const char*& text, const char* end, int base) {
  std::uint64_t value = 0;
  text = std::from_chars(text, end, value, base).ptr;
  return value;
}

// A line such as "7f12a000-7f12b000 rw-s 00001000 00:01 1034    /memfd:quadrille-heap (deleted)".
Mapping mapping_of(const char* line, const char* end) {
  Mapping mapping;
  mapping.begin = number(line, end, 16);
  mapping.end = number(++line, end, 16);
  ++line;
  mapping.accessible = std::memcmp(line, "---", 3) != 0;
  line += 5;
  number(line, end, 16);  // the offset
  const auto major = static_cast<unsigned>(number(++line, end, 16));
  const auto minor = static_cast<unsigned>(number(++line, end, 16));
  mapping.device = makedev(major, minor);
  mapping.file = number(++line, end, 10);
  return mapping;
}

}  // namespace

Mappings::Mappings() : descriptor_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)), good_(descriptor_ >= 0) {}
Mappings::~Mappings() { close_descriptor(descriptor_); }

bool Mappings::next(Mapping& mapping) {
  while (good_) {
    if (const char* end = std::strchr(line_, '\n')) {
      mapping = mapping_of(line_, end);
      line_ = end + 1;
      return true;
    }
    const std::size_t kept = std::strlen(line_);  // the beginning of a line
    line_ = static_cast<const char*>(std::memmove(buffer_, line_, kept + 1));
    const ssize_t got = read(descriptor_, buffer_ + kept, buffer_bytes - 1 - kept);
    if (got == 0) return false;
    good_ = got > 0 || errno == EINTR;
    if (got > 0) buffer_[kept + static_cast<std::size_t>(got)] = '\0';
  }
  return false;
}

}  // namespace quadrille::sys
