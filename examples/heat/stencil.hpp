// One step of the heat equation, u' = u + dt / h^2 * L(u), where L is a discrete Laplacian.
//
// The formulas are templates over the access to a point's neighbours, so that the parallel and the
// sequential program do the same operations in the same order. Both are compiled without contraction to
// fused operations, so that all bits of the results are equal.
#pragma once

#include <cstddef>
#include <stdexcept>

#include "decomposition.hpp"

namespace heat {

// dt / h^2. Stable for all four stencils; no point then leaves the range of its neighbours.
constexpr double kFactor = 0.125;

enum class Boundary {
  periodic,
  fixed,  // the outermost points of the field keep their values
};

// In each formula, at(x, y, z) is the value of the neighbour in that direction.

struct FivePoints {
  template <class At>
  double operator()(const At& at) const {
    const double sides = (at(-1, 0, 0) + at(1, 0, 0)) + (at(0, -1, 0) + at(0, 1, 0));
    return at(0, 0, 0) + kFactor * (sides - 4 * at(0, 0, 0));
  }
};

// The error of its Laplacian does not depend on the direction, to leading order.
struct NinePoints {
  template <class At>
  double operator()(const At& at) const {
    const double sides = (at(-1, 0, 0) + at(1, 0, 0)) + (at(0, -1, 0) + at(0, 1, 0));
    const double corners = (at(-1, -1, 0) + at(1, -1, 0)) + (at(-1, 1, 0) + at(1, 1, 0));
    return at(0, 0, 0) + kFactor / 6 * ((4 * sides + corners) - 20 * at(0, 0, 0));
  }
};

struct SevenPoints {
  template <class At>
  double operator()(const At& at) const {
    const double faces = (at(-1, 0, 0) + at(1, 0, 0)) + (at(0, -1, 0) + at(0, 1, 0)) + (at(0, 0, -1) + at(0, 0, 1));
    return at(0, 0, 0) + kFactor * (faces - 6 * at(0, 0, 0));
  }
};

// As for 9 points. Weights of faces, edges and corners: 14, 3 and 1 of 30.
struct TwentySevenPoints {
  template <class At>
  double operator()(const At& at) const {
    const auto both = [&](int y, int z) { return at(-1, y, z) + at(1, y, z); };
    const auto middle = [&](int y, int z) { return at(0, y, z); };
    const double faces = both(0, 0) + (middle(-1, 0) + middle(1, 0)) + (middle(0, -1) + middle(0, 1));
    const double edges = (both(-1, 0) + both(1, 0)) + (both(0, -1) + both(0, 1)) +
                         ((middle(-1, -1) + middle(1, -1)) + (middle(-1, 1) + middle(1, 1)));
    const double corners = (both(-1, -1) + both(1, -1)) + (both(-1, 1) + both(1, 1));
    return at(0, 0, 0) + kFactor / 30 * (((14 * faces + 3 * edges) + corners) - 128 * at(0, 0, 0));
  }
};

// Calls use(formula) with the formula for this number of points.
template <class Use>
void with_formula(int stencil, Use use) {
  switch (stencil) {
    case 5:
      return use(FivePoints{});
    case 9:
      return use(NinePoints{});
    case 7:
      return use(SevenPoints{});
    case 27:
      return use(TwentySevenPoints{});
  }
  throw std::logic_error("no stencil of so many points");
}

// The points of a block that change, as a part of its padded array. `block` is its place in the
// field.
Box changing_points(const Extents& field, const Box& block, const Layout& layout, Boundary boundary);

// One step for the points `box` of a padded array. The ghost points of `from` must be there.
void step(int stencil, const Layout& layout, const Box& box, const double* from, double* to);

}  // namespace heat
