// The drop-in door: MPI's own names, found before the MPI's by the loader (LD_PRELOAD).
//
// Fortran reaches us too. The Fortran layers of MPICH and Intel MPI call the C functions MPI_X; those of
// Open MPI call PMPI_X. Both have turned Fortran's MPI_IN_PLACE and MPI_BOTTOM into C's by then. So the
// MPI_ names are defined here for every ABI, and the PMPI_ names for Open MPI as well. There is one
// exception, MPI_Init of MPICH's mpi_f08, which calls PMPI_Init: the functions that start an MPI have
// both names for every ABI. We ourselves reach the MPI by looking its symbols up in its own library, so
// there is no way back to here.
#include "api/doors.hpp"
#include "api/memory_doors.hpp"
#include "api/taken.hpp"
#include "api/warm_up.hpp"
#include "quadrille.h"
#include "team/record.hpp"
#include "team/team.hpp"

using quadrille::Collective;
using quadrille::mpi;
using quadrille::api::Door;
namespace api = quadrille::api;

namespace {

// What MPI_Init does, by `native`, and what is to be done around it.
template <class Native>
int start(Native native) {
  if (quadrille::thrown_by(quadrille::team::before_init) != MPI_SUCCESS) return MPI_ERR_NO_MEM;
  if (const int error = native(); error != MPI_SUCCESS) return error;
  return api::guarded(mpi().comm_world, [] {
    if (quadrille::team::after_init()) {
      api::warm_up();
      api::get_world_ready_to_take();
    }
    if (mpi().usable) quadrille::record::begin();
    return MPI_SUCCESS;
  });
}

}  // namespace

extern "C" {

#define QUADRILLE_INTERPOSE(PREFIX, collective, Name, FORM, Displacement)                   \
  QUADRILLE_EXPORT int PREFIX##_##Name(QUADRILLE_PARAMETERS_##FORM(int, Displacement)) {    \
    return api::serve_or_pass<Collective::collective>(Door::drop_in, &quadrille::Mpi::Name, \
                                                      QUADRILLE_ARGUMENTS_##FORM);          \
  }
#define QUADRILLE_INTERPOSE_MPI(...) QUADRILLE_INTERPOSE(MPI, __VA_ARGS__)
#define QUADRILLE_INTERPOSE_PMPI(...) QUADRILLE_INTERPOSE(PMPI, __VA_ARGS__)

#define QUADRILLE_INTERPOSE_MEMORY(PREFIX)                                               \
  QUADRILLE_EXPORT int PREFIX##_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) { \
    return quadrille::api::alloc_mem(size, info, baseptr);                               \
  }                                                                                      \
  QUADRILLE_EXPORT int PREFIX##_Free_mem(void* base) { return quadrille::api::free_mem(base); }

#define QUADRILLE_INTERPOSE_START(PREFIX)                                                           \
  QUADRILLE_EXPORT int PREFIX##_Init(int* argc, char*** argv) {                                     \
    return start([&] { return mpi().Init(argc, argv); });                                           \
  }                                                                                                 \
  QUADRILLE_EXPORT int PREFIX##_Init_thread(int* argc, char*** argv, int required, int* provided) { \
    return start([&] { return mpi().Init_thread(argc, argv, required, provided); });                \
  }

QUADRILLE_MPI_COLLECTIVES(QUADRILLE_INTERPOSE_MPI)
QUADRILLE_INTERPOSE_MEMORY(MPI)
#if defined(QUADRILLE_ABI_OPENMPI)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_INTERPOSE_PMPI)
QUADRILLE_INTERPOSE_MEMORY(PMPI)
#endif
QUADRILLE_INTERPOSE_START(MPI)
QUADRILLE_INTERPOSE_START(PMPI)

// The doors for large counts are in a library of their own (interpose_large.cpp), which calls these.
#if defined(QUADRILLE_HAVE_LARGE_COUNT)
#define QUADRILLE_SERVE_LARGE(collective, Name, FORM, Displacement)                                \
  QUADRILLE_EXPORT int quadrille_##Name##_c(QUADRILLE_PARAMETERS_##FORM(MPI_Count, MPI_Aint)) {    \
    if (mpi().Name##_c == nullptr) return api::raise(comm, MPI_ERR_OTHER); /* loaded by mistake */ \
    return api::serve_or_pass<Collective::collective>(Door::drop_in, &quadrille::Mpi::Name##_c,    \
                                                      QUADRILLE_ARGUMENTS_##FORM);                 \
  }
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_SERVE_LARGE)
#endif

}  // extern "C"
