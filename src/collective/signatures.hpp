// The functions of the collectives, said once: the name and the argument list of each.
//
// A list calls X(collective, Name, FORM, Displacement): `Name` is what follows "MPI_" or "Quadrille_", `FORM` names the
// argument list below, and `Displacement` is what its displacements are where counts are int. Of large counts they are
// MPI_Aint. So of each collective
//   int MPI_##Name(QUADRILLE_WORDS_##FORM(int, Displacement))
// is the declaration in words of our own (mpi/words.hpp), and QUADRILLE_ARGUMENTS_##FORM are its arguments. Nonblocking
// functions have one parameter more, persistent ones two. The lists as the MPI declares them, which tests use, are in
// tests/mpi/native_signatures.hpp.
#pragma once

#include "collective/collective.hpp"

#define QUADRILLE_DENSE_COLLECTIVES(X)  \
  X(alltoall, Alltoall, UNIFORM, int)   \
  X(alltoallv, Alltoallv, VECTOR, int)  \
  X(alltoallw, Alltoallw, TYPED, int)   \
  X(allgather, Allgather, UNIFORM, int) \
  X(allgatherv, Allgatherv, GATHERV, int)

#define QUADRILLE_NEIGHBOR_COLLECTIVES(X)                          \
  X(neighbor_alltoall, Neighbor_alltoall, UNIFORM, int)            \
  X(neighbor_alltoallv, Neighbor_alltoallv, VECTOR, int)           \
  X(neighbor_alltoallw, Neighbor_alltoallw, TYPED, std::ptrdiff_t) \
  X(neighbor_allgather, Neighbor_allgather, UNIFORM, int)          \
  X(neighbor_allgatherv, Neighbor_allgatherv, GATHERV, int)

// That no MPI has.
#define QUADRILLE_OWN_NEIGHBOR_COLLECTIVES(X) X(neighbor_allgatherw, Neighbor_allgatherw, GATHERW, std::ptrdiff_t)

#define QUADRILLE_MPI_COLLECTIVES(X) QUADRILLE_DENSE_COLLECTIVES(X) QUADRILLE_NEIGHBOR_COLLECTIVES(X)
#define QUADRILLE_COLLECTIVES(X) QUADRILLE_MPI_COLLECTIVES(X) QUADRILLE_OWN_NEIGHBOR_COLLECTIVES(X)

#define QUADRILLE_LIST_UNIFORM(Count, Displacement, Comm, Type, Types) \
  const void *sendbuf, Count sendcount, Type sendtype, void *recvbuf, Count recvcount, Type recvtype, Comm comm
#define QUADRILLE_ARGUMENTS_UNIFORM sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm

#define QUADRILLE_LIST_VECTOR(Count, Displacement, Comm, Type, Types)                                        \
  const void *sendbuf, const Count sendcounts[], const Displacement sdispls[], Type sendtype, void *recvbuf, \
      const Count recvcounts[], const Displacement rdispls[], Type recvtype, Comm comm
#define QUADRILLE_ARGUMENTS_VECTOR sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm

#define QUADRILLE_LIST_TYPED(Count, Displacement, Comm, Type, Types)                                           \
  const void *sendbuf, const Count sendcounts[], const Displacement sdispls[], Types sendtypes, void *recvbuf, \
      const Count recvcounts[], const Displacement rdispls[], Types recvtypes, Comm comm
#define QUADRILLE_ARGUMENTS_TYPED sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm

#define QUADRILLE_LIST_GATHERV(Count, Displacement, Comm, Type, Types)                          \
  const void *sendbuf, Count sendcount, Type sendtype, void *recvbuf, const Count recvcounts[], \
      const Displacement displs[], Type recvtype, Comm comm
#define QUADRILLE_ARGUMENTS_GATHERV sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm

#define QUADRILLE_LIST_GATHERW(Count, Displacement, Comm, Type, Types)                          \
  const void *sendbuf, Count sendcount, Type sendtype, void *recvbuf, const Count recvcounts[], \
      const Displacement rdispls[], Types recvtypes, Comm comm
#define QUADRILLE_ARGUMENTS_GATHERW sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtypes, comm

#define QUADRILLE_WORDS_UNIFORM(Count, Displacement) \
  QUADRILLE_LIST_UNIFORM(Count, Displacement, quadrille::MpiComm, quadrille::MpiType, quadrille::MpiTypes)
#define QUADRILLE_WORDS_VECTOR(Count, Displacement) \
  QUADRILLE_LIST_VECTOR(Count, Displacement, quadrille::MpiComm, quadrille::MpiType, quadrille::MpiTypes)
#define QUADRILLE_WORDS_TYPED(Count, Displacement) \
  QUADRILLE_LIST_TYPED(Count, Displacement, quadrille::MpiComm, quadrille::MpiType, quadrille::MpiTypes)
#define QUADRILLE_WORDS_GATHERV(Count, Displacement) \
  QUADRILLE_LIST_GATHERV(Count, Displacement, quadrille::MpiComm, quadrille::MpiType, quadrille::MpiTypes)
#define QUADRILLE_WORDS_GATHERW(Count, Displacement) \
  QUADRILLE_LIST_GATHERW(Count, Displacement, quadrille::MpiComm, quadrille::MpiType, quadrille::MpiTypes)

// ---- The lists say what the table says ----

#define QUADRILLE_SIDES_UNIFORM Form::one_count, Form::one_count
#define QUADRILLE_SIDES_VECTOR Form::arrays, Form::arrays
#define QUADRILLE_SIDES_TYPED Form::typed_arrays, Form::typed_arrays
#define QUADRILLE_SIDES_GATHERV Form::one_count, Form::arrays
#define QUADRILLE_SIDES_GATHERW Form::one_count, Form::typed_arrays

namespace quadrille::detail {

constexpr bool is_listed_well(Collective c, Form send, Form recv, std::string_view displacement, bool of_mpi) {
  const CollectiveRow& row = row_of(c);
  const bool addresses = displacement == "std::ptrdiff_t";
  return row.send == send && row.recv == recv && row.of_mpi == of_mpi &&
         addresses == (row.places == Places::addresses) && (row.places != Places::none) == is_typed(c);
}

#define QUADRILLE_CHECK_OF_MPI(collective, Name, FORM, Displacement) \
  static_assert(is_listed_well(Collective::collective, QUADRILLE_SIDES_##FORM, #Displacement, true));
#define QUADRILLE_CHECK_OWN(collective, Name, FORM, Displacement) \
  static_assert(is_listed_well(Collective::collective, QUADRILLE_SIDES_##FORM, #Displacement, false));
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_CHECK_OF_MPI)
QUADRILLE_OWN_NEIGHBOR_COLLECTIVES(QUADRILLE_CHECK_OWN)
#undef QUADRILLE_CHECK_OF_MPI
#undef QUADRILLE_CHECK_OWN

#define QUADRILLE_COUNT(...) +1
static_assert(QUADRILLE_COLLECTIVES(QUADRILLE_COUNT) + 1 == collective_count,
              "each collective but the sparse exchange has an argument list as MPI has");
#undef QUADRILLE_COUNT

}  // namespace quadrille::detail

#undef QUADRILLE_SIDES_UNIFORM
#undef QUADRILLE_SIDES_VECTOR
#undef QUADRILLE_SIDES_TYPED
#undef QUADRILLE_SIDES_GATHERV
#undef QUADRILLE_SIDES_GATHERW
