#include "tool/bench/turns.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "tool/bench/hash.hpp"

namespace quadrille::tools {

std::vector<std::size_t> order_of_round(std::size_t round, std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::uint64_t draw = mix(round / 2);
  // The shuffle of the standard library may differ between two of them, and so between hosts.
  for (std::size_t left = count; left > 1; --left) std::swap(order[left - 1], order[mix(draw ^ left) % left]);
  if (round % 2 != 0) std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace quadrille::tools
