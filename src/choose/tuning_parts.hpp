// Reading the JSON of a tuning table strictly, and finding entries: what the files of the subjects share.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "choose/tuning.hpp"

namespace quadrille::choose {

// Nothing in a table is larger.
inline constexpr std::uint64_t most_ranks_in_table = 1 << 20;
inline constexpr std::uint64_t most_bytes_in_table = std::uint64_t{1} << 40;

// A value of the text with its place, so that a mistake can be shown. A key is the way to it from the
// root: "/entries/0/ranks".
struct Leaf {
  nlohmann::json value;
  std::size_t line = 1;
  bool used = false;
};
using Leaves = std::map<std::string, Leaf>;

// Reads a text into leaves. Returns an empty string, or "line 7: <what is wrong>".
std::string read_leaves(const std::string& text, Leaves& leaves);

// Takes values out of the leaves; the first mistake stays.
class Table {
 public:
  explicit Table(Leaves& leaves) : leaves_(leaves) {}

  bool has(const std::string& path) const { return leaves_.contains(path); }
  // Of an object, '{', or a list, '['.
  bool enter(const std::string& path, char kind);
  std::uint64_t number(const std::string& parent, const std::string& name, std::uint64_t least, std::uint64_t most);
  double real(const std::string& parent, const std::string& name, double most);
  bool truth(const std::string& parent, const std::string& name);
  std::string words(const std::string& parent, const std::string& name);
  void fail(std::size_t line, const std::string& why);
  // Of an object or list.
  std::size_t line_of(const std::string& path) const;
  // Of a value; else of the object in which it ought to be.
  std::size_t line_of(const std::string& parent, const std::string& name) const;
  void refuse_the_rest();

  std::string problem;

 private:
  // The value, if `must_be` returns an empty text for it; else null, and the text is part of the mistake.
  template <class MustBe>
  const nlohmann::json* take(const std::string& parent, const std::string& name, const MustBe& must_be);

  Leaves& leaves_;
};

// By tuning_algorithms.cpp.
AlgorithmEntry read_algorithms(Table& table, const std::string& path);
// The choices of an entry by size, at least one. `why_not`: what is wrong with an algorithm; empty: nothing.
SizedChoices read_choices(Table& table, const std::string& path, Collective collective,
                          const std::function<std::string(const Algorithm&)>& why_not);
std::string choices_text(const SizedChoices& choices);

// By tuning_entries.cpp.
void read_entries(Table& table, const std::string& list, TuningTable& read);
std::string entries_text(const TuningTable& table);
Collective read_collective(Table& table, const std::string& path, bool (*wanted)(Collective));
bool read_on_devices(Table& table, const std::string& path);  // "memory", if it is there

// No two entries may be for the same case.
template <class Entry>
void add_new(Table& table, const std::string& path, const Entry& entry, std::vector<Entry>& entries) {
  if (same_case(entries, entry) != nullptr) table.fail(table.line_of(path), "these ranks are there twice");
  entries.push_back(entry);
}

// Calls `read` with the path of each object of a list, up to the first mistake.
template <class Read>
void for_each_object(Table& table, const std::string& list, const Read& read) {
  if (!table.enter(list, '[')) return;
  for (int i = 0; table.problem.empty() && table.has(fmt::format("{}/{}{{", list, i)); ++i) {
    const std::string path = fmt::format("{}/{}", list, i);
    table.enter(path, '{');
    read(path);
  }
}

// Of the entries that are alike but for the number of ranks the one that is nearest by ratio.
template <class Entry>
const Entry* nearest(const std::vector<Entry>& entries, const Entry& wanted) {
  const int ranks = wanted.ranks;
  const Entry* found = nullptr;
  double least = 0;
  for (const Entry& e : entries) {
    if (!alike(e, wanted)) continue;
    const double distance = static_cast<double>(std::max(e.ranks, ranks)) / std::min(e.ranks, ranks);
    if (found == nullptr || distance < least || (distance == least && e.ranks < found->ranks)) {
      found = &e;
      least = distance;
    }
  }
  return found;
}

}  // namespace quadrille::choose
