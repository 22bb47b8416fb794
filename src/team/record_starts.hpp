// Starts of persistent requests, as they are written down: each as a call, with what its request sends.
#pragma once

#include <memory>
#include <vector>

#include "mpi/mpi.hpp"
#include "run/call.hpp"
#include "team/record.hpp"

namespace quadrille::record {

// What a request sends: in bytes, with numbers of its own, since the program may free its datatypes and change its
// arrays.
struct Sent {
  run::Call call;
  std::vector<MpiCount> bytes;          // of each block, where they differ
  std::shared_ptr<const MpiComm> comm;  // MPI_COMM_NULL once the program has freed it
  const char* by = "mpi";               // what carries it out
};
// Of a call without a mistake. Throws std::bad_alloc.
std::unique_ptr<Sent> sent_by(const run::Call& call, const char* by);

// One start of it, from the place `site` in the program.
void begin_start(Recorded& recorded, Sent& sent, Form form, const void* site);

// ---- Requests by MPI's names ----

// The program has made one. Without memory for that its starts are not written down.
void keep_made(MpiRequest request, const run::Call& call, const char* by);
// It frees one, of whatever kind.
void forget_made(MpiRequest request);
// It starts one; nothing is written down of one that is not known.
void begin_start(Recorded& recorded, MpiRequest request, const void* site);

}  // namespace quadrille::record
