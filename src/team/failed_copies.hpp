// A rank that cannot bring its data from a device to the host takes part in the call all the same, so that nobody waits
// for it in vain; what it sends is wrong. The others hear of it, and return an error too.
#pragma once

#include <cstdint>

namespace quadrille::team {

struct Team;

// The number of the call that is being made, before it is counted or after: the same on all ranks, of which each makes
// its collective calls on a communicator in the same order. The first calls, which are forwarded before the
// communicator is ready, have none.
std::uint64_t number_of_call(const Team& team, bool is_counted);
// The number of a start of a request, from the request's sequence number on its communicator.
std::uint64_t number_of_start(unsigned request, std::uint64_t start);

// Before the call moves anything. The ranks of this node find it in shared memory; those of other nodes get a message,
// if there are messages of our own.
void tell_failed(Team& team, std::uint64_t number);
// When the call is done: has a rank told so? Surely, if it is of this node and sent this one anything. Of other nodes'
// ranks if the MPI has brought their message: `may_look`, for calls with data of a device, as a look takes a call of
// the MPI.
bool has_failed(Team& team, std::uint64_t number, bool may_look);

}  // namespace quadrille::team
