// What the example programs share: the ranks they run on, and an orderly end.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>

namespace examples {

struct World {
  MPI_Comm comm;
  int rank;
  int ranks;
};

// Throws what is wrong on rank `from` on all ranks, if there is anything.
inline void throw_alike(const World& world, std::string error, int from) {
  int length = static_cast<int>(error.size());
  MPI_Bcast(&length, 1, MPI_INT, from, world.comm);
  error.resize(length);
  MPI_Bcast(error.data(), length, MPI_CHAR, from, world.comm);
  if (length > 0) throw std::runtime_error(error);
}

// Rank 0 works, and its error is everybody's.
template <typename Work>
void on_first_rank(const World& world, Work work) {
  std::string error;
  if (world.rank == 0) {
    try {
      work();
    } catch (const std::runtime_error& thrown) {
      error = thrown.what();
    }
  }
  throw_alike(world, error, 0);
}

// Every rank works, without messages. The error of the first rank that has one is everybody's.
template <typename Work>
void on_every_rank(const World& world, Work work) {
  std::string error;
  try {
    work();
  } catch (const std::bad_alloc&) {
    error = "rank " + std::to_string(world.rank) + " gets no memory";
  } catch (const std::exception& thrown) {
    error = thrown.what();
  }
  int first = error.empty() ? world.ranks : world.rank;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, world.comm);
  if (first < world.ranks) throw_alike(world, error, first);
}

// Runs `program(argc, argv, world)` between MPI_Init and MPI_Finalize. Returns its exit status.
template <typename Program>
int run_program(const char* name, int argc, char** argv, Program program) {
  MPI_Init(&argc, &argv);
  World world{MPI_COMM_WORLD, 0, 1};
  MPI_Comm_rank(world.comm, &world.rank);
  MPI_Comm_size(world.comm, &world.ranks);
  int status = 2;
  try {
    status = program(argc, argv, world);
  } catch (const std::runtime_error& error) {
    // Thrown by all ranks alike, so an orderly end is possible.
    if (world.rank == 0) std::fprintf(stderr, "%s: %s\n", name, error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: rank %d: %s\n", name, world.rank, error.what());
    MPI_Abort(world.comm, 3);
  }
  MPI_Finalize();
  return status;
}

}  // namespace examples
