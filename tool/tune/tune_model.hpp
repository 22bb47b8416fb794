// `quadrille tune --model`: fits the cost model of choose/model.hpp to measured calls.
#pragma once

#include <memory>

#include "choose/tuning.hpp"
#include "team/team.hpp"
#include "tool/bench/device/gpu.hpp"

namespace quadrille::tools {

// Collective: measures Alltoallv on all ranks over messages, by algorithms with many and few
// messages and rounds and with blocks of many sizes, and by the MPI's own; rank 0 prints measured
// and modelled times. `batches` of each. With a GPU the data are in its memory: then those algorithms are measured
// whose messages go straight from and to it, and the MPI's own, if the MPI takes such memory; and the bus.
choose::ModelEntry tune_model(team::Team& team, int batches, const std::shared_ptr<Gpu>& gpu);

}  // namespace quadrille::tools
