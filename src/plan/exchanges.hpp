// Algorithms that take another one for their exchange (leaders, hint-network), by the parameter `exchange`: which
// schedules fit. They are asked, on a few ranks, so that nothing of it has to be written down for a new one.
#pragma once

#include <optional>

#include "plan/problem.hpp"

namespace quadrille::plan {

// The window of a schedule that sends each block of an all-to-all straight to its destination, step by step, as
// direct_exchange() does. Nothing of other schedules, which need blocks of one size where they forward them.
std::optional<Window> direct_window(Build exchange, const Parameters& parameters = {});

// Whether a rank's own block only ever moves from send to recv. An exchange need not have such a block.
bool sets_own_block_apart(Build all_to_all);
// Likewise of an allgather that needs no memory but recv.
bool gathers_in_place(Build allgather);

}  // namespace quadrille::plan
