// The ranks of a program, and errors that all ranks throw together.
#pragma once

#include <mpi.h>

#include <new>
#include <stdexcept>
#include <string>

namespace examples {

struct World {
  MPI_Comm comm;
  int rank;
  int ranks;
};

// Throws the error of rank `from`, if any, on all ranks.
inline void throw_alike(const World& world, std::string error, int from) {
  int length = static_cast<int>(error.size());
  MPI_Bcast(&length, 1, MPI_INT, from, world.comm);
  error.resize(length);
  MPI_Bcast(error.data(), length, MPI_CHAR, from, world.comm);
  if (length > 0) throw std::runtime_error(error);
}

// Rank 0 works; all ranks throw its error.
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

// Every rank works, without messages. All ranks throw the error of the first rank that has one.
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

}  // namespace examples
