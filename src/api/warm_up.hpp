// The first call of a program finds nothing in place: pages of shared memory that nobody touched, code that
// was never read, rooms that do not exist yet. That costs it tens of microseconds, and a program that times one
// call, or makes few, sees nothing else. So the drop-in door makes some calls itself, at the end of MPI_Init.
#pragma once

namespace quadrille::api {

// Collective over MPI_COMM_WORLD, after team::after_init(). Does nothing where a call might send a message,
// and where the user forced algorithms. Leaves no trace in counters and explanations.
void warm_up();

}  // namespace quadrille::api
