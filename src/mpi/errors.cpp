#include "mpi/errors.hpp"

namespace quadrille {

bool has_own_handler(MPI_Comm comm) {
  MPI_Errhandler handler;
  if (comm == mpi().comm_null || mpi().Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return false;
  const bool of_the_mpi = handler == mpi().errors_return || handler == mpi().errors_are_fatal;
  mpi().Errhandler_free(&handler);
  return !of_the_mpi;
}

}  // namespace quadrille
