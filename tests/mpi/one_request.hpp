// A call as a request, with data that are checked.
#pragma once

#include <quadrille.h>

#include <vector>

#include "ints_of_a_turn.hpp"

namespace quadrille::test {

struct One : IntsOfATurn {
  using IntsOfATurn::IntsOfATurn;
  Quadrille_Request request = QUADRILLE_REQUEST_NULL;

  void start() {
    const int error =
        gather ? Quadrille_Iallgather(sent.data(), count, MPI_INT, got.data(), count, MPI_INT, comm, &request)
               : Quadrille_Ialltoall(sent.data(), count, MPI_INT, got.data(), count, MPI_INT, comm, &request);
    EXPECT_EQ(error, MPI_SUCCESS);
  }
  void make_persistent() {
    const int error = gather ? Quadrille_Allgather_init(sent.data(), count, MPI_INT, got.data(), count, MPI_INT, comm,
                                                        MPI_INFO_NULL, &request)
                             : Quadrille_Alltoall_init(sent.data(), count, MPI_INT, got.data(), count, MPI_INT, comm,
                                                       MPI_INFO_NULL, &request);
    EXPECT_EQ(error, MPI_SUCCESS);
  }
  void complete() {
    EXPECT_EQ(MPI_SUCCESS, Quadrille_Wait(&request));
    expect_right();
  }
  // In a blocking call instead.
  void call() {
    EXPECT_EQ(MPI_SUCCESS, (gather ? Quadrille_Allgather : Quadrille_Alltoall)(sent.data(), count, MPI_INT, got.data(),
                                                                               count, MPI_INT, comm));
    expect_right();
  }
};

// Several sizes: through rings at once, as far as they go, and from where they lie.
inline std::vector<One> several(MPI_Comm comm, int number) {
  std::vector<One> all;
  for (int k = 0; k < number; ++k)
    all.emplace_back(comm, std::vector<int>{1, 16, 500, 20'000, 3}[static_cast<std::size_t>(k % 5)], k % 3 == 1);
  return all;
}

}  // namespace quadrille::test
