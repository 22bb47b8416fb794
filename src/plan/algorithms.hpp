// All builders of plan/, each described in its file, with the names of their parameters' values and what they share;
// but for those of neighbours (neighborhood.hpp, order.hpp).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "plan/order.hpp"
#include "plan/problem.hpp"

namespace quadrille::plan {

// Alltoall, Alltoallv and Alltoallw.
Schedule spread_out(const Problem& problem);
Schedule pairwise(const Problem& problem);
Schedule nonblocking(const Problem& problem);
Schedule waitall_stride(const Problem& problem);
Schedule waitany_stride(const Problem& problem);
Schedule testany_stride(const Problem& problem);

// Alltoall.
Schedule basic_bruck(const Problem& problem);
Schedule basic_bruck_dt(const Problem& problem);
Schedule modified_bruck(const Problem& problem);
Schedule modified_bruck_dt(const Problem& problem);
Schedule zero_copy_bruck_dt(const Problem& problem);
Schedule zero_rotation_bruck(const Problem& problem);

// Alltoall, of uneven blocks, and allgather.
Schedule mn_co(const Problem& problem);
Schedule uneven_mn_co(const Problem& problem);
Schedule allgather_mn_co(const Problem& problem);

// Alltoall on several nodes, and of uneven blocks.
Schedule tuna_hierarchical(const Problem& problem);
Schedule uneven_tuna_hierarchical(const Problem& problem);

// Alltoallv and Alltoallw.
Schedule two_phase_bruck(const Problem& problem);
Schedule sloav(const Problem& problem);

// Allgather and Allgatherv.
Schedule allgather_spread_out(const Problem& problem);
Schedule allgather_ring(const Problem& problem);
Schedule allgather_recursive_doubling(const Problem& problem);
Schedule allgather_bruck(const Problem& problem);

// Of all-to-all and of allgather what is between nodes.
Schedule alltoall_between_nodes(const Problem& problem);
Schedule allgather_between_nodes(const Problem& problem);

// Alltoall on several nodes, of uneven blocks, and allgather; by plan/leaders.hpp.
Schedule leaders(const Problem& problem);
Schedule uneven_leaders(const Problem& problem);
Schedule allgather_leaders(const Problem& problem);

// ---- Both, by copies inside the nodes and messages between them (node_copies.cpp) ----

// The copies in this order, and messages between nodes beside them. For square_and_row the parameter `rest` says which
// of the orders square_... it is.
Schedule copies_in_order(const Problem& problem, Order order, Pattern pattern);
template <Order order, Pattern pattern>
Schedule node_copies(const Problem& problem) {
  return copies_in_order(problem, order, pattern);
}

// The first two rounds of these schedules: a fence of the node; this rank's part of the order, and a fence. `blocks`:
// send buffers have a block for each destination; else block 0 is for all.
void copy_inside_node(const Problem& problem, Order order, Rows rows, bool blocks, Builder& builder);

// The copies, then messages.
Schedule hint_network(const Problem& problem);
Schedule allgather_hint_network(const Problem& problem);

// All-to-alls that forward blocks, without those that stay inside a node. The other exchanges that fit hint-network
// need no rounds of their own: schedules with a direct_window(), and allgathers in place.
struct RoundsBetweenNodes {
  std::string_view name;
  Build among_all;
  Sizes sizes;
};
inline constexpr std::array<RoundsBetweenNodes, 2> rounds_between_nodes = {
    {{"bruck", zero_rotation_bruck, Sizes::known}, {"two-phase-bruck", two_phase_bruck, Sizes::carried}}};

std::span<const std::string_view> network_order_names();
inline constexpr std::array<std::string_view, 2> network_messages_names = {"after", "beside"};

// ---- Direct exchanges: every block travels once, straight from its source to its destination ----

// Appends P - 1 pairs of messages to a round. Pair i (1 <= i < P) sends to rank me + i and receives from rank me - i,
// so that in step i no two ranks send to the same rank. `one` is sent to all ranks; without one each rank is sent its
// own block. `between_nodes`: a message to or from a rank of the own node is none (is_none()).
void add_steps(const Problem& problem, std::optional<Span> one, bool between_nodes, Builder& builder);

// One round of these messages. The own block is copied before.
Schedule direct_exchange(const Problem& problem, Window window);

// ---- Algorithms that take another one for their exchange (leaders, hint-network), by the parameter `exchange` ----
//
// Which schedules fit. They are asked, on a few ranks, so that nothing of it has to be written down for a new one.

// The window of a schedule that sends each block of an all-to-all straight to its destination, step by step, as
// direct_exchange() does. Nothing of other schedules, which need blocks of one size where they forward them.
std::optional<Window> direct_window(Build exchange, const Parameters& parameters = {});

// Whether a rank's own block only ever moves from send to recv. An exchange need not have such a block.
bool sets_own_block_apart(Build all_to_all);
// Likewise of an allgather that needs no memory but recv.
bool gathers_in_place(Build allgather);

}  // namespace quadrille::plan
