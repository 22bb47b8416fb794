// The functions of quadrille.h in words of our own (mpi/mpi.hpp). That header needs an mpi.h, and the library and
// what comes with it are the same for all MPIs. That both say the same is checked where an ABI is known
// (abi/constants.cpp), so a file has one of them.
#pragma once

#include "collective/collective.hpp"
#include "mpi/mpi.hpp"

#ifndef QUADRILLE_H

#define QUADRILLE_EXPORT __attribute__((visibility("default")))

struct Quadrille_Request_state;
using Quadrille_Request = Quadrille_Request_state*;
inline constexpr Quadrille_Request QUADRILLE_REQUEST_NULL = nullptr;

struct Quadrille_Received {
  int nsources;
  int* sources;
  quadrille::MpiCount* counts;
  quadrille::MpiAint* displs;
  void* data;
  void* memory;
};

#endif

// X(what follows "Quadrille_", (parameters)).
#define QUADRILLE_OTHER_FUNCTIONS(X)                                                                                   \
  X(Version, ())                                                                                                       \
  X(Set_algorithm, (quadrille::MpiComm comm, const char* collective, const char* algorithm))                           \
  X(Alloc, (quadrille::MpiAint bytes, void** base))                                                                    \
  X(Free, (void* base))                                                                                                \
  X(Exchange,                                                                                                          \
    (const void* sendbuf, int ndestinations, const int destinations[], const quadrille::MpiCount sendcounts[],         \
     const quadrille::MpiAint sdispls[], quadrille::MpiType sendtype, quadrille::MpiType recvtype,                     \
     quadrille::MpiComm comm, Quadrille_Received* received))                                                           \
  X(Received_free, (Quadrille_Received * received))                                                                    \
  X(Iso_neighborhood_create,                                                                                           \
    (quadrille::MpiComm cartcomm, int s, const int offsets[], quadrille::MpiInfo info, quadrille::MpiComm* isocomm))   \
  X(Set_iso_sizes, (quadrille::MpiComm comm, int asserted))                                                            \
  X(Alltoall_enqueue, (const void* sendbuf, int sendcount, quadrille::MpiType sendtype, void* recvbuf, int recvcount,  \
                       quadrille::MpiType recvtype, void* stream, quadrille::MpiComm comm))                            \
  X(Alltoallv_enqueue,                                                                                                 \
    (const void* sendbuf, const int sendcounts[], const int sdispls[], quadrille::MpiType sendtype, void* recvbuf,     \
     const int recvcounts[], const int rdispls[], quadrille::MpiType recvtype, void* stream, quadrille::MpiComm comm)) \
  X(Alltoallw_enqueue, (const void* sendbuf, const int sendcounts[], const int sdispls[],                              \
                        quadrille::MpiTypes sendtypes, void* recvbuf, const int recvcounts[], const int rdispls[],     \
                        quadrille::MpiTypes recvtypes, void* stream, quadrille::MpiComm comm))                         \
  X(Start_enqueue, (Quadrille_Request * request, void* stream))                                                        \
  X(Enqueue_status, (quadrille::MpiComm comm))                                                                         \
  X(Start, (Quadrille_Request * request))                                                                              \
  X(Startall, (int count, Quadrille_Request requests[]))                                                               \
  X(Test, (Quadrille_Request * request, int* flag))                                                                    \
  X(Testall, (int count, Quadrille_Request requests[], int* flag))                                                     \
  X(Testany, (int count, Quadrille_Request requests[], int* index, int* flag))                                         \
  X(Wait, (Quadrille_Request * request))                                                                               \
  X(Waitall, (int count, Quadrille_Request requests[]))                                                                \
  X(Waitany, (int count, Quadrille_Request requests[], int* index))                                                    \
  X(Request_free, (Quadrille_Request * request))

// X(what follows "Quadrille_", (parameters)), of the forms of a collective that MPI has, or that only we have.
#define QUADRILLE_BLOCKING_FUNCTION(X, Name, FORM, Displacement) X(Name, (QUADRILLE_WORDS_##FORM(int, Displacement)))
#define QUADRILLE_OTHER_FORMS(X, collective, Name, FORM, Displacement)                                                 \
  X(Name##_c, (QUADRILLE_WORDS_##FORM(quadrille::MpiCount, quadrille::MpiAint)))                                       \
  X(I##collective, (QUADRILLE_WORDS_##FORM(int, Displacement), Quadrille_Request * request))                           \
  X(I##collective##_c, (QUADRILLE_WORDS_##FORM(quadrille::MpiCount, quadrille::MpiAint), Quadrille_Request * request)) \
  X(Name##_init, (QUADRILLE_WORDS_##FORM(int, Displacement), quadrille::MpiInfo info, Quadrille_Request * request))    \
  X(Name##_init_c, (QUADRILLE_WORDS_##FORM(quadrille::MpiCount, quadrille::MpiAint), quadrille::MpiInfo info,          \
                    Quadrille_Request * request))

#ifndef QUADRILLE_H

extern "C" {
#define QUADRILLE_DECLARE(Name, parameters) QUADRILLE_EXPORT int Quadrille_##Name parameters;
#define QUADRILLE_DECLARE_FORMS(collective, Name, FORM, Displacement)      \
  QUADRILLE_BLOCKING_FUNCTION(QUADRILLE_DECLARE, Name, FORM, Displacement) \
  QUADRILLE_OTHER_FORMS(QUADRILLE_DECLARE, collective, Name, FORM, Displacement)
QUADRILLE_COLLECTIVES(QUADRILLE_DECLARE_FORMS)
QUADRILLE_OTHER_FUNCTIONS(QUADRILLE_DECLARE)
#undef QUADRILLE_DECLARE_FORMS
#undef QUADRILLE_DECLARE
}

#endif
