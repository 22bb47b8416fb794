// Calls that are like an earlier one of this thread: same collective and communicator, one dense datatype
// on both sides; small blocks, in Alltoall and Allgather larger ones of the same size, in Alltoallv any.
//
// For blocks of some bytes the way through the rooms costs as much as the exchange itself, so its result
// is remembered: where the group is, up to which size inboxes serve it, and which sizes the exchange by pairs serves.
// Each function serves a call that is like the remembered one, or returns false and does nothing; then the call takes
// the whole way. What is looked at is the same on all ranks, or does not matter to the others.
#pragma once

#include "api/refused.hpp"
#include "choose/registry.hpp"
#include "collective/arguments.hpp"
#include "run/call.hpp"
#include "team/team.hpp"

namespace quadrille::api {

// After a call that `engine` served without error. `settled`: so it will all that are like it.
void remember(const run::Call& call, choose::Engine engine, bool settled, team::Team& team);

// After a call that went to the MPI, as all that are like it will: on its communicator nothing is served (`whatever`),
// or of its collective nothing, or nothing of this size. Not while the user wants to know of each. `kept`: only while
// so many do, which each of them counts.
void remember_passed(const run::Call& call, team::Team& team, Reason why, bool whatever, int* const* kept = nullptr);

// Whether this call goes to the MPI because the last answer is kept (team::Asked::kept). Counts it then, as the short
// way does: some ranks may make it by a thread that remembers, others by one that does not, and all must count alike.
// If the MPI refuses the call, that is undone (refused.hpp).
inline bool is_kept(int* unasked) {
  if (unasked == nullptr || *unasked == 0) return false;
  --*unasked;
  return true;
}

// Whether the last such call of this thread was like this one. Counts it then; `ahead` undoes that if the MPI refuses
// the call, which nothing but the MPI looks at.
bool passed_again(Collective collective, MPI_Comm comm, MPI_Datatype type = {}, MPI_Count count = 0,
                  CountedAhead* ahead = nullptr);

bool served_again(Of<Collective::alltoall>, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                  void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, int& error);

template <class Count, class Displacement>
bool served_again(Of<Collective::alltoallv>, const void* sendbuf, const Count* sendcounts, const Displacement* sdispls,
                  MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts, const Displacement* rdispls,
                  MPI_Datatype recvtype, MPI_Comm comm, int& error);

bool served_again(Of<Collective::allgather>, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                  void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, int& error);

template <class Count, class Displacement>
bool served_again(Of<Collective::allgatherv>, const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
                  void* recvbuf, const Count* recvcounts, const Displacement* displs, MPI_Datatype recvtype,
                  MPI_Comm comm, int& error);

// By which engine served_again() has served the last call of this thread. `count`: of the elements of its blocks, if
// they have one size.
choose::Engine engine_again(Collective collective, MPI_Count count = 0);

// Which collectives have this way, in whatever form their counts have.
constexpr bool has_short_way(Collective collective) { return is_dense(collective) && !is_typed(collective); }

}  // namespace quadrille::api
