#include "generate.hpp"

#include <cstdint>
#include <stdexcept>

#include "words.hpp"

namespace closure {

Graph generate_graph(const std::string& what) {
  constexpr std::string_view word = "chains:";
  constexpr std::uint64_t most = 100'000'000;  // edges: some GiB
  std::string text = what.starts_with(word) ? what.substr(word.size()) : "";
  for (char& c : text) c = c == ',' ? ' ' : c;
  std::string_view numbers = text;
  std::uint64_t count = 0, longest = 0;
  const bool right = take_number(numbers, count, most) && take_number(numbers, longest, most) && numbers.empty();
  if (!right || count == 0 || longest == 0 || count * longest > most) {
    throw std::runtime_error("'" + shown(what) + "' is not chains:COUNT,LONGEST, of at most " + std::to_string(most) +
                             " edges");
  }
  Graph graph;
  Vertex next = 0;
  for (std::uint64_t chain = 1; chain <= count; ++chain, ++next) {
    const std::uint64_t edges = (longest * chain + count - 1) / count;
    for (std::uint64_t edge = 0; edge < edges; ++edge, ++next) graph.edges.push_back({next, next + 1});
  }
  sort_unique(graph.edges);
  return graph;
}

}  // namespace closure
