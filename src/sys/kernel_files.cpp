#include "sys/kernel_files.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

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

// ---- Memory that is left ----
//
// Files that are read, below `root`:
//   /proc/meminfo, /proc/self/cgroup
//   /sys/fs/cgroup/GROUP/memory.{max,current,swap.max,swap.current,stat}                    version 2
//   /sys/fs/cgroup/memory/GROUP/memory.{limit_in_bytes,usage_in_bytes,stat}                 version 1
// A limit of a group holds for all groups in it. Inside a container the group may have another name than here: its
// files then lie at the top.

std::size_t sum(std::size_t a, std::size_t b) { return a > SIZE_MAX - b ? SIZE_MAX : a + b; }
std::size_t rest(std::size_t limit, std::size_t used) { return limit > used ? limit - used : 0; }

struct Names {
  std::string_view limit, used, swap_limit, swap_used, active, inactive, slab;
  bool swap_and_memory;  // are counted together as swap
};
constexpr Names version_1 = {
    "/memory.limit_in_bytes", "/memory.usage_in_bytes", "/memory.memsw.limit_in_bytes", "/memory.memsw.usage_in_bytes",
    "total_active_file ",     "total_inactive_file ",   "total_slab_reclaimable ",      true};
constexpr Names version_2 = {"/memory.max",  "/memory.current", "/memory.swap.max",  "/memory.swap.current",
                             "active_file ", "inactive_file ",  "slab_reclaimable ", false};

// Of one group, without those around it. SIZE_MAX without a limit.
std::size_t left_in_group(std::string_view root, std::string_view mount, std::string_view group, const Names& names,
                          std::size_t free_swap) {
  const std::size_t limit = KernelFile{root, mount, group, names.limit}.number(SIZE_MAX);
  if (limit == SIZE_MAX) return SIZE_MAX;
  const std::size_t used = KernelFile{root, mount, group, names.used}.number(0);
  const KernelFile stat{root, mount, group, "/memory.stat"};
  std::size_t left = rest(limit, used);
  for (const std::string_view name : {names.active, names.inactive, names.slab}) {
    left = sum(left, stat.number_behind(name));
  }
  std::size_t swap = rest(KernelFile{root, mount, group, names.swap_limit}.number(SIZE_MAX),
                          KernelFile{root, mount, group, names.swap_used}.number(0));
  if (names.swap_and_memory) swap = rest(swap, rest(limit, used));
  return sum(left, std::min(swap, free_swap));
}

std::size_t left_in_groups(std::string_view root, std::string_view mount, std::string_view group, const Names& names,
                           std::size_t free_swap) {
  std::size_t left = SIZE_MAX;
  while (true) {
    while (group.ends_with('/')) group.remove_suffix(1);
    left = std::min(left, left_in_group(root, mount, group, names, free_swap));
    if (group.empty()) return left;
    group = group.substr(0, std::min(group.rfind('/'), group.size() - 1));
  }
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

std::size_t memory_left(const char* root) {
  const KernelFile system{root, "/proc/meminfo"};
  const std::size_t swap = system.number_behind("SwapFree:") << 10;
  const std::size_t available = system.number_behind("MemAvailable:") << 10;
  std::size_t left = available == 0 ? SIZE_MAX : sum(available, swap);
  // Lines such as "0::/user.slice" and "4:memory:/user.slice".
  const KernelFile groups{root, "/proc/self/cgroup"};
  std::string_view text = groups.text();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view kinds = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (kinds.empty()) {
      left = std::min(left, left_in_groups(root, "/sys/fs/cgroup", group, version_2, swap));
    } else if (kinds == "memory") {
      left = std::min(left, left_in_groups(root, "/sys/fs/cgroup/memory", group, version_1, swap));
    }
  }
  return left;
}

}  // namespace quadrille::sys
