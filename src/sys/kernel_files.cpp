#include "sys/kernel_files.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "sys/sys.hpp"

namespace quadrille::sys {
namespace {

// The number that `text` begins with, after blanks; `without` if it begins with none.
std::size_t number_in(std::string_view text, std::size_t without) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : without;
}

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

KernelFile::KernelFile(Path path) {
  std::array<char, 1024> name{};
  for (std::size_t used = 0; const std::string_view part : path) {
    if (part.size() >= name.size() - used) return;
    used += part.copy(name.data() + used, part.size());
  }
  const int file = open(name.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  for (ssize_t got = 1; got > 0 && used_ < text_.size();) {
    got = read(file, text_.data() + used_, text_.size() - used_);
    if (got > 0) used_ += static_cast<std::size_t>(got);
  }
  close_descriptor(file);
}

std::size_t KernelFile::number(std::size_t without) const { return number_in(text(), without); }

std::size_t KernelFile::number_behind(std::string_view name) const {
  const std::string_view all = text();
  for (std::size_t at = 0; at < all.size(); at = std::min(all.find('\n', at), all.size() - 1) + 1) {
    if (all.substr(at).starts_with(name)) return number_in(all.substr(at + name.size()), 0);
  }
  return 0;
}

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
