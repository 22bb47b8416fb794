// A call in any of its forms by Quadrille's functions, where collective and form are known at run time only.
#pragma once

#include <quadrille.h>

#include "door.hpp"

namespace quadrille::test {

enum class CallForm { blocking, nonblocking, persistent };

#define QUADRILLE_FORMS(collective, Name, ...)                                                                    \
  inline int begin_one(Of<Collective::collective>, CallForm form, const CallSide& send, const CallSide& recv,     \
                       MPI_Comm comm, Quadrille_Request* request) {                                               \
    constexpr Collective of = Collective::collective;                                                             \
    if (form == CallForm::blocking) return call_with<of>(&Quadrille_##Name, send, recv, comm);                    \
    if (form == CallForm::nonblocking) return call_with<of>(&Quadrille_I##collective, send, recv, comm, request); \
    return call_with<of>(&Quadrille_##Name##_init, send, recv, comm, MPI_INFO_NULL, request);                     \
  }
QUADRILLE_COLLECTIVES(QUADRILLE_FORMS)
#undef QUADRILLE_FORMS

// Makes a blocking call, starts a nonblocking one, or makes a persistent request.
inline int begin_call(CallForm form, Collective collective, const CallSide& send, const CallSide& recv, MPI_Comm comm,
                      Quadrille_Request* request = nullptr) {
  const auto begin = [&](auto one) { return begin_one(one, form, send, recv, comm, request); };
  return do_as(collective, begin, MPI_ERR_INTERN);
}

// Completes what begin_call() began, if that returned no error. A persistent request is started once.
inline int complete_call(CallForm form, int begun, Quadrille_Request* request) {
  if (form == CallForm::blocking || begun != MPI_SUCCESS) return begun;
  int error = form == CallForm::persistent ? Quadrille_Start(request) : MPI_SUCCESS;
  if (error == MPI_SUCCESS) error = Quadrille_Wait(request);
  const int freed = Quadrille_Request_free(request);
  return error != MPI_SUCCESS ? error : freed;
}

}  // namespace quadrille::test
