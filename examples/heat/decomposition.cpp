#include "decomposition.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace heat {

Box block_of(const Extents& field, const Extents& grid, const Extents& coordinates) {
  Box box;
  for (int d = 0; d < 3; ++d) {
    const auto first_of = [&](std::int64_t part) { return static_cast<int>(part * field[d] / grid[d]); };
    box.begin[d] = first_of(coordinates[d]);
    box.extents[d] = first_of(coordinates[d] + 1) - box.begin[d];
  }
  return box;
}

Layout layout_of(const Extents& own, int dimensions) {
  Layout layout{own, {}};
  for (int d = 0; d < dimensions; ++d) layout.ghosts[d] = kGhostWidth;
  return layout;
}

Box own_points(const Layout& layout) { return {layout.ghosts, layout.own}; }

Box edge_points(const Layout& layout, const Offset& side) {
  Box box = own_points(layout);
  for (int d = 0; d < 3; ++d) {
    if (side[d] == 0) continue;
    if (side[d] > 0) box.begin[d] += layout.own[d] - layout.ghosts[d];
    box.extents[d] = layout.ghosts[d];
  }
  return box;
}

Box ghost_points(const Layout& layout, const Offset& side) {
  Box box = edge_points(layout, side);
  for (int d = 0; d < 3; ++d) box.begin[d] += side[d] * layout.ghosts[d];
  return box;
}

std::vector<Offset> neighbor_offsets(int dimensions, int stencil) {
  std::vector<Offset> offsets;
  if (!reads_corners(stencil)) {
    for (int d = 0; d < dimensions; ++d) {
      for (const int side : {-1, 1}) {
        Offset offset{};
        offset[d] = side;
        offsets.push_back(offset);
      }
    }
    return offsets;
  }
  const int deep = dimensions == 3 ? 1 : 0;
  for (int z = -deep; z <= deep; ++z) {
    for (int y = -1; y <= 1; ++y) {
      for (int x = -1; x <= 1; ++x) {
        if (x != 0 || y != 0 || z != 0) offsets.push_back({x, y, z});
      }
    }
  }
  return offsets;
}

Extents parse_product(const std::string& text, int dimensions, const std::string& what) {
  Extents numbers{1, 1, 1};
  const char* at = text.data();
  const char* const end = at + text.size();
  bool good = true;
  for (int d = 0; d < dimensions && good; ++d) {
    if (d > 0) good = at != end && *at++ == 'x';
    const auto [next, error] = std::from_chars(at, end, numbers[d]);
    good = good && error == std::errc() && numbers[d] >= 1;
    at = next;
  }
  if (good && at == end) return numbers;
  throw std::runtime_error("'" + text + "' is not a " + what + " such as " + (dimensions == 2 ? "4x2" : "4x2x2"));
}

std::string product_text(const Extents& numbers, int dimensions, const char* between) {
  std::string text = std::to_string(numbers[0]);
  for (int d = 1; d < dimensions; ++d) text += between + std::to_string(numbers[d]);
  return text;
}

void check_grid(const Extents& field, const Extents& grid, int dimensions, int ranks) {
  const std::string name = "the grid " + product_text(grid, dimensions);
  std::int64_t places = 1;
  // The product of two numbers fits; a third is multiplied only if the first two can still be
  // right.
  for (const int number : grid) places = places > ranks ? places : places * number;
  if (places != ranks) {
    throw std::runtime_error(name + " does not have one place for each of the " + std::to_string(ranks) + " ranks");
  }
  for (int d = 0; d < dimensions; ++d) {
    if (field[d] / grid[d] >= kGhostWidth) continue;
    throw std::runtime_error(name + " cuts the " + std::to_string(field[d]) + " points along " + "xyz"[d] +
                             " into blocks thinner than the ghost width of " + std::to_string(kGhostWidth));
  }
}

void check_memory(const Extents& field, int dimensions, double arrays, double memory) {
  // In floating point, where no product of extents is too large.
  const double bytes = arrays * sizeof(double) * field[0] * field[1] * field[2];
  if (bytes <= memory) return;
  const auto in_gib = [](double amount) {
    return std::to_string(std::llround(std::ceil(amount / (1 << 30)))) + " GiB";
  };
  throw std::runtime_error(product_text(field, dimensions) + " points need " + in_gib(bytes) +
                           ", this machine has less than " + in_gib(memory) + " of memory");
}

bool divides_evenly(const Extents& field, const Extents& grid) {
  return field[0] % grid[0] == 0 && field[1] % grid[1] == 0 && field[2] % grid[2] == 0;
}

}  // namespace heat
