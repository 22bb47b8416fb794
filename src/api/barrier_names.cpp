// The drop-in door for functions in which all ranks wait for each other anyway: there what nonblocking calls need can
// be made (taken.hpp). Without a communicator that wants it they cost one look and one jump more.
#include "abi/functions.hpp"
#include "api/next_names.hpp"
#include "api/taken.hpp"

namespace {

using namespace quadrille;

QUADRILLE_NEXT(Barrier)
QUADRILLE_NEXT(Allreduce)
struct BarrierBehind_MPI {
  QUADRILLE_NEXT_MEMBER(Barrier)
  QUADRILLE_NEXT_MEMBER(Allreduce)
};
struct BarrierBehind_PMPI {
  QUADRILLE_MPI_MEMBER(Barrier)
  QUADRILLE_MPI_MEMBER(Allreduce)
};

// A tool behind us comes here again by the PMPI_ name: by then nobody wants it any more.
[[gnu::always_inline]] inline void get_ready(MpiComm comm) {
  if (api::some_wanted.load(std::memory_order_relaxed)) [[unlikely]]
    api::leave(api::get_ready_in_a_barrier(given(comm)));
}

}  // namespace

#define QUADRILLE_BARRIERS(PREFIX, is_straight)                                                                  \
  QUADRILLE_EXPORT int PREFIX##_Barrier(MpiComm comm) {                                                          \
    if (!(is_straight)) get_ready(comm);                                                                         \
    return BarrierBehind_##PREFIX::Barrier(comm);                                                                \
  }                                                                                                              \
  QUADRILLE_EXPORT int PREFIX##_Allreduce(const void* sendbuf, void* recvbuf, int count, MpiType type, MpiOp op, \
                                          MpiComm comm) {                                                        \
    const bool moves = count > 0 && given(type) != mpi().datatype_null && recvbuf != mpi().in_place;             \
    if (moves && !(is_straight)) get_ready(comm);                                                                \
    return BarrierBehind_##PREFIX::Allreduce(sendbuf, recvbuf, count, type, op, comm);                           \
  }

// The PMPI_ names: see interpose.cpp.
extern "C" {
QUADRILLE_BARRIERS(MPI, false)
QUADRILLE_BARRIERS(PMPI, api::goes_straight(__builtin_return_address(0)))
}  // extern "C"
