// The drop-in door for MPI's nonblocking functions, and those that make persistent requests (taken.hpp). What is not
// taken over goes to the MPI, and is counted if somebody wants a summary.
//
// The nonblocking functions have been in MPI since 3.0, so that none seems to be there which is not. The names of all
// others are in libraries of their own, which are loaded where the MPI has them, and call what is exported here
// (interpose_large.cpp, interpose_persistent.cpp).
#include <type_traits>
#include <utility>

#include "abi/functions.hpp"
#include "api/doors.hpp"
#include "api/making.hpp"
#include "api/next_names.hpp"
#include "api/requests.hpp"
#include "api/serve.hpp"
#include "api/taken.hpp"
#include "collective/signatures.hpp"
#include "mpi/mpi.hpp"
#include "team/record.hpp"
#include "team/tally.hpp"
#include "team/team.hpp"

namespace {

using namespace quadrille;

// Takes it over, or says no, and counts that. What then carries it out is written down.
bool take_recorded(const run::Call& call, bool persistent, MpiRequest* request, int& error, api::CountedAhead& ahead) {
  const bool taken = api::take(call, persistent, request, error, ahead);
  if (!taken && team::untaken.wanted.load(std::memory_order_relaxed)) {
    team::Untaken::Counts& counts = persistent ? team::untaken.persistent : team::untaken.nonblocking;
    counts[counted_as(ahead.why)].fetch_add(1, std::memory_order_relaxed);
  }
  if (taken && record::on) record::by(api::carrier_on(call.comm));
  return taken;
}

// A call is forwarded to `next`, or to the function `of_the_mpi` if there is no other. The MPI has that function,
// unless its doors were loaded by mistake. One that makes persistent requests takes an `info`.
template <class Function>
struct Native {
  Function next, of_the_mpi;
  MpiInfo info;
  bool is_there() const { return of_the_mpi != nullptr; }
  template <class... Arguments>
  int operator()(MpiRequest* made, Arguments... arguments) const {
    const Function function = next != nullptr ? next : of_the_mpi;
    if constexpr (std::is_invocable_v<Function, Arguments..., MpiInfo, MpiRequest*>) {
      return api::forward(function, of_the_mpi, arguments..., info, made);
    } else {
      return api::forward(function, of_the_mpi, arguments..., made);
    }
  }
};
template <class Function>
Native(Function, Function, MpiInfo) -> Native<Function>;

// In a program that has loaded the driver of a device. `by_mpi` is what the function of the MPI has returned.
template <class Native, class... Arguments>
[[gnu::noinline]] int forward_beside_devices(bool persistent, const run::Call& call, Native native, MpiRequest* request,
                                             int& by_mpi, Arguments... arguments) {
  int failed = mpi_success;
  api::ByHost made = api::take_by_host(call, persistent, failed);
  if (made == nullptr) {
    by_mpi = native(request, arguments...);
    return by_mpi == mpi_success && failed != mpi_success ? api::raise(call.comm, failed) : by_mpi;
  }
  MpiRequest its_own = mpi().request_null;
  by_mpi = native(&its_own, api::with_buffer(arguments, made->on_host->call())...);
  return api::hand_in(std::move(made), call.comm, its_own, by_mpi, request);
}

// Nothing here may catch, or need to clean up, as an error handler may throw from the function of the MPI.
template <class Native, class... Arguments>
int take_or_forward(const run::Call& call, bool persistent, Native native, MpiRequest* request, bool& taken,
                    Arguments... arguments) {
  int error = mpi_success;
  api::CountedAhead ahead;  // a persistent call that is forwarded has counted nothing
  taken = take_recorded(call, persistent, request, error, ahead);
  if (taken) return error;
  if (!native.is_there()) return api::raise(call.comm, mpi().err_other);
  // The other ranks go by what the MPI has made of the call, whatever this one fails at then.
  int by_mpi = mpi_success;
  error = api::error_of(call.comm, ahead, [&] {
    if (memory::device_driver() == nullptr) return by_mpi = native(request, arguments...);
    return forward_beside_devices(persistent, call, native, request, by_mpi, arguments...);
  });
  api::keep_or_undo(ahead, call, by_mpi);
  return error;
}

template <class Native, class... Arguments>
[[gnu::noinline]] int begin_recorded(const void* site, const run::Call& call, bool persistent, Native native,
                                     MpiRequest* request, Arguments... arguments) {
  record::Recorded recorded;
  recorded.begin(call, persistent ? record::Form::persistent : record::Form::nonblocking, site);
  bool taken = false;
  const int error = take_or_forward(call, persistent, native, request, taken, arguments...);
  if (persistent && error == mpi_success) record::keep_made(*request, call, taken ? api::carrier_on(call.comm) : "mpi");
  return error;
}

// With the arguments of the program.
template <class Native, class... Arguments>
int begin(const void* site, Collective collective, bool persistent, Native native, MpiRequest* to,
          Arguments... arguments) {
  ((arguments = given(arguments)), ...);
  const run::Call call = api::call_of(collective, arguments...);
  if (persistent && !native.is_there()) return api::raise(call.comm, mpi().err_other);
  return give(to, [&](MpiRequest* request) {
    if (record::on) [[unlikely]]
      return begin_recorded(site, call, persistent, native, request, arguments...);
    bool taken = false;
    return take_or_forward(call, persistent, native, request, taken, arguments...);
  });
}

}  // namespace

#define QUADRILLE_START(PREFIX, collective, Name, FORM, Displacement)                                           \
  QUADRILLE_EXPORT int PREFIX##_I##collective(QUADRILLE_WORDS_##FORM(int, Displacement), MpiRequest* request) { \
    const auto of_the_mpi = mpi().I##collective;                                                                \
    if (QUADRILLE_IS_STRAIGHT_##PREFIX) return of_the_mpi(QUADRILLE_ARGUMENTS_##FORM, request);                 \
    return api::leave(begin(__builtin_return_address(0), Collective::collective, false,                         \
                            Native{QUADRILLE_NEXT_##PREFIX(I##collective), of_the_mpi, {}}, request,            \
                            QUADRILLE_ARGUMENTS_##FORM));                                                       \
  }
#define QUADRILLE_START_MPI(...) QUADRILLE_START(MPI, __VA_ARGS__)
#define QUADRILLE_START_PMPI(...) QUADRILLE_START(PMPI, __VA_ARGS__)

// Called by the libraries of these names: `next` is what comes after them, or null; `site` where they were called from.
#define QUADRILLE_BEGIN(Name, collective, persistent, info, FORM, ...)                                         \
  QUADRILLE_EXPORT int quadrille_##Name(__VA_ARGS__, MpiRequest* request, decltype(Mpi::Name) next,            \
                                        const void* site) {                                                    \
    return api::leave(begin(site, Collective::collective, persistent, Native{next, mpi().Name, info}, request, \
                            QUADRILLE_ARGUMENTS_##FORM));                                                      \
  }
#define QUADRILLE_BEGIN_ALL(collective, Name, FORM, Displacement)                                                \
  QUADRILLE_BEGIN(Name##_init, collective, true, given(info), FORM, QUADRILLE_WORDS_##FORM(int, Displacement),   \
                  MpiInfo info)                                                                                  \
  QUADRILLE_BEGIN(Name##_init_c, collective, true, given(info), FORM, QUADRILLE_WORDS_##FORM(MpiCount, MpiAint), \
                  MpiInfo info)                                                                                  \
  QUADRILLE_BEGIN(I##collective##_c, collective, false, MpiInfo(), FORM, QUADRILLE_WORDS_##FORM(MpiCount, MpiAint))

// The PMPI_ names: see interpose.cpp.
extern "C" {
QUADRILLE_EXPORT bool quadrille_goes_straight(const void* site) { return api::goes_straight(site); }
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_START_MPI)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_START_PMPI)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_BEGIN_ALL)
}  // extern "C"
