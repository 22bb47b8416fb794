// Work that the MPI does for us while it makes progress, in whatever call of the program that is; and how the MPI
// itself waits.
//
// A request that the program holds must go on while the program waits in the MPI for something else: a peer may need
// that before it comes to what is waited for. Open MPI lets others register a function with its progress engine
// (opal_progress_register), MPICH from 5.0 on has MPIX_Async_start. Other MPIs have nothing of the kind: MPICH 4 and
// Intel MPI ask a generalised request of their own (MPIX_Grequest_start) only while it is itself waited for.
//
// Inside of it messages may be started, and looked at by the functions below. Nothing may wait, and with several
// threads MPICH does not bear that its progress is asked for once more (it ends the program): there requests are looked
// at alone.
//
// MPICH's waits look for messages without a pause. Where a node has more ranks than processors, a rank that waits so
// keeps the processor for its whole time slice, while the peer it waits for cannot run: milliseconds for every call,
// also for ranks that wait in a collective of ours. From 4.1 on MPICH can be asked to sleep shortly every so many
// looks: by control variables of MPI's tool interface (MPI 3.1, section 14.3), which may be written while the program
// runs.
#pragma once

#include "mpi/mpi.hpp"

namespace quadrille {

// Whether something calls us in this MPI. False also where MPI_Finalize has ended it: there calls make progress in our
// own functions alone.
bool progress_hook_works();

// Calls `work` from now on until the hook is ended. `work` returns whether a call is pending; after many calls without
// a pending one the hook ends itself. One `work` per process. Any thread may call this.
void begin_progress_hook(bool (*work)());
// Ends it, and sees to it that the MPI knows: before MPI_Finalize. Not from `work`.
void end_progress_hook_for_good();

// False in `work`, where the MPI does not bear it: there is no function to be called that waits, even for what this
// process alone has to do.
bool may_ask_for_progress();

// As MPI_Test, MPI_Testall and MPI_Testany, also from `work`. A status may be ignored: mpi().status_ignore.
int test_one(MpiRequest* request, int* flag, MpiStatus* status);
int test_all(int count, MpiRequests requests, int* flag, MpiStatus* statuses);
// `index` is MPI_UNDEFINED if no request is complete. `one_by_one` tests each request by itself: where a rank may fail,
// MPI_Testany forgets messages in flight.
int test_any(int count, MpiRequests requests, int* index, MpiStatus* status, bool one_by_one);

// Asks the MPI of this process to let others run while it waits, unless the user chose a value himself.
// False if it has nothing to ask for, or the user chose. Changes no result of any call.
bool let_waits_give_way();

}  // namespace quadrille
