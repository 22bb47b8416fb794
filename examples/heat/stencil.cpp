#include "stencil.hpp"

#include <algorithm>

namespace heat {
namespace {

template <class Formula>
void sweep(const Formula& formula, const Extents& padded, const Box& box, const double* from, double* to) {
  const std::ptrdiff_t row = padded[0];
  const std::ptrdiff_t plane = row * padded[1];
  for (int z = 0; z < box.extents[2]; ++z) {
    for (int y = 0; y < box.extents[1]; ++y) {
      const std::ptrdiff_t begin = (box.begin[2] + z) * plane + (box.begin[1] + y) * row + box.begin[0];
      for (std::ptrdiff_t i = begin; i < begin + box.extents[0]; ++i) {
        to[i] = formula([=](int dx, int dy, int dz) { return from[i + dx + dy * row + dz * plane]; });
      }
    }
  }
}

}  // namespace

Box changing_points(const Extents& field, const Box& block, const Layout& layout, Boundary boundary) {
  Box box = own_points(layout);
  if (boundary == Boundary::periodic) return box;
  for (int d = 0; d < 3; ++d) {
    if (layout.ghosts[d] == 0) continue;  // the third dimension of heat2d has no boundary
    const int low = block.begin[d] == 0 ? 1 : 0;
    const int high = block.begin[d] + block.extents[d] == field[d] ? 1 : 0;
    box.begin[d] += low;
    box.extents[d] = std::max(box.extents[d] - low - high, 0);
  }
  return box;
}

void step(int stencil, const Layout& layout, const Box& box, const double* from, double* to) {
  with_formula(stencil, [&](const auto& formula) { sweep(formula, layout.padded(), box, from, to); });
}

}  // namespace heat
