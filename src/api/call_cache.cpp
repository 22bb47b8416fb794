#include "api/call_cache.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/doors.hpp"
#include "api/requests.hpp"
#include "memory/device.hpp"
#include "run/engines.hpp"

namespace quadrille::api {
namespace {

using choose::Engine;

// Two communicators or datatypes of a collective, the last one first.
constinit thread_local std::array<CachedCalls, 2> cached[collective_count];

std::array<CachedCalls, 2>& cached_of(Collective collective) { return cached[static_cast<std::size_t>(collective)]; }

// Where calls like this one are cached, in the place of the older entry if they are not yet.
CachedCalls& entry_for(const run::Call& call, team::Team& team, CachedSince since) {
  const CachedCalls none = CachedCalls::none_yet(since, call.comm, call.recv.type, &team);
  auto& [last, older] = cached_of(call.collective);
  const auto is_it = [&](const CachedCalls& one) {
    return one.generation == none.generation && one.comm == none.comm && one.type == none.type;
  };
  if (is_it(last)) return last;
  std::swap(last, older);
  if (is_it(last)) return last;
  return last = none;
}

// Up to which block all go the way of the smallest. A rank whose arguments take the long way, where what was measured
// is asked for each size, must find the same way.
std::size_t alike_up_to(Collective collective, const team::Team& team) {
  const auto c = static_cast<std::size_t>(collective);
  const std::size_t limit = team.group.inbox_limit(collective);
  const choose::ChoicesByCollective& measured = team.agreed().by_size.on_host;
  return c < measured.size() ? std::min(limit, choose::default_up_to(measured[c])) : limit;
}

// May orders of copies be tried for small blocks, too? Then each size may go another way.
bool may_try_each_size(Collective collective, const team::Team& team) {
  const run::Group& group = team.group;
  const team::Agreed& agreed = team.agreed();
  return is_regular(collective) && choose::orders_race(group.ranks) && group.inbox.usable() &&
         group.reach().load_store && agreed.may_try == team::MayTry::everything &&
         agreed.points != team::Points::given && agreed.forced.of(collective).algorithm == nullptr;
}

const CachedCalls* find(Collective collective, MpiComm comm, MpiType type) {
  for (const CachedCalls& calls : cached_of(collective)) {
    if (calls.is_for(comm, type)) return &calls;
  }
  return nullptr;
}

// What is cached of blocking calls with these arguments, or null.
inline const CachedCalls* find_served(Collective collective, MpiComm comm, const void* sendbuf, MpiType sendtype,
                                      const void* recvbuf, MpiType recvtype) {
  // As the program has passed them: given() would look whether there is a table, and where something is cached there
  // is.
  const std::uintptr_t mask = detail::handle_mask;
  comm.word &= mask, sendtype.word &= mask, recvtype.word &= mask;
  if (sendtype != recvtype || sendbuf == detail::in_place || recvbuf == detail::in_place || sendbuf == nullptr ||
      recvbuf == nullptr) {
    return nullptr;
  }
  const CachedCalls* const calls = find(collective, comm, recvtype);
  return calls != nullptr && calls->type_size != 0 ? calls : nullptr;
}

// What is cached of blocks of as many elements; null: nothing.
const CachedCalls::OfOneSize* size_of(MpiCount count, const CachedCalls& last) {
  const auto elements = static_cast<std::size_t>(count);
  const auto known = std::ranges::find(last.sizes, elements, &CachedCalls::OfOneSize::elements);
  return elements != 0 && known != last.sizes.end() ? &*known : nullptr;
}
// If that still holds. Counts the call then.
[[gnu::noinline]] const CachedCalls::OfOneSize* size_kept(MpiCount count, const CachedCalls& last) {
  const CachedCalls::OfOneSize* const known = size_of(count, last);
  return known != nullptr && (known->left == nullptr || choose::take_one(known->left)) ? known : nullptr;
}

// A negative count is taken for a large one. None at all goes the whole way too.
inline bool is_small(MpiCount count, const CachedCalls& last) {
  return static_cast<std::size_t>(count) - 1 < last.most_count;
}

template <class Count>
bool none_negative(const Count* counts, const CachedCalls& last) {
  return std::all_of(counts, counts + last.team->group.ranks, [](Count count) { return count >= 0; });
}

template <class Count>
bool all_small(const Count* counts, const CachedCalls& last) {
  if (counts == nullptr) return false;
  bool small = true;
  for (int b = 0; b < last.team->group.ranks; ++b) {
    small = small && static_cast<std::size_t>(counts[b]) <= last.most_count;
  }
  return small;
}

// After the exchange what is cached may be another call's: while it waits, calls that were put off may be made here.
inline bool served(team::Team& team, int error) {
  if (error != mpi_success) [[unlikely]]
    raise(team.user, error);
  ++team.counted.counters.served;
  return true;
}

// By the exchange by pairs.
template <class... Arguments>
[[gnu::noinline]] int exchange_again(team::Team& team, choose::Way way, Collective collective, Arguments... arguments) {
  const run::Call call = call_of(collective, arguments...);
  int error = mpi_success;
  const int thrown = thrown_by([&] { error = run::run_node(call, team.group, true, nullptr, way); });
  return thrown != mpi_success ? thrown : error;
}

bool is_forwarded(const CachedCalls& calls, MpiComm comm, MpiType type, MpiCount count) {
  if (calls.forwards == CachedCalls::Forwards::all) return calls.is_for(comm);
  return calls.forwards == CachedCalls::Forwards::one_count && calls.is_for(comm, type) &&
         static_cast<std::size_t>(count) == calls.forwarded.elements;
}

// What the calls that are forwarded so count; null: nothing.
int* counted_by(const CachedCalls& calls) {
  return calls.unasked_to_mpi != nullptr ? *calls.unasked_to_mpi : calls.forwarded.left;
}

// Requests that have ended. They hold nothing of a communicator.
constexpr std::size_t most_ended = 64;
std::vector<State*>& ended_requests() {
  static auto* list = new std::vector<State*>;  // outlives all destructors
  return *list;
}

bool is_like_others(const State& request) {
  const run::InboxRun* const by = request.inbox;
  return by != nullptr && !by->is_in_place() && !request.persistent && request.on_host == nullptr &&
         !request.arguments.has_own_types();
}

bool is_kept(State& request) {
  if (!is_like_others(request)) return false;
  request.team.reset();
  request.queue = nullptr;
  request.error = mpi_success;
  request.set_idle();
  const run::UnderWay::Held held(run::UnderWay::here());
  std::vector<State*>& list = ended_requests();
  if (list.capacity() == 0) list.reserve(most_ended);
  if (list.size() == most_ended) return false;
  list.push_back(&request);
  return true;
}

State* take_ended() {
  const run::UnderWay::Held held(run::UnderWay::here());
  std::vector<State*>& list = ended_requests();
  if (list.empty()) return nullptr;
  State* const request = list.back();
  list.pop_back();
  return request;
}

const CachedCalls* find_request(const run::Call& call) {
  const bool is_plain = is_regular(call.collective) && !call.in_place && call.recv.base != mpi().in_place;
  if (!is_plain || call.send.type != call.recv.type || call.send.count != call.recv.count || call.recv.count == 0 ||
      call.send.base == nullptr || call.recv.base == nullptr) {
    return nullptr;
  }
  const CachedCalls* const calls = find(call.collective, call.comm, call.recv.type);
  const bool is_known =
      calls != nullptr && (calls->requests[0] == call.recv.count || calls->requests[1] == call.recv.count);
  return is_known ? calls : nullptr;
}

}  // namespace

void cache_served(const run::Call& call, const choose::Choice& choice, bool settled, int* left, team::Team& team,
                  CachedSince since, int* const* unasked) {
  // A buffer of a later call may be a device's; and the ranks may ask each other for that in any call.
  if (memory::driver_may_come() || team.agreed().follows_devices || team::watches_faults()) return;
  if (team.counted.explains || is_typed(call.collective) || !team.group.reach().local.empty()) return;
  const Engine engine = choice.algorithm->engine;
  // A slot can only be read without a look at the rest of the protocol if nobody writes to this rank.
  const bool by_pairs =
      engine == Engine::exchange && settled && !is_sized(call.collective) && !team.group.reach().written_to;
  // Of blocks of one size, which all ranks know, the size says how they are served.
  const bool by_inbox = engine == Engine::inbox;
  if (!by_inbox && engine != Engine::exchange) return;
  const TypeInfo info = type_info(call.recv.type);
  if (!info.dense || info.size == 0) return;
  const std::size_t most_bytes = alike_up_to(call.collective, team);
  const bool is_alike = by_inbox && call.recv.count * info.size <= most_bytes;
  const bool has_size = is_regular(call.collective) && !(is_alike && !may_try_each_size(call.collective, team));
  if (has_size ? !settled || call.in_place : !by_inbox && !by_pairs) return;
  CachedCalls& calls = entry_for(call, team, since);
  calls.type_size = info.size;
  calls.by_pairs = by_pairs;
  calls.unasked_by_pairs = unasked;
  if (!has_size) {
    calls.most_count = std::max(calls.most_count, most_bytes / info.size);
  } else {
    // In front of those that were served before it, of which the oldest goes.
    const auto is_it = [&](const CachedCalls::OfOneSize& one) { return one.elements == call.recv.count; };
    const auto place = std::find_if(calls.sizes.begin(), calls.sizes.end() - 1, is_it);
    std::rotate(calls.sizes.begin(), place, place + 1);
    calls.sizes[0] = {call.recv.count, left, by_inbox, way_of(choice)};
  }
}

void cache_forwarded(const run::Call& call, team::Team& team, Reason why, bool whatever, int* const* unasked,
                     int* left) {
  const CachedSince since;
  // A device's memory may have to be brought to the host.
  if (team.counted.explains || memory::driver_may_come()) return;
  // Of the others the size is that of all blocks.
  const bool uniform = is_regular(call.collective), sizeless = !is_sized(call.collective);
  if (!whatever && !uniform && !sizeless) return;
  CachedCalls& calls = entry_for(call, team, since);
  calls.forwards = whatever || sizeless ? CachedCalls::Forwards::all : CachedCalls::Forwards::one_count;
  calls.forwarded = {call.recv.count, left};
  calls.counter = &team.counted.counters.passed[counted_as(why)];
  calls.unasked_to_mpi = unasked;
}

bool forwarded_by_cache(Collective collective, MpiComm comm, MpiType type, MpiCount count, CountedAhead* ahead) {
  const auto& all = cached_of(collective);
  const auto* const calls = std::find_if(all.begin(), all.end(),
                                         [&](const CachedCalls& one) { return is_forwarded(one, comm, type, count); });
  if (calls == all.end()) return false;
  int* const left = counted_by(*calls);
  if ((calls->unasked_to_mpi != nullptr || left != nullptr) && !choose::take_one(left)) return false;
  ++*calls->counter;
  if (ahead == nullptr) return true;
  ahead->passed = calls->counter;
  ahead->team = calls->team;
  if (left != nullptr) ahead->note(*left, 1);
  return true;
}

template <Collective collective>
bool served_by_cache(Of<collective>, const void* sendbuf, MpiCount sendcount, MpiType sendtype, void* recvbuf,
                     MpiCount recvcount, MpiType recvtype, MpiComm comm,
                     int& error) requires(is_dense(collective) && is_regular(collective)) {
  const CachedCalls* last = find_served(collective, comm, sendbuf, sendtype, recvbuf, recvtype);
  if (last == nullptr || sendcount != recvcount) return false;
  team::Team& team = *last->team;
  const CachedCalls::OfOneSize* size = nullptr;
  if (!is_small(recvcount, *last) && (size = size_kept(recvcount, *last)) == nullptr) return false;
  if (size != nullptr && !size->by_inbox) {
    error =
        exchange_again(team, size->way, collective, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return served(team, error);
  }
  const std::size_t bytes = static_cast<std::size_t>(recvcount) * last->type_size;
  const run::EqualSide send{writable(sendbuf), bytes}, recv{writable(recvbuf), bytes};
  error = is_allgather(collective) ? run::run_inbox_allgather(send.base, recv, team.group)
                                   : run::run_inbox_alltoall(send, recv, team.group);
  return served(team, error);
}

template <class Count, class Displacement>
bool served_by_cache(Of<Collective::alltoallv>, const void* sendbuf, const Count* sendcounts,
                     const Displacement* sdispls, MpiType sendtype, void* recvbuf, const Count* recvcounts,
                     const Displacement* rdispls, MpiType recvtype, MpiComm comm, int& error) {
  const CachedCalls* last = find_served(Collective::alltoallv, comm, sendbuf, sendtype, recvbuf, recvtype);
  if (last == nullptr || sendcounts == nullptr || sdispls == nullptr || recvcounts == nullptr || rdispls == nullptr) {
    return false;
  }
  team::Team& team = *last->team;
  const bool small = all_small(sendcounts, *last) && all_small(recvcounts, *last) &&
                     sendcounts[team.group.me] == recvcounts[team.group.me];
  // Of whatever size, on each rank, the exchange by pairs serves them.
  const bool is_known =
      small || (last->by_pairs && none_negative(sendcounts, *last) && none_negative(recvcounts, *last));
  if (!is_known || (last->unasked_by_pairs != nullptr && !choose::take_one(*last->unasked_by_pairs))) return false;
  if (!small) {
    error = exchange_again(team, choose::Way::measured, Collective::alltoallv, sendbuf, sendcounts, sdispls, sendtype,
                           recvbuf, recvcounts, rdispls, recvtype, comm);
    return served(team, error);
  }
  const run::VectorSide<Count, Displacement> send{writable(sendbuf), sendcounts, sdispls, last->type_size};
  const run::VectorSide<Count, Displacement> recv{writable(recvbuf), recvcounts, rdispls, last->type_size};
  error = run::run_inbox_alltoall(send, recv, team.group, last->by_pairs);
  return served(team, error);
}

template <class Count, class Displacement>
bool served_by_cache(Of<Collective::allgatherv>, const void* sendbuf, Count sendcount, MpiType sendtype, void* recvbuf,
                     const Count* recvcounts, const Displacement* displs, MpiType recvtype, MpiComm comm, int& error) {
  const CachedCalls* last = find_served(Collective::allgatherv, comm, sendbuf, sendtype, recvbuf, recvtype);
  if (last == nullptr || displs == nullptr || !all_small(recvcounts, *last)) return false;
  team::Team& team = *last->team;
  if (sendcount != recvcounts[team.group.me]) return false;
  // Nothing to move at all is no exchange on any rank.
  bool nothing = true;
  for (int b = 0; b < team.group.ranks; ++b) nothing = nothing && recvcounts[b] == 0;
  if (nothing) return false;
  const run::VectorSide<Count, Displacement> recv{writable(recvbuf), recvcounts, displs, last->type_size};
  error = run::run_inbox_allgather(writable(sendbuf), recv, team.group);
  return served(team, error);
}

Engine engine_of_cached(Collective collective, MpiComm comm, MpiType type, MpiCount count) {
  const CachedCalls* const calls = find(collective, comm, type);
  if (calls == nullptr || (is_regular(collective) ? is_small(count, *calls) : !calls->by_pairs)) return Engine::inbox;
  const CachedCalls::OfOneSize* const size = is_regular(collective) ? size_of(count, *calls) : nullptr;
  return size != nullptr && size->by_inbox ? Engine::inbox : Engine::exchange;
}

// ---- Requests ----

void retire(State* request) {
  bool keeps = false;
  thrown_by([&] { keeps = is_kept(*request); });
  if (!keeps) delete request;
}

void cache_request(const run::Call& call, team::Team& team, const State& made) {
  const CachedSince since;
  // A buffer of a later call may be a device's, here or on another rank.
  if (!is_regular(call.collective) || !is_like_others(made) || team.counted.explains || memory::driver_may_come() ||
      team.agreed().follows_devices || team::watches_faults()) {
    return;
  }
  auto& [last, older] = entry_for(call, team, since).requests;
  if (last != call.recv.count) older = std::exchange(last, call.recv.count);
}

State* request_by_cache(const run::Call& call, Door door) {
  const CachedCalls* const calls = find_request(call);
  if (calls == nullptr) return nullptr;
  team::Team& team = *calls->team;
  // Nothing else asks, as such a request skips admission.
  if (team.lost || (door == Door::drop_in && team.taken.now() != team::Team::Taken::Stage::ready)) return nullptr;
  State* const made = take_ended();
  if (made == nullptr) return nullptr;
  made->team = team::keep(team);
  made->taken = door == Door::drop_in;
  made->number = 0;             // nothing is cached where a driver is loaded
  ++team.group.turns.requests;  // all ranks count all requests
  made->inbox->take(call, team.group, made->take_turn(*team.lanes).node.inbox);
  ++team.counted.counters.served;
  team.request_by = run::Carrier::inbox;
  return made;
}

template bool served_by_cache(Of<Collective::alltoall>, const void*, MpiCount, MpiType, void*, MpiCount, MpiType,
                              MpiComm, int&);
template bool served_by_cache(Of<Collective::allgather>, const void*, MpiCount, MpiType, void*, MpiCount, MpiType,
                              MpiComm, int&);
template bool served_by_cache(Of<Collective::alltoallv>, const void*, const int*, const int*, MpiType, void*,
                              const int*, const int*, MpiType, MpiComm, int&);
template bool served_by_cache(Of<Collective::alltoallv>, const void*, const MpiCount*, const MpiAint*, MpiType, void*,
                              const MpiCount*, const MpiAint*, MpiType, MpiComm, int&);
template bool served_by_cache(Of<Collective::allgatherv>, const void*, int, MpiType, void*, const int*, const int*,
                              MpiType, MpiComm, int&);
template bool served_by_cache(Of<Collective::allgatherv>, const void*, MpiCount, MpiType, void*, const MpiCount*,
                              const MpiAint*, MpiType, MpiComm, int&);

}  // namespace quadrille::api
