// The table of algorithms, and the lookups in it.
#include "choose/registry.hpp"

#include <algorithm>
#include <bit>

#include "plan/algorithms.hpp"
#include "plan/hint_network.hpp"
#include "plan/leaders.hpp"
#include "plan/neighbor_copies.hpp"
#include "plan/neighborhood.hpp"

namespace quadrille::choose {
namespace {

using enum Collective;

constexpr std::int64_t kMost = 1 << 20;

constexpr std::int64_t kTriedRadices[] = {2, 4, 8}, kTriedLeaders[] = {1, 2}, kTriedPieces[] = {4096, 16384};
constexpr ParameterRange kRadix = {
    "radix", 2, kMost, 2, "base of the digits: more messages a round, fewer rounds", {}, {kTriedRadices}};
// The strides of Namugwanya et al.
constexpr std::int64_t kStrides[] = {5, 1, 10, 15};
constexpr ParameterRange kStride = {"stride", 1, kMost, 5, "pairs of messages in flight", {}, {}, kStrides};
constexpr std::int64_t kBoth[] = {0, 1};

constexpr ParameterRange kEager = {"eager", 0, kMost, 16384, "largest message, in bytes, that carries its sizes"};
constexpr ParameterRange kMonolithic = {"monolithic", 0, 1, 0,
                                        "1: one working buffer, of the largest block for each that waits on its way"};

constexpr std::string_view kTunaExchanges[] = {"coalesced", "staggered"};
constexpr ParameterRange kTunaExchange = {
    "exchange", 0, 1, 0, "between nodes: all blocks for a rank in one message, or each by itself", kTunaExchanges};
constexpr ParameterRange kBurst = {"burst", 1, kMost, plan::standard_away_steps,
                                   "messages between nodes that a rank sends before it waits for them"};

constexpr std::string_view kFan = "Fan et al., HPDC 2022, section 2.1";
constexpr std::string_view kFanPadded = "Fan et al., HPDC 2022, section 3.1";
constexpr std::string_view kTuna = "Fan, Domke, Ba and Kumar, HPDC 2025 (hierarchical TuNA)";
constexpr std::string_view kNamugwanya = "Namugwanya et al., section 3.1";
constexpr std::string_view kThakur = "Thakur, Rabenseifner and Gropp, IJHPCA 2005";

constexpr std::string_view kLi = "Li, Zhang and Hoefler, sections 2.1 and 2.2";
constexpr std::string_view kLiNaive = "Li, Zhang and Hoefler, sections 2.1 and 4";
constexpr std::string_view kLiNuma = "Li, Zhang and Hoefler, section 2.4";
constexpr std::string_view kLiLeaders = "Li, Zhang and Hoefler, section 2.5; Kinkead et al., SC Workshops 2025";
constexpr std::string_view kHint = "Ramesh et al., HINT, sections V.A to V.C";
constexpr std::string_view kHintOther = "Ramesh et al., HINT, section V.F";
constexpr std::string_view kHintNetwork = "Ramesh et al., HINT, section V.F, algorithm 5";
constexpr std::string_view kNamugwanyaOnHost = "Namugwanya et al., section 3.2 and table 1";
constexpr std::string_view kBuffers[] = {"kept", "fresh", "pageable"};
constexpr ParameterRange kHostBuffers = {
    "buffers", 0, 2, 0, "pinned and kept for later calls, pinned for each, or ordinary", kBuffers};
constexpr std::string_view kOfTheMpi[] = {"mpi"};
constexpr ParameterRange kInner = {"inner",  0, 0, 0, "or any other algorithm of the collective; its parameters follow",
                                   kOfTheMpi};
// What suits: plan/chunks.hpp, plan/chunk_rounds.hpp.
constexpr ParameterRange kChunk = {
    "chunk", 4096, std::int64_t{16} << 20, 0, "pipeline chunk in bytes (per block between nodes); 0: automatic", {}, {},
    {},      true};
// Two chunks keep a bus busy, and four also while their takers are late.
constexpr ParameterRange kDepth = {"depth", 1, 16, 4, "chunks of a rank in flight; between nodes rounds, at least two"};
constexpr ParameterRange kLeader = {
    "leader", 0, 1, 0, "1: inside a node the first rank of each device submits the copies of all", {}, {}, kBoth};
constexpr ParameterRange kInnerOfRounds = {
    "inner", 0, 0, 0, "between nodes, or any other algorithm of the collective; its parameters follow", kOfTheMpi};
constexpr std::string_view kRests[] = {"row", "column", "morton"};
constexpr ParameterRange kRest = {"rest", 0, 2, 0, "order of the rest of the square", kRests};

constexpr ParameterRange kPorts = {"ports", 0, kMost, 1,
                                   "messages that may share a round if no block needs two of them; 0: any"};
constexpr ParameterRange kPack = {"pack", 0, kMost, 16384,
                                  "largest message, in bytes, that is packed; larger ones are sent as "
                                  "derived types"};
constexpr ParameterRange kShare = {"share", 0, 1, 1,
                                   "1: neighbours on the way keep a copy of the block; 0: each is sent its own"};
constexpr std::string_view kLiNeighbors = "Li, Zhang and Hoefler, Cache-oblivious MPI, section 3";
constexpr std::string_view kTraffDirect = "Träff et al., isomorphic collectives, section 3, listing 4";
constexpr std::string_view kTraffTorus = "Träff et al., isomorphic collectives, sections 3.1 and 3.3, algorithm 1";
constexpr std::string_view kTraffGather = "Träff et al., isomorphic collectives, section 3.2";
constexpr std::string_view kTraffBetter = "Träff et al., isomorphic collectives, section 5";

constexpr Needs kDirect = {};
constexpr Needs kDeviceMpi = {.device_mpi = true};
constexpr Needs kIsomorphic = {.isomorphic = true};
constexpr Needs kCombining = {.contiguous = true, .isomorphic = true, .equal_sizes = true};
constexpr Needs kReached = {.load_store = true};
constexpr Needs kReachedByAll = {.one_node = true, .load_store = true};
constexpr Needs kPacked = {.contiguous = true};
constexpr Needs kTyped = {.contiguous = true, .derived_types = true};

const std::vector<Collective>& all_to_alls() {
  static const auto list = those(is_all_to_all);
  return list;
}

const std::vector<Collective>& gathers() {
  static const auto list = those([](Collective c) { return is_dense(c) && is_allgather(c); });
  return list;
}

// Blocks that are small enough to be forwarded by other ranks.
constexpr std::size_t most_passed_on = 1024;
// Above this leaders would send blocks in many pieces.
constexpr std::size_t most_for_leaders = std::size_t{64} << 10;

// The first calls of a program try it for blocks of at most so many bytes.
Algorithm up_to(std::size_t bytes, Algorithm algorithm) {
  algorithm.trial.up_to = bytes;
  return algorithm;
}
// The first calls try another of its kind, or the MPI's own, which is likely to do the same.
Algorithm kin(Algorithm algorithm) {
  algorithm.trial.kin = true;
  return algorithm;
}

// Its messages may go straight from and to a device's memory.
Algorithm from_device(Algorithm algorithm) {
  algorithm.from_device = FromDevice::straight;
  return algorithm;
}

// Among those, the first calls try another of its kind.
Algorithm kin_on_devices(Algorithm algorithm) {
  algorithm.trial.kin_on_devices = true;
  return algorithm;
}

Algorithm direct(std::string_view name, std::vector<ParameterRange> parameters, std::string_view line,
                 std::string_view source, plan::Build build) {
  return from_device(kin({name, all_to_alls(), Engine::schedule, kDirect, std::move(parameters), line, source, build}));
}

Algorithm bruck(std::string_view name, Needs needs, std::string_view line, plan::Build build) {
  return up_to(most_passed_on, {name, {alltoall}, Engine::schedule, needs, {kRadix}, line, kFan, build});
}

Algorithm gather(std::string_view name, std::vector<ParameterRange> parameters, std::string_view line,
                 std::string_view source, plan::Build build) {
  return {name, gathers(), Engine::schedule, kDirect, std::move(parameters), line, source, build};
}

// The parameter `leaders` of a node, and by which other algorithm they exchange.
Algorithm through_leaders(const std::vector<Collective>& collectives, plan::LeadersKind kind, std::string_view line,
                          plan::Build build) {
  const bool uneven = kind == plan::LeadersKind::uneven;
  const auto& names = plan::leaders_exchange_names(kind);
  std::vector<ParameterRange> parameters = {
      {"leaders", 1, kMost, 1, "of a node; at most all of its ranks", {}, {kTriedLeaders, UpToRanks::all_of_a_node}},
      {"exchange", 0, static_cast<std::int64_t>(names.size()) - 1, 0, "among the leaders", names},
      uneven ? ParameterRange{"piece", 64, kMost, 16384,
                              "larger blocks, and those without room, go straight to their ranks"}
             : ParameterRange{"piece",
                              64,
                              kMost,
                              65536,
                              "bytes of a block that move at a time, as far as memory allows",
                              {},
                              {kTriedPieces, UpToRanks::below_all, true}}};
  parameters.push_back({"group", 1, kMost, kMost, "ranks, at most, that act as a node"});
  if (kind == plan::LeadersKind::uniform) {
    const auto& orders = plan::leaders_order_names();
    parameters.push_back(
        {"order", 0, static_cast<std::int64_t>(orders.size()) - 1, 0, "in which a rank packs", orders});
  }
  if (!uneven) parameters.push_back(kRadix);
  if (!uneven) parameters.back().tried = {};  // of another exchange than the standard one
  if (kind != plan::LeadersKind::gather) parameters.push_back(kStride);
  return up_to(most_for_leaders,
               {"leaders", collectives, Engine::leaders, {}, std::move(parameters), line, kLiLeaders, build});
}

Algorithm node_copies(std::string_view name, const std::vector<Collective>& collectives, std::string_view line,
                      std::string_view source, plan::Build build, std::vector<ParameterRange> parameters = {}) {
  return {name, collectives, Engine::node, kReached, std::move(parameters), line, source, build};
}

// The order of the copies inside a node, by which algorithm the ranks exchange with those of other nodes, and when.
Algorithm node_then_network(const std::vector<Collective>& collectives, plan::NetworkKind kind, plan::Build build) {
  const auto named = [](std::string_view name, std::string_view meaning, std::span<const std::string_view> names) {
    return ParameterRange{name, 0, static_cast<std::int64_t>(names.size()) - 1, 0, meaning, names};
  };
  std::vector<ParameterRange> parameters = {
      named("exchange", "with ranks of other nodes", plan::network_exchange_names(kind)),
      named("messages", "when: after the copies, or beside them; those of rounds always follow",
            plan::network_messages_names()),
      named("order", "of the copies", plan::network_order_names()), kStride};
  parameters.push_back(kRadix);
  parameters.back().tried = {};  // of another exchange than the standard one
  if (kind == plan::NetworkKind::uneven) parameters.push_back(kEager);
  return node_copies("hint-network", collectives,
                     "copies of a node in one of the orders, then messages to the ranks of other nodes", kHintNetwork,
                     build, std::move(parameters));
}

Algorithm single_copy(const std::vector<Collective>& collectives, plan::Build build) {
  return {"single-copy",
          collectives,
          Engine::exchange,
          {},
          {},
          "inside a node each block straight from the sender's buffer; between nodes spread-out",
          "Quadrille; the single copy of HINT and of SH-Naive (Cache-oblivious)",
          build};
}

const std::vector<Collective>& neighbor_all() {
  static const auto list = those(is_neighbor);
  return list;
}

const std::vector<Collective>& neighbor_all_to_alls() {
  static const auto list = those([](Collective c) { return is_neighbor(c) && !is_allgather(c); });
  return list;
}

const std::vector<Collective>& neighbor_gathers() {
  static const auto list = those([](Collective c) { return is_neighbor(c) && is_allgather(c); });
  return list;
}

Algorithm neighbors(std::string_view name, const std::vector<Collective>& collectives, Needs needs,
                    std::string_view line, std::string_view source, plan::BuildNeighbors build,
                    const std::vector<ParameterRange>& more = {}) {
  std::vector<ParameterRange> parameters = {kPorts};
  if (needs.contiguous) parameters.push_back(kPack);
  parameters.insert(parameters.end(), more.begin(), more.end());
  return {name, collectives, Engine::neighbors, needs, std::move(parameters), line, source, nullptr, build};
}

Algorithm edge_copies(std::string_view name, std::string_view line, plan::BuildEdges build) {
  return {name,    neighbor_all(), Engine::neighbor_copies, kReachedByAll, {}, line, kLiNeighbors, nullptr,
          nullptr, build};
}

const std::vector<Collective>& uneven_all_to_alls() {
  static const auto list = those([](Collective c) { return is_all_to_all(c) && !is_sized(c); });
  return list;
}

Algorithm uneven(std::string_view name, std::vector<ParameterRange> parameters, std::string_view line,
                 std::string_view source, plan::Build build) {
  return {name, uneven_all_to_alls(), Engine::schedule, kPacked, std::move(parameters), line, source, build};
}

Algorithm padded(std::string_view name, Needs needs, std::vector<ParameterRange> parameters, std::string_view line,
                 plan::Build build) {
  return {name, uneven_all_to_alls(), Engine::padded, needs, std::move(parameters), line, kFanPadded, build};
}

// The MPI serves collectives that it lacks by those that it has.
std::vector<Collective> of_the_mpi() {
  return those([](Collective c) { return is_dense(c) || is_neighbor(c); });
}

std::vector<Algorithm> make_table() {
  // Those that move blocks as they are; what does more with them is served by what names it.
  const std::vector<Collective> all =
      those([](Collective c) { return is_all_to_all(c) || (is_dense(c) && is_allgather(c)); });
  return {
      direct("spread-out", {}, "all messages at once, beginning with the next rank", "Fan et al., HPDC 2022, section 1",
             plan::spread_out),
      direct("pairwise", {}, "one message out and one in at a time", "Namugwanya et al., section 2, algorithm 1",
             plan::pairwise),
      kin_on_devices(direct("nonblocking", {}, "the steps of pairwise, all begun before the first wait",
                            "Namugwanya et al., section 2, algorithm 2", plan::nonblocking)),
      kin_on_devices(direct("waitall-stride", {kStride}, "batches of messages, each waited for as a whole", kNamugwanya,
                            plan::waitall_stride)),
      direct("waitany-stride", {kStride}, "a window of messages, refilled as each completes", kNamugwanya,
             plan::waitany_stride),
      kin_on_devices(direct("testany-stride", {kStride}, "a window of messages, refilled by polling", kNamugwanya,
                            plan::testany_stride)),
      kin(bruck("basic-bruck", kPacked, "log P rounds; rotates blocks before and after", plan::basic_bruck)),
      kin(bruck("basic-bruck-dt", kTyped, "basic-bruck that sends with derived datatypes", plan::basic_bruck_dt)),
      kin(bruck("modified-bruck", kPacked, "log P rounds; rotates blocks before only", plan::modified_bruck)),
      kin(bruck("modified-bruck-dt", kTyped, "modified-bruck that sends with derived datatypes",
                plan::modified_bruck_dt)),
      kin(bruck("zero-copy-bruck-dt", kTyped, "log P rounds; two buffers in turn, no copies in rounds",
                plan::zero_copy_bruck_dt)),
      bruck("zero-rotation-bruck", kPacked, "log P rounds; no rotation of blocks at all", plan::zero_rotation_bruck),
      up_to(most_passed_on, {"mn-co",
                             {alltoall},
                             Engine::schedule,
                             kPacked,
                             {kPack},
                             "about sqrt(P) messages to carriers, and about as many from them",
                             kLiLeaders,
                             plan::mn_co}),
      uneven("mn-co", {kEager}, "about sqrt(P) messages to carriers, and about as many from them; sizes travel along",
             kLiLeaders, plan::uneven_mn_co),
      uneven("two-phase-bruck", {kRadix, kEager, kMonolithic},
             "log P rounds for blocks of different sizes; sizes first, then blocks",
             "Fan et al., HPDC 2022, section 3.2; of any radix Fan et al., HPDC 2025 (TuNA)", plan::two_phase_bruck),
      kin({"tuna-hierarchical",
           {alltoall},
           Engine::schedule,
           kPacked,
           {kRadix, kTunaExchange, kBurst, kPack},
           "Bruck's algorithm inside each node, to the rank that sends straight to the other nodes",
           kTuna,
           plan::tuna_hierarchical}),
      kin(uneven("tuna-hierarchical", {kRadix, kTunaExchange, kBurst, kEager},
                 "two-phase-bruck inside each node, to the rank that sends straight to the other nodes", kTuna,
                 plan::uneven_tuna_hierarchical)),
      kin(uneven("sloav", {kRadix}, "log P rounds; sizes and blocks in one buffer, a scan at the end",
                 "Fan et al., HPDC 2022, section 6.1", plan::sloav)),
      padded("padded-bruck", kPacked, {kRadix}, "blocks padded to the largest, then zero-rotation-bruck",
             plan::zero_rotation_bruck),
      padded("padded-alltoall", kPacked, {}, "blocks padded to the largest, then the MPI's own alltoall", nullptr),
      padded("padded-spread-out", kPacked, {}, "blocks padded to the largest, then spread-out", plan::spread_out),
      padded("padded-pairwise", kPacked, {}, "blocks padded to the largest, then pairwise", plan::pairwise),
      padded("padded-nonblocking", kPacked, {}, "blocks padded to the largest, then nonblocking", plan::nonblocking),
      padded("padded-waitall-stride", kPacked, {kStride}, "blocks padded to the largest, then waitall-stride",
             plan::waitall_stride),
      padded("padded-waitany-stride", kPacked, {kStride}, "blocks padded to the largest, then waitany-stride",
             plan::waitany_stride),
      padded("padded-testany-stride", kPacked, {kStride}, "blocks padded to the largest, then testany-stride",
             plan::testany_stride),
      padded("padded-basic-bruck", kPacked, {kRadix}, "blocks padded to the largest, then basic-bruck",
             plan::basic_bruck),
      padded("padded-basic-bruck-dt", kTyped, {kRadix}, "blocks padded to the largest, then basic-bruck-dt",
             plan::basic_bruck_dt),
      padded("padded-modified-bruck", kPacked, {kRadix}, "blocks padded to the largest, then modified-bruck",
             plan::modified_bruck),
      padded("padded-modified-bruck-dt", kTyped, {kRadix}, "blocks padded to the largest, then modified-bruck-dt",
             plan::modified_bruck_dt),
      padded("padded-zero-copy-bruck-dt", kTyped, {kRadix}, "blocks padded to the largest, then zero-copy-bruck-dt",
             plan::zero_copy_bruck_dt),
      padded("padded-mn-co", kPacked, {kPack}, "blocks padded to the largest, then mn-co", plan::mn_co),
      padded("padded-tuna-hierarchical", kPacked, {kRadix, kTunaExchange, kBurst, kPack},
             "blocks padded to the largest, then tuna-hierarchical", plan::tuna_hierarchical),
      from_device(kin(gather("spread-out", {}, "all messages at once, beginning with the next rank",
                             "Fan et al., HPDC 2022, section 1", plan::allgather_spread_out))),
      from_device(kin(gather("ring", {}, "each rank forwards blocks to the next", kThakur, plan::allgather_ring))),
      kin(gather("recursive-doubling", {}, "log P rounds of exchanges that double in size", kThakur,
                 plan::allgather_recursive_doubling)),
      up_to(most_passed_on, gather("mn-co", {}, "about sqrt(P) messages to carriers, and about as many from them",
                                   kLiLeaders, plan::allgather_mn_co)),
      up_to(most_passed_on,
            gather("bruck", {kRadix}, "log P rounds for any P; no rotation", kThakur, plan::allgather_bruck)),
      node_copies("sh-naive", all_to_alls(), "a rank fills its own receive buffer, sources of its NUMA domain first",
                  kLiNaive, plan::sh_naive),
      node_copies("sh-naive", gathers(), "a rank fills its own receive buffer, sources of its NUMA domain first",
                  kLiNaive, plan::allgather_sh_naive),
      node_copies("sh-co", all_to_alls(), "copies of a node in Morton order", kLi, plan::sh_co),
      node_copies("sh-co", gathers(), "copies of a node in Morton order", kLi, plan::allgather_sh_co),
      node_copies("sh-numa-co", all_to_alls(), "copies of a node in Morton order, one NUMA domain after the other",
                  kLiNuma, plan::sh_numa_co),
      node_copies("sh-numa-co", gathers(), "copies of a node in Morton order, one NUMA domain after the other", kLiNuma,
                  plan::allgather_sh_numa_co),
      node_copies("hint-row", all_to_alls(), "a rank fills its own receive buffer, sources in their order", kHint,
                  plan::hint_row),
      node_copies("hint-row", gathers(), "a rank fills its own receive buffer, sources in their order", kHint,
                  plan::allgather_hint_row),
      node_copies("hint-column", all_to_alls(), "a rank empties its own send buffer, destinations in their order",
                  kHint, plan::hint_column),
      node_copies("hint-column", gathers(), "a rank empties its own send buffer, destinations in their order", kHint,
                  plan::allgather_hint_column),
      node_copies("hint-hilbert", all_to_alls(), "copies of a node in the order of a Hilbert curve", kHint,
                  plan::hint_hilbert),
      node_copies("hint-hilbert", gathers(), "copies of a node in the order of a Hilbert curve", kHint,
                  plan::allgather_hint_hilbert),
      node_copies("hint-hilbert-square", all_to_alls(),
                  "a Hilbert curve through a square of a power of two, the rest in another order", kHintOther,
                  plan::hint_hilbert_square, {kRest}),
      node_copies("hint-hilbert-square", gathers(),
                  "a Hilbert curve through a square of a power of two, the rest in another order", kHintOther,
                  plan::allgather_hint_hilbert_square, {kRest}),
      node_then_network({alltoall}, plan::NetworkKind::uniform, plan::hint_network),
      node_then_network(uneven_all_to_alls(), plan::NetworkKind::uneven, plan::uneven_hint_network),
      node_then_network(gathers(), plan::NetworkKind::gather, plan::allgather_hint_network),
      {"inbox",
       all,
       Engine::inbox,
       {.one_node = true},
       {},
       "small blocks through shared memory inside one node",
       "Quadrille: one slot an ordered pair of ranks, data and sequence number together",
       nullptr},
      single_copy(all_to_alls(), plan::alltoall_between_nodes),
      single_copy(gathers(), plan::allgather_between_nodes),
      through_leaders({alltoall}, plan::LeadersKind::uniform,
                      "ranks pack and unpack in shared memory; leaders of the nodes send few large messages",
                      plan::leaders),
      through_leaders(uneven_all_to_alls(), plan::LeadersKind::uneven,
                      "as leaders for alltoall, for blocks of different sizes, which travel with them",
                      plan::uneven_leaders),
      through_leaders(gathers(), plan::LeadersKind::gather,
                      "the blocks of a node come together in shared memory; leaders exchange them",
                      plan::allgather_leaders),
      {"consensus",
       {exchange},
       Engine::sparse,
       {},
       {},
       "synchronous sends straight to the destinations, ended by a nonblocking barrier",
       "Hoefler, Siebert and Lumsdaine, PPoPP 2010, algorithm 2 (NBX)",
       nullptr},
      {"bruck",
       {exchange},
       Engine::sparse,
       {.contiguous = true},
       {kRadix},
       "log P rounds of store and forward, however many destinations there are",
       "Bruck et al., IEEE TPDS 1997, with blocks of unequal sizes",
       nullptr},
      from_device({"direct",
                   neighbor_all(),
                   Engine::neighbors,
                   {},
                   {},
                   "all messages between neighbours at once, with the datatypes of the user",
                   "MPI 4.1, section 8.6: the messages by which it defines the neighbour collectives"}),
      {"rings",
       neighbor_all(),
       Engine::node_neighbors,
       {.one_node = true},
       {},
       "inside a node all blocks for a neighbour as one stream, large ones straight from its heap",
       "Quadrille; the single copy of SH-Naive (Cache-oblivious, section 3)"},
      edge_copies("sh-naive", "a rank fills its own receive buffer, sources of its NUMA domain first",
                  plan::neighbor_sh_naive),
      edge_copies("sh-co", "copies between neighbours of a node in Morton order", plan::neighbor_sh_co),
      edge_copies("sh-numa-co", "copies between neighbours of a node in Morton order, one NUMA domain after the other",
                  plan::neighbor_sh_numa_co),
      kin_on_devices(from_device(neighbors("straightforward", neighbor_all_to_alls(), kIsomorphic,
                                           "one message out and one in for each neighbour, one after the other",
                                           kTraffDirect, plan::neighbor_straightforward))),
      kin_on_devices(from_device(neighbors("straightforward", neighbor_gathers(), kIsomorphic,
                                           "one message out and one in for each neighbour, one after the other",
                                           kTraffDirect, plan::neighbor_allgather_straightforward))),
      neighbors("torus", neighbor_all_to_alls(), kCombining,
                "blocks travel hop by hop along the dimensions, all of a hop in one message", kTraffTorus,
                plan::neighbor_torus),
      neighbors("torus", neighbor_gathers(), kCombining,
                "a block travels hop by hop, once for all neighbours that lie on its way", kTraffGather,
                plan::neighbor_allgather_torus, {kShare}),
      neighbors("torus-direct", neighbor_all_to_alls(), kCombining,
                "as torus, but a block goes its whole way in a dimension in one message", kTraffBetter,
                plan::neighbor_torus_direct),
      neighbors("torus-direct", neighbor_gathers(), kCombining,
                "as torus, but a block goes its whole way in a dimension in one message", kTraffBetter,
                plan::neighbor_allgather_torus_direct),
      neighbors("basis", neighbor_all_to_alls(), kCombining,
                "blocks travel along the vectors of a small additive basis of the offsets", kTraffBetter,
                plan::neighbor_basis),
      neighbors("basis", neighbor_gathers(), kCombining,
                "blocks travel along the vectors of a small additive basis of the offsets", kTraffBetter,
                plan::neighbor_allgather_basis),
      {"ipc-pull",
       all,
       Engine::pull,
       {.one_node = true},
       {kLeader},
       "inside one node each rank copies from the other ranks' device memory",
       "Quadrille; the inside of CUDA-aware MPIs (Namugwanya et al., section 3.1)",
       nullptr,
       nullptr,
       nullptr,
       {},
       FromDevice::shared},
      {"pipelined-copy-to-cpu",
       all,
       Engine::pipeline,
       {},
       {kChunk, kDepth, kLeader, kInnerOfRounds},
       "in chunks through pinned host memory, both directions of the bus at once; between nodes in rounds, each "
       "exchanged by another algorithm",
       "Quadrille; copy-to-CPU (Namugwanya et al., section 3.2), pipelined",
       nullptr,
       nullptr,
       nullptr,
       {},
       FromDevice::pipelined},
      {"cuda-aware-mpi",
       of_the_mpi(),
       Engine::mpi,
       kDeviceMpi,
       {},
       "the MPI's own collective, which moves device data itself",
       kNamugwanya},
      {"copy-to-cpu",
       of_the_mpi(),
       Engine::staged,
       {},
       {kHostBuffers, kInner},
       "another algorithm; device data are staged through host memory",
       kNamugwanyaOnHost},
      {"mpi", of_the_mpi(), Engine::mpi, {}, {}, "the MPI's own collective", "the MPI in use"},
  };
}

}  // namespace

std::string collective_names(bool (*wanted)(Collective)) {
  std::string names;
  for (const CollectiveRow& row : collectives) {
    if (!wanted(row.collective)) continue;
    if (!names.empty()) names += ", ";
    names += row.name;
  }
  return names;
}

bool collective_from_name(std::string_view name, Collective& collective) {
  const auto found = std::find_if(collectives.begin(), collectives.end(),
                                  [name](const CollectiveRow& row) { return row.name == name; });
  if (found == collectives.end()) return false;
  collective = found->collective;
  return true;
}

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> table = make_table();
  return table;
}

bool serves(const Algorithm& algorithm, Collective collective) {
  const auto& served = algorithm.collectives;
  return std::find(served.begin(), served.end(), collective) != served.end();
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
