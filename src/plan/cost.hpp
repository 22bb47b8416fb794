// What a schedule costs: counts, and the constants by which the model of the papers makes time of them; where several
// ranks share a node, counted from the schedules of all its ranks, or of some of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

#include "plan/leaders.hpp"
#include "plan/problem.hpp"
#include "plan/schedule.hpp"

namespace quadrille::plan {

// Counts of one rank.
struct Counts {
  std::uint64_t rounds = 0;    // with messages; a windowed round counts ceil(pairs / window)
  std::uint64_t messages = 0;  // sent
  std::uint64_t blocks_sent = 0;
  std::uint64_t blocks_copied = 0;  // inside the node
  std::uint64_t scratch_blocks = 0;
  std::uint64_t size_messages = 0;     // sent beside `messages`, if sizes travel
  std::uint64_t sizes_sent = 0;        // of blocks
  std::uint64_t derived_messages = 0;  // sent or received, not one run of consecutive blocks:
                                       // these need a derived datatype
  friend bool operator==(const Counts&, const Counts&) = default;
};

Counts count(const Schedule& schedule);

// A machine as the cost model sees it, in seconds: alpha and beta as in Fan et al., HPDC 2022, section 3.3;
// the others are what that model leaves out. Those from node_message on are for nodes of several ranks.
struct Machine {
  double alpha;             // a message between nodes, for the rank that sends it
  double beta;              // a byte between nodes
  double gamma;             // local copy of a byte
  double delta = 0;         // local copy of a block, beside its bytes
  double rho = 0;           // waiting for the peers of a round
  double node_message = 0;  // a message between nodes, for the adapter that the ranks of a node share
  double node_byte = 0;     // likewise a byte
  double near_message = 0;  // a message inside a node
  double near_byte = 0;     // a byte in one
  double shared_byte = 0;   // a byte copied from or to memory that a node's ranks share
  double shared_block = 0;  // likewise a block, beside its bytes
  double fence = 0;         // all ranks of a node wait for each other
  double flight = 0;        // a message, for each doubling of those in flight with it
  double handshake = 0;     // a round with a message that the MPI does not send before the receiver has answered
  friend bool operator==(const Machine&, const Machine&) = default;
};

// Where no message is told from another, nor one copy from another: those inside a node cost what the others do.
Machine one_class(Machine machine);

// The same machine for nodes of `per_node` ranks that all send at once, without the terms of several ranks but
// `flight`: of a message and a byte a rank's share of the adapter is part.
Machine flat(const Machine& machine, int per_node);

// How often 1 is doubled to make `number`, which is 1 at least: the logarithm, with straight lines between powers of
// two. Not of the C library, whose last bits differ between processors: ranks that choose by them must have the same.
double doublings(double number);

// Blocks below this size, in bytes, are faster combined (D rounds, V blocks) than sent one by one
// to s neighbours in one round: m < (alpha / beta) (s - D) / (V - s), and if the machine counts what
// waiting in a round costs, m < (alpha (s - D) - rho (D - 1)) / (beta (V - s)). Infinite if
// combining sends no more blocks or a byte costs nothing, 0 if it saves nothing.
double cut_off(const Machine& machine, std::int64_t s, std::int64_t D, std::int64_t V);

// ---- Where several ranks share a node ----
//
// Idea    A round takes what its busiest rank takes, and what the busiest node takes for the bytes and messages that
//         all its ranks send to other nodes, which share one adapter. Of each kind of work (Term) the amounts of the
//         rounds are added up; the time of a call is the sum of all amounts, each times a constant of the machine.
//         Where ranks share processors, work of processors (messages, copies) is at least what the node's ranks have
//         together, divided by its processors.
// Source  The model of Fan et al. (HPDC 2022, section 3.3), with what several ranks a node add; the shared adapter as
//         in the max-rate model of Gropp, Olson and Samfass (EuroMPI 2016), as a sum in place of a maximum, so that it
//         can be fitted by linear least squares.
// Cost    A schedule for each rank that is looked at. With many ranks some stand for all (sample_ranks): ranks of a
//         node at equal distances, on nodes at equal distances. The first and the last rank of a node are among them
//         and stand for themselves: often they alone have neighbours on other nodes.
//
// Amounts depend on the bytes of a block in a simple way, so they are counted once for all sizes.

enum class Term : std::uint8_t {
  message,
  byte,
  node_message,
  node_byte,
  near_message,
  near_byte,
  copied_byte,
  copied_block,
  shared_byte,
  shared_block,
  round,
  fence,
  flight,
  handshake,
};
inline constexpr std::size_t terms = static_cast<std::size_t>(Term::handshake) + 1;

struct TermRow {
  Term term;
  std::string_view name;  // in tuning tables
  double Machine::*constant;
  std::string_view what;  // is counted, in words
};
// [term]
extern const std::array<TermRow, terms> term_rows;

// [term] how often its constant counts.
using Amounts = std::array<double, terms>;
constexpr double& of(Amounts& amounts, Term term) { return amounts[static_cast<std::size_t>(term)]; }
constexpr double of(const Amounts& amounts, Term term) { return amounts[static_cast<std::size_t>(term)]; }

void add(Amounts& sum, const Amounts& more, double weight = 1);
double time(const Amounts& amounts, const Machine& machine);

struct PlacedCost {
  Amounts fixed{};     // whatever the size of blocks
  Amounts per_byte{};  // for each byte of a block
  // [blocks of the data] Messages of sizes that travel before their data, and not with them, where these are more than
  // `eager` bytes.
  std::map<double, Amounts> told;
  double eager = 0;
  // [blocks] Rounds whose largest message between nodes has so many. Of longer ones than the MPI sends at once the data
  // wait until the receiver has answered.
  std::map<double, double> longest;
  double piece = 0;  // bytes of a block that move at a time: all of it again for each piece; 0: all of them
};

// For blocks of `bytes` bytes on the busiest rank, of `node_bytes` in the mean of its node, the largest of `largest`.
struct BlockBytes {
  double rank, node, largest;
};
// The MPI sends messages of up to `at_once` bytes without asking the receiver.
Amounts amounts(const PlacedCost& cost, const BlockBytes& bytes,
                double at_once = std::numeric_limits<double>::infinity());

// ---- Whose schedules are looked at ----

struct SampledRank {
  int rank;
  double weight;  // of how many ranks of its node it stands for
};
using SampledNode = std::vector<SampledRank>;

// At most so many nodes, and ranks of each.
struct SampleLimits {
  int nodes = 4, ranks = 8;
};
std::vector<SampledNode> sample_ranks(const NodeMap& nodes, SampleLimits limits);

// ---- Counting ----

// What a rank does in a round, in blocks and messages.
struct RoundWork {
  double away_out = 0, away_in = 0, near_out = 0, near_in = 0;  // messages to other nodes, and inside its own
  double away_blocks_out = 0, away_blocks_in = 0, near_blocks_out = 0, near_blocks_in = 0;
  double away_sizes = 0, near_sizes = 0;  // of blocks, sent beside them
  double most_sent = 0;                   // blocks of the largest message sent
  double longest = 0;                     // blocks of the largest message to or from another node
  double copied = 0, shared = 0;          // blocks copied in private and in shared memory
  double shared_data = 0;                 // of those in shared memory, how many blocks' bytes
  double rounds = 0, flight = 0, fences = 0;
};
// [fences passed before][round]
using RankWork = std::vector<std::vector<RoundWork>>;

// A block of a message that is not one run counts as `scattered` copies, on each side: it is packed and unpacked.
RankWork work_of(const Schedule& schedule, int me, const NodeMap& nodes, double scattered = 1);
// Through leaders: as the engine goes, which packs in shared memory, exchanges, and unpacks.
RankWork work_of(const LeadersPlan& plan, const NodeMap& nodes);

// Adds up what ranks do, one node after the other.
class CostSum {
 public:
  // `processors` of a node; 0: as many as ranks.
  CostSum(Sizes sizes, double processors) : sizes_(sizes), processors_(processors) {}
  void add(const RankWork& work, double weight);
  void end_node(int ranks_on_node);
  PlacedCost take() const;

 private:
  struct Round {
    RoundWork most;                        // of a rank of this node
    RoundWork sum;                         // of the ranks of this node
    Amounts fixed{}, per_byte{}, alone{};  // of the busiest node, and ranks
    double most_told = 0, longest = 0;
  };
  void close(Round& round, int ranks_on_node) const;

  Sizes sizes_;
  double processors_;
  std::vector<std::vector<Round>> rounds_;
};

}  // namespace quadrille::plan
