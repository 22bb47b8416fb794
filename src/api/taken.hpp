// Requests that the program holds without knowing that they are ours: it called MPI_Ialltoall, MPI_Alltoall_init or
// another function of the MPI's own name (interpose.cpp).
//
// What the program gets is a request of the MPI, which the MPI completes rightly in any completion call, also in one
// that we do not see, and never before the data are there:
//   nonblocking   a generalised request, which is said to be complete when the call is
//   persistent    a receive of nothing from this rank itself, which is sent the message when the call is complete
// So whoever waits waits in the MPI, and the call must go on there. That is what mpi/progress_hook.hpp is for. In an
// MPI that has no such thing calls go to the MPI, unless there is a progress thread that may call the MPI.
//
// A nonblocking function may not wait for other ranks, and making a communicator ready waits for all of them. So a
// nonblocking call is served if its communicator is ready for that: MPI_COMM_WORLD from MPI_Init on, another one after
// a blocking call on it that may wait, if there were nonblocking ones before; inside a node also when rank 0 has told
// the others, for which nobody waits (team/apart.hpp). All ranks make these calls in one order, so they decide alike.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "abi/functions.hpp"
#include "api/serve.hpp"
#include "run/call.hpp"

namespace quadrille::api {

// Makes a request for a call of a function of the MPI's name, and starts it if it is not persistent. False: all ranks
// call the MPI's function, and `ahead.why` says why, or this one calls it and is refused. What is wrong is raised, and
// is the `error`.
bool take(const run::Call& call, bool persistent, MpiRequest* request, int& error, CountedAhead& ahead);

// Where take() has returned false: a call with a device's memory, which this MPI does not take, goes to its function
// with buffers of the host. Null: as it is. Else the caller makes the MPI's own request for the call on the host, and
// hands it in. What completes it must be our doors then, where the MPI lets nobody make progress on calls while the
// program waits in it.
using ByHost = std::unique_ptr<Quadrille_Request_state>;
// `error`: what is to be raised when that is done.
ByHost take_by_host(const run::Call& call, bool persistent, int& error);
int hand_in(ByHost made, MpiComm comm, MpiRequest native, int error, MpiRequest* request);

// All of the last start of a request has moved: the MPI may say so to the program. From any thread that may call the
// MPI.
void tell_the_mpi(Quadrille_Request_state& request);

// Collective, and waits: in MPI_Init, in blocking calls on communicators that want it, when persistent requests are
// made. From then on nonblocking calls on the communicator can be served, if all resources are available.
void get_ready_to_take(team::Team& team);
void get_world_ready_to_take();
// After a nonblocking call that all ranks forwarded for want of what it needs: that is to be made, or is begun.
void want_to_be_ready(const run::Call& call);
inline bool wants_to_be_ready(const team::Team& team) { return team.taken.now() == team::Team::Taken::Stage::wanted; }
// In a call of the MPI out of which no rank comes before all are in it: if `comm` wants it. The call is made in spite
// of an error.
inline std::atomic<bool> some_wanted = false;
int get_ready_in_a_barrier(MpiComm comm);
// Before the program frees a communicator: waits until a broadcast in flight on it has arrived.
void await_told_on(MpiComm comm);

// ---- What the doors of MPI's completion functions need ----

// How many handles of the MPI are ours.
inline std::atomic<std::size_t> taken_now = 0;
inline bool any_taken() { return taken_now.load(std::memory_order_relaxed) != 0; }
// The request that is behind a handle of the MPI; null if it is none of ours.
Quadrille_Request_state* taken_behind(MpiRequest handle);
// Lets its handle be known. Throws std::bad_alloc. A handle that is known already is one that the MPI has used again:
// what was behind it is gone.
void show_taken(Quadrille_Request_state& request);
// Forgets its handle, if no other request is behind it: the MPI is about to free it, and may give it to another one.
void hide_taken(const Quadrille_Request_state& request);
// From now on the MPI makes progress on pending calls in all of its functions, if it calls us there.
void let_the_mpi_help();
// Starts a persistent one, whose receive has been started.
void start_taken(Quadrille_Request_state& request);
// Frees a persistent one that is not active, whose receive has been freed.
void free_taken(Quadrille_Request_state& request);

}  // namespace quadrille::api
