#include "memory/meeting.hpp"

#include <iterator>
#include <set>

namespace quadrille::memory {
namespace {

// The edges of rank `me` in the heap of `members`, if it is one of them.
void add_edges(const std::vector<int>& members, int me, MeetingTree& tree) {
  const auto found = std::find(members.begin(), members.end(), me);
  if (found == members.end()) return;
  const auto radix = static_cast<std::ptrdiff_t>(tree.radix), size = std::ssize(members);
  const std::ptrdiff_t at = found - members.begin();
  if (at > 0) tree.parent = members[static_cast<std::size_t>((at - 1) / radix)];
  const std::ptrdiff_t first = std::min(radix * at + 1, size), end = std::min(first + radix, size);
  tree.children.insert(tree.children.end(), members.begin() + first, members.begin() + end);
}

}  // namespace

MeetingTree meeting_tree(std::span<const sys::Place> places, int me, int radix) {
  MeetingTree tree;
  tree.radix = radix;
  if (radix == 0) return tree;
  const sys::Place mine = places[static_cast<std::size_t>(me)];
  std::vector<int> of_cache, of_package, of_machine;  // all ranks; the first of each cache; the first of each package
  std::set<std::pair<int, int>> caches;
  std::set<int> packages;
  for (int rank = 0; rank < static_cast<int>(places.size()); ++rank) {
    const auto [package, cache] = places[static_cast<std::size_t>(rank)];
    const bool is_first = caches.emplace(package, cache).second;
    if (package == mine.package && cache == mine.cache) of_cache.push_back(rank);
    if (package == mine.package && is_first) of_package.push_back(rank);
    if (packages.insert(package).second) of_machine.push_back(rank);
  }
  for (const auto* group : {&of_cache, &of_package, &of_machine}) add_edges(*group, me, tree);
  return tree;
}

}  // namespace quadrille::memory
