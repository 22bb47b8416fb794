// What nonblocking calls on a communicator need, on its way from rank 0 to the others (team/apart.hpp), and the calls
// that wait for it.
#pragma once

#include "run/call.hpp"
#include "team/team.hpp"

struct Quadrille_Request_state;

namespace quadrille::api {

// Begins to tell. All ranks come here after the same of their calls on the communicator; that call and those before it
// are the MPI's, and no nonblocking one after it. Throws if the MPI cannot.
void begin_to_tell(team::Team& team);

// Makes a request for a call that is to be put off, as this rank has not been told yet: then the call is started, and
// put off. The MPI does not refuse it. False if the call is the MPI's on all ranks. `kept` is the call with datatypes
// that stay; `error` an MPI error code.
bool make_to_put_off(team::Team& team, const run::Call& call, Quadrille_Request_state& request, run::Call& kept,
                     int& error);
void put_off(team::Team& team, const run::Call& kept, Quadrille_Request_state& request);

// At the end: all that was begun arrives.
void await_all_told();

}  // namespace quadrille::api
