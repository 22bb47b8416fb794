// In which context a thread of ours is when it calls the MPI. An MPI that takes a device's memory copies it in the
// context of the thread that happens to go on with a message: in a thread that has none, other bytes arrive than were
// sent, and nothing is said of it (seen with UCX). So the program's threads lend what they have.
#pragma once

#include "memory/device.hpp"

namespace quadrille::memory {

// That of memory which the MPI is given.
void lend_context(const DevicePlace& place);
// That which is current in this thread, if the program has loaded a driver and there is one.
void lend_current_context();
// What a thread of ours has borrowed.
struct Borrowed {
  DevicePlace place;  // what was lent, whether or not the driver took it
  bool is_current = false;
};
// By that thread, before it makes progress on anything: what was lent last is current from now on.
void borrow_context(Borrowed& borrowed);

}  // namespace quadrille::memory
