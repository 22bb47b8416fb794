// The drop-in door for functions in which all ranks wait for each other anyway: there what nonblocking calls need can
// be made (taken.hpp). Without a communicator that wants it they cost one look and one jump more.
#include "abi/functions.hpp"
#include "api/next_names.hpp"
#include "api/taken.hpp"

namespace {

using namespace quadrille;

QUADRILLE_NEXT(Barrier)
QUADRILLE_NEXT(Allreduce)
struct Behind_MPI {
  QUADRILLE_NEXT_MEMBER(Barrier)
  QUADRILLE_NEXT_MEMBER(Allreduce)
};
struct Behind_PMPI {
  QUADRILLE_MPI_MEMBER(Barrier)
  QUADRILLE_MPI_MEMBER(Allreduce)
};

// A tool behind us comes here again by the PMPI_ name: once is enough, on each rank.
template <class Next>
[[gnu::noinline]] int get_ready_first(MpiComm comm, Next next) {
  api::leave(api::get_ready_in_a_barrier(given(comm)));
  const api::Serving guard;
  return next();
}

}  // namespace

#define QUADRILLE_READY_FIRST(is_wanted, comm, call)                                   \
  const auto next = [=] { return call; };                                              \
  const bool wanted = api::some_wanted.load(std::memory_order_relaxed) && (is_wanted); \
  return wanted ? get_ready_first(comm, next) : next();

#define QUADRILLE_BARRIERS(PREFIX, is_straight)                                                                    \
  QUADRILLE_EXPORT int PREFIX##_Barrier(MpiComm comm){QUADRILLE_READY_FIRST(                                       \
      !(is_straight), comm,                                                                                        \
      Behind_##PREFIX::Barrier(comm))} QUADRILLE_EXPORT int PREFIX##_Allreduce(const void* sendbuf, void* recvbuf, \
                                                                               int count, MpiType type, MpiOp op,  \
                                                                               MpiComm comm) {                     \
    const bool moves = count > 0 && given(type) != mpi().datatype_null && recvbuf != mpi().in_place;               \
    QUADRILLE_READY_FIRST(moves && !(is_straight), comm,                                                           \
                          Behind_##PREFIX::Allreduce(sendbuf, recvbuf, count, type, op, comm))                     \
  }

// The PMPI_ names: see interpose.cpp.
extern "C" {
QUADRILLE_BARRIERS(MPI, false)
QUADRILLE_BARRIERS(PMPI, api::goes_straight(__builtin_return_address(0)))
}  // extern "C"
