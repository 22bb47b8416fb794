// The table of algorithms, and lookups in it.
#include "choose/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <utility>

#include "plan/algorithms.hpp"
#include "plan/leaders.hpp"
#include "plan/neighborhood.hpp"
#include "plan/order.hpp"

namespace quadrille::choose {
namespace {

using enum Collective;

// ---- Parameters, sources and needs ----

// A parameter whose values have names; the first is the standard one.
constexpr ParameterRange by_name(std::string_view name, std::string_view meaning,
                                 std::span<const std::string_view> names) {
  return {name, 0, static_cast<std::int64_t>(names.size()) - 1, 0, meaning, names};
}

constexpr std::int64_t kMost = 1 << 20;

constexpr std::int64_t kTriedRadices[] = {2, 4, 8}, kTriedLeaders[] = {1, 2}, kTriedPieces[] = {4096, 16384};
constexpr std::string_view kBase = "base of the digits: more messages a round, fewer rounds";
constexpr ParameterRange kRadix = {"radix", 2, kMost, 2, kBase, {}, {kTriedRadices}};
// Not tried: it is of another exchange than the standard one.
constexpr ParameterRange kRadixOfExchange = {"radix", 2, kMost, 2, kBase};
constexpr TriedValues kTriedCuts = {kTriedPieces, TriedUpTo::block};
constexpr ParameterRange kPiece = {
    "piece", 64, kMost, 65536, "bytes of a block that move at a time, as far as memory allows", {}, kTriedCuts};
constexpr ParameterRange kPlace = {"piece", 64, kMost, 16384,
                                   "larger blocks, and those without room, go straight to their ranks"};
// The strides of Namugwanya et al.
constexpr std::int64_t kStrides[] = {5, 1, 10, 15};
constexpr ParameterRange kStride = {"stride", 1, kMost, 5, "pairs of messages in flight", {}, {}, kStrides};
constexpr std::int64_t kBoth[] = {0, 1};

constexpr ParameterRange kEager = {"eager", 0, kMost, 16384, "largest message, in bytes, that carries its sizes"};
constexpr ParameterRange kMonolithic = {"monolithic", 0, 1, 0,
                                        "1: one working buffer, of the largest block for each that waits on its way"};

constexpr std::string_view kTunaExchanges[] = {"coalesced", "staggered"};
constexpr ParameterRange kTunaExchange =
    by_name("exchange", "between nodes: all blocks for a rank in one message, or each by itself", kTunaExchanges);
constexpr ParameterRange kBurst = {"burst", 1, kMost, plan::standard_away_steps,
                                   "messages between nodes that a rank sends before it waits for them"};

constexpr std::string_view kFan = "Fan et al., HPDC 2022, section 2.1";
constexpr std::string_view kFanSpreadOut = "Fan et al., HPDC 2022, section 1";
constexpr std::string_view kTuna = "Fan, Domke, Ba and Kumar, HPDC 2025 (hierarchical TuNA)";
constexpr std::string_view kNamugwanya = "Namugwanya et al., section 3.1";
constexpr std::string_view kThakur = "Thakur, Rabenseifner and Gropp, IJHPCA 2005";

constexpr std::string_view kLi = "Li, Zhang and Hoefler, sections 2.1 and 2.2";
constexpr std::string_view kLiNaive = "Li, Zhang and Hoefler, sections 2.1 and 4";
constexpr std::string_view kLiNuma = "Li, Zhang and Hoefler, section 2.4";
constexpr std::string_view kLiLeaders = "Li, Zhang and Hoefler, section 2.5; Kinkead et al., SC Workshops 2025";
constexpr std::string_view kHint = "Ramesh et al., HINT, sections V.A to V.C";
constexpr std::string_view kHintOther = "Ramesh et al., HINT, section V.F";
constexpr std::string_view kBuffers[] = {"kept", "fresh", "pageable"};
constexpr ParameterRange kHostBuffers =
    by_name("buffers", "pinned and kept for later calls, pinned for each, or ordinary", kBuffers);
constexpr std::string_view kOfTheMpi[] = {"mpi"};
constexpr ParameterRange kInner =
    by_name("inner", "or any other algorithm of the collective; its parameters follow", kOfTheMpi);
// What suits: plan/chunks.hpp.
constexpr ParameterRange kChunk = {
    "chunk", 4096, std::int64_t{16} << 20, 0, "pipeline chunk in bytes (per block between nodes); 0: automatic", {}, {},
    {},      true};
// Two chunks keep a bus busy, and four also while their takers are late.
constexpr ParameterRange kDepth = {"depth", 1, 16, 4, "chunks of a rank in flight; between nodes rounds, at least two"};
constexpr ParameterRange kLeader = {
    "leader", 0, 1, 0, "1: inside a node the first rank of each device submits the copies of all", {}, {}, kBoth};
constexpr ParameterRange kInnerOfRounds =
    by_name("inner", "between nodes, or any other algorithm of the collective; its parameters follow", kOfTheMpi);
constexpr std::string_view kRests[] = {"row", "column", "morton"};
constexpr ParameterRange kRest = by_name("rest", "order of the rest of the square", kRests);
// The values are those of plan::Rows.
constexpr std::string_view kRowNames[] = {"auto", "send", "recv"};
constexpr ParameterRange kRows =
    by_name("rows", "buffers that consecutive ranks share; auto: by NUMA domains", kRowNames);

constexpr ParameterRange kPorts = {"ports", 0, kMost, 1,
                                   "messages that may share a round if no block needs two of them; 0: any"};
constexpr ParameterRange kPack = {"pack", 0, kMost, 16384,
                                  "largest message, in bytes, that is packed; larger ones are sent as "
                                  "derived types"};
constexpr ParameterRange kShare = {"share", 0, 1, 1,
                                   "1: neighbours on the way keep a copy of the block; 0: each is sent its own"};
// The values are those of choose::Way.
constexpr std::string_view kWayNames[] = {"measured", "rings", "direct"};
constexpr ParameterRange way_parameter() {
  ParameterRange range =
      by_name("way", "of large blocks inside a node: rings, or one copy; measured: by size", kWayNames);
  range.is_told_if_standard = false;
  return range;
}

constexpr std::string_view kTraffBetter = "Träff et al., isomorphic collectives, section 5";

constexpr Needs kCombining = {.contiguous = true, .isomorphic = true, .equal_sizes = true};
constexpr Needs kReached = {.load_store = true};
constexpr Needs kPacked = {.contiguous = true};
constexpr Needs kTyped = {.contiguous = true, .derived_types = true};

// ---- Messages among all ranks, for all-to-alls and then for allgathers ----

bool is_uneven(Collective c) { return is_all_to_all(c) && !is_sized(c); }
bool is_gather(Collective c) { return is_dense(c) && is_allgather(c); }
bool is_neighbor_exchange(Collective c) { return is_neighbor(c) && !is_allgather(c); }
bool is_neighbor_gather(Collective c) { return is_neighbor(c) && is_allgather(c); }
// The MPI serves collectives that it lacks by those that it has.
bool is_served_by_the_mpi(Collective c) { return is_dense(c) || is_neighbor(c); }

// Blocks that are small enough to be sent on by other ranks.
constexpr std::size_t most_passed_on = 1024;
// Above this leaders would send blocks in many pieces.
constexpr std::size_t most_for_leaders = std::size_t{64} << 10;

// The first calls of a program try it for blocks of at most so many bytes.
Algorithm up_to(std::size_t bytes, Algorithm row) {
  row.trial.up_to = bytes;
  return row;
}
// The first calls try a similar one, or the MPI's own, which is likely to do the same.
Algorithm untried(Algorithm row) {
  row.trial.is_tried = false;
  return row;
}
// Likewise among those whose messages go straight from and to a device's memory.
Algorithm untried_on_devices(Algorithm row) {
  row.trial.is_tried_on_devices = false;
  return row;
}
Algorithm from_device(Algorithm row) {
  row.from_device = true;
  return row;
}

// The columns that each row of messages, or of an order of copies, fills.
Algorithm entry(std::string name, std::string line, std::string_view source, plan::Build build = nullptr,
                std::vector<ParameterRange> parameters = {}) {
  return {.name = std::move(name),
          .parameters = std::move(parameters),
          .line = std::move(line),
          .source = source,
          .build = build};
}

// Each block goes in one message straight to its destination: of any size and datatype, also from device memory.
Algorithm direct(Algorithm row) {
  row.collectives = those(is_all_to_all);
  return from_device(untried(std::move(row)));
}

// Blocks of one size that other ranks forward, packed.
Algorithm even(Algorithm row, const Needs& needs = kPacked) {
  row.collectives = {alltoall};
  row.needs = needs;
  return row;
}

// Small blocks of one size that other ranks forward in log P rounds.
Algorithm bruck(std::string name, std::string line, plan::Build build, const Needs& needs) {
  return up_to(most_passed_on, even(entry(std::move(name), std::move(line), kFan, build, {kRadix}), needs));
}

// Blocks of different sizes that other ranks forward: sizes travel along, as packed bytes do.
Algorithm uneven(Algorithm row) {
  row.collectives = those(is_uneven);
  row.needs = kPacked;
  return row;
}

Algorithm gather(Algorithm row) {
  row.collectives = those(is_gather);
  return row;
}

const std::vector<Algorithm>& message_schedules() {
  static const std::vector<Algorithm> rows = {
      direct(
          entry("spread-out", "all messages at once, beginning with the next rank", kFanSpreadOut, plan::spread_out)),
      direct(entry("pairwise", "one message out and one in at a time", "Namugwanya et al., section 2, algorithm 1",
                   plan::pairwise)),
      untried_on_devices(direct(entry("nonblocking", "the steps of pairwise, all begun before the first wait",
                                      "Namugwanya et al., section 2, algorithm 2", plan::nonblocking))),
      untried_on_devices(direct(entry("waitall-stride", "batches of messages, each waited for as a whole", kNamugwanya,
                                      plan::waitall_stride, {kStride}))),
      direct(entry("waitany-stride", "a window of messages, refilled as each completes", kNamugwanya,
                   plan::waitany_stride, {kStride})),
      untried_on_devices(direct(entry("testany-stride", "a window of messages, refilled by polling", kNamugwanya,
                                      plan::testany_stride, {kStride}))),
      untried(bruck("basic-bruck", "log P rounds; rotates blocks before and after", plan::basic_bruck, kPacked)),
      untried(bruck("basic-bruck-dt", "basic-bruck that sends with derived datatypes", plan::basic_bruck_dt, kTyped)),
      untried(bruck("modified-bruck", "log P rounds; rotates blocks before only", plan::modified_bruck, kPacked)),
      untried(bruck("modified-bruck-dt", "modified-bruck that sends with derived datatypes", plan::modified_bruck_dt,
                    kTyped)),
      untried(bruck("zero-copy-bruck-dt", "log P rounds; two buffers in turn, no copies in rounds",
                    plan::zero_copy_bruck_dt, kTyped)),
      bruck("zero-rotation-bruck", "log P rounds; no rotation of blocks at all", plan::zero_rotation_bruck, kPacked),
      up_to(most_passed_on, even(entry("mn-co", "about sqrt(P) messages to carriers, and about as many from them",
                                       kLiLeaders, plan::mn_co, {kPack}))),
      uneven(entry("mn-co", "about sqrt(P) messages to carriers, and about as many from them; sizes travel along",
                   kLiLeaders, plan::uneven_mn_co, {kEager})),
      uneven(entry("two-phase-bruck", "log P rounds for blocks of different sizes; sizes first, then blocks",
                   "Fan et al., HPDC 2022, section 3.2; of any radix Fan et al., HPDC 2025 (TuNA)",
                   plan::two_phase_bruck, {kRadix, kEager, kMonolithic})),
      untried(even(entry("tuna-hierarchical",
                         "Bruck's algorithm inside each node, to the rank that sends straight to the other nodes",
                         kTuna, plan::tuna_hierarchical, {kRadix, kTunaExchange, kBurst, kPack}))),
      untried(uneven(entry("tuna-hierarchical",
                           "two-phase-bruck inside each node, to the rank that sends straight to the other nodes",
                           kTuna, plan::uneven_tuna_hierarchical, {kRadix, kTunaExchange, kBurst, kEager}))),
      untried(uneven(entry("sloav", "log P rounds; sizes and blocks in one buffer, a scan at the end",
                           "Fan et al., HPDC 2022, section 6.1", plan::sloav, {kRadix}))),
      from_device(untried(gather(entry("spread-out", "all messages at once, beginning with the next rank",
                                       kFanSpreadOut, plan::allgather_spread_out)))),
      from_device(
          untried(gather(entry("ring", "each rank forwards blocks to the next", kThakur, plan::allgather_ring)))),
      untried(gather(entry("recursive-doubling", "log P rounds of exchanges that double in size", kThakur,
                           plan::allgather_recursive_doubling))),
      up_to(most_passed_on, gather(entry("mn-co", "about sqrt(P) messages to carriers, and about as many from them",
                                         kLiLeaders, plan::allgather_mn_co))),
      up_to(most_passed_on,
            gather(entry("bruck", "log P rounds for any P; no rotation", kThakur, plan::allgather_bruck, {kRadix}))),
  };
  return rows;
}

// ---- Algorithms around those that fit: padded-NAME, leaders and hint-network ----

// Blocks padded to the size of the largest, then an algorithm for blocks of one size: any that is a schedule, or the
// MPI's own.
Algorithm padded(const Algorithm& inner, std::string name, const std::vector<Collective>& collectives) {
  Needs needs = inner.needs;
  needs.contiguous = true;
  const std::string_view shown = inner.engine == Engine::mpi ? "the MPI's own alltoall" : std::string_view(inner.name);
  return {.name = std::move(name),
          .collectives = collectives,
          .engine = Engine::padded,
          .needs = needs,
          .parameters = inner.parameters,
          .line = fmt::format("blocks padded to the largest, then {}", shown),
          .source = "Fan et al., HPDC 2022, section 3.1",
          .build = inner.build};
}

// Exchanges by name, and what builds each; the first is the standard one.
struct Exchanges {
  std::vector<std::string_view> names;
  std::vector<plan::Build> builds;

  void add(std::string_view name, plan::Build build) { names.push_back(name), builds.push_back(build); }
};

// Not if both would read a parameter called `exchange`.
bool can_be_inside(const Algorithm& row) {
  const auto is_exchange = [](const ParameterRange& range) { return range.name == "exchange"; };
  return !row.needs.derived_types && std::none_of(row.parameters.begin(), row.parameters.end(), is_exchange);
}

Exchanges among_leaders(Collective collective) {
  Exchanges all;
  for (const Algorithm& row : message_schedules()) {
    const bool fits = serves(row, collective) && can_be_inside(row) &&
                      plan::fits_among_leaders(row.build, leaders_kind_of(collective));
    if (fits) all.add(row.name, row.build);
  }
  return all;
}

// In an allgather, too, direct exchanges are those of all-to-alls: their windows count, not their blocks. The standard
// one is that of algorithm 5.
Exchanges between_nodes(Collective collective) {
  Exchanges all;
  all.add("pairwise", plan::pairwise);
  const auto is_there = [&](const Algorithm& row) { return std::ranges::find(all.names, row.name) != all.names.end(); };
  for (const Algorithm& row : message_schedules()) {
    if (is_there(row) || !can_be_inside(row)) continue;
    const bool gathers = is_allgather(collective) && serves(row, collective) && plan::gathers_in_place(row.build);
    if (gathers || plan::direct_window(row.build)) all.add(row.name, row.build);
    for (const plan::RoundsBetweenNodes& rounds : plan::rounds_between_nodes) {
      if (rounds.among_all == row.build && serves(row, collective)) all.add(rounds.name, row.build);
    }
  }
  return all;
}

ParameterRange exchange_by(Exchanges exchanges, std::string_view meaning) {
  static std::deque<Exchanges> kept;  // for as long as the registry
  const Exchanges& all = kept.emplace_back(std::move(exchanges));
  ParameterRange range = by_name("exchange", meaning, all.names);
  range.builds = all.builds;
  return range;
}

// Blocks of `collectives` padded to the largest. Two of them have names of the paper, and come first.
std::vector<Algorithm> all_padded(const std::vector<Collective>& collectives) {
  std::vector<Algorithm> all;
  for (const Algorithm& row : message_schedules()) {
    if (!serves(row, Collective::alltoall)) continue;
    const bool is_named = row.name == "zero-rotation-bruck";
    all.insert(is_named ? all.begin() : all.end(),
               padded(row, is_named ? "padded-bruck" : "padded-" + row.name, collectives));
  }
  all.insert(all.begin() + 1, padded({.engine = Engine::mpi}, "padded-alltoall", collectives));
  return all;
}

// How many ranks of a node lead, and by which algorithm they exchange.
Algorithm through_leaders(Algorithm row) {
  const Collective collective = row.collectives.front();
  const plan::LeadersKind kind = leaders_kind_of(collective);
  const bool uneven = kind == plan::LeadersKind::uneven;
  row.parameters = {
      {"leaders", 1, kMost, 1, "of a node; at most all of its ranks", {}, {kTriedLeaders, TriedUpTo::ranks_of_a_node}},
      exchange_by(among_leaders(collective), "among the leaders"),
      uneven ? kPlace : kPiece};
  row.parameters.push_back({"group", 1, kMost, kMost, "ranks, at most, that act as a node"});
  if (kind == plan::LeadersKind::uniform) {
    row.parameters.push_back(by_name("order", "in which a rank packs", plan::leaders_order_names));
  }
  if (!uneven) row.parameters.push_back(kRadixOfExchange);
  if (kind != plan::LeadersKind::gather) row.parameters.push_back(kStride);
  row.name = "leaders";
  row.engine = Engine::leaders;
  row.source = kLiLeaders;
  return row;
}

// The order of the copies inside a node, by which algorithm the ranks exchange with those of other nodes, and when.
Algorithm node_then_network(const std::vector<Collective>& collectives, plan::Build build) {
  std::vector<ParameterRange> parameters = {
      exchange_by(between_nodes(collectives.front()), "with ranks of other nodes"),
      by_name("messages", "when: after the copies, or beside them; those of rounds always follow",
              plan::network_messages_names),
      by_name("order", "of the copies", plan::network_order_names()), kStride, kRadixOfExchange};
  if (!is_sized(collectives.front())) parameters.push_back(kEager);
  return {.name = "hint-network",
          .collectives = collectives,
          .engine = Engine::node,
          .needs = kReached,
          .parameters = std::move(parameters),
          .line = "copies of a node in one of the orders, then messages to the ranks of other nodes",
          .source = "Ramesh et al., HINT, section V.F, algorithm 5",
          .build = build};
}

// ---- The others ----

Algorithm single_copy(const std::vector<Collective>& collectives, plan::Build build) {
  return {.name = "single-copy",
          .collectives = collectives,
          .engine = Engine::exchange,
          .parameters = {way_parameter()},
          .line = "inside a node each block straight from the sender's buffer; between nodes spread-out",
          .source = "Quadrille; the single copy of HINT and of SH-Naive (Cache-oblivious)",
          .build = build};
}

// Messages between neighbours, for all-to-alls and for allgathers, which may have parameters of their own.
void add_neighbors(std::vector<Algorithm>& table, Algorithm row, const Needs& needs, plan::BuildNeighbors all_to_all,
                   plan::BuildNeighbors gather, const std::vector<ParameterRange>& of_gather = {}) {
  row.engine = Engine::neighbors;
  row.needs = needs;
  row.parameters = {kPorts};
  if (needs.contiguous) row.parameters.push_back(kPack);
  row.collectives = those(is_neighbor_exchange);
  row.build_neighbors = all_to_all;
  table.push_back(row);
  row.collectives = those(is_neighbor_gather);
  row.build_neighbors = gather;
  row.parameters.insert(row.parameters.end(), of_gather.begin(), of_gather.end());
  table.push_back(std::move(row));
}

Algorithm edge_copies(std::string name, std::string line, plan::BuildEdges build) {
  return {.name = std::move(name),
          .collectives = those(is_neighbor),
          .engine = Engine::neighbor_copies,
          .needs = {.one_node = true, .load_store = true},
          .line = std::move(line),
          .source = "Li, Zhang and Hoefler, Cache-oblivious MPI, section 3",
          .build_edges = build};
}

// Copies of a node in an order, for all-to-alls and for allgathers.
template <plan::Order order>
void add_order(std::vector<Algorithm>& table, Algorithm row) {
  row.engine = Engine::node;
  row.needs = kReached;
  row.collectives = those(is_all_to_all);
  row.build = plan::node_copies<order, plan::Pattern::alltoall>;
  table.push_back(row);
  row.collectives = those(is_gather);
  row.build = plan::node_copies<order, plan::Pattern::allgather>;
  table.push_back(std::move(row));
}

void add_orders(std::vector<Algorithm>& table) {
  using plan::Order;
  add_order<Order::row_numa>(
      table, entry("sh-naive", "a rank fills its own receive buffer, sources of its NUMA domain first", kLiNaive));
  add_order<Order::morton>(table, entry("sh-co", "copies of a node in Morton order", kLi));
  add_order<Order::morton_numa>(
      table, entry("sh-numa-co", "copies of a node in Morton order, one NUMA domain after the other", kLiNuma));
  add_order<Order::row>(table, entry("hint-row", "a rank fills its own receive buffer, sources in their order", kHint));
  add_order<Order::column>(
      table, entry("hint-column", "a rank empties its own send buffer, destinations in their order", kHint));
  add_order<Order::hilbert>(
      table, entry("hint-hilbert", "copies of a node in the order of a Hilbert curve", kHint, nullptr, {kRows}));
  add_order<Order::square_and_row>(
      table,
      entry("hint-hilbert-square", "a Hilbert curve through a square of a power of two, the rest in another order",
            kHintOther, nullptr, {kRest, kRows}));
  table.push_back(node_then_network({alltoall}, plan::hint_network));
  table.push_back(node_then_network(those(is_uneven), plan::hint_network));
  table.push_back(node_then_network(those(is_gather), plan::allgather_hint_network));
}

// Shared memory inside a node, and leaders.
void add_of_nodes(std::vector<Algorithm>& table) {
  table.push_back({.name = "inbox",
                   .collectives = those(is_dense),
                   .engine = Engine::inbox,
                   .needs = {.one_node = true},
                   .line = "small blocks through shared memory inside one node",
                   .source = "Quadrille: one slot an ordered pair of ranks, data and sequence number together"});
  table.push_back(single_copy(those(is_all_to_all), plan::alltoall_between_nodes));
  table.push_back(single_copy(those(is_gather), plan::allgather_between_nodes));
  const Algorithm all_leaders[] = {
      {.collectives = {alltoall},
       .line = "ranks pack and unpack in shared memory; leaders of the nodes send few large messages",
       .build = plan::leaders},
      {.collectives = those(is_uneven),
       .line = "as leaders for alltoall, for blocks of different sizes, which travel with them",
       .build = plan::uneven_leaders},
      {.collectives = those(is_gather),
       .line = "the blocks of a node come together in shared memory; leaders exchange them",
       .build = plan::allgather_leaders}};
  for (const Algorithm& row : all_leaders) table.push_back(up_to(most_for_leaders, through_leaders(row)));
}

void add_sparse(std::vector<Algorithm>& table) {
  table.push_back({.name = "consensus",
                   .collectives = {exchange},
                   .engine = Engine::sparse,
                   .line = "synchronous sends straight to the destinations, ended by a nonblocking barrier",
                   .source = "Hoefler, Siebert and Lumsdaine, PPoPP 2010, algorithm 2 (NBX)"});
  table.push_back({.name = "bruck",
                   .collectives = {exchange},
                   .engine = Engine::sparse,
                   .needs = {.contiguous = true},
                   .parameters = {kRadix},
                   .line = "log P rounds of store and forward, however many destinations there are",
                   .source = "Bruck et al., IEEE TPDS 1997, with blocks of unequal sizes"});
}

void add_of_neighbors(std::vector<Algorithm>& table) {
  table.push_back(from_device({.name = "direct",
                               .collectives = those(is_neighbor),
                               .engine = Engine::neighbors,
                               .line = "all messages between neighbours at once, with the datatypes of the user",
                               .source = "MPI 4.1, section 8.6: the messages by which it defines the neighbour "
                                         "collectives"}));
  table.push_back({.name = "rings",
                   .collectives = those(is_neighbor),
                   .engine = Engine::node_neighbors,
                   .needs = {.one_node = true},
                   .line = "inside a node all blocks for a neighbour as one stream, large ones straight from its heap",
                   .source = "Quadrille; the single copy of SH-Naive (Cache-oblivious, section 3)"});
  table.push_back(edge_copies("sh-naive", "a rank fills its own receive buffer, sources of its NUMA domain first",
                              plan::neighbor_copies<plan::Order::row_numa>));
  table.push_back(edge_copies("sh-co", "copies between neighbours of a node in Morton order",
                              plan::neighbor_copies<plan::Order::morton>));
  table.push_back(edge_copies("sh-numa-co",
                              "copies between neighbours of a node in Morton order, one NUMA domain after the other",
                              plan::neighbor_copies<plan::Order::morton_numa>));
  add_neighbors(table,
                untried_on_devices(from_device(
                    entry("straightforward", "one message out and one in for each neighbour, one after the other",
                          "Träff et al., isomorphic collectives, section 3, listing 4"))),
                {.isomorphic = true}, plan::neighbor_straightforward, plan::neighbor_allgather_straightforward);
  add_neighbors(table,
                entry("torus", "blocks travel hop by hop along the dimensions, all of a hop in one message",
                      "Träff et al., isomorphic collectives, sections 3.1 and 3.3, algorithm 1"),
                kCombining, plan::neighbor_torus, plan::neighbor_allgather_torus, {kShare});
  table.back().line = "a block travels hop by hop, once for all neighbours that lie on its way";
  table.back().source = "Träff et al., isomorphic collectives, section 3.2";
  add_neighbors(
      table,
      entry("torus-direct", "as torus, but a block goes its whole way in a dimension in one message", kTraffBetter),
      kCombining, plan::neighbor_torus_direct, plan::neighbor_allgather_torus_direct);
  add_neighbors(
      table, entry("basis", "blocks travel along the vectors of a small additive basis of the offsets", kTraffBetter),
      kCombining, plan::neighbor_basis, plan::neighbor_allgather_basis);
}

void add_of_devices(std::vector<Algorithm>& table) {
  table.push_back({.name = "ipc-pull",
                   .collectives = those(is_dense),
                   .engine = Engine::pull,
                   .needs = {.one_node = true},
                   .parameters = {kLeader},
                   .line = "inside one node each rank copies from the other ranks' device memory",
                   .source = "Quadrille; the inside of CUDA-aware MPIs (Namugwanya et al., section 3.1)",
                   .sees_to_devices = true});
  table.push_back({.name = "pipelined-copy-to-cpu",
                   .collectives = those(is_dense),
                   .engine = Engine::pipeline,
                   .parameters = {kChunk, kDepth, kLeader, kInnerOfRounds},
                   .line = "in chunks through pinned host memory, both directions of the bus at once; between nodes in "
                           "rounds, each exchanged by another algorithm",
                   .source = "Quadrille; copy-to-CPU (Namugwanya et al., section 3.2), pipelined",
                   .sees_to_devices = true});
  table.push_back({.name = "cuda-aware-mpi",
                   .collectives = those(is_served_by_the_mpi),
                   .engine = Engine::mpi,
                   .needs = {.device_mpi = true},
                   .line = "the MPI's own collective, which moves device data itself",
                   .source = kNamugwanya});
  table.push_back({.name = "copy-to-cpu",
                   .collectives = those(is_served_by_the_mpi),
                   .engine = Engine::staged,
                   .parameters = {kHostBuffers, kInner},
                   .line = "another algorithm; device data are staged through host memory",
                   .source = "Namugwanya et al., section 3.2 and table 1"});
}

std::vector<Algorithm> make_table() {
  std::vector<Algorithm> table = message_schedules();
  const std::vector<Algorithm> padded = all_padded(those(is_uneven));
  const auto gathers_from = [](const Algorithm& row) { return serves(row, allgather); };
  table.insert(std::find_if(table.begin(), table.end(), gathers_from), padded.begin(), padded.end());
  add_orders(table);
  add_of_nodes(table);
  add_sparse(table);
  add_of_neighbors(table);
  add_of_devices(table);
  table.push_back({.name = "mpi",
                   .collectives = those(is_served_by_the_mpi),
                   .engine = Engine::mpi,
                   .line = "the MPI's own collective",
                   .source = "the MPI in use"});
  return table;
}

}  // namespace

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> table = make_table();
  return table;
}

bool serves(const Algorithm& algorithm, Collective collective) {
  return std::ranges::find(algorithm.collectives, collective) != algorithm.collectives.end();
}

bool is_another_on_one_node(const Algorithm& algorithm, int ranks) {
  return algorithm.name == "hint-network" ||
         (algorithm.name == "hint-hilbert-square" && std::has_single_bit(static_cast<unsigned>(ranks)));
}

const Algorithm* find(Collective collective, std::string_view name) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == name && serves(algorithm, collective)) return &algorithm;
  }
  return nullptr;
}

}  // namespace quadrille::choose
