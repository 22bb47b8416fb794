// What the files that record calls share.
#pragma once

#include <cstddef>
#include <mutex>

#include "run/call.hpp"

namespace quadrille::record {

// Of the tables and all that belongs to them, where several threads may call. Never held in the MPI.
std::unique_lock<std::mutex> held();

// The side that says what this rank sends.
inline const run::Side& sent_side(const run::Call& call) { return call.in_place ? call.recv : call.send; }

inline bool has_one_block(Collective collective) { return !has_arrays(row_of(collective).send); }

// Of collectives with one size; of that of an Allgatherv in place only its arrays know.
inline std::ptrdiff_t count_of(const run::Call& call, int rank) {
  const bool own = call.in_place && has_arrays(row_of(call.collective).recv);
  return own ? call.recv.count_of(rank) : static_cast<std::ptrdiff_t>(sent_side(call).count);
}

}  // namespace quadrille::record
