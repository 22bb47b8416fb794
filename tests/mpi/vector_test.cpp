// Alltoallv, Alltoallw and Allgatherv: counts, displacements and datatypes of every kind.
#include <vector>

#include "choices.hpp"
#include "shapes.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

constexpr std::size_t vector_sizes[] = {1, 8, 60, 100, 511, 512, 513, 4096, 8191, 8193, 40000};

std::vector<Kinds> kinds_for(Collective collective) {
  std::vector<Kinds> all;
  for (const Type& type : types()) all.push_back(same(type.name));
  all.push_back(between("int", "contiguous"));
  all.push_back(between("vector", "permuted"));
  all.push_back(between("negative-bound", "sparse"));
  all.push_back(between("record", "two-records"));
  all.push_back(mixed(Base::integer));
  if (is_typed(collective)) {
    all.push_back(mixed(Base::real));
    all.push_back(mixed(Base::record));
    all.push_back(mixed(Base::integer));
    all.push_back(mixed(Base::integer));
  }
  return all;
}

std::vector<Shape> vector_shapes(Collective collective) {
  std::vector<Shape> all;
  for (const Kinds& kinds : kinds_for(collective)) {
    for (Pattern pattern : all_patterns) {
      for (Layout layout : all_layouts) {
        for (bool in_place : {false, true}) {
          const std::size_t bytes = vector_sizes[mix(all.size()) % std::size(vector_sizes)];
          all.push_back({collective, kinds, bytes, in_place, pattern, layout, all.size()});
        }
      }
    }
  }
  return all;
}

class Vector : public MpiTest, public testing::WithParamInterface<Forced> {};

TEST_P(Vector, EveryShape) {
  const Forced& forced = GetParam();
  check_shapes(forced, vector_shapes(forced.collective), {.forced = 100, .least = 8, .self = 60});
}

INSTANTIATE_TEST_SUITE_P(
    All, Vector,
    testing::ValuesIn(forced_choices(those([](Collective c) { return is_dense(c) && !is_regular(c); }), can_force)),
    [](const testing::TestParamInfo<Forced>& info) { return test_name(info.param); });

}  // namespace
}  // namespace quadrille::test
