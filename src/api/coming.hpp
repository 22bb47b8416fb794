// What nonblocking calls on a communicator need, on its way from rank 0 to the others (team/apart.hpp), and the calls
// that wait for it.
#pragma once

#include "run/call.hpp"
#include "team/team.hpp"

namespace quadrille::api {

// Begins to tell. All ranks come here after the same of their calls on the communicator; that call and those before it
// are the MPI's, and no nonblocking one after it. Throws if the MPI cannot.
void begin_to_tell(team::Team& team);

// Starts a nonblocking call that the MPI does not refuse, and defers the rest until the broadcast has arrived on this
// rank. False if the call goes to the MPI on all ranks. `error` is an MPI error code.
bool start_put_off(team::Team& team, const run::Call& call, MpiRequest* request, int& error);

// Before the program frees a communicator: waits until a broadcast in flight on it has arrived.
void await_told_on(MpiComm comm);
// At the end: all that was begun arrives.
void await_all_told();

}  // namespace quadrille::api
