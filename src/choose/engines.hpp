// Who carries algorithms out: one table with a row an engine, of what there is to know without running it. What an
// engine does with a call stands in the table of the doors (api/engines.hpp).
//
// To add an engine: an enumerator and a row here, a row there, and its files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "choose/asking.hpp"
#include "collective/collective.hpp"
#include "plan/leaders.hpp"
#include "text/reason.hpp"

namespace quadrille::choose {

struct GlobalKey;  // choose/select.hpp

enum class Engine : std::uint8_t {
  schedule,         // the executor runs the schedule that `build` returns
  node,             // copies between the ranks of a node, in the order that `build` returns, and messages between nodes
  inbox,            // small blocks through shared memory inside one node (memory/control_memory.hpp)
  exchange,         // blocks of any size inside one node, each pair by its best way (run/node_exchange.cpp)
  leaders,          // through leaders of the nodes, by plan::leaders_plan() (run/leaders.cpp)
  padded,           // blocks padded to one size around the uniform schedule that `build` returns, or, if it is
                    // null, around the MPI's own all-to-all
  sparse,           // messages to the destinations that each rank names (run/sparse.hpp)
  neighbors,        // the executor runs the schedule that `build_neighbors` returns, or, if it is null, all
                    // messages between neighbours at once (run/bound_run.cpp)
  node_neighbors,   // blocks to the neighbours inside one node (run/node_neighbors.cpp)
  neighbor_copies,  // copies between the buffers of a node's ranks, by the schedule that `build_edges` returns
  pull,             // from other ranks' memory of a device inside one node (run/device_pull.hpp)
  pipeline,  // over memory of the host in chunks, from and to devices' memory (run/device_pipeline.hpp); between nodes
             // in rounds, which another algorithm exchanges (run/device_rounds.hpp)
  staged,    // another algorithm, with the data of a device's memory on the host: a choice holds that one
  mpi,       // the MPI's own collective; always possible, except for the sparse exchange
};
inline constexpr std::size_t engine_count = static_cast<std::size_t>(Engine::mpi) + 1;

// What the plans of an engine are.
enum class Plans : std::uint8_t {
  none,
  messages,           // among all ranks: `build`
  node_copies,        // inside the nodes, and messages between them: `build`
  leaders,            // inside the nodes, and messages between leaders: `build` is what is proved
  between_nodes,      // the messages between nodes alone: `build`
  neighbor_messages,  // `build_neighbors`
  neighbor_copies,    // inside a node: `build_edges`
};
// Do they look at the NUMA domains of the ranks?
constexpr bool look_at_domains(Plans plans) { return plans == Plans::node_copies || plans == Plans::leaders; }

// Where an algorithm may be the fastest for blocks whose size all ranks know: there the first calls of a program try
// it. `quadrille tune --algorithms`, which has more time, measures it in more cases (choose/select.cpp).
enum class Tried : std::uint8_t {
  nowhere,
  on_one_node,           // where another order of copies may be faster
  on_shared_nodes,       // on several, some with several ranks
  with_one_rank_a_node,  // on several, where there is no memory to share
  everywhere,            // beside others
};

struct EngineRow {
  Engine engine;
  std::string_view name;  // in `quadrille list`
  Plans plans = Plans::none;
  // None if it can serve the call, else why not, beyond what its algorithms need (Needs). Null: always.
  Reason (*why_not)(const GlobalKey&) = nullptr;
  Tried tried = Tried::nowhere;
  Answer answer = Answer::ours_for_once;  // what it is if the model chose it (choose/asking.hpp)
  // It pads blocks, and its plans are for blocks of one size. The algorithm that runs where that would be too much.
  std::string_view unpadded = {};
};

// [engine]
extern const std::array<EngineRow, engine_count> engines;
inline const EngineRow& row_of(Engine engine) { return engines[static_cast<std::size_t>(engine)]; }

// Whether orders of copies are tried among so many ranks of a node. With fewer the order makes no difference.
constexpr bool orders_race(int ranks) { return ranks >= 8; }

// ---- Of leaders ----

constexpr plan::LeadersKind leaders_kind_of(Collective collective) {
  if (is_allgather(collective)) return plan::LeadersKind::gather;
  return is_sized(collective) ? plan::LeadersKind::uniform : plan::LeadersKind::uneven;
}

// ---- Of inboxes, which are also the default way ----

// None if they can serve blocks of some size, else why not.
Reason why_no_inbox(const GlobalKey& key);

// A reason for which an engine or an algorithm cannot serve calls with this key, with the numbers of its words.
Why with_numbers(Reason reason, const GlobalKey& key);

}  // namespace quadrille::choose
