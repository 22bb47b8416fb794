// Where in the program a recorded call comes from.
#pragma once

#include <array>
#include <cstddef>

namespace quadrille::record {

// A function of the MPI that programs in Fortran call. To look through the stack takes longer than many calls do. But
// the frames of such a function are of one size, so what called it is found at the same distance again. What is read
// there is believed if a look through the stack has found it before.
struct Layer {
  std::ptrdiff_t distance = 0;  // from `here` to where it keeps the program's address
  std::array<const void*, 64> sites{};
};

// What is known of an address to which doors return.
struct Return {
  const void* address = nullptr;
  Layer* layer = nullptr;  // null: none, or one in which no site can be found quickly
  bool is_python = false;
};

// What a thread has found out about its calls. All are found again: one that pushed out another would be looked up in
// each call.
struct KnownSites {
  std::array<Return, 256> returns{};
  std::array<Layer, 16> layers{};
  std::size_t layers_used = 0;
};

// `returns_to` is the address to which a door returns. For a call from Fortran that is in a library of the MPI, the
// same for all calls; then this is where the program called that library, if it can be found: else `returns_to`. `here`
// is an address in the stack, at the same distance from the door in all calls that return to there. For a call from
// Python it is the address of a sys::PythonPlace, if the line is known.
const void* site_in_program(KnownSites& known, const void* returns_to, const void* here);

}  // namespace quadrille::record
