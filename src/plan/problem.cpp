#include "plan/problem.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "text/text.hpp"

namespace quadrille::plan {
namespace {

using text::read_number;

constexpr std::string_view kForms = "blocked:K, roundrobin:N, even:N, ragged:A,B,... or permuted:SEED";

std::string complain(std::string_view text, std::string_view what) {
  return fmt::format("node map \"{}\": {}", text, what);
}

// A small generator of our own (splitmix64): a map must be the same on every rank, with every
// standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  int below(int bound) { return static_cast<int>(next() % static_cast<std::uint64_t>(bound)); }

 private:
  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  std::uint64_t state_;
};

// Consecutive ranks fill nodes of the given sizes; the list of sizes repeats.
std::vector<int> fill_nodes(const std::vector<int>& sizes, int ranks) {
  std::vector<int> labels;
  labels.reserve(static_cast<std::size_t>(ranks));
  for (int node = 0; static_cast<int>(labels.size()) < ranks; ++node) {
    const int size = sizes[static_cast<std::size_t>(node) % sizes.size()];
    const int room = ranks - static_cast<int>(labels.size());
    labels.insert(labels.end(), static_cast<std::size_t>(std::min(size, room)), node);
  }
  return labels;
}

std::vector<int> permuted_labels(std::uint64_t seed, int ranks) {
  Random random(seed);
  std::vector<int> sizes;
  const int largest = std::max(1, (ranks + 1) / 2);
  for (int placed = 0; placed < ranks; placed += sizes.back()) {
    sizes.push_back(1 + random.below(largest));
  }
  std::vector<int> labels = fill_nodes(sizes, ranks);
  for (int i = ranks - 1; i > 0; --i) {
    std::swap(labels[static_cast<std::size_t>(i)], labels[static_cast<std::size_t>(random.below(i + 1))]);
  }
  return labels;
}

std::string parse_ragged(std::string_view text, std::string_view list, std::vector<int>& sizes) {
  for (;;) {
    const std::size_t comma = list.find(',');
    int size = 0;
    if (!read_number(list.substr(0, comma), size) || size < 1) {
      return complain(text, "ragged needs node sizes of at least 1, for example ragged:1,3,4");
    }
    sizes.push_back(size);
    if (comma == std::string_view::npos) return {};
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

NodeMap one_node(int ranks) { return {std::vector<int>(static_cast<std::size_t>(ranks), 0), 1}; }

int NodeMap::ranks_on_fullest_node() const {
  std::vector<int> ranks_of(static_cast<std::size_t>(nodes));
  for (const int node : node_of) ++ranks_of[static_cast<std::size_t>(node)];
  return ranks_of.empty() ? 0 : *std::max_element(ranks_of.begin(), ranks_of.end());
}

std::vector<std::vector<int>> NodeMap::members() const {
  std::vector<std::vector<int>> ranks_of(static_cast<std::size_t>(nodes));
  for (int r = 0; r < ranks(); ++r)
    ranks_of[static_cast<std::size_t>(node_of[static_cast<std::size_t>(r)])].push_back(r);
  return ranks_of;
}

NodeMap node_map_from_labels(const std::vector<int>& labels) {
  NodeMap map;
  map.node_of.reserve(labels.size());
  std::unordered_map<int, int> node_of_label;
  for (const int label : labels) {
    const auto [entry, fresh] = node_of_label.try_emplace(label, map.nodes);
    if (fresh) ++map.nodes;
    map.node_of.push_back(entry->second);
  }
  return map;
}

NodeMap nodes_of(const NodeMap& all, std::span<const int> ranks) {
  std::vector<int> labels;
  labels.reserve(ranks.size());
  for (const int rank : ranks) labels.push_back(all.node_of[static_cast<std::size_t>(rank)]);
  return node_map_from_labels(labels);
}

std::string parse_node_map(std::string_view text, int ranks, NodeMap& map) {
  if (ranks < 1) return complain(text, "there must be at least one rank");
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);

  std::vector<int> labels;
  if (kind == "blocked" || kind == "roundrobin" || kind == "even") {
    int number = 0;
    if (!read_number(rest, number) || number < 1) {
      return complain(text, fmt::format("{} needs a number of at least 1, for example {}:2", kind, kind));
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const std::int64_t share = std::int64_t{rank} * number / ranks;
      labels.push_back(kind == "blocked" ? rank / number : kind == "even" ? static_cast<int>(share) : rank % number);
    }
  } else if (kind == "ragged") {
    std::vector<int> sizes;
    if (std::string error = parse_ragged(text, rest, sizes); !error.empty()) return error;
    labels = fill_nodes(sizes, ranks);
  } else if (kind == "permuted") {
    std::uint64_t seed = 0;
    if (!read_number(rest, seed)) {
      return complain(text, "permuted needs a seed, for example permuted:1");
    }
    labels = permuted_labels(seed, ranks);
  } else {
    return complain(text, fmt::format("expected {}", kForms));
  }
  map = node_map_from_labels(labels);
  return {};
}

std::int64_t value_of(const Parameters& parameters, std::string_view name, std::int64_t otherwise) {
  for (const Parameter& parameter : parameters) {
    if (parameter.name == name) return parameter.value;
  }
  return otherwise;
}

Build build_of(const Parameters& parameters, std::string_view name, Build otherwise) {
  for (const Parameter& parameter : parameters) {
    if (parameter.name == name && parameter.build != nullptr) return parameter.build;
  }
  return otherwise;
}

}  // namespace quadrille::plan
