// The explicit door for large counts: Quadrille_Alltoall_c and so on. They are there whatever the MPI has, so something
// must stand in for functions that it lacks, and in the same way on all ranks, of which each knows its own counts
// alone.
#include <type_traits>

#include "abi/functions.hpp"
#include "api/doors.hpp"
#include "api/requests.hpp"
#include "run/native_run.hpp"

using namespace quadrille;

namespace {

int by_request(const run::Call& call) {
  Quadrille_Request request = QUADRILLE_REQUEST_NULL;
  const int error = api::make_request(call, false, &request, nullptr);
  if (error != mpi_success) return error;
  // The call is already counted as forwarded, and ranks identify failed copies by that number.
  --request->team->counted.counters.served;
  return api::wait_for(&request);
}

int stand_in(const run::Call& call) {
  return api::guarded(call.comm, [&] {
    if (!mpi().usable) return api::raise(call.comm, mpi().err_other);
    if (!api::fits_the_mpi(call)) return by_request(call);
    if (call.comm == mpi().comm_null) return api::raise(mpi().comm_world, mpi().err_comm);
    return api::handled_later(call.comm, [&] { return run::run_native(call, call.comm); });
  });
}

// What is not served, by the MPI's function if it has one.
template <Collective collective, class Function, class... Arguments>
int pass_on(Function function, Arguments... arguments) {
  if constexpr (!std::is_null_pointer_v<Function>) {
    if (function != nullptr) return function(arguments...);
  }
  return stand_in(api::call_of(collective, arguments...));
}

}  // namespace

#define QUADRILLE_DEFINE_LARGE(function, collective, Name, FORM)                                                   \
  int Quadrille_##Name##_c(QUADRILLE_WORDS_##FORM(MpiCount, MpiAint)) {                                            \
    const auto native = [](auto... arguments) { return pass_on<Collective::collective>(function, arguments...); }; \
    return api::leave(                                                                                             \
        api::serve_or_pass<Collective::collective>(api::Door::explicit_api, native, QUADRILLE_ARGUMENTS_##FORM));  \
  }
#define QUADRILLE_DEFINE_WITHOUT(collective, Name, FORM, Displacement) \
  QUADRILLE_DEFINE_LARGE(nullptr, collective, Name, FORM)
#define QUADRILLE_DEFINE_WITH(collective, Name, FORM, Displacement) \
  QUADRILLE_DEFINE_LARGE(mpi().Name##_c, collective, Name, FORM)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_DEFINE_WITH)
QUADRILLE_OWN_NEIGHBOR_COLLECTIVES(QUADRILLE_DEFINE_WITHOUT)
