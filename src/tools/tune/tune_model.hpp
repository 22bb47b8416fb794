// `quadrille tune --model`: fits the cost model of choose/model.hpp to measured calls.
#pragma once

#include "choose/tuning.hpp"
#include "team/team.hpp"

namespace quadrille::tools {

// Collective: measures Alltoallv on all ranks over messages, by algorithms with many and few
// messages and rounds and with blocks of many sizes, and by the MPI's own; rank 0 prints measured
// and modelled times. `batches` of each.
choose::ModelEntry tune_model(team::Team& team, int batches);

}  // namespace quadrille::tools
