// Errors of our own calls on a communicator of the user.
#pragma once

#include "mpi/mpi.hpp"

namespace quadrille {

struct Lent;

// While it lives, errors on `comm` are returned: the user's error handler, which may end the program, is not for what
// Quadrille tries and can do without. Several threads may hold one of the same communicator: the last one gives the
// handler back, unless the program has set another one meanwhile. With MPICH, MPI_COMM_SELF keeps its default handler
// if the program has set one on MPI_COMM_WORLD, which serves both.
class ErrorsReturned {
 public:
  explicit ErrorsReturned(MpiComm comm);
  ErrorsReturned& operator=(ErrorsReturned&&) = delete;
  ~ErrorsReturned();

 private:
  Lent* lent_ = nullptr;  // the handler of `comm`; null: too many are lent to count this one
};

// Codes of errors mean something to one process only; classes mean the same everywhere.
inline int class_of(int error) {
  int its_class = mpi().err_other;
  if (error != mpi_success) mpi().Error_class(error, &its_class);
  return error == mpi_success ? error : its_class;
}

// Whether an error handler of the program, not one of the MPI's own, is set on `comm`.
bool has_own_handler(MpiComm comm);

// MPICH, and the MPIs that are made from it, return MPI_SUCCESS from a call whose error such a handler was given.
inline bool hides_handled_errors() { return !mpi().is_openmpi(); }

}  // namespace quadrille
