// The messages of algorithms that move blocks inside a node through its memory, and straight from their source to their
// destination between nodes.
#pragma once

#include "plan/problem.hpp"

namespace quadrille::plan {

// When the messages are in flight: during the rounds before theirs, or after these.
enum class Away : std::uint8_t { beside, after };

// Ends the schedule with a round of them, if there are any. `blocks`: send buffers have a block for each destination;
// else block 0 is for all. In step i a rank sends to the i-th rank after it and receives from the i-th before.
void exchange_between_nodes(const Problem& problem, bool blocks, Window window, Away away, Builder& builder);
// In batches of Problem::away_steps, beside the rounds before.
void exchange_between_nodes(const Problem& problem, bool blocks, Builder& builder);

// By way of other ranks, when the node's part is done. An all-to-all by Bruck of radix `radix`; `sizes` says whether
// the sizes of blocks travel ahead:
void bruck_between_nodes(const Problem& problem, Sizes sizes, Builder& builder);
// An allgather, by what `among_all` does among all ranks.
void gather_between_nodes(const Problem& problem, Build among_all, Builder& builder);

}  // namespace quadrille::plan
