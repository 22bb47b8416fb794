#include "lab/copy_phase/copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace quadrille::tools {
namespace {

struct NamedOrder {
  plan::Order order;
  std::string_view name;
  bool of_neighbors;
};
constexpr std::array named_orders = {NamedOrder{plan::Order::row, "row", true},
                                     NamedOrder{plan::Order::column, "column", false},
                                     NamedOrder{plan::Order::morton, "morton", true},
                                     NamedOrder{plan::Order::hilbert, "hilbert", false},
                                     NamedOrder{plan::Order::row_numa, "row-numa", true},
                                     NamedOrder{plan::Order::morton_numa, "morton-numa", true},
                                     NamedOrder{plan::Order::square_and_row, "square-row", false},
                                     NamedOrder{plan::Order::square_and_column, "square-column", false},
                                     NamedOrder{plan::Order::square_and_morton, "square-morton", false}};

std::vector<int> domain_of_ranks(const Copied& what) {
  std::vector<int> domains;
  for (int rank = 0; rank < what.ranks; ++rank) {
    domains.push_back(static_cast<int>(std::int64_t{rank} * what.domains / what.ranks));
  }
  return domains;
}

// Send block i goes to the rank at offset i, whose recv block i comes from there.
std::vector<plan::EdgeCopy> edges_of(const Copied& what) {
  const plan::Grid torus{what.extents, std::vector<bool>(what.extents.size(), true)};
  const bool gathers = is_allgather(what.collective);
  std::vector<plan::EdgeCopy> edges;
  for (int rank = 0; rank < what.ranks; ++rank) {
    for (int i = 0; i < what.neighborhood.size(); ++i) {
      edges.push_back({rank, plan::rank_at(torus, rank, what.neighborhood.offset(i), 1), gathers ? 0 : i, i});
    }
  }
  return edges;
}

}  // namespace

BlocksOfRank blocks_of(const Copied& what) {
  const int all = is_neighbor(what.collective) ? what.neighborhood.size() : what.ranks;
  return {is_allgather(what.collective) ? 1 : all, all};
}

std::vector<std::vector<plan::EdgeCopy>> parts_of(plan::Order order, const Copied& what) {
  std::vector<std::vector<plan::EdgeCopy>> parts;
  const bool by_domains = order == plan::Order::row_numa || order == plan::Order::morton_numa;
  const std::vector<int> domains = by_domains ? domain_of_ranks(what) : std::vector<int>{};
  if (is_neighbor(what.collective)) {
    const std::vector<plan::EdgeCopy> edges = edges_of(what);
    // Without domains both orders of rows are one.
    const plan::Order of_edges = order == plan::Order::row ? plan::Order::row_numa : order;
    for (int rank = 0; rank < what.ranks; ++rank) {
      parts.push_back(plan::part_of_edges(of_edges, what.ranks, rank, edges, domains));
    }
    return parts;
  }
  const bool gathers = is_allgather(what.collective);
  for (int rank = 0; rank < what.ranks; ++rank) {
    std::vector<plan::EdgeCopy>& part = parts.emplace_back();
    for (const auto [source, destination] : plan::part_of_order(order, what.ranks, rank, domains)) {
      part.push_back({source, destination, gathers ? 0 : destination, source});
    }
  }
  return parts;
}

std::vector<int> even_extents(int ranks, int dimensions) {
  std::vector<int> extents;
  for (int left = dimensions; left > 1; --left) {
    int extent = std::max(static_cast<int>(std::lround(std::pow(ranks, 1.0 / left))), 1);
    while (ranks % extent != 0) --extent;
    extents.push_back(extent);
    ranks /= extent;
  }
  extents.push_back(ranks);
  std::sort(extents.rbegin(), extents.rend());
  return extents;
}

std::string_view name_of(plan::Order order) {
  return std::find_if(named_orders.begin(), named_orders.end(),
                      [&](const NamedOrder& one) { return one.order == order; })
      ->name;
}

std::string parse_orders(std::string_view text, Collective collective, std::vector<plan::Order>& orders) {
  orders.clear();
  const auto fits = [&](const NamedOrder& one) { return one.of_neighbors || !is_neighbor(collective); };
  while (true) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, end);
    const auto* const known = std::find_if(named_orders.begin(), named_orders.end(),
                                           [&](const NamedOrder& one) { return one.name == word && fits(one); });
    if (known == named_orders.end()) {
      std::string names;
      for (const NamedOrder& one : named_orders) {
        if (fits(one)) names += (names.empty() ? "" : ", ") + std::string(one.name);
      }
      return fmt::format("unknown order '{}'; known {}are {}", word, is_neighbor(collective) ? "for neighbours " : "",
                         names);
    }
    orders.push_back(known->order);
    if (end == text.size()) return "";
    text.remove_prefix(end + 1);
  }
}

}  // namespace quadrille::tools
