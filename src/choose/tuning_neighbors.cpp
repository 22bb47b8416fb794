#include "choose/tuning_neighbors.hpp"

#include <fmt/core.h>

namespace quadrille::choose {
namespace {

constexpr std::string_view default_name = "default";

int number_of(const Algorithm& algorithm) { return static_cast<int>(&algorithm - algorithms().data()); }

UpTo& last_of(InsideEntry& entry) { return entry.ranges[static_cast<std::size_t>(entry.count) - 1]; }

std::string known_names(Collective collective) {
  std::string names(default_name);
  for (const Algorithm* order : inside_orders(collective)) names += fmt::format(", {}", order->name);
  return names;
}

}  // namespace

std::vector<const Algorithm*> inside_orders(Collective collective) {
  std::vector<const Algorithm*> orders;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.build_edges != nullptr && serves(algorithm, collective)) orders.push_back(&algorithm);
  }
  return orders;
}

std::string add_range(InsideEntry& entry, std::size_t bytes, const std::string& name) {
  if (entry.count == most_ranges) return fmt::format("there must be at most {} elements", most_ranges);
  if (entry.count > 0 && bytes <= last_of(entry).bytes) {
    return "\"up_to\" must be more than in the element before";
  }
  UpTo range{bytes, -1};
  if (name != default_name) {
    for (const Algorithm* order : inside_orders(entry.collective)) {
      if (order->name == name) range.algorithm = number_of(*order);
    }
    if (range.algorithm < 0) return fmt::format("an order must be one of {}", known_names(entry.collective));
  }
  ++entry.count;
  last_of(entry) = range;
  return {};
}

const Algorithm* order_for(const InsideEntry& entry, std::size_t bytes) {
  for (const UpTo& range : std::span(entry.ranges).first(static_cast<std::size_t>(entry.count))) {
    if (bytes > range.bytes) continue;
    return range.algorithm < 0 ? nullptr : &algorithms()[static_cast<std::size_t>(range.algorithm)];
  }
  return nullptr;
}

std::string ranges_text(const InsideEntry& entry) {
  std::string text = "[";
  for (const UpTo& range : std::span(entry.ranges).first(static_cast<std::size_t>(entry.count))) {
    const std::string_view name =
        range.algorithm < 0 ? default_name : algorithms()[static_cast<std::size_t>(range.algorithm)].name;
    text += fmt::format("{}{{\"up_to\": {}, \"take\": \"{}\"}}", text == "[" ? "" : ", ", range.bytes, name);
  }
  return text + "]";
}

}  // namespace quadrille::choose
