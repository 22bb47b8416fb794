// HIP keeps the error of a call that failed until the thread asks for it: a program that asks after a call of MPI would
// find an error of ours, and take it for its own.
#pragma once

namespace quadrille::memory {

struct DeviceDriver;

// Stands in front of all functions of HIP that were found: what one of them leaves behind when it fails is taken away.
// An error that the program has not asked for yet stays, unless a call of ours fails after it. `last` and `peek` are
// HIP's own: the error that is kept, which the first one takes away.
void hide_hip_errors(DeviceDriver& driver, int (*last)(), int (*peek)());

}  // namespace quadrille::memory
