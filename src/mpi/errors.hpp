// Errors of our own calls on a communicator of the user.
#pragma once

#include "mpi/mpi.hpp"

namespace quadrille {

// While it lives, errors on `comm` are returned: the user's error handler, which may end the program, is not for what
// Quadrille tries and can do without.
class ErrorsReturned {
 public:
  explicit ErrorsReturned(MPI_Comm comm) : comm_(comm) {
    set_ = mpi().Comm_get_errhandler(comm, &before_) == MPI_SUCCESS &&
           mpi().Comm_set_errhandler(comm, mpi().errors_return) == MPI_SUCCESS;
  }
  ErrorsReturned(const ErrorsReturned&) = delete;
  ErrorsReturned& operator=(const ErrorsReturned&) = delete;
  ~ErrorsReturned() {
    if (!set_) return;
    mpi().Comm_set_errhandler(comm_, before_);
    mpi().Errhandler_free(&before_);
  }

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_{};
  bool set_ = false;
};

// Whether an error handler of the program, not one of the MPI's own, is set on `comm`.
bool has_own_handler(MPI_Comm comm);

// MPICH, and the MPIs that are made from it, return MPI_SUCCESS from a call whose error such a handler was given.
#if defined(QUADRILLE_ABI_OPENMPI)
inline constexpr bool hides_handled_errors = false;
#else
inline constexpr bool hides_handled_errors = true;
#endif

}  // namespace quadrille
