// Nonblocking calls that are like an earlier one of this thread, as again.hpp has it for blocking ones: Alltoall and
// Allgather with as many elements of the same type that comes with MPI, on the same communicator, carried by an inbox.
//
// To make a request, with all that any call may need, costs as much as it takes to exchange some bytes. So those of
// such calls are kept when they have ended, and the next one takes one over; and what was selected is remembered.
#pragma once

#include "api/requests.hpp"
#include "api/serve.hpp"
#include "run/call.hpp"
#include "team/team.hpp"

namespace quadrille::api {

// Ends a request of a nonblocking call that nobody holds any more: it is kept or deleted.
void retire(Quadrille_Request_state* request);

// After a nonblocking call was made at length, and all that are like it would be made alike.
void remember_made(const run::Call& call, team::Team& team, const Quadrille_Request_state& made);

// The request of a call that is like the remembered one, made but not started; null if it is not, or none is kept.
// Ranks may differ in that: what it does to the team is what making it at length would have done.
Quadrille_Request_state* made_again(const run::Call& call, Door door);

}  // namespace quadrille::api
