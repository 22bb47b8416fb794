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

// ---- Direct exchanges: every block travels once, straight from its source to its destination ----

// Appends P - 1 pairs of messages to a round. Pair i (1 <= i < P) sends to rank me + i and receives from rank me - i,
// so that in step i no two ranks send to the same rank. `one` is sent to all ranks; without one each rank is sent its
// own block. `between_nodes`: a message to or from a rank of the own node is none (is_none()).
void add_steps(const Problem& problem, std::optional<Span> one, bool between_nodes, Builder& builder);

// One round of these messages. The own block is copied before.
Schedule direct_exchange(const Problem& problem, Window window);

}  // namespace quadrille::plan
