// Profiling tools whose functions a program calls in the place of ours.
#pragma once

#include <string>

namespace quadrille::api {

// One line on functions of MPI that others define before us, and that reach the MPI without us; empty: none.
std::string tools_before();

}  // namespace quadrille::api
