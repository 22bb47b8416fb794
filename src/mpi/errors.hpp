// Errors of our own calls on a communicator of the user.
#pragma once

#include "mpi/mpi.hpp"

namespace quadrille {

struct Lent;

// While it lives, errors on `comm` are returned: the user's error handler, which may end the program, is not for what
// Quadrille tries and can do without. Several threads may hold one of the same communicator: the last one gives the
// handler back, unless the program has set another one meanwhile.
class ErrorsReturned {
 public:
  explicit ErrorsReturned(MpiComm comm);
  ErrorsReturned& operator=(ErrorsReturned&&) = delete;
  ~ErrorsReturned();

 private:
  Lent* lent_ = nullptr;  // its handler; null: it is not counted
};

// Whether an error handler of the program, not one of the MPI's own, is set on `comm`.
bool has_own_handler(MpiComm comm);

// MPICH, and the MPIs that are made from it, return MPI_SUCCESS from a call whose error such a handler was given.
inline bool hides_handled_errors() { return mpi().abi != Abi::openmpi; }

}  // namespace quadrille
