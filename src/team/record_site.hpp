// Where in the program a recorded call comes from.
#pragma once

namespace quadrille::record {

// `returns_to` is the address to which a door returns. For a call from Fortran that is in a library of the MPI, the
// same for all calls; then this is where the program called that library, if it can be found: else `returns_to`. `here`
// is an address in the stack, at the same distance from the door in all calls that return to there. For a call from
// Python it is the address of a sys::PythonPlace, if the line is known.
const void* site_in_program(const void* returns_to, const void* here);

}  // namespace quadrille::record
