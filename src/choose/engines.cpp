#include "choose/engines.hpp"

#include "choose/select.hpp"

namespace quadrille::choose {
namespace {

Reason why_no_slot(const GlobalKey& key) {
  if (const Reason why = why_no_inbox(key); why != Reason::none) return why;
  return is_sized(key.collective) && key.bytes > key.slot_limit ? Reason::too_large : Reason::none;
}

Reason why_not_direct(const GlobalKey& key) { return key.direct ? Reason::none : Reason::not_direct; }

// The area of a node has a place for each pair of ranks; above this places would be too small.
constexpr int most_ranks_for_leaders = 65536;

Reason why_no_leaders(const GlobalKey& key) {
  return key.ranks > most_ranks_for_leaders ? Reason::too_many_for_leaders : why_not_direct(key);
}

// Between nodes the data go over memory of each rank's own.
Reason why_no_pipeline(const GlobalKey& key) { return key.nodes == 1 ? why_not_direct(key) : Reason::none; }

}  // namespace

constexpr std::array<EngineRow, engine_count> engines = std::to_array<EngineRow>({
    {Engine::schedule, "schedule", Plans::messages, nullptr, Tried::with_one_rank_a_node, Answer::ours},
    {Engine::node, "node", Plans::node_copies, nullptr, Tried::on_one_node},
    {Engine::inbox, "inbox", Plans::none, why_no_slot},
    {Engine::exchange, "exchange", Plans::between_nodes, why_not_direct, Tried::on_shared_nodes},
    {Engine::leaders, "leaders", Plans::leaders, why_no_leaders, Tried::on_shared_nodes, Answer::ours},
    {Engine::padded, "padded", Plans::messages, nullptr, Tried::nowhere, Answer::ours_for_once, "spread-out"},
    {Engine::sparse, "sparse"},
    {Engine::neighbors, "neighbors", Plans::neighbor_messages},
    {Engine::node_neighbors, "node-neighbors"},
    {Engine::neighbor_copies, "neighbor-copies", Plans::neighbor_copies},
    {Engine::pull, "device-pull", Plans::none, why_not_direct},
    {Engine::pipeline, "device-pipeline", Plans::none, why_no_pipeline},
    {Engine::staged, "copy-to-cpu"},
    {Engine::mpi, "mpi", Plans::none, nullptr, Tried::everywhere, Answer::mpi},
});

static_assert(rows_are_in_order(engines, &EngineRow::engine));

Reason why_no_inbox(const GlobalKey& key) {
  if (key.nodes != 1) return Reason::several_nodes;
  if (!key.inbox) return Reason::no_inboxes;
  return is_sized(key.collective) && key.bytes == 0 ? Reason::no_data : Reason::none;
}

Why with_numbers(Reason reason, const GlobalKey& key) {
  Why why{reason};
  if (reason == Reason::several_nodes) why.number = key.nodes;
  if (reason == Reason::too_many_for_leaders) why.number = most_ranks_for_leaders;
  if (reason == Reason::too_large) {
    why.number = static_cast<double>(key.bytes);
    why.limit = static_cast<double>(key.slot_limit);
  }
  return why;
}

}  // namespace quadrille::choose
