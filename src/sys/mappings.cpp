#include "sys/mappings.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sys/sys.hpp"

namespace quadrille::sys {
namespace {

// Longer than any line: addresses and a path. On the stack: a mapping of our own could come to lie where the program
// has just unmapped something, and be taken for the program's.
constexpr std::size_t buffer_bytes = std::size_t{8} << 10;

// Reads a number of hexadecimal or decimal digits, and moves `text` behind it.
std::uint64_t number(const char*& text, unsigned base) {
  std::uint64_t value = 0;
  for (;; ++text) {
    const char c = *text;
    const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a') + 10
                                                  : base;
    if (digit >= base) return value;
    value = value * base + digit;
  }
}

// A line such as "7f12a000-7f12b000 rw-s 00001000 00:01 1034    /memfd:quadrille-heap (deleted)".
Mapping mapping_of(const char* line) {
  Mapping mapping;
  mapping.begin = number(line, 16);
  mapping.end = number(++line, 16);
  ++line;
  mapping.accessible = std::memcmp(line, "---", 3) != 0;
  line += 5;
  number(line, 16);  // the offset
  const auto major = static_cast<unsigned>(number(++line, 16));
  const auto minor = static_cast<unsigned>(number(++line, 16));
  mapping.device = makedev(major, minor);
  mapping.file = number(++line, 10);
  return mapping;
}

// Reads the file whose lines come in pieces; `buffer` has room for the longest line.
bool read_lines(int descriptor, char* buffer, bool (*use)(void*, const Mapping&), void* context) {
  std::size_t filled = 0;
  for (;;) {
    const ssize_t got = read(descriptor, buffer + filled, buffer_bytes - 1 - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    filled += static_cast<std::size_t>(got);
    buffer[filled] = '\0';
    const char* line = buffer;
    while (const char* end = std::strchr(line, '\n')) {
      if (!use(context, mapping_of(line))) return true;
      line = end + 1;
    }
    filled -= static_cast<std::size_t>(line - buffer);
    std::memmove(buffer, line, filled);
  }
}

}  // namespace

bool for_each_mapping(bool (*use)(void* context, const Mapping&), void* context) {
  const int descriptor = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  char buffer[buffer_bytes];
  const bool done = read_lines(descriptor, buffer, use, context);
  close_descriptor(descriptor);
  return done;
}

}  // namespace quadrille::sys
