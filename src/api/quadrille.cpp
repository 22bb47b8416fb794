// The explicit door: the functions of quadrille.h, but for those of neighbourhoods, exchanges, requests and streams.
#include <cstdlib>
#include <type_traits>

#include "abi/abi.hpp"
#include "abi/functions.hpp"
#include "api/doors.hpp"
#include "api/requests.hpp"
#include "memory/heap.hpp"
#include "mpi/mpi.hpp"
#include "run/native_run.hpp"
#include "sys/sys.hpp"
#include "team/config.hpp"
#include "team/team.hpp"
#include "text/hash.hpp"

using namespace quadrille;

namespace {

// Reads what Quadrille_Set_algorithm was given. Returns an empty string, or what is wrong.
std::string read_request(const char* collective, const char* algorithm, Collective& which, choose::Choice& choice) {
  if (collective == nullptr || !choose::collective_from_name(collective, which)) {
    return std::string("unknown collective \"") + (collective != nullptr ? collective : "") + "\"; known are " +
           choose::collective_names();
  }
  if (algorithm == nullptr || *algorithm == '\0') return {};
  return choose::parse_choice(which, algorithm, choice);
}

int set_algorithm(MpiComm comm, const char* collective, const char* algorithm) {
  Collective which{};
  choose::Choice choice;
  const std::string wrong = read_request(collective, algorithm, which, choice);
  team::Team* team = team::team_of(comm);
  // One rank alone can have neighbours: itself.
  const bool alone = team != nullptr && !team->eligible() && team->group.ranks == 1;
  if (team == nullptr || (!team->eligible() && !alone && wrong.empty())) {
    return team == nullptr ? api::raise(comm, mpi().err_comm) : mpi_success;
  }
  if (team->eligible()) {
    if (!team->ready()) {
      if (const int error = team::setup(*team); error != mpi_success) return error;
    }
    const std::string request =
        std::string(collective != nullptr ? collective : "") + "=" + (algorithm != nullptr ? algorithm : "");
    const int error = api::error_unless_alike(comm, text::Hash().add(request).value(), true, team->group.me == 0,
                                              "Quadrille_Set_algorithm", "the ranks gave different names");
    if (error != mpi_success) return api::raise(comm, error);
  }
  if (!wrong.empty()) {
    if (team->group.me == 0) team::say("Quadrille_Set_algorithm: " + wrong);
    return api::raise(comm, mpi().err_arg);
  }
  team::force(*team, which, choice.algorithm != nullptr ? choice : team::config().forced.of(which));
  return mpi_success;
}

// No MPI has the w form of the allgather: run_native() calls the w form of the all-to-all instead.
int by_alltoallw(const run::Call& call) {
  if (!mpi().usable) return api::raise(call.comm, mpi().err_other);
  if (call.comm == mpi().comm_null) return api::raise(mpi().comm_world, mpi().err_comm);
  team::Team* const team = team::team_of(call.comm);
  const bool has_blocks = team != nullptr && !is_inter(call.comm);
  const api::BlockNumbers blocks = has_blocks ? api::blocks_of(call, *team) : api::BlockNumbers();
  const run::Side& recv = call.recv;
  const bool arrays = recv.counts != nullptr && recv.displacements_large != nullptr && recv.types;
  // Not all MPIs look at these.
  if (call.in_place || recv.base == mpi().in_place || (blocks.recv > 0 && !arrays)) {
    return api::raise(call.comm, mpi().err_arg);
  }
  return api::handled_later(call.comm, [&] { return run::run_native(call, call.comm, blocks.send); });
}

int allgatherw(QUADRILLE_WORDS_GATHERW(int, MpiAint)) {
  const run::Call call = api::call_of(Collective::neighbor_allgatherw, QUADRILLE_ARGUMENTS_GATHERW);
  return api::guarded(call.comm, [&] { return by_alltoallw(call); });
}

// ---- Large counts: Quadrille_Alltoall_c and so on ----
//
// They are there whatever the MPI has, so something must stand in for functions that it lacks, and in the same way on
// all ranks, of which each knows its own counts alone.

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

// ---- Memory ----

// As raise() of the other doors; here the MPI may not have begun.
int raise_anywhere(int error) {
  if (mpi().usable && may_call_mpi()) mpi().Comm_call_errhandler(mpi().comm_world, error);
  return error;
}

}  // namespace

int Quadrille_Version(void) { return quadrille::abi::version(); }

#define QUADRILLE_DEFINE(function, SUFFIX, Count, Displacement, collective, Name, FORM)                            \
  int Quadrille_##Name##SUFFIX(QUADRILLE_WORDS_##FORM(Count, Displacement)) {                                      \
    const auto native = [](auto... arguments) { return pass_on<Collective::collective>(function, arguments...); }; \
    return api::leave(                                                                                             \
        api::serve_or_pass<Collective::collective>(api::Door::explicit_api, native, QUADRILLE_ARGUMENTS_##FORM));  \
  }
#define QUADRILLE_DEFINE_INTS(collective, Name, FORM, Displacement) \
  QUADRILLE_DEFINE(mpi().Name, , int, Displacement, collective, Name, FORM)
#define QUADRILLE_DEFINE_LARGE(collective, Name, FORM, Displacement) \
  QUADRILLE_DEFINE(mpi().Name##_c, _c, MpiCount, MpiAint, collective, Name, FORM)
#define QUADRILLE_DEFINE_OWN(collective, Name, FORM, Displacement) \
  QUADRILLE_DEFINE(nullptr, _c, MpiCount, MpiAint, collective, Name, FORM)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_DEFINE_INTS)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_DEFINE_LARGE)
// The one collective that no MPI has.
QUADRILLE_DEFINE(allgatherw, , int, MpiAint, neighbor_allgatherw, Neighbor_allgatherw, GATHERW)
QUADRILLE_OWN_NEIGHBOR_COLLECTIVES(QUADRILLE_DEFINE_OWN)

// Quadrille_Ialltoall and Quadrille_Alltoall_init, and so on.
#define QUADRILLE_DEFINE_REQUESTS(SUFFIX, Count, collective, Name, FORM, Displacement)                           \
  int Quadrille_I##collective##SUFFIX(QUADRILLE_WORDS_##FORM(Count, Displacement), Quadrille_Request* request) { \
    return api::leave(api::make_request(api::call_of(Collective::collective, QUADRILLE_ARGUMENTS_##FORM), false, \
                                        request, __builtin_return_address(0)));                                  \
  }                                                                                                              \
  int Quadrille_##Name##_init##SUFFIX(QUADRILLE_WORDS_##FORM(Count, Displacement), MpiInfo,                      \
                                      Quadrille_Request* request) {                                              \
    return api::leave(api::make_request(api::call_of(Collective::collective, QUADRILLE_ARGUMENTS_##FORM), true,  \
                                        request, __builtin_return_address(0)));                                  \
  }
#define QUADRILLE_DEFINE_INT_REQUESTS(...) QUADRILLE_DEFINE_REQUESTS(, int, __VA_ARGS__)
QUADRILLE_COLLECTIVES(QUADRILLE_DEFINE_INT_REQUESTS)
#define QUADRILLE_DEFINE_LARGE_REQUESTS(collective, Name, FORM, Displacement) \
  QUADRILLE_DEFINE_REQUESTS(_c, MpiCount, collective, Name, FORM, MpiAint)
QUADRILLE_COLLECTIVES(QUADRILLE_DEFINE_LARGE_REQUESTS)

int Quadrille_Set_algorithm(MpiComm comm, const char* collective, const char* algorithm) {
  return api::leave(api::guarded(given(comm), [&] { return set_algorithm(given(comm), collective, algorithm); }));
}

int Quadrille_Alloc(MpiAint bytes, void** base) {
  if (bytes < 0 || base == nullptr) return raise_anywhere(mpi().err_arg);
  *base = nullptr;
  if (bytes == 0) return mpi_success;
  const auto size = static_cast<std::size_t>(bytes);
  if (memory::heap_start()) *base = memory::heap_allocate(size, sys::cache_line);
  if (*base == nullptr && posix_memalign(base, sys::cache_line, size) != 0) {
    *base = nullptr;
    return raise_anywhere(mpi().err_no_mem);
  }
  return mpi_success;
}

int Quadrille_Free(void* base) {
  if (!memory::heap_free(base)) std::free(base);
  return mpi_success;
}
