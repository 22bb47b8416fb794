// Calls that take their place in a stream of a device: Quadrille_Alltoall_enqueue and the like. The host waits for
// nothing.
//
// At the call, in the order in which the ranks call: the request is made that carries it out on pinned memory of the
// host, with its tag and its turn on a lane, but it does not begin. Into the stream go, in this order:
//   copies of what is sent to the host; `ready` is written; a wait for `done`; copies of what was received to the
//   device; `over` is written
// A persistent request whose ranks copy from each other's memory of a device (api/pull.hpp) has, instead of the
// copies to the host and back, those copies behind a wait of their own: for the word `go`, which the host writes when
// all ranks have come.
//
// The progress thread sees `ready`, begins the request, goes on with it, and writes `done` when it is complete. It
// never calls the driver. The request's memory is taken back when `over` is seen, by a later call that enqueues.
//
// Whether a rank can do so is its own affair (why_it_waits()): where it cannot, it makes the same request, and waits
// for the stream and for the request on the host. So the others need not know.
#pragma once

#include "abi/functions.hpp"

namespace quadrille::api {

// ---- For requests (requests.cpp). The first is called with the lock of run::UnderWay ----

// All of a turn has moved. True if no other one was enqueued.
bool end_turn(Quadrille_Request_state& request);
// Are there turns that are not over? Not with that lock.
bool has_turn(const Quadrille_Request_state& request);
// Before a request that has none is freed.
void forget_turns(Quadrille_Request_state& request);

// Takes back what is over: deletes what is not persistent. Then gives back what has waited for that
// (memory/device_waits.hpp). Not with the lock of run::UnderWay.
void sweep_turns();

}  // namespace quadrille::api
