// The thread that makes progress on pending calls while the program computes (QUADRILLE_PROGRESS=thread).
//
// Idea    It sleeps while no call is pending, and a start wakes it. If each rank has a spare processor, it polls
//         all the time, else every 10 to 100 us, less and less often while nothing completes. A waiting thread of the
//         program makes progress itself, and this thread leaves it alone then. What needs the MPI it may do only
//         if the program asked for MPI_THREAD_MULTIPLE. Without that it goes on with calls inside a node whose blocks
//         have no gaps, for which memory alone is touched.
// Cost    None where it is not asked for.
#pragma once

namespace quadrille::api {

// Before the first request is made: is there to be such a thread, and may several threads call us at all? Else nothing
// needs to be locked.
void prepare_progress();

// After that: is there one?
bool has_progress_thread();

// Starts one, if the program may call the MPI from several threads. Is there one now that may call it?
bool start_progress_thread();

// A call has been started.
void wake_progress_thread();

}  // namespace quadrille::api
