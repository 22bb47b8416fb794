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
#include "api/coming.hpp"
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

// ---- Functions in which all ranks wait for each other anyway ----
//
// There what nonblocking calls need can be made (taken.hpp). Without a communicator that wants it they cost one look
// and one jump more.

QUADRILLE_NEXT(Barrier)
QUADRILLE_NEXT(Allreduce)
QUADRILLE_NEXT(Comm_free)
QUADRILLE_NEXT(Comm_disconnect)

// A tool behind us comes here again by the PMPI_ name: by then nobody wants it any more.
[[gnu::always_inline]] inline void get_ready(MpiComm comm) {
  if (api::some_wanted.load(std::memory_order_relaxed)) [[unlikely]]
    api::leave(api::get_ready_in_a_barrier(given(comm)));
}

// Waits before the communicator is freed. MPICH frees it later, in any function, when nothing is pending on it any
// more: there it holds locks of its own, under which we must not wait for another thread that calls the MPI.
void await_told(const MpiComm* comm) {
  if (comm != nullptr) api::await_told_on(given(MpiHandles<MpiComm>{comm}[0]));
}

// ---- The start and the end ----

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

#define QUADRILLE_INTERPOSE(PREFIX, collective, Name, FORM, Displacement)                                          \
  QUADRILLE_EXPORT int PREFIX##_##Name(QUADRILLE_WORDS_##FORM(int, Displacement)) {                                \
    const auto next = [](auto... all) { return api::forward(QUADRILLE_NEXT_##PREFIX(Name), mpi().Name, all...); }; \
    if (QUADRILLE_IS_STRAIGHT_##PREFIX) return mpi().Name(QUADRILLE_ARGUMENTS_##FORM);                             \
    return api::leave(                                                                                             \
        api::serve_or_pass<Collective::collective>(api::Door::drop_in, next, QUADRILLE_ARGUMENTS_##FORM));         \
  }
#define QUADRILLE_INTERPOSE_MPI(...) QUADRILLE_INTERPOSE(MPI, __VA_ARGS__)
#define QUADRILLE_INTERPOSE_PMPI(...) QUADRILLE_INTERPOSE(PMPI, __VA_ARGS__)

#define QUADRILLE_INTERPOSE_OTHERS(PREFIX)                                                          \
  QUADRILLE_EXPORT int PREFIX##_Alloc_mem(MpiAint size, MpiInfo info, void* baseptr) {              \
    return api::alloc_mem(size, given(info), baseptr, QUADRILLE_NEXT_##PREFIX(Alloc_mem));          \
  }                                                                                                 \
  QUADRILLE_EXPORT int PREFIX##_Free_mem(void* base) {                                              \
    return api::free_mem(base, QUADRILLE_NEXT_##PREFIX(Free_mem));                                  \
  }                                                                                                 \
  QUADRILLE_EXPORT int PREFIX##_Init(int* argc, char*** argv) {                                     \
    return api::leave(start(QUADRILLE_NEXT_##PREFIX(Init), argc, argv));                            \
  }                                                                                                 \
  QUADRILLE_EXPORT int PREFIX##_Init_thread(int* argc, char*** argv, int required, int* provided) { \
    return api::leave(start(QUADRILLE_NEXT_##PREFIX(Init_thread), argc, argv, required, provided)); \
  }                                                                                                 \
  QUADRILLE_EXPORT int PREFIX##_Finalize() { return end(QUADRILLE_NEXT_##PREFIX(Finalize)); }

#define QUADRILLE_BARRIERS(PREFIX)                                                                               \
  QUADRILLE_EXPORT int PREFIX##_Barrier(MpiComm comm) {                                                          \
    if (!QUADRILLE_IS_STRAIGHT_##PREFIX) get_ready(comm);                                                        \
    return QUADRILLE_JUMP_##PREFIX(Barrier)(comm);                                                               \
  }                                                                                                              \
  QUADRILLE_EXPORT int PREFIX##_Allreduce(const void* sendbuf, void* recvbuf, int count, MpiType type, MpiOp op, \
                                          MpiComm comm) {                                                        \
    const bool moves = count > 0 && given(type) != mpi().datatype_null && recvbuf != mpi().in_place;             \
    if (moves && !QUADRILLE_IS_STRAIGHT_##PREFIX) get_ready(comm);                                               \
    return QUADRILLE_JUMP_##PREFIX(Allreduce)(sendbuf, recvbuf, count, type, op, comm);                          \
  }                                                                                                              \
  QUADRILLE_EXPORT int PREFIX##_Comm_free(MpiComm* comm) {                                                       \
    if (!QUADRILLE_IS_STRAIGHT_##PREFIX) await_told(comm);                                                       \
    return QUADRILLE_JUMP_##PREFIX(Comm_free)(comm);                                                             \
  }                                                                                                              \
  QUADRILLE_EXPORT int PREFIX##_Comm_disconnect(MpiComm* comm) {                                                 \
    if (!QUADRILLE_IS_STRAIGHT_##PREFIX) await_told(comm);                                                       \
    return QUADRILLE_JUMP_##PREFIX(Comm_disconnect)(comm);                                                       \
  }

QUADRILLE_MPI_COLLECTIVES(QUADRILLE_INTERPOSE_MPI)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_INTERPOSE_PMPI)
QUADRILLE_INTERPOSE_OTHERS(MPI)
QUADRILLE_INTERPOSE_OTHERS(PMPI)
QUADRILLE_BARRIERS(MPI)
QUADRILLE_BARRIERS(PMPI)

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
