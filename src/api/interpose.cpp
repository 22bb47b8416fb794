// The drop-in door: MPI's own names, found before the MPI's by the loader (LD_PRELOAD).
//
// Calls of the PMPI_ names are served as well: Open MPI's Fortran layer makes them, and tools that are called before
// us. Fortran layers have turned Fortran's MPI_IN_PLACE and MPI_BOTTOM into C's by then. Collectives, requests and
// barriers that the library of the MPI itself calls by these names stay its own (api/next_names.hpp).
//
// What we forward goes on to the next function of the name (api/next_names.hpp): a tool that is loaded
// behind us sees it. We ourselves reach the MPI by looking its symbols up in its own library, so
// there is no way back to here.
//
// The nonblocking functions have been in MPI since 3.0, so that none seems to be there which is not. The names for
// large counts and for persistent requests are in libraries of their own, which are loaded where the MPI has them, and
// call what is exported here (interpose_added.cpp).
#include <cstring>
#include <mutex>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "abi/functions.hpp"
#include "api/doors.hpp"
#include "api/next_names.hpp"
#include "api/requests.hpp"
#include "collective/collective.hpp"
#include "memory/heap.hpp"
#include "mpi/mpi.hpp"
#include "mpi/progress.hpp"
#include "sys/sys.hpp"
#include "team/config.hpp"
#include "team/record.hpp"
#include "team/team.hpp"

using namespace quadrille;

namespace {

// ---- Functions in which all ranks wait for each other anyway ----
//
// There what nonblocking calls need can be made (taken.cpp). Without a communicator that wants it they cost one look
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

// ---- Calls before the first one ----
//
// The first call of a program finds nothing in place: pages of shared memory that nobody touched, code that
// was never read, rooms that do not exist yet. That costs it tens of microseconds, and a program that times one
// call, or makes few, sees nothing else. So the drop-in door makes some calls itself, at the end of MPI_Init.

// A block that goes through slots, one that goes through rings where it is not in the shared heap, one that is copied
// once.
constexpr int small = 64, middle = 4096, large = 32768;
// With more ranks the calls themselves would take longer than what they save.
constexpr int most_ranks = 64, most_ranks_for_large_blocks = 16;

void alltoall(MpiComm comm, const void* send, void* recv, int count, MpiType type) {
  api::serve_or_pass<Collective::alltoall>(api::Door::drop_in, mpi().Alltoall, send, count, type, recv, count, type,
                                           comm);
}

// As the program's own memory would be: in the shared heap if it is large.
void alltoall_of(int bytes, MpiComm comm, std::size_t ranks) {
  const std::vector<char> send(static_cast<std::size_t>(bytes) * ranks);
  std::vector<char> recv(send.size());
  alltoall(comm, send.data(), recv.data(), bytes, mpi().byte);
}

// Of a type that the program made.
void alltoall_of_a_made_type(MpiComm comm, std::size_t ranks) {
  MpiType pair;
  if (mpi().Type_contiguous(2, mpi().double_type, &pair) != mpi_success) return;
  mpi().Type_commit(&pair);
  const std::vector<double> send(2 * ranks);
  std::vector<double> recv(send.size());
  alltoall(comm, send.data(), recv.data(), 1, pair);
  mpi().Type_free(&pair);
}

// On the stack: never in the heap. So often that each page of the rings is written and read.
void alltoall_through_rings(MpiComm comm, std::size_t ring_bytes) {
  char send[most_ranks_for_large_blocks * middle] = {}, recv[sizeof send] = {};
  for (std::size_t at = 0; at <= ring_bytes; at += middle) alltoall(comm, send, recv, middle, mpi().byte);
}

void others(MpiComm comm, std::size_t ranks) {
  const MpiType type = mpi().byte;
  const std::vector<int> counts(ranks, small);
  std::vector<int> places(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) places[rank] = static_cast<int>(rank) * small;
  const std::vector<char> send(ranks * small);
  std::vector<char> recv(send.size());
  api::serve_or_pass<Collective::alltoallv>(api::Door::drop_in, mpi().Alltoallv, send.data(), counts.data(),
                                            places.data(), type, recv.data(), counts.data(), places.data(), type, comm);
  api::serve_or_pass<Collective::allgather>(api::Door::drop_in, mpi().Allgather, send.data(), small, type, recv.data(),
                                            small, type, comm);
  api::serve_or_pass<Collective::allgatherv>(api::Door::drop_in, mpi().Allgatherv, send.data(), small, type,
                                             recv.data(), counts.data(), places.data(), type, comm);
}

// Collective over MPI_COMM_WORLD, after team::after_init(). Does nothing where a call might send a message,
// and where the user forced algorithms. Leaves no trace in counters and explanations.
void warm_up() {
  if (!mpi().usable) return;
  team::Team* team = team::team_of(mpi().comm_world);
  if (team == nullptr || !team->ready() || team->group.may_send() || team->group.ranks > most_ranks) return;
  if (team::config().any_forced) return;
  if (team->agreed().points == team::Points::guessed) api::calibrate(*team);
  const bool explains = std::exchange(team->counted.explains, false);
  const team::MayTry might = team::let_try(*team, team::MayTry::nothing);  // what is rehearsed is not to be compared
  const team::Counters counters = team->counted.counters;
  const MpiComm comm = mpi().comm_world;
  const auto ranks = static_cast<std::size_t>(team->group.ranks);
  // Twice: consecutive calls use different slots.
  for (int time = 0; time < 2; ++time) {
    alltoall_of(small, comm, ranks);
    others(comm, ranks);
  }
  alltoall_of_a_made_type(comm, ranks);
  if (ranks <= most_ranks_for_large_blocks) {
    if (team->group.reach().rings) alltoall_through_rings(comm, team->group.pairs.ring_bytes());
    for (int time = 0; time < 2; ++time) alltoall_of(large, comm, ranks);
  }
  team->counted.counters = counters;
  team->counted.explains = explains;
  team::let_try(*team, might);
  // Or calls like these would take the short way, and say nothing, or stay with what was not tried.
  if (explains || might == team::MayTry::everything) team::forget_selections(*team);
}

// ---- The start and the end ----

// What is done after MPI_Init, once: that of a tool comes here twice, as it calls PMPI_Init.
int prepare_program() {
  return api::guarded(mpi().comm_world, [] {
    if (team::after_init()) {
      warm_up();
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

// ---- Memory: from the heap if it is active, else by `next` ----

// What alloc_mem() has given from the heap. Also the MPI's own memory may lie there, as the MPI calls malloc: but in
// the middle of a block, behind what MPICH keeps of it.
class Allocated {
 public:
  bool note(void* block) {
    const std::lock_guard lock(mutex_);
    return thrown_by([&] { blocks_.insert(block); }) == mpi_success;
  }
  bool take(void* block) {
    const std::lock_guard lock(mutex_);
    return blocks_.erase(block) > 0;
  }

 private:
  std::mutex mutex_;
  std::unordered_set<void*> blocks_;
};
Allocated& allocated() { return sys::immortal<Allocated>(); }  // also for who frees memory at the end of the program

int alloc_mem(MpiAint bytes, MpiInfo info, void* base, decltype(Mpi::Alloc_mem) next) {
  // What is wrong with an argument, and what the hints mean, the MPI says.
  if (bytes > 0 && base != nullptr && info == mpi().info_null) {
    void* const block = memory::heap_allocate(static_cast<std::size_t>(bytes), sys::cache_line);
    if (block != nullptr && allocated().note(block)) {
      std::memcpy(base, &block, sizeof block);
      return mpi_success;
    }
    memory::heap_free(block);
  }
  return next(bytes, info, base);
}

int free_mem(void* base, decltype(Mpi::Free_mem) next) {
  if (!allocated().take(base)) return next(base);
  memory::heap_free(base);
  return mpi_success;
}

// ---- Functions that make requests (taken.cpp). What is not taken over goes to the MPI, and is counted if somebody
// wants a summary ----

// Takes it over, or says no, and counts that. What then carries it out is written down.
bool take_recorded(const run::Call& call, bool persistent, MpiRequest* request, int& error, api::CountedAhead& ahead) {
  const bool taken = api::take(call, persistent, request, error, ahead);
  if (!taken && team::untaken.wanted.load(std::memory_order_relaxed)) {
    team::Untaken::Counts& counts = persistent ? team::untaken.persistent : team::untaken.nonblocking;
    counts[counted_as(ahead.why)].fetch_add(1, std::memory_order_relaxed);
  }
  if (taken && record::on) {
    const team::Team* const team = team::find_team(call.comm);
    record::by(team != nullptr ? to_string(team->request_by) : "quadrille");
  }
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
int take_or_forward(const run::Call& call, bool persistent, Native native, MpiRequest* request,
                    Arguments... arguments) {
  int error = mpi_success;
  api::CountedAhead ahead;  // a persistent call that is forwarded has counted nothing
  if (take_recorded(call, persistent, request, error, ahead)) return error;
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
  const int error = take_or_forward(call, persistent, native, request, arguments...);
  if (!persistent || error != mpi_success) return error;
  const Quadrille_Request_state* const ours = api::taken_behind(*request);
  record::keep_made(*request, call, ours != nullptr ? to_string(ours->carrier()) : "mpi");
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
    return take_or_forward(call, persistent, native, request, arguments...);
  });
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

#define QUADRILLE_INTERPOSE_OTHERS(PREFIX)                                                                         \
  QUADRILLE_EXPORT int PREFIX##_Alloc_mem(MpiAint size, MpiInfo info, void* baseptr) {                             \
    return alloc_mem(size, given(info), baseptr, QUADRILLE_NEXT_##PREFIX(Alloc_mem));                              \
  }                                                                                                                \
  QUADRILLE_EXPORT int PREFIX##_Free_mem(void* base) { return free_mem(base, QUADRILLE_NEXT_##PREFIX(Free_mem)); } \
  QUADRILLE_EXPORT int PREFIX##_Init(int* argc, char*** argv) {                                                    \
    return api::leave(start(QUADRILLE_NEXT_##PREFIX(Init), argc, argv));                                           \
  }                                                                                                                \
  QUADRILLE_EXPORT int PREFIX##_Init_thread(int* argc, char*** argv, int required, int* provided) {                \
    return api::leave(start(QUADRILLE_NEXT_##PREFIX(Init_thread), argc, argv, required, provided));                \
  }                                                                                                                \
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

// For the library of large counts. `next` is what comes after that library, or null; `site` where it was called from.
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

// ---- Functions that make requests ----

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

QUADRILLE_EXPORT bool quadrille_goes_straight(const void* site) { return api::goes_straight(site); }
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_START_MPI)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_START_PMPI)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_BEGIN_ALL)

}  // extern "C"
