// Cached calls: a call that is like an earlier one of this thread on the same communicator, with the same datatype,
// does not go the way through the rooms, which costs as much as the exchange of some bytes itself.
//
// Three kinds are cached: blocking calls that are served with one dense datatype on both sides (small blocks of any
// size, or, where orders of copies are tried, of the last sizes; in Alltoall and Allgather larger ones of the last
// sizes; in Alltoallv any), blocking calls that are forwarded to the MPI,
// and nonblocking Alltoall and Allgather through an inbox, whose ended requests are used again. What is compared is the
// same on all ranks, or does not matter to the others: a rank without the entry takes the whole way, with the same
// result.
#pragma once

#include <array>
#include <cstdint>

#include "api/serve.hpp"
#include "choose/registry.hpp"
#include "collective/collective.hpp"
#include "mpi/mpi.hpp"
#include "run/call.hpp"
#include "team/team.hpp"

struct Quadrille_Request_state;

namespace quadrille::api {

// Made before anything is looked at that is cached then. What another thread has changed since ends it: a datatype that
// it freed during the call, whose handle the MPI may give to another one.
struct CachedSince {
  std::uint64_t generation = cache_generation();
};

// What is cached of the calls of one collective on a communicator with a datatype. Valid as long as nothing has changed
// that it depends on: cache_generation() in mpi/mpi.hpp.
struct CachedCalls {
  std::uint64_t generation = 0;  // 0: nothing is cached
  MpiComm comm{};
  MpiType type{};
  team::Team* team = nullptr;

  // Blocks of one size. `left`: for as many calls, until what a trial has decided is checked.
  struct OfOneSize {
    std::size_t elements = 0;                 // 0: none
    int* left = nullptr;                      // null: for all calls
    bool by_inbox = false;                    // if it is served: else the exchange by pairs serves it
    choose::Way way = choose::Way::measured;  // then
  };

  // Blocking calls that are served.
  std::size_t type_size = 0;
  std::size_t most_count = 0;              // up to as many elements of a block all go by the inboxes; 0: unknown
  bool by_pairs = false;                   // the exchange by pairs serves it, not the inboxes alone
  int* const* unasked_by_pairs = nullptr;  // as many calls (team::Asked); null: all
  std::array<OfOneSize, 8> sizes{};        // the last ones, where each size may go another way

  // Blocking calls that are forwarded.
  enum class Forwards : std::uint8_t { none, one_count, all };  // all: whatever the type and the count
  Forwards forwards = Forwards::none;
  OfOneSize forwarded{};
  std::uint64_t* counter = nullptr;
  int* const* unasked_to_mpi = nullptr;  // as many calls are (team::Asked); null: all

  // Nonblocking calls: elements of a block; 0: none. Two, for programs that alternate.
  std::array<std::size_t, 2> requests{};

  static CachedCalls none_yet(CachedSince since, MpiComm comm, MpiType type, team::Team* team) {
    return {since.generation, comm, type, team};
  }
  bool is_for(MpiComm of_comm) const { return of_comm == comm && generation == cache_generation(); }
  bool is_for(MpiComm of_comm, MpiType of_type) const { return of_type == type && is_for(of_comm); }
};

// After a blocking call that `choice` served without error. `settled`: so it will all that are like it, or as many as
// `left` says, if that is not null; or, of blocks of different sizes, `unasked`. `since`: from before the exchange.
void cache_served(const run::Call& call, const choose::Choice& choice, bool settled, int* left, team::Team& team,
                  CachedSince since, int* const* unasked);

// After a blocking call that was forwarded, as all that are like it will be: on its communicator nothing is served
// (`whatever`), or of its collective nothing, or nothing of this size. Not while the user wants to know of each.
// `unasked`: only while as many are, which each of them counts; for collectives with one selection alone
// (unasked_after()), since ranks may cache different sizes. `left`: of calls of one size, likewise.
void cache_forwarded(const run::Call& call, team::Team& team, Reason why, bool whatever, int* const* unasked = nullptr,
                     int* left = nullptr);

// Whether a cached call like this one was forwarded. Counts it then; `ahead` undoes that if the MPI refuses the call,
// which nothing but the MPI looks at.
bool forwarded_by_cache(Collective collective, MpiComm comm, MpiType type = {}, MpiCount count = 0,
                        CountedAhead* ahead = nullptr);

// Each serves a call that is like a cached one, or returns false and does nothing. The first is of Alltoall
// and Allgather.
template <Collective collective>
bool served_by_cache(Of<collective>, const void* sendbuf, MpiCount sendcount, MpiType sendtype, void* recvbuf,
                     MpiCount recvcount, MpiType recvtype, MpiComm comm,
                     int& error) requires(is_dense(collective) && is_regular(collective));

template <class Count, class Displacement>
bool served_by_cache(Of<Collective::alltoallv>, const void* sendbuf, const Count* sendcounts,
                     const Displacement* sdispls, MpiType sendtype, void* recvbuf, const Count* recvcounts,
                     const Displacement* rdispls, MpiType recvtype, MpiComm comm, int& error);

template <class Count, class Displacement>
bool served_by_cache(Of<Collective::allgatherv>, const void* sendbuf, Count sendcount, MpiType sendtype, void* recvbuf,
                     const Count* recvcounts, const Displacement* displs, MpiType recvtype, MpiComm comm, int& error);

// The engine by which served_by_cache() has served such a call. `count`: of the elements of its blocks, if they have
// one size.
choose::Engine engine_of_cached(Collective collective, MpiComm comm, MpiType type, MpiCount count = 0);

// After a nonblocking call was made at length, and all that are like it would be made alike.
void cache_request(const run::Call& call, team::Team& team, const Quadrille_Request_state& made);

// The request of a call that is like a cached one, made but not started; null if there is none. Ranks may differ in
// that: what it does to the team is what making it at length would have done.
Quadrille_Request_state* request_by_cache(const run::Call& call, Door door);

// Ends a request of a nonblocking call that nobody holds any more: it is kept for another call, or deleted.
void retire(Quadrille_Request_state* request);

// Collectives whose served calls are cached, in whatever form their counts have.
constexpr bool is_cached(Collective collective) { return is_dense(collective) && !is_typed(collective); }

}  // namespace quadrille::api
