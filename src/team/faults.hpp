// A rank has failed, or the communicator was revoked, where the MPI lets a program survive that (ULFM).
//
// Idea    A rank that waits in a call asks its MPI every two milliseconds whether the communicator is revoked or a rank
//         of it has failed. Then it leaves the call, which returns the MPI's error. Later calls on the communicator are
//         the MPI's, which refuses them. A communicator of the survivors (MPIX_Comm_shrink) is served again. A rank
//         that does not have to wait may learn of the failure from a rank that has left; its calls succeed until then.
// Node    A rank says in the control memory of the communicator that it has left. A rank that finishes a call looks
//         there too: what it has copied from a rank that has left may be what that rank's program wrote there since.
//         Nobody writes to another rank's memory, so a rank that has left may use its buffers at once. Neighbour
//         collectives go by rings.
// Sends   A rank that leaves messages in flight revokes our communicator for messages, as does a rank with a failed
//         message: from then on no rank receives a block that the rank lacks. All messages end, and the rank waits for
//         that before it returns (run/mpi_transport.cpp, run/sparse.cpp). Open MPI ends a message that has found its
//         receive when the data are there or the peer is dead. Other receives end at once, other sends when the peer
//         learns of the revocation. Requests of ours are tested until all their messages have ended.
// Not     Requests under the MPI's names, and orders of copies: they are forwarded, and return the MPI's errors.
// Cost    Nothing without fault tolerance. With it no call takes the cached way.
//
// Example, ranks 0, 1 and 2, of which 1 dies in a call: rank 0 waits for 1, is told by the MPI, says "left", and
// returns MPIX_ERR_PROC_FAILED. Rank 2 waits for 0 or 1: it finds "left", or its MPI tells it. By messages: rank 0
// revokes, which ends what rank 2 sends to it or awaits from it.
// tests/models/faults_test.cpp goes through a death at each step.
#pragma once

#include "mpi/mpi.hpp"

namespace quadrille::team {

struct Team;

// Are calls served that way? Agreed upon in MPI_Init. False: nothing of this happens.
bool watches_faults();

// The MPI's error code for the fault of a communicator; MPI_SUCCESS if this rank knows of none. Waits for nobody. After
// a fault nothing more is served on the communicator.
int leave_if_faulty(Team& team);
// The same before a call begins, without the question whether a rank has failed: the call will find that out.
int leave_if_told(Team& team);
// In a wait of a call: throws if there is a fault.
void throw_if_faulty(Team& team);

// A call was carried out and ends with `error`: returns that or, if a rank has left it or an earlier one, the fault. If
// it is a fault of our own messages, waits a little for that of the communicator.
int error_after_call(Team& team, int error);
// The same of a request that goes on; does not wait.
int error_of_step(Team& team, int error);
// A call on `comm` has failed with `error`: returns that or, if there is one, the fault, for which it waits a little.
int error_of_thrown(MpiComm comm, int error);

}  // namespace quadrille::team
