// The drop-in door for MPI's nonblocking functions, and those that make persistent requests (taken.hpp). What is not
// taken over goes to the MPI, and is counted if somebody wants a summary.
//
// The nonblocking functions have been in MPI since 3.0, so that none seems to be there which is not. The names of all
// others are in libraries of their own, which are loaded where the MPI has them, and call what is exported here
// (interpose_large.cpp, interpose_persistent.cpp).
#include <optional>
#include <utility>

#include "api/doors.hpp"
#include "api/serve.hpp"
#include "api/taken.hpp"
#include "collective/signatures.hpp"
#include "mpi/mpi.hpp"
#include "quadrille.h"
#include "team/record_starts.hpp"
#include "team/tally.hpp"
#include "team/team.hpp"

namespace {

using quadrille::Collective;
using quadrille::mpi;
using quadrille::team::untaken;
namespace api = quadrille::api;
namespace record = quadrille::record;

void count(quadrille::team::Untaken::Counts& counts, quadrille::team::Passed why) {
  if (!untaken.wanted.load(std::memory_order_relaxed)) return;
  counts[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed);
}

// What carries out the last request that was taken over.
const char* carrier_on(MPI_Comm comm) {
  const quadrille::team::Team* const team = quadrille::team::find_team(comm);
  return team != nullptr ? team->request_by : "quadrille";
}

// Takes it over, or says no, and counts that. What then carries it out is written down.
bool take_recorded(const quadrille::run::Call& call, bool persistent, MPI_Request* request, int& error,
                   api::CountedAhead& ahead) {
  const bool taken = api::take(call, persistent, request, error, ahead);
  if (!taken) count(persistent ? untaken.persistent : untaken.nonblocking, ahead.why);
  if (taken && record::on) record::by(carrier_on(call.comm));
  return taken;
}

// By the function of the MPI, if it is not taken over. It is there, unless its doors were loaded by mistake.
template <class Function, class... Arguments>
int start(const void* site, const quadrille::run::Call& call, Function function, MPI_Request* request, Arguments... arguments) {
  std::optional<record::Recorded> recorded;
  if (record::on) recorded.emplace().begin(call, record::Form::nonblocking, site);
  int error = MPI_SUCCESS;
  api::CountedAhead ahead;
  if (take_recorded(call, false, request, error, ahead)) return error;
  if (api::ByHost made = function != nullptr ? api::take_by_host(call, false) : nullptr) {
    MPI_Request native = mpi().request_null;
    error = function(api::with_buffer(arguments, api::on_host(*made))..., &native);
    api::keep_or_undo(ahead, call, error);
    return api::hand_in(std::move(made), call.comm, native, error, request);
  }
  if (function == nullptr) return api::raise(call.comm, MPI_ERR_OTHER);
  error = function(arguments..., request);
  api::keep_or_undo(ahead, call, error);
  return error;
}

template <class Function, class... Arguments>
int make_by_mpi(const quadrille::run::Call& call, Function function, MPI_Info info, MPI_Request* request, Arguments... arguments) {
  if (api::ByHost made = api::take_by_host(call, true)) {
    MPI_Request native = mpi().request_null;
    const int error = function(api::with_buffer(arguments, api::on_host(*made))..., info, &native);
    return api::hand_in(std::move(made), call.comm, native, error, request);
  }
  return function(arguments..., info, request);
}

template <class Function, class... Arguments>
int make(const void* site, const quadrille::run::Call& call, Function function, MPI_Info info, MPI_Request* request,
         Arguments... arguments) {
  if (function == nullptr) return api::raise(call.comm, MPI_ERR_OTHER);
  std::optional<record::Recorded> recorded;
  if (record::on) recorded.emplace().begin(call, record::Form::persistent, site);
  int error = MPI_SUCCESS;
  api::CountedAhead ahead;  // a persistent call that is forwarded has counted nothing
  const bool taken = take_recorded(call, true, request, error, ahead);
  if (!taken) error = make_by_mpi(call, function, info, request, arguments...);
  if (record::on && error == MPI_SUCCESS) record::keep_made(*request, call, taken ? carrier_on(call.comm) : "mpi");
  return error;
}

}  // namespace

#define QUADRILLE_START(PREFIX, collective, Name, FORM, Displacement)                                                 \
  QUADRILLE_EXPORT int PREFIX##_I##collective(QUADRILLE_PARAMETERS_##FORM(int, Displacement), MPI_Request* request) { \
    return start(__builtin_return_address(0), api::call_of(Collective::collective, QUADRILLE_ARGUMENTS_##FORM),       \
                 mpi().I##collective, request, QUADRILLE_ARGUMENTS_##FORM);                                           \
  }
#define QUADRILLE_START_MPI(...) QUADRILLE_START(MPI, __VA_ARGS__)
#define QUADRILLE_START_PMPI(...) QUADRILLE_START(PMPI, __VA_ARGS__)

#define QUADRILLE_MAKE(collective, Name, FORM, Displacement)                                                   \
  QUADRILLE_EXPORT int quadrille_##Name##_init(QUADRILLE_PARAMETERS_##FORM(int, Displacement), MPI_Info info,  \
                                               MPI_Request* request) {                                         \
    return make(__builtin_return_address(0), api::call_of(Collective::collective, QUADRILLE_ARGUMENTS_##FORM), \
                mpi().Name##_init, info, request, QUADRILLE_ARGUMENTS_##FORM);                                 \
  }
#define QUADRILLE_LARGE(collective, Name, FORM, Displacement)                                                     \
  QUADRILLE_EXPORT int quadrille_##Name##_init_c(QUADRILLE_PARAMETERS_##FORM(MPI_Count, MPI_Aint), MPI_Info info, \
                                                 MPI_Request* request) {                                          \
    return make(__builtin_return_address(0), api::call_of(Collective::collective, QUADRILLE_ARGUMENTS_##FORM),    \
                mpi().Name##_init_c, info, request, QUADRILLE_ARGUMENTS_##FORM);                                  \
  }                                                                                                               \
  QUADRILLE_EXPORT int quadrille_I##collective##_c(QUADRILLE_PARAMETERS_##FORM(MPI_Count, MPI_Aint),              \
                                                   MPI_Request* request) {                                        \
    return start(__builtin_return_address(0), api::call_of(Collective::collective, QUADRILLE_ARGUMENTS_##FORM),   \
                 mpi().I##collective##_c, request, QUADRILLE_ARGUMENTS_##FORM);                                   \
  }

// Open MPI's Fortran calls the PMPI_ names, see interpose.cpp.
extern "C" {
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_START_MPI)
#if defined(QUADRILLE_ABI_OPENMPI)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_START_PMPI)
#endif
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_MAKE)
#if defined(QUADRILLE_HAVE_LARGE_COUNT)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_LARGE)
#endif
}  // extern "C"
