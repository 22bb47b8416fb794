#include "reference.hpp"

#include <utility>
#include <vector>

namespace heat {
namespace {

// For -1 to `extent`: the offset of the point in the field, in numbers.
std::vector<std::size_t> wrapped(int extent, std::size_t stride) {
  std::vector<std::size_t> places;
  for (int i = -1; i <= extent; ++i) places.push_back((i + extent) % extent * stride);
  return places;
}

struct Places {
  std::vector<std::size_t> along[3];
};

Places places_of(const Extents& extents) {
  const std::size_t row = extents[0];
  return {{wrapped(extents[0], 1), wrapped(extents[1], row), wrapped(extents[2], row * extents[1])}};
}

bool outermost(const Extents& extents, int dimensions, const Extents& point) {
  for (int d = 0; d < dimensions; ++d) {
    if (point[d] == 0 || point[d] == extents[d] - 1) return true;
  }
  return false;
}

}  // namespace

Field reference(Field field, int dimensions, int stencil, Boundary boundary, int iterations) {
  const auto [nx, ny, nz] = field.extents;
  const Places places = places_of(field.extents);
  const auto one_step = [&](const auto& formula) {
    std::vector<double> next;
    next.reserve(field.values.size());
    for (int z = 0; z < nz; ++z) {
      for (int y = 0; y < ny; ++y) {
        for (int x = 0; x < nx; ++x) {
          const auto at = [&, x, y, z](int dx, int dy, int dz) {
            return field
                .values[places.along[0][x + dx + 1] + places.along[1][y + dy + 1] + places.along[2][z + dz + 1]];
          };
          const bool keeps = boundary == Boundary::fixed && outermost(field.extents, dimensions, {x, y, z});
          next.push_back(keeps ? at(0, 0, 0) : formula(at));
        }
      }
    }
    field.values = std::move(next);
  };
  for (int i = 0; i < iterations; ++i) with_formula(stencil, one_step);
  return field;
}

}  // namespace heat
