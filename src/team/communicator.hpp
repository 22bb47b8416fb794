// What the MPI is asked of a communicator, and what is kept with one as an attribute.
#pragma once

#include "mpi/mpi.hpp"

namespace quadrille::team {

inline int rank_in(MpiComm comm) {
  int rank = 0;
  mpi().Comm_rank(comm, &rank);
  return rank;
}

inline int size_of(MpiComm comm) {
  int ranks = 1;
  mpi().Comm_size(comm, &ranks);
  return ranks;
}

// MPI_UNDEFINED also where the MPI cannot tell.
inline int topology_of(MpiComm comm) {
  int topology = mpi().undefined;
  return mpi().Topo_test(comm, &topology) == mpi_success ? topology : mpi().undefined;
}

using CopyAttribute = int (*)(MpiComm, int, void*, void* value, void* copied, int* flag);
using ForgetAttribute = int (*)(MpiComm, int, void* value, void*);

// Of attributes that a duplicate of the communicator lacks.
inline int copy_nothing(MpiComm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return mpi_success;
}

inline int make_keyval(ForgetAttribute forget, CopyAttribute copy = copy_nothing) {
  int made = mpi().keyval_invalid;
  mpi().Comm_create_keyval(copy, forget, &made, nullptr);
  return made;
}

// `value` becomes null where there is none. False if the MPI cannot tell.
template <class Value>
bool get_attribute(MpiComm comm, int keyval, Value*& value) {
  int found = 0;
  const bool told = mpi().Comm_get_attr(comm, keyval, &value, &found) == mpi_success;
  if (!told || found == 0) value = nullptr;
  return told;
}

}  // namespace quadrille::team
