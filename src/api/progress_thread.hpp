// The thread that goes on with what is under way while the program computes (QUADRILLE_PROGRESS=thread).
//
// Idea    It sleeps while nothing is under way, and a start wakes it. Where each rank has a processor to spare it looks
// all
//         the time, else every 10 to 100 us, less and less often while nothing comes to its end. A thread of the
//         program that waits goes on by itself, and the thread leaves it alone then. What needs the MPI it may do only
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
