// The drop-in door: MPI's own names, found before the MPI's by the loader (LD_PRELOAD).
//
// Calls of the PMPI_ names are served as well: Open MPI's Fortran layer makes them, and tools that are called before
// us. Fortran layers have turned Fortran's MPI_IN_PLACE and MPI_BOTTOM into C's by then. Collectives, requests and
// barriers that the library of the MPI itself calls by these names stay its own (api/next_names.hpp).
//
// What we forward goes on to the next function of the name (api/next_names.hpp): a tool that is loaded
// behind us sees it. We ourselves reach the MPI by looking its symbols up in its own library, so
// there is no way back to here.
#include "abi/functions.hpp"
#include "api/doors.hpp"
#include "api/memory_doors.hpp"
#include "api/next_names.hpp"
#include "api/taken.hpp"
#include "api/warm_up.hpp"
#include "mpi/phase.hpp"
#include "mpi/progress_hook.hpp"
#include "team/record.hpp"
#include "team/team.hpp"

using namespace quadrille;

namespace {

#define QUADRILLE_FORWARD(collective, Name, ...) QUADRILLE_FORWARD_MEMBER(Name)
struct Behind_MPI {
  QUADRILLE_MPI_COLLECTIVES(QUADRILLE_FORWARD)
  QUADRILLE_FORWARD_MEMBER(Init)
  QUADRILLE_FORWARD_MEMBER(Init_thread)
  QUADRILLE_FORWARD_MEMBER(Finalize)
  QUADRILLE_FORWARD_MEMBER(Alloc_mem)
  QUADRILLE_FORWARD_MEMBER(Free_mem)
};

// What is done after MPI_Init, once: that of a tool comes here twice, as it calls PMPI_Init.
int prepare_program() {
  return api::guarded(mpi().comm_world, [] {
    if (team::after_init()) {
      api::warm_up();
      api::get_world_ready_to_take();
    }
    if (mpi().usable) record::begin();
    return mpi_success;
  });
}

// What MPI_Init does, by `next`, and what is to be done around it.
template <class Next, class... Arguments>
int start(Next next, Arguments... arguments) {
  if (thrown_by(team::before_init) != mpi_success) return mpi().err_no_mem;
  if (const int error = next(arguments...); error != mpi_success) return error;
  return prepare_program();
}

// MPI_Finalize by `next`. If that is a tool's, PMPI_Finalize comes here as well, after the tool's own calls.
template <class Next>
int end(Next next) {
  if (next == mpi().Finalize && may_call_mpi()) end_progress_hook_for_good();
  return next();
}

}  // namespace

extern "C" {

#define QUADRILLE_INTERPOSE_MPI(collective, Name, FORM, Displacement)                                      \
  QUADRILLE_EXPORT int MPI_##Name(QUADRILLE_WORDS_##FORM(int, Displacement)) {                             \
    const auto next = [](auto... all) { return Behind_MPI::Name(all...); };                                \
    return api::leave(                                                                                     \
        api::serve_or_pass<Collective::collective>(api::Door::drop_in, next, QUADRILLE_ARGUMENTS_##FORM)); \
  }
#define QUADRILLE_INTERPOSE_PMPI(collective, Name, FORM, Displacement)                                           \
  QUADRILLE_EXPORT int PMPI_##Name(QUADRILLE_WORDS_##FORM(int, Displacement)) {                                  \
    if (api::goes_straight(__builtin_return_address(0))) return mpi().Name(QUADRILLE_ARGUMENTS_##FORM);          \
    return api::leave(                                                                                           \
        api::serve_or_pass<Collective::collective>(api::Door::drop_in, &Mpi::Name, QUADRILLE_ARGUMENTS_##FORM)); \
  }

#define QUADRILLE_INTERPOSE_MEMORY(PREFIX, NEXT)                                       \
  QUADRILLE_EXPORT int PREFIX##_Alloc_mem(MpiAint size, MpiInfo info, void* baseptr) { \
    return api::alloc_mem(size, given(info), baseptr, NEXT(Alloc_mem));                \
  }                                                                                    \
  QUADRILLE_EXPORT int PREFIX##_Free_mem(void* base) { return api::free_mem(base, NEXT(Free_mem)); }

#define QUADRILLE_INTERPOSE_START(PREFIX, NEXT)                                                                     \
  QUADRILLE_EXPORT int PREFIX##_Init(int* argc, char*** argv) { return api::leave(start(NEXT(Init), argc, argv)); } \
  QUADRILLE_EXPORT int PREFIX##_Init_thread(int* argc, char*** argv, int required, int* provided) {                 \
    return api::leave(start(NEXT(Init_thread), argc, argv, required, provided));                                    \
  }                                                                                                                 \
  QUADRILLE_EXPORT int PREFIX##_Finalize() { return end(NEXT(Finalize)); }

#define QUADRILLE_NEXT_OF(Name) Behind_MPI::next_##Name()
#define QUADRILLE_MPIS(Name) mpi().Name

QUADRILLE_MPI_COLLECTIVES(QUADRILLE_INTERPOSE_MPI)
QUADRILLE_INTERPOSE_MEMORY(MPI, QUADRILLE_NEXT_OF)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_INTERPOSE_PMPI)
QUADRILLE_INTERPOSE_MEMORY(PMPI, QUADRILLE_MPIS)
QUADRILLE_INTERPOSE_START(MPI, QUADRILLE_NEXT_OF)
QUADRILLE_INTERPOSE_START(PMPI, QUADRILLE_MPIS)

// The doors for large counts are in a library of their own (interpose_large.cpp), which calls these. `next` is what
// comes after that library, or null; `site` where it was called from.
#define QUADRILLE_SERVE_LARGE(collective, Name, FORM, Displacement)                                                  \
  QUADRILLE_EXPORT int quadrille_##Name##_c(QUADRILLE_WORDS_##FORM(MpiCount, MpiAint), decltype(Mpi::Name##_c) next, \
                                            const void* site) {                                                      \
    auto* const of_the_mpi = mpi().Name##_c;                                                                         \
    if (of_the_mpi == nullptr) return api::leave(api::raise(given(comm), mpi().err_other)); /* loaded by mistake */  \
    if (next == nullptr) next = of_the_mpi;                                                                          \
    const auto native = [=](auto... all) { return api::forward(next, of_the_mpi, all...); };                         \
    return api::leave(api::serve_or_pass_from<Collective::collective>(site, api::Door::drop_in, native,              \
                                                                      QUADRILLE_ARGUMENTS_##FORM));                  \
  }
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_SERVE_LARGE)

}  // extern "C"
