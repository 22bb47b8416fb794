// What rows of the registry share: parameters, sources and needs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "choose/registry.hpp"
#include "plan/algorithms.hpp"

namespace quadrille::choose {

inline constexpr std::int64_t kMost = 1 << 20;

inline constexpr std::int64_t kTriedRadices[] = {2, 4, 8}, kTriedLeaders[] = {1, 2}, kTriedPieces[] = {4096, 16384};
inline constexpr std::string_view kBase = "base of the digits: more messages a round, fewer rounds";
inline constexpr ParameterRange kRadix = {"radix", 2, kMost, 2, kBase, {}, {kTriedRadices}};
// Not tried: it is of another exchange than the standard one.
inline constexpr ParameterRange kRadixOfExchange = {"radix", 2, kMost, 2, kBase};
inline constexpr TriedValues kTriedCuts = {kTriedPieces, TriedUpTo::block};
inline constexpr ParameterRange kPiece = {
    "piece", 64, kMost, 65536, "bytes of a block that move at a time, as far as memory allows", {}, kTriedCuts};
inline constexpr ParameterRange kPlace = {"piece", 64, kMost, 16384,
                                          "larger blocks, and those without room, go straight to their ranks"};
// The strides of Namugwanya et al.
inline constexpr std::int64_t kStrides[] = {5, 1, 10, 15};
inline constexpr ParameterRange kStride = {"stride", 1, kMost, 5, "pairs of messages in flight", {}, {}, kStrides};
inline constexpr std::int64_t kBoth[] = {0, 1};

inline constexpr ParameterRange kEager = {"eager", 0, kMost, 16384,
                                          "largest message, in bytes, that carries its sizes"};
inline constexpr ParameterRange kMonolithic = {
    "monolithic", 0, 1, 0, "1: one working buffer, of the largest block for each that waits on its way"};

inline constexpr std::string_view kTunaExchanges[] = {"coalesced", "staggered"};
inline constexpr ParameterRange kTunaExchange = {
    "exchange", 0, 1, 0, "between nodes: all blocks for a rank in one message, or each by itself", kTunaExchanges};
inline constexpr ParameterRange kBurst = {"burst", 1, kMost, plan::standard_away_steps,
                                          "messages between nodes that a rank sends before it waits for them"};

inline constexpr std::string_view kFan = "Fan et al., HPDC 2022, section 2.1";
inline constexpr std::string_view kFanSpreadOut = "Fan et al., HPDC 2022, section 1";
inline constexpr std::string_view kTuna = "Fan, Domke, Ba and Kumar, HPDC 2025 (hierarchical TuNA)";
inline constexpr std::string_view kNamugwanya = "Namugwanya et al., section 3.1";
inline constexpr std::string_view kThakur = "Thakur, Rabenseifner and Gropp, IJHPCA 2005";

inline constexpr std::string_view kLi = "Li, Zhang and Hoefler, sections 2.1 and 2.2";
inline constexpr std::string_view kLiNaive = "Li, Zhang and Hoefler, sections 2.1 and 4";
inline constexpr std::string_view kLiNuma = "Li, Zhang and Hoefler, section 2.4";
inline constexpr std::string_view kLiLeaders = "Li, Zhang and Hoefler, section 2.5; Kinkead et al., SC Workshops 2025";
inline constexpr std::string_view kHint = "Ramesh et al., HINT, sections V.A to V.C";
inline constexpr std::string_view kHintOther = "Ramesh et al., HINT, section V.F";
inline constexpr std::string_view kBuffers[] = {"kept", "fresh", "pageable"};
inline constexpr ParameterRange kHostBuffers = {
    "buffers", 0, 2, 0, "pinned and kept for later calls, pinned for each, or ordinary", kBuffers};
inline constexpr std::string_view kOfTheMpi[] = {"mpi"};
inline constexpr ParameterRange kInner = {
    "inner", 0, 0, 0, "or any other algorithm of the collective; its parameters follow", kOfTheMpi};
// What suits: plan/chunks.hpp.
inline constexpr ParameterRange kChunk = {
    "chunk", 4096, std::int64_t{16} << 20, 0, "pipeline chunk in bytes (per block between nodes); 0: automatic", {}, {},
    {},      true};
// Two chunks keep a bus busy, and four also while their takers are late.
inline constexpr ParameterRange kDepth = {"depth", 1, 16, 4,
                                          "chunks of a rank in flight; between nodes rounds, at least two"};
inline constexpr ParameterRange kLeader = {
    "leader", 0, 1, 0, "1: inside a node the first rank of each device submits the copies of all", {}, {}, kBoth};
inline constexpr ParameterRange kInnerOfRounds = {
    "inner", 0, 0, 0, "between nodes, or any other algorithm of the collective; its parameters follow", kOfTheMpi};
inline constexpr std::string_view kRests[] = {"row", "column", "morton"};
inline constexpr ParameterRange kRest = {"rest", 0, 2, 0, "order of the rest of the square", kRests};
// The values are those of plan::Rows.
inline constexpr std::string_view kRowNames[] = {"auto", "send", "recv"};
inline constexpr ParameterRange kRows = {
    "rows", 0, 2, 0, "buffers that consecutive ranks share; auto: by NUMA domains", kRowNames};

inline constexpr ParameterRange kPorts = {"ports", 0, kMost, 1,
                                          "messages that may share a round if no block needs two of them; 0: any"};
inline constexpr ParameterRange kPack = {"pack", 0, kMost, 16384,
                                         "largest message, in bytes, that is packed; larger ones are sent as "
                                         "derived types"};
inline constexpr ParameterRange kShare = {"share", 0, 1, 1,
                                          "1: neighbours on the way keep a copy of the block; 0: each is sent its own"};
inline constexpr std::string_view kTraffBetter = "Träff et al., isomorphic collectives, section 5";

inline constexpr Needs kCombining = {.contiguous = true, .isomorphic = true, .equal_sizes = true};
inline constexpr Needs kReached = {.load_store = true};
inline constexpr Needs kPacked = {.contiguous = true};
inline constexpr Needs kTyped = {.contiguous = true, .derived_types = true};

// Messages among all ranks, for all-to-alls and then for allgathers.
const std::vector<Algorithm>& message_schedules();

// ---- Algorithms around those that fit (registry_around.cpp) ----

// Blocks of `collectives` padded to the largest.
std::vector<Algorithm> all_padded(const std::vector<Collective>& collectives);
// How many ranks of a node lead, and by which algorithm they exchange.
Algorithm through_leaders(Algorithm row);
// The order of the copies inside a node, by which algorithm the ranks exchange with those of other nodes, and when.
Algorithm node_then_network(const std::vector<Collective>& collectives, plan::Build build);

}  // namespace quadrille::choose
