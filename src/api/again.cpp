#include "api/again.hpp"

#include <algorithm>
#include <array>

#include "api/remembered.hpp"
#include "api/serve.hpp"
#include "memory/device.hpp"
#include "mpi/thrown.hpp"
#include "run/engines.hpp"

namespace quadrille::api {
namespace {

using choose::Engine;

const std::byte* bytes_of(const void* buffer) { return static_cast<const std::byte*>(buffer); }
std::byte* bytes_of(void* buffer) { return static_cast<std::byte*>(buffer); }

struct Remembered {
  RememberedFor when;
  std::size_t type_size = 0;
  std::size_t most_count = 0;          // elements of a block that fit a slot; 0: nobody knows
  bool by_pairs = false;               // the exchange by pairs serves it, not the inboxes alone
  std::array<std::size_t, 4> large{};  // elements of blocks of one size that the exchange by pairs serves; 0: none
  run::Group* group = nullptr;
  std::uint64_t* served = nullptr;
};

thread_local Remembered remembered[collective_count];

// Up to which block all go the way of the smallest. A rank whose arguments take the long way, where what was measured
// is asked for each size, must find the same way.
std::size_t alike_up_to(Collective collective, const team::Team& team) {
  const auto c = static_cast<std::size_t>(collective);
  const std::size_t limit = team.group.inbox_limit(collective);
  return c < team.agreed().by_size.size() ? std::min(limit, choose::default_up_to(team.agreed().by_size[c])) : limit;
}

// What is remembered for a call with these arguments, or null.
inline const Remembered* recall(Collective collective, MPI_Comm comm, const void* sendbuf, MPI_Datatype sendtype,
                                const void* recvbuf, MPI_Datatype recvtype) {
  const Remembered& last = remembered[static_cast<std::size_t>(collective)];
  if (sendtype != recvtype || sendbuf == MPI_IN_PLACE || recvbuf == MPI_IN_PLACE || sendbuf == nullptr ||
      recvbuf == nullptr || !last.when.is_for(comm, recvtype)) {
    return nullptr;
  }
  return &last;
}

// Has the exchange by pairs served blocks of as many elements?
inline bool is_known_large(MPI_Count count, const Remembered& last) {
  const auto elements = static_cast<std::size_t>(count);
  return elements != 0 && std::find(last.large.begin(), last.large.end(), elements) != last.large.end();
}

// A negative count is taken for a large one. None at all goes the whole way too.
inline bool is_small(MPI_Count count, const Remembered& last) {
  return static_cast<std::size_t>(count) - 1 < last.most_count;
}

template <class Count>
bool none_negative(const Count* counts, const Remembered& last) {
  return std::all_of(counts, counts + last.group->ranks, [](Count count) { return count >= 0; });
}

template <class Count>
bool all_small(const Count* counts, const Remembered& last) {
  if (counts == nullptr) return false;
  bool small = true;
  for (int b = 0; b < last.group->ranks; ++b) {
    small = small && static_cast<std::size_t>(counts[b]) <= last.most_count;
  }
  return small;
}

inline bool served(const Remembered& last, int error) {
  if (error != MPI_SUCCESS) [[unlikely]]
    raise(last.when.comm, error);
  ++*last.served;
  return true;
}

// By the exchange by pairs, of the remembered type on both sides; the blocks of a side are as the rest of it says.
[[gnu::noinline]] int exchange_again(Collective collective, run::Side send, const void* sendbuf, run::Side recv,
                                     void* recvbuf, const Remembered& last) {
  send.base = bytes_of(const_cast<void*>(sendbuf));
  recv.base = bytes_of(recvbuf);
  send.type = recv.type = last.when.type;
  const run::Call call{collective, send, recv, false, last.when.comm};
  int error = MPI_SUCCESS;
  const int thrown = thrown_by([&] { error = run::run_node(call, *last.group, true); });
  return thrown != MPI_SUCCESS ? thrown : error;
}

run::Side blocks_of(MPI_Count count) {
  run::Side side;
  side.count = static_cast<std::size_t>(count);
  return side;
}
run::Side blocks_of(const int* counts, const int* displacements) {
  run::Side side;
  side.counts = counts;
  side.displacements = displacements;
  return side;
}
run::Side blocks_of(const MPI_Count* counts, const MPI_Aint* displacements) {
  run::Side side;
  side.counts_large = counts;
  side.displacements_large = displacements;
  return side;
}

struct Passing {
  RememberedFor when;
  bool whatever = false;  // the type and the count do not matter
  MPI_Count count = 0;
  std::uint64_t* counter = nullptr;
  team::Team* team = nullptr;
  int* const* kept = nullptr;  // so many calls do; null: all
};
thread_local Passing passing[collective_count];

}  // namespace

void remember(const run::Call& call, Engine engine, bool settled, team::Team& team) {
  // A buffer of a later call may be a device's; and the ranks may ask each other for that in any call.
  if (memory::device_driver() != nullptr || team.agreed().follows_devices) return;
  if (team.counted.explains || is_typed(call.collective) || !team.group.reach().local.empty()) return;
  // A slot can only be read without a look at the rest of the protocol if nobody writes to this rank.
  const bool by_pairs =
      engine == Engine::exchange && settled && !is_sized(call.collective) && !team.group.reach().written_to;
  // Of blocks of one size, which all ranks know, the size says how they are served.
  const bool is_large = engine == Engine::exchange && is_regular(call.collective) && settled;
  if (engine != Engine::inbox && !by_pairs && !is_large) return;
  const TypeInfo info = type_info(call.recv.type);
  if (!info.dense || info.size == 0) return;
  Remembered now{RememberedFor::now(call.comm, call.recv.type),
                 info.size,
                 is_large ? 0 : alike_up_to(call.collective, team) / info.size,
                 by_pairs,
                 {is_large ? call.recv.count : 0},
                 &team.group,
                 &team.counted.counters.served};
  Remembered& last = remembered[static_cast<std::size_t>(call.collective)];
  if (last.when == now.when) {
    now.most_count = std::max(now.most_count, last.most_count);
    // In front of those that were served before it, of which the oldest goes.
    if (is_large && last.large[0] != now.large[0]) {
      std::copy_n(last.large.begin(), last.large.size() - 1, now.large.begin() + 1);
    } else {
      now.large = last.large;
    }
  }
  last = now;
}

void remember_passed(const run::Call& call, team::Team& team, Reason why, bool whatever, int* const* kept) {
  // A device's memory may have to be brought to the host.
  if (team.counted.explains || memory::device_driver() != nullptr) return;
  // Of the others the size is that of all blocks.
  const bool uniform = is_regular(call.collective), sizeless = !is_sized(call.collective);
  if (!whatever && !uniform && !sizeless) return;
  passing[static_cast<std::size_t>(call.collective)] = {RememberedFor::now(call.comm, call.recv.type),
                                                        whatever || sizeless,
                                                        static_cast<MPI_Count>(call.recv.count),
                                                        &team.counted.counters.passed[counted_as(why)],
                                                        &team,
                                                        kept};
}

bool passed_again(Collective collective, MPI_Comm comm, MPI_Datatype type, MPI_Count count, CountedAhead* ahead) {
  const Passing& last = passing[static_cast<std::size_t>(collective)];
  const bool is_alike = last.whatever ? last.when.is_for(comm) : last.when.is_for(comm, type) && count == last.count;
  if (!is_alike) return false;
  if (last.kept != nullptr && !is_kept(*last.kept)) return false;
  ++*last.counter;
  if (ahead == nullptr) return true;
  ahead->passed = last.counter;
  ahead->team = last.team;
  if (last.kept != nullptr) ahead->note(**last.kept, 1);
  return true;
}

bool served_again(Of<Collective::alltoall>, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                  void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, int& error) {
  const Remembered* last = recall(Collective::alltoall, comm, sendbuf, sendtype, recvbuf, recvtype);
  if (last == nullptr || sendcount != recvcount) return false;
  if (!is_small(recvcount, *last)) {
    if (!is_known_large(recvcount, *last)) return false;
    error = exchange_again(Collective::alltoall, blocks_of(sendcount), sendbuf, blocks_of(recvcount), recvbuf, *last);
    return served(*last, error);
  }
  const std::size_t bytes = static_cast<std::size_t>(recvcount) * last->type_size;
  error = run::run_inbox_bytes(bytes_of(sendbuf), bytes_of(recvbuf), bytes, *last->group);
  return served(*last, error);
}

template <class Count, class Displacement>
bool served_again(Of<Collective::alltoallv>, const void* sendbuf, const Count* sendcounts, const Displacement* sdispls,
                  MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts, const Displacement* rdispls,
                  MPI_Datatype recvtype, MPI_Comm comm, int& error) {
  const Remembered* last = recall(Collective::alltoallv, comm, sendbuf, sendtype, recvbuf, recvtype);
  if (last == nullptr || sendcounts == nullptr || sdispls == nullptr || recvcounts == nullptr || rdispls == nullptr) {
    return false;
  }
  if (!all_small(sendcounts, *last) || !all_small(recvcounts, *last) ||
      sendcounts[last->group->me] != recvcounts[last->group->me]) {
    // Of whatever size, on each rank, the exchange by pairs serves them.
    if (!last->by_pairs || !none_negative(sendcounts, *last) || !none_negative(recvcounts, *last)) return false;
    error = exchange_again(Collective::alltoallv, blocks_of(sendcounts, sdispls), sendbuf,
                           blocks_of(recvcounts, rdispls), recvbuf, *last);
    return served(*last, error);
  }
  const run::VectorSide<Count, Displacement> send{bytes_of(const_cast<void*>(sendbuf)), sendcounts, sdispls};
  const run::VectorSide<Count, Displacement> recv{bytes_of(recvbuf), recvcounts, rdispls};
  error = run::run_inbox_vector(send, recv, last->type_size, *last->group, last->by_pairs);
  return served(*last, error);
}

bool served_again(Of<Collective::allgather>, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                  void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, int& error) {
  const Remembered* last = recall(Collective::allgather, comm, sendbuf, sendtype, recvbuf, recvtype);
  if (last == nullptr || sendcount != recvcount) return false;
  if (!is_small(recvcount, *last)) {
    if (!is_known_large(recvcount, *last)) return false;
    error = exchange_again(Collective::allgather, blocks_of(sendcount), sendbuf, blocks_of(recvcount), recvbuf, *last);
    return served(*last, error);
  }
  const std::size_t bytes = static_cast<std::size_t>(recvcount) * last->type_size;
  error = run::run_inbox_gather(bytes_of(sendbuf), bytes_of(recvbuf), bytes, *last->group);
  return served(*last, error);
}

template <class Count, class Displacement>
bool served_again(Of<Collective::allgatherv>, const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
                  void* recvbuf, const Count* recvcounts, const Displacement* displs, MPI_Datatype recvtype,
                  MPI_Comm comm, int& error) {
  const Remembered* last = recall(Collective::allgatherv, comm, sendbuf, sendtype, recvbuf, recvtype);
  if (last == nullptr || displs == nullptr || !all_small(recvcounts, *last) ||
      sendcount != recvcounts[last->group->me]) {
    return false;
  }
  // Nothing to move at all is no exchange on any rank.
  bool nothing = true;
  for (int b = 0; b < last->group->ranks; ++b) nothing = nothing && recvcounts[b] == 0;
  if (nothing) return false;
  const run::VectorSide<Count, Displacement> recv{bytes_of(recvbuf), recvcounts, displs};
  error = run::run_inbox_gatherv(bytes_of(sendbuf), recv, last->type_size, *last->group);
  return served(*last, error);
}

Engine engine_again(Collective collective, MPI_Count count) {
  const Remembered& last = remembered[static_cast<std::size_t>(collective)];
  const bool by_inbox = is_regular(collective) ? is_small(count, last) : !last.by_pairs;
  return by_inbox ? Engine::inbox : Engine::exchange;
}

template bool served_again(Of<Collective::alltoallv>, const void*, const int*, const int*, MPI_Datatype, void*,
                           const int*, const int*, MPI_Datatype, MPI_Comm, int&);
template bool served_again(Of<Collective::alltoallv>, const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype,
                           void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Comm, int&);
template bool served_again(Of<Collective::allgatherv>, const void*, int, MPI_Datatype, void*, const int*, const int*,
                           MPI_Datatype, MPI_Comm, int&);
template bool served_again(Of<Collective::allgatherv>, const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*,
                           const MPI_Aint*, MPI_Datatype, MPI_Comm, int&);

}  // namespace quadrille::api
