#include "shapes.hpp"

#include <algorithm>
#include <functional>
#include <string>

#include "world.hpp"

namespace quadrille::test {
namespace {

int set_algorithm(MPI_Comm comm, Collective collective, const std::string& algorithm) {
  return can_force ? force(comm, collective, algorithm) : MPI_SUCCESS;
}

}  // namespace

void check_shapes(const Forced& forced, const std::vector<Shape>& shapes, const Samples& samples) {
  const int every = static_cast<int>(shapes.size());
  const int some = repeats(forced.algorithm.empty() ? every : samples.forced, samples.least);
  for (const Communicator& where : communicators()) {
    EXPECT_EQ(MPI_SUCCESS, set_algorithm(where.comm, forced.collective, forced.algorithm));
    Random random(mix(std::hash<std::string>()(forced.algorithm)) + where.number);
    const int count = where.name == "self" ? std::min(some, samples.self) : some;
    for (int i = 0; i < count; ++i) {
      const int chosen = some >= every ? i : random.below(every);
      const Shape& shape = shapes[static_cast<std::size_t>(chosen)];
      if (mpi_can(shape, where.size) || (where.size > 1 && surely_served(forced))) {
        // The MPI's own result does not depend on what is forced: once it has been compared, samples do.
        expect_good(check(shape, where, forced.algorithm.empty() || i % 4 == 0));
      }
    }
    EXPECT_EQ(MPI_SUCCESS, set_algorithm(where.comm, forced.collective, ""));
  }
}

}  // namespace quadrille::test
