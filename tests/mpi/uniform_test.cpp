// Alltoall and Allgather: every algorithm, communicator, datatype and size against the oracle.
#include <vector>

#include "choices.hpp"
#include "shapes.hpp"
#include "world.hpp"

namespace quadrille::test {
namespace {

constexpr std::size_t uniform_sizes[] = {0, 1, 7, 8, 64, 100, 511, 512, 513, 4095, 4096, 4097, 8191, 8192, 8193, 65536};

std::vector<Kinds> all_kinds() {
  std::vector<Kinds> all;
  for (const Type& type : types()) all.push_back(same(type.name));
  all.push_back(between("int", "contiguous"));
  all.push_back(between("contiguous", "int"));
  all.push_back(between("int", "permuted"));
  all.push_back(between("permuted", "int"));
  all.push_back(between("vector", "resized-struct"));
  all.push_back(between("negative-data", "permuted"));
  all.push_back(between("two-records", "record"));
  all.push_back(between("vector-of-doubles", "double"));
  all.push_back(mixed(Base::integer));
  return all;
}

// All combinations of datatypes, sizes and in-place.
std::vector<Shape> uniform_shapes(Collective collective) {
  std::vector<Shape> all;
  for (const Kinds& kinds : all_kinds()) {
    for (std::size_t bytes : uniform_sizes) {
      for (bool in_place : {false, true}) {
        all.push_back(
            {.collective = collective, .kinds = kinds, .bytes = bytes, .in_place = in_place, .seed = all.size()});
      }
    }
  }
  return all;
}

const std::vector<Collective> uniform_collectives = those([](Collective c) { return is_dense(c) && is_regular(c); });

class Uniform : public MpiTest, public testing::WithParamInterface<Forced> {};

TEST_P(Uniform, EveryShape) {
  const Forced& forced = GetParam();
  check_shapes(forced, uniform_shapes(forced.collective), {.forced = 60, .least = 6, .self = 40});
}

INSTANTIATE_TEST_SUITE_P(All, Uniform, testing::ValuesIn(forced_choices(uniform_collectives, can_force)),
                         [](const testing::TestParamInfo<Forced>& info) { return test_name(info.param); });

class UniformDefault : public MpiTest {};

// Blocks of neighbouring sizes: a limit between two algorithms must not show in the data.
TEST_F(UniformDefault, NeighbouringSizes) {
  const Communicator& where = communicator_named("world");
  for (Collective collective : uniform_collectives) {
    Shape shape = {.collective = collective, .kinds = same("byte")};
    const int step = 40 / repeats(40);
    for (std::size_t bytes = 0; bytes < 600; bytes += static_cast<std::size_t>(step)) {
      shape.bytes = bytes;
      expect_good(check(shape, where));
    }
  }
}

// The same signature on every rank, but another datatype on each: nothing about the algorithm may
// depend on whether a rank's own data is contiguous.
TEST_F(UniformDefault, RanksWithDifferentTypes) {
  for (Collective collective : uniform_collectives) {
    for (int i = 0; i < repeats(40, 6); ++i) {
      const Shape shape = {.collective = collective,
                           .kinds = mixed(i % 4 == 3 ? Base::real : Base::integer),
                           .bytes = uniform_sizes[static_cast<std::size_t>(i) % std::size(uniform_sizes)],
                           .seed = static_cast<std::uint64_t>(i)};
      if (!mpi_can(shape, world().size)) continue;
      expect_good(check(shape, communicator_named("world")));
      expect_good(check(shape, communicator_named("reversed")));
    }
  }
}

}  // namespace
}  // namespace quadrille::test
