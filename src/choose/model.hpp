// Choosing by the cost model, where nothing was measured for the case itself.
//
// The model is that of Fan et al., HPDC 2022, section 3.3, for any radix, with what it leaves out: copies,
// waiting, and the agreement on the largest block. Its constants are fitted on the machine by
// `quadrille tune --model`; the MPI's own all-to-all has constants of its own.
#pragma once

#include <cstddef>
#include <vector>

#include "choose/registry.hpp"
#include "plan/cost.hpp"

namespace quadrille::choose {

// Constants of the model for a kind of machine. Plain: it is broadcast as it is.
struct Model {
  plan::Machine quadrille{};
  plan::Machine mpi{};  // of the MPI's own, as if it were spread-out
  bool operator==(const Model&) const = default;
};

// The blocks of a call, in bytes.
struct Load {
  double mean = 0;     // of the rank that sends most
  double largest = 0;  // of all
};

struct Prediction {
  Choice choice;
  double seconds = 0;
};

// Seconds of `choice` on `ranks` ranks over messages, all of which cost the same. Knows mpi, spread-out,
// zero-rotation-bruck, two-phase-bruck, sloav, padded-bruck and padded-alltoall; of others it returns infinity.
double predict(const Choice& choice, int ranks, const Load& load, const Model& model);

// The fastest for an all-to-all by the model, among `mpi` and Bruck of several radices. For the v and w forms
// `load` must be what all ranks agreed on.
Prediction fastest(Collective collective, int ranks, const Load& load, const Model& model);

// Seconds of agreeing on the load.
double agreement(int ranks, const Model& model);

// Is it worth while to agree on the loads of v and w calls: could anything but the MPI's own win, even if every call
// had to ask?
bool worth_agreeing(Collective collective, int ranks, const Model& model);

// Latency 1.5 us and 2 GB/s a rank: a rank's share of a Cray Aries network, as on the machine of the paper.
Model aries();

}  // namespace quadrille::choose
