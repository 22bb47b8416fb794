// MPI's argument lists turned into a Call, once for all doors and collectives; and the way of a call through a door.
#pragma once

#include <tuple>
#include <type_traits>

#include "api/call_cache.hpp"
#include "api/serve.hpp"
#include "collective/collective.hpp"
#include "team/record.hpp"

namespace quadrille::api {

inline std::byte* writable(const void* buffer) { return static_cast<std::byte*>(const_cast<void*>(buffer)); }

// ---- The blocks of a side, in each of their forms. Written where they stay: a copy of them costs as much as a small
// call. ----

inline void set_side(run::Side& side, const void* buffer, MpiCount count, MpiType type) {
  side.base = writable(buffer);
  side.count = static_cast<std::size_t>(count);
  side.type = type;
}

// `types`: one for all, or in arrays.
template <class Count, class Displacement, class Types>
void set_side(run::Side& side, const void* buffer, const Count* counts, const Displacement* displacements,
              Types types) {
  side.base = writable(buffer);
  if constexpr (std::is_same_v<Types, MpiTypes>) {
    side.types = types;
  } else {
    side.type = types;
  }
  if constexpr (std::is_same_v<Count, int>) {
    side.counts = counts;
  } else {
    side.counts_large = counts;
  }
  if constexpr (std::is_same_v<Displacement, int>) {
    side.displacements = displacements;
  } else {
    side.displacements_large = displacements;
  }
}

// ---- The argument lists, as the program gives them ----

template <class Count>
inline constexpr bool has_large = !std::is_same_v<Count, int>;

template <class Count>
run::Call call_of(Collective collective, QUADRILLE_WORDS_UNIFORM(Count, int)) {
  run::Call call{collective, {}, {}, sendbuf == mpi().in_place, given(comm), has_large<Count>};
  set_side(call.send, sendbuf, sendcount, given(sendtype));
  set_side(call.recv, recvbuf, recvcount, given(recvtype));
  return call;
}

template <class Count, class Displacement, class Types>
run::Call call_of(Collective collective, QUADRILLE_LIST_VECTOR(Count, Displacement, MpiComm, Types, Types)) {
  run::Call call{collective, {}, {}, sendbuf == mpi().in_place, given(comm), has_large<Count>};
  set_side(call.send, sendbuf, sendcounts, sdispls, given(sendtype));
  set_side(call.recv, recvbuf, recvcounts, rdispls, given(recvtype));
  return call;
}

template <class Count, class Displacement, class Types>
run::Call call_of(Collective collective, const void* sendbuf, Count sendcount, MpiType sendtype, void* recvbuf,
                  const Count* recvcounts, const Displacement* displs, Types recvtypes, MpiComm comm) {
  run::Call call{collective, {}, {}, sendbuf == mpi().in_place, given(comm), has_large<Count>};
  set_side(call.send, sendbuf, sendcount, given(sendtype));
  set_side(call.recv, recvbuf, recvcounts, displs, given(recvtypes));
  return call;
}

// ---- The way of a call ----

// What the call cache compares. All lists of arguments end with count, type and communicator, as far as they have them.
struct Compared {
  MpiComm comm;
  MpiType type{};
  MpiCount count = 0;
};
template <Collective collective, class... Arguments>
Compared compared(const Arguments&... arguments) {
  const auto given = std::tie(arguments...);
  constexpr std::size_t comm = sizeof...(Arguments) - 1, type = comm - 1, count = comm - 2;
  Compared by{std::get<comm>(given)};
  if constexpr (!is_typed(collective)) by.type = std::get<type>(given);
  if constexpr (is_regular(collective)) by.count = std::get<count>(given);
  return by;
}

// The arguments of a call, but with the buffers of another.
inline const void* with_buffer(const void* given, const run::Call& call) {
  return call.in_place ? given : call.send.base;
}
inline void* with_buffer(void*, const run::Call& call) { return call.recv.base; }
template <class Argument>
Argument with_buffer(Argument given, const run::Call&) {
  return given;
}

// Hands a call to the MPI's function in a program that has loaded the driver of a device. Memory of a device goes there
// only if the MPI takes it.
template <Collective collective, class Function, class... Arguments>
[[gnu::noinline]] int hand_on_beside_devices(Function function, choose::HostBuffers buffers, Arguments... arguments) {
  const run::Call call = call_of(collective, arguments...);
  team::Team* team = nullptr;
  std::unique_ptr<OnHost> on_host;
  const int ready = guarded(call.comm, [&] {
    on_host = on_host_for_the_mpi(call, buffers, team);
    if (on_host != nullptr) fetch(*on_host, *team, true);
    return mpi_success;
  });
  if (ready != mpi_success) return ready;
  // The MPI may call an error handler of the program here.
  const int error = on_host == nullptr ? function(arguments...) : function(with_buffer(arguments, on_host->call())...);
  return guarded(call.comm, [&] {
    const int agreed = with_failed_copies(team, error, true, on_host != nullptr);
    const int finished = on_host != nullptr ? on_host->finish(agreed) : agreed;
    return error == mpi_success && finished != mpi_success ? raise(call.comm, finished) : finished;
  });
}

// What the short way did not serve. A function of its own, so that the short way need not keep anything for it.
template <Collective collective, class Native, class... Arguments>
[[gnu::noinline]] int serve_or_pass_at_length(Door door, Native native, Arguments... arguments) {
  ((arguments = given(arguments)), ...);
  int error = mpi_success;
  Attempt attempt;
  bool is_known = false;
  if constexpr (!is_neighbor(collective)) {
    const Compared by = compared<collective>(arguments...);
    is_known = forwarded_by_cache(collective, by.comm, by.type, by.count, &attempt.ahead);
  }
  if (!is_known && serve(call_of(collective, arguments...), door, error, attempt)) return error;
  const MpiComm comm = std::get<sizeof...(Arguments) - 1>(std::tie(arguments...));
  UndoUnlessReturned guard(attempt.ahead, comm);
  error = error_of(comm, attempt.ahead, [&] {
    return memory::device_driver() == nullptr
               ? native(arguments...)
               : hand_on_beside_devices<collective>(native, attempt.buffers, arguments...);
  });
  guard.returned = true;
  // To put the call together takes longer than all else that is done here of a small one.
  if (stays_as_counted(attempt.ahead, error) ||
      keep_or_undo_at_length(attempt.ahead, call_of(collective, arguments...), error)) {
    end_attempt(attempt);
  }
  return error;
}

// The same of a call that is recorded, with the short way.
template <Collective collective, class Native, class... Arguments>
[[gnu::noinline]] int serve_or_pass_recorded(const void* site, Door door, Native native, Arguments... arguments) {
  record::Recorded recorded;
  recorded.begin(call_of(collective, arguments...), record::Form::blocking, site);
  if constexpr (is_cached(collective)) {
    int error = mpi_success;
    if (served_by_cache(Of<collective>(), arguments..., error)) {
      const Compared by = compared<collective>(quadrille::given(arguments)...);
      if (record::on) record::by_the_short_way(engine_of_cached(collective, by.comm, by.type, by.count));
      return error;
    }
  }
  return serve_or_pass_at_length<collective>(door, native, arguments...);
}

// Serves the call, or hands its arguments as they are to `native`, the MPI's function with the same list. `site`: where
// the program made the call.
template <Collective collective, class Native, class... Arguments>
[[gnu::always_inline]] inline int serve_or_pass_from(const void* site, Door door, Native native,
                                                     Arguments... arguments) {
  if (record::on) [[unlikely]]
    return serve_or_pass_recorded<collective>(site, door, native, arguments...);
  int error = mpi_success;
  constexpr bool short_way = requires { served_by_cache(Of<collective>(), arguments..., error); };
  static_assert(short_way == is_cached(collective), "also with large counts");
  if constexpr (short_way) {
    if (served_by_cache(Of<collective>(), arguments..., error)) return error;
  }
  return serve_or_pass_at_length<collective>(door, native, arguments...);
}
template <Collective collective, class Native, class... Arguments>
[[gnu::always_inline]] inline int serve_or_pass(Door door, Native native, Arguments... arguments) {
  return serve_or_pass_from<collective>(__builtin_return_address(0), door, native, arguments...);
}

}  // namespace quadrille::api
