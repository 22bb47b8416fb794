// The code without MPI: the blocks must fit together, the stencils must be consistent, and images must
// survive a write and a read.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "decomposition.hpp"
#include "image.hpp"
#include "reference.hpp"
#include "report.hpp"
#include "stencil.hpp"

namespace heat {
namespace {

int dimensions_of(int stencil) { return stencil == 5 || stencil == 9 ? 2 : 3; }

Field random_field(const Extents& extents) {
  Field field{extents, std::vector<double>(point_count(extents))};
  std::mt19937_64 random(1);
  for (double& value : field.values) value = std::uniform_real_distribution(-1.0, 1.0)(random);
  return field;
}

template <class Work>
std::string error_of(Work work) {
  try {
    work();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

// ---- Decomposition ----

TEST(HeatBlocks, CoverTheLineOnceAndDifferByOne) {
  for (int points = 1; points <= 20; ++points) {
    for (int parts = 1; parts <= points; ++parts) {
      int next = 0;
      for (int part = 0; part < parts; ++part) {
        const Box block = block_of({points, 1, 1}, {parts, 1, 1}, {part, 0, 0});
        EXPECT_EQ(block.begin[0], next);
        EXPECT_GE(block.extents[0], points / parts);
        EXPECT_LE(block.extents[0], (points + parts - 1) / parts);
        next += block.extents[0];
      }
      EXPECT_EQ(next, points);
    }
  }
}

TEST(HeatBlocks, OfLongLinesDoNotOverflow) {
  const Box block = block_of({2'000'000'000, 1, 1}, {1000, 1, 1}, {999, 0, 0});
  EXPECT_EQ(block.begin[0], 1'998'000'000);
  EXPECT_EQ(block.extents[0], 2'000'000);
}

TEST(HeatBlocks, SidesOfABlock) {
  const Layout layout = layout_of({4, 5, 6}, 3);
  EXPECT_EQ(layout.padded(), (Extents{6, 7, 8}));
  const Box low = edge_points(layout, {-1, 0, 0}), high = edge_points(layout, {1, 0, 1});
  EXPECT_EQ(low.begin, (Extents{1, 1, 1}));
  EXPECT_EQ(low.extents, (Extents{1, 5, 6}));
  EXPECT_EQ(high.begin, (Extents{4, 1, 6}));
  EXPECT_EQ(high.extents, (Extents{1, 5, 1}));
  EXPECT_EQ(ghost_points(layout, {-1, 0, 0}).begin, (Extents{0, 1, 1}));
  EXPECT_EQ(ghost_points(layout, {1, 0, 1}).begin, (Extents{5, 1, 7}));
  EXPECT_EQ(ghost_points(layout, {1, 0, 1}).extents, (Extents{1, 5, 1}));
}

TEST(HeatBlocks, APlaneHasNoGhostsAlongZ) { EXPECT_EQ(layout_of({4, 5, 1}, 2).padded(), (Extents{6, 7, 1})); }

TEST(HeatNeighbors, AreAsManyAsTheStencilHas) {
  for (const int stencil : {5, 9, 7, 27}) {
    const auto offsets = neighbor_offsets(dimensions_of(stencil), stencil);
    EXPECT_EQ(static_cast<int>(offsets.size()), stencil - 1);
  }
  const std::vector<Offset> cartesian{{-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}};
  EXPECT_EQ(neighbor_offsets(2, 5), cartesian);
}

TEST(HeatGrid, IsReadFromText) {
  EXPECT_EQ(parse_product("4x2", 2, "grid"), (Extents{4, 2, 1}));
  EXPECT_EQ(parse_product("4x2x30", 3, "grid"), (Extents{4, 2, 30}));
  for (const char* bad : {"", "4", "4x", "4x2x1", "0x2", "-1x2", "4X2", "4x2 ", "99999999999x1"}) {
    EXPECT_EQ(error_of([&] { parse_product(bad, 2, "grid"); }), "'" + std::string(bad) + "' is not a grid such as 4x2");
  }
}

TEST(HeatGrid, MustFitTheRanksAndTheField) {
  const Extents field{10, 3, 1};
  EXPECT_EQ(error_of([&] { check_grid(field, {2, 3, 1}, 2, 6); }), "no error");
  EXPECT_EQ(error_of([&] {
              check_grid(field, {2, 2, 1}, 2, 6);
            }),
            "the grid 2x2 does not have one place for each of the 6 ranks");
  // The product of these is 0 in 32 bits.
  EXPECT_EQ(error_of([&] {
              check_grid(field, {1 << 30, 1 << 30, 1 << 30}, 3, 6);
            }),
            "the grid 1073741824x1073741824x1073741824 does not have one place for each of the 6 "
            "ranks");
  EXPECT_EQ(error_of([&] {
              check_grid(field, {1, 4, 1}, 2, 4);
            }),
            "the grid 1x4 cuts the 3 points along y into blocks thinner than the ghost width of 1");
}

TEST(HeatGrid, DividesEvenlyOrNot) {
  EXPECT_TRUE(divides_evenly({12, 10, 1}, {3, 2, 1}));
  EXPECT_FALSE(divides_evenly({12, 10, 1}, {3, 4, 1}));
  EXPECT_FALSE(divides_evenly({12, 10, 9}, {3, 2, 2}));
}

TEST(HeatMemory, MustHoldTheArrays) {
  constexpr double gib = 1 << 30;
  EXPECT_EQ(error_of([&] { check_memory({1 << 14, 1 << 13, 1}, 2, 4, 4 * gib); }), "no error");
  EXPECT_EQ(error_of([&] {
              check_memory({1 << 14, 1 << 13, 1}, 2, 4, 4 * gib - 1);
            }),
            "16384x8192 points need 4 GiB, this machine has less than 4 GiB of memory");
  // The product of these is 0 in 64 bits.
  EXPECT_EQ(error_of([&] {
              check_memory({1 << 30, 1 << 30, 16}, 3, 2, gib);
            }),
            "1073741824x1073741824x16 points need 274877906944 GiB, this machine has less than 1 GiB of memory");
}

// ---- Stencils ----

class HeatEachStencil : public testing::TestWithParam<int> {
 protected:
  const int stencil = GetParam();
  const int dimensions = dimensions_of(stencil);
  Extents extents(int x, int y, int z) const { return {x, y, dimensions == 3 ? z : 1}; }
};
INSTANTIATE_TEST_SUITE_P(Points, HeatEachStencil, testing::Values(5, 9, 7, 27));

TEST_P(HeatEachStencil, KeepsAConstantField) {
  Field field{extents(4, 5, 6), {}};
  field.values.assign(point_count(field.extents), 3.25);
  for (const auto boundary : {Boundary::periodic, Boundary::fixed}) {
    for (const double value : reference(field, dimensions, stencil, boundary, 10).values) {
      EXPECT_NEAR(value, 3.25, 1e-13);
    }
  }
}

// Every stencil must have the Laplacian's value on a polynomial of second order, with mixed terms.
TEST_P(HeatEachStencil, IsTheLaplacianOfAParabola) {
  const auto at = [&](int x, int y, int z) {
    return 2.0 * x * x + 3.0 * y * y + 5.0 * z * z + 7.0 * x * y - 4.0 * y * z + x - y + z;
  };
  const double laplacian = dimensions == 3 ? 2 * (2 + 3 + 5) : 2 * (2 + 3);
  with_formula(stencil, [&](const auto& formula) { EXPECT_NEAR(formula(at), kFactor * laplacian, 1e-13); });
}

// Finds a neighbour that is read twice or never.
TEST_P(HeatEachStencil, GivesHeatToTheNeighborsThatItNames) {
  Field field{extents(5, 5, 5), {}};
  field.values.assign(point_count(field.extents), 0);
  const int middle_z = dimensions == 3 ? 2 : 0;
  const auto place = [](int x, int y, int z) { return x + 5 * (y + 5 * z); };
  field.values[place(2, 2, middle_z)] = 1;
  const Field next = reference(field, dimensions, stencil, Boundary::periodic, 1);
  int warm = 0;
  for (const double value : next.values) warm += value > 0 ? 1 : 0;
  EXPECT_EQ(warm, stencil);
  for (const Offset& offset : neighbor_offsets(dimensions, stencil)) {
    EXPECT_GT(next.values[place(2 + offset[0], 2 + offset[1], middle_z + offset[2])], 0);
  }
}

TEST_P(HeatEachStencil, StaysInTheRangeAndKeepsTheMean) {
  const Field field = random_field(extents(6, 7, 8));
  const Field last = reference(field, dimensions, stencil, Boundary::periodic, 50);
  double before = 0, after = 0;
  for (const double value : field.values) before += value;
  for (const double value : last.values) {
    after += value;
    EXPECT_LT(std::abs(value), 1);
  }
  EXPECT_NEAR(after, before, 1e-12);
}

TEST_P(HeatEachStencil, AFixedBoundaryStays) {
  const Field field = random_field(extents(4, 5, 6));
  const Field last = reference(field, dimensions, stencil, Boundary::fixed, 3);
  const auto [nx, ny, nz] = field.extents;
  std::size_t i = 0;
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      for (int x = 0; x < nx; ++x, ++i) {
        const bool inside_z = dimensions == 2 || (z > 0 && z < nz - 1);
        const bool inside = x > 0 && x < nx - 1 && y > 0 && y < ny - 1 && inside_z;
        EXPECT_EQ(last.values[i] != field.values[i], inside) << x << ' ' << y << ' ' << z;
      }
    }
  }
}

// A wave along x decays by the known factor of the scheme.
TEST_P(HeatEachStencil, AWaveDecaysAsItShould) {
  const int length = 8, steps = 10;
  Field field{extents(length, 4, 4), {}};
  for (std::size_t i = 0; i < point_count(field.extents); ++i) {
    field.values.push_back(std::cos(2 * std::numbers::pi * static_cast<double>(i % length) / length));
  }
  const Field last = reference(field, dimensions, stencil, Boundary::periodic, steps);
  const double decay = std::pow(1 - 2 * kFactor * (1 - std::cos(2 * std::numbers::pi / length)), steps);
  for (std::size_t i = 0; i < field.values.size(); ++i) {
    EXPECT_NEAR(last.values[i], decay * field.values[i], 1e-13);
  }
}

// ---- All blocks in one process ----

// Calls use(x, y, z) for each point of a box.
template <class Use>
void for_each(const Box& box, Use use) {
  for (int z = 0; z < box.extents[2]; ++z) {
    for (int y = 0; y < box.extents[1]; ++y) {
      for (int x = 0; x < box.extents[0]; ++x) {
        use(box.begin[0] + x, box.begin[1] + y, box.begin[2] + z);
      }
    }
  }
}

std::size_t index_in(const Extents& array, int x, int y, int z) {
  return x + static_cast<std::size_t>(array[0]) * (y + static_cast<std::size_t>(array[1]) * z);
}

struct Part {
  Extents coordinates;
  Box place;
  Layout layout;
  std::vector<double> values, next;
};

// All blocks of a field, which exchange their edges by copies.
struct Parts {
  Parts(const Field& field, const Extents& grid, int dimensions) : field(field), grid(grid) {
    for_each({{}, grid}, [&](int x, int y, int z) {
      Part part{{x, y, z}, block_of(field.extents, grid, {x, y, z}), {}, {}, {}};
      part.layout = layout_of(part.place.extents, dimensions);
      // Ghost points without a neighbour must not be read.
      part.values.assign(point_count(part.layout.padded()), std::nan(""));
      copy_field(part, [](double& own, double& whole) { own = whole; });
      part.next = part.values;
      parts.push_back(part);
    });
  }

  template <class Copy>
  void copy_field(Part& part, Copy copy) {
    for_each({{}, part.layout.own}, [&](int x, int y, int z) {
      const Extents& ghosts = part.layout.ghosts;
      const Extents& begin = part.place.begin;
      copy(part.values[index_in(part.layout.padded(), x + ghosts[0], y + ghosts[1], z + ghosts[2])],
           field.values[index_in(field.extents, x + begin[0], y + begin[1], z + begin[2])]);
    });
  }

  // The part at an offset, or null beyond the end.
  Part* neighbor(const Part& part, const Offset& offset, bool wraps) {
    Extents place = part.coordinates;
    for (int d = 0; d < 3; ++d) {
      place[d] += offset[d];
      if (!wraps && (place[d] < 0 || place[d] >= grid[d])) return nullptr;
      place[d] = (place[d] + grid[d]) % grid[d];
    }
    return &parts[index_in(grid, place[0], place[1], place[2])];
  }

  void exchange(const std::vector<Offset>& offsets, bool wraps) {
    for (Part& part : parts) {
      for (const Offset& side : offsets) {
        const Part* from = neighbor(part, side, wraps);
        if (from == nullptr) continue;
        const Box edge = edge_points(from->layout, {-side[0], -side[1], -side[2]});
        const Box ghosts = ghost_points(part.layout, side);
        ASSERT_EQ(edge.extents, ghosts.extents);
        std::vector<double> message;
        for_each(edge, [&](int x, int y, int z) {
          message.push_back(from->values[index_in(from->layout.padded(), x, y, z)]);
        });
        std::size_t i = 0;
        for_each(ghosts,
                 [&](int x, int y, int z) { part.values[index_in(part.layout.padded(), x, y, z)] = message[i++]; });
      }
    }
  }

  Field field;
  Extents grid;
  std::vector<Part> parts;
};

// The grid must have a place along every dimension that the field has.
Field in_parts(const Field& field, const Extents& grid, int dimensions, int stencil, Boundary boundary,
               int iterations) {
  Parts all(field, grid, dimensions);
  for (int i = 0; i < iterations; ++i) {
    all.exchange(neighbor_offsets(dimensions, stencil), boundary == Boundary::periodic);
    for (Part& part : all.parts) {
      const Box box = changing_points(field.extents, part.place, part.layout, boundary);
      step(stencil, part.layout, box, part.values.data(), part.next.data());
      std::swap(part.values, part.next);
    }
  }
  for (Part& part : all.parts) {
    all.copy_field(part, [](double& own, double& whole) { whole = own; });
  }
  return all.field;
}

TEST_P(HeatEachStencil, BlocksGiveTheBitsOfTheSequentialProgram) {
  const Extents grids[] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {2, 2, 2}, {3, 4, 2}};
  for (const Extents& size : {Extents{3, 4, 2}, Extents{7, 5, 6}, Extents{1, 4, 3}}) {
    const Field field = random_field(extents(size[0], size[1], size[2]));
    for (const Extents& grid : grids) {
      const Extents shape = extents(grid[0], grid[1], grid[2]);
      if (shape[0] > field.extents[0]) continue;
      for (const auto boundary : {Boundary::periodic, Boundary::fixed}) {
        const Field expected = reference(field, dimensions, stencil, boundary, 4);
        const Field found = in_parts(field, shape, dimensions, stencil, boundary, 4);
        EXPECT_EQ(difference(found, expected, dimensions), "") << product_text(shape, 3);
      }
    }
  }
}

// ---- Report ----

TEST(HeatChecksum, DependsOnEveryBitAndOnThePlace) {
  EXPECT_NE(checksum_of(0, 1.0), checksum_of(1, 1.0));
  EXPECT_NE(checksum_of(0, 1.0), checksum_of(0, std::nextafter(1.0, 2.0)));
  EXPECT_NE(checksum_of(0, 0.0), checksum_of(0, -0.0));
  EXPECT_NE(checksum_of(0, 1.0) + checksum_of(1, 2.0), checksum_of(0, 2.0) + checksum_of(1, 1.0));
}

TEST(HeatDifference, NamesTheFirstPoint) {
  Field field = random_field({4, 3, 2});
  EXPECT_EQ(difference(field, field, 3), "");
  Field other = field;
  other.values[1 + 4 * (2 + 3 * 1)] = 0.5;
  field.values[1 + 4 * (2 + 3 * 1)] = 0.25;
  EXPECT_EQ(difference(field, other, 3), "point (1, 2, 1) is 0.25, the sequential program finds 0.5");
}

TEST(HeatJson, HoldsWhatWasFound) {
  Report report;
  report.program = "heat2d";
  report.dimensions = 2;
  report.extents = {33, 41, 1};
  report.grid = {2, 1, 1};
  report.checksum = 255;
  report.check = "passed";
  const std::string text = as_json(report);
  for (const char* part :
       {R"("extents": [33, 41], "grid": [2, 1])", R"("checksum": "00000000000000ff")", R"("check": "passed"})"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

// ---- Images ----

class HeatImages : public testing::Test {
 protected:
  ~HeatImages() override { std::filesystem::remove(path); }
  void write(const std::string& text) const { std::ofstream(path, std::ios::binary) << text; }
  std::string error() const {
    return error_of([&] { read_image(path, -1); });
  }
  const std::string path = testing::TempDir() + "heat_test." + std::to_string(std::random_device()()) + ".pgm";
};

TEST_F(HeatImages, AreReadAsTheyWereWritten) {
  const Field plane{{3, 2, 1}, {0, 10, 13, 35, 255, 128}};
  write_pgm(path, plane, 0, 255);
  const Field read = read_image(path, -1);
  EXPECT_EQ(read.extents, plane.extents);
  EXPECT_EQ(read.values, plane.values);
}

TEST_F(HeatImages, OfOneValueAreBlack) {
  write_pgm(path, {{2, 1, 1}, {7, 7}}, 7, 7);
  EXPECT_EQ(read_image(path, -1).values, (std::vector<double>{0, 0}));
}

TEST_F(HeatImages, AsTextAndWithSixteenBits) {
  write("P2\n# made by hand\n2 2\n9\n1 2 3\n9");
  EXPECT_EQ(read_image(path, -1).values, (std::vector<double>{1, 2, 3, 9}));
  write(std::string("P5 2 1 65535\n\x01\x02\xff\xff", 17));
  EXPECT_EQ(read_image(path, -1).values, (std::vector<double>{258, 65535}));
}

TEST_F(HeatImages, BadOnesAreRefused) {
  write("P5\n2 2\n255\nabc");
  EXPECT_EQ(error(), path + ": ends before its last pixel");
  write("P5\n2 -2\n255\nabcd");
  EXPECT_EQ(error(), path + ": not a PGM file: bad header");
  write("P2\n1 1\n3\n4");
  EXPECT_EQ(error(), path + ": a pixel is brighter than white");
  write("something else");
  EXPECT_EQ(error(), path + ": not a NIfTI-1 file (shorter than its header)");
}

TEST(HeatPlanes, AreTakenFromTheirPlace) {
  const Field field{{2, 1, 3}, {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(plane_of(field, 1).values, (std::vector<double>{3, 4}));
}

}  // namespace
}  // namespace heat
