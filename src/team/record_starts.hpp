// Starts of persistent requests, as they are written down: each as a call, with what its request sends.
#pragma once

#include <cstdint>

#include "mpi/mpi.hpp"
#include "run/call.hpp"
#include "team/record.hpp"

namespace quadrille::record {

// A request is known by its handle: one of the MPI's, or the address of one of ours (handle_of()).
inline MpiRequest handle_of(const void* request) { return {reinterpret_cast<std::uintptr_t>(request)}; }

// The program has made one, by a call without a mistake; `by` carries it out. Without memory for that its starts are
// not written down.
void keep_made(MpiRequest request, const run::Call& call, const char* by);
// It frees one, of whatever kind.
void forget_made(MpiRequest request);
// It starts one from the place `site`; nothing is written down of one that is not known.
void begin_start(Recorded& recorded, MpiRequest request, Form form, const void* site);

}  // namespace quadrille::record
