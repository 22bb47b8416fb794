// Files that are read, below `root`:
//   /proc/meminfo, /proc/self/cgroup
//   /sys/fs/cgroup/GROUP/memory.{max,current,swap.max,swap.current,stat}                    version 2
//   /sys/fs/cgroup/memory/GROUP/memory.{limit_in_bytes,usage_in_bytes,stat}                 version 1
// A limit of a group holds for all groups in it. Inside a container the group may have another name than here: its
// files then lie at the top.
#include "sys/memory_left.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "sys/sys.hpp"

namespace quadrille::sys {
namespace {

// The parts of a path.
using Path = std::initializer_list<std::string_view>;

// The beginning of a file of the kernel; empty if it cannot be read, or has too long a path.
class Content {
 public:
  explicit Content(Path path) {
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
  std::string_view text() const { return {text_.data(), used_}; }

 private:
  std::array<char, 4096> text_;
  std::size_t used_ = 0;
};

// The number that `text` begins with, after blanks; `without` if it is none, such as "max".
std::size_t number(std::string_view text, std::size_t without) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : without;
}
std::size_t number_in(Path path, std::size_t without) { return number(Content(path).text(), without); }

// The number behind `name` at the beginning of a line; 0 without such a line.
std::size_t number_behind(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size() - 1) + 1) {
    if (text.substr(at).starts_with(name)) return number(text.substr(at + name.size()), 0);
  }
  return 0;
}

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
  const std::size_t limit = number_in({root, mount, group, names.limit}, SIZE_MAX);
  if (limit == SIZE_MAX) return SIZE_MAX;
  const std::size_t used = number_in({root, mount, group, names.used}, 0);
  const Content stat{root, mount, group, "/memory.stat"};
  std::size_t left = rest(limit, used);
  for (const std::string_view name : {names.active, names.inactive, names.slab}) {
    left = sum(left, number_behind(stat.text(), name));
  }
  std::size_t swap = rest(number_in({root, mount, group, names.swap_limit}, SIZE_MAX),
                          number_in({root, mount, group, names.swap_used}, 0));
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

std::size_t memory_left(const char* root) {
  const Content system{root, "/proc/meminfo"};
  const std::size_t swap = number_behind(system.text(), "SwapFree:") << 10;
  const std::size_t available = number_behind(system.text(), "MemAvailable:") << 10;
  std::size_t left = available == 0 ? SIZE_MAX : sum(available, swap);
  // Lines such as "0::/user.slice" and "4:memory:/user.slice".
  const Content groups{root, "/proc/self/cgroup"};
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
