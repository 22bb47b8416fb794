// How the MPI itself waits.
//
// MPICH's waits look for messages without a pause. Where a node has more ranks than processors, a rank that
// waits so keeps the processor for its whole time slice, while the peer it waits for cannot run: milliseconds
// for every call, also for ranks that wait in a collective of ours. From 4.1 on MPICH can be asked to sleep
// shortly every so many looks. It offers that as control variables of MPI's tool interface (MPI 3.1, section
// 14.3), which may be written while the program runs.
#pragma once

namespace quadrille {

// Asks the MPI of this process to let others run while it waits, unless the user chose a value himself.
// False if it has nothing to ask for, or the user chose. Changes no result of any call.
bool let_waits_give_way();

}  // namespace quadrille
