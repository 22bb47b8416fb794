// The registry: one table of all algorithms. From an entry come the dispatch, `quadrille list`,
// the documentation, the test matrix and the tuner's search space.
//
// To add an algorithm: one file in plan/ with a function of type plan::Build, plan::BuildNeighbors or
// plan::BuildEdges, and one entry here (registry.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "choose/engines.hpp"
#include "collective/collective.hpp"
#include "plan/problem.hpp"

namespace quadrille::choose {

// "alltoall, alltoallv, ..."; of those that `wanted` takes.
std::string collective_names(bool (*wanted)(Collective) = [](Collective) { return true; });
// False when `name` is not a collective.
bool collective_from_name(std::string_view name, Collective& collective);

// What an algorithm needs; the chooser and the force options respect it.
struct Needs {
  bool one_node = false;       // all ranks share a node
  bool contiguous = false;     // moves bytes: other datatypes are packed around it
  bool derived_types = false;  // sends scattered blocks with MPI derived datatypes
  bool load_store = false;     // every rank reaches all buffers of all ranks of its node by load and store
  bool isomorphic = false;     // all ranks know each other's neighbours: a Cartesian or isomorphic communicator
  bool equal_sizes = false;    // block i of the neighbours has one size, known to all ranks
  bool device_mpi = false;     // the MPI takes pointers to a device's memory
  bool operator==(const Needs&) const = default;
};

// Which values of a parameter are worth measuring beside the standard one, as far as they make a difference.
enum class TriedUpTo : std::uint8_t {
  ranks,            // with fewer ranks than that they do not
  ranks_of_a_node,  // at most as many as ranks on the fullest node; and that number
  block,            // bytes in which blocks are cut: for larger blocks alone. The first calls do not try them
};
struct TriedValues {
  std::span<const std::int64_t> values = {};
  TriedUpTo up_to = TriedUpTo::ranks;
};

struct ParameterRange {
  std::string_view name;
  std::int64_t least, most, standard;
  std::string_view meaning;
  // Where values have names: that of value v is names[v], and is what users write.
  std::span<const std::string_view> names = {};
  TriedValues tried = {};
  // Values that are worth measuring where data are in a device's memory; none: the standard one.
  std::span<const std::int64_t> on_devices = {};
  bool automatic = false;           // it may also be 0, for a value that suits the call
  bool is_told_if_standard = true;  // else a choice is written without it where it has its standard value
  // [value] Where the names are those of algorithms that this one takes for its exchange: what builds these.
  std::span<const plan::Build> builds = {};
};

// A value as users write it.
std::string value_text(const ParameterRange& range, std::int64_t value);
// And as a plan takes it.
plan::Parameter parameter_of(const ParameterRange& range, std::int64_t value);

// What the first calls of a program go by (choose/select.hpp).
struct TrialFacts {
  std::size_t up_to = SIZE_MAX;     // larger blocks are not worth trying it
  bool is_tried = true;             // else a similar one is, or the MPI's own
  bool is_tried_on_devices = true;  // likewise where messages go straight from and to a device's memory
};

struct Algorithm {
  std::string name = {};  // "zero-rotation-bruck"
  std::vector<Collective> collectives = {};
  Engine engine = Engine::schedule;
  Needs needs = {};
  std::vector<ParameterRange> parameters = {};
  std::string line = {};         // one-line description
  std::string_view source = {};  // paper and section
  // Of these the one that the plans of its engine come from (choose/engines.hpp), or, of some engines, none.
  plan::Build build = nullptr;
  plan::BuildNeighbors build_neighbors = nullptr;
  plan::BuildEdges build_edges = nullptr;
  TrialFacts trial = {};
  // Its messages go straight from and to a device's memory, if the MPI takes that: Namugwanya et al., section 3,
  // CUDA-aware. Otherwise the data are copied to the host before and back after, unless it sees to them itself.
  bool from_device = false;
  // It is given the buffers as they are, and is a way of its own for them whatever the MPI takes.
  bool sees_to_devices = false;
};

// May another algorithm have it exchange what is on the host?
inline bool is_of_the_host(const Algorithm& algorithm) {
  return algorithm.engine != Engine::staged && !algorithm.sees_to_devices && !algorithm.needs.device_mpi;
}

// Are their plans of the same parameters the same? padded-NAME has those of NAME.
inline bool have_one_plan(const Algorithm& one, const Algorithm& other) {
  return one.build == other.build && one.build_neighbors == other.build_neighbors &&
         one.build_edges == other.build_edges;
}

// The MPI's own collective.
inline bool is_of_the_mpi(const Algorithm& algorithm) { return algorithm.engine == Engine::mpi; }

// All algorithms, in the order in which `quadrille list` prints them.
const std::vector<Algorithm>& algorithms();

bool serves(const Algorithm& algorithm, Collective collective);

// On one node of so many ranks some do what another does: what follows the copies, or is beside a square of a power of
// two, is not there.
bool is_another_on_one_node(const Algorithm& algorithm, int ranks);

// The algorithm called `name` for `collective`, or null.
const Algorithm* find(Collective collective, std::string_view name);

// All parameters of an algorithm, with their standard values.
plan::Parameters standard_parameters(const Algorithm& algorithm);

// Memory of the host over which data of a device's memory are brought.
enum class HostBuffers : std::uint8_t {
  as_suits,  // where they must be brought at all; then kept
  kept,      // pinned, and kept for later calls: Namugwanya et al., section 3.2
  fresh,     // pinned, for each call
  pageable,  // ordinary memory, for each call
};

// How the exchange by pairs (Engine::exchange) takes large blocks from other ranks of the node: its parameter `way`.
enum class Way : std::uint8_t {
  measured,  // by the switch points of the node (choose/tuning.hpp)
  rings,     // through a ring of shared memory: copied twice, and in the receiver's caches afterwards
  direct,    // straight from where they are: copied once
};

// An algorithm with values for its parameters.
struct Choice {
  const Algorithm* algorithm = nullptr;
  plan::Parameters parameters;  // complete: every parameter of the entry has a value, in its order
  // Of copy-to-cpu, whose inner algorithm this is: over which memory. Else as suits.
  HostBuffers buffers = HostBuffers::as_suits;
  // Of pipelined-copy-to-cpu: what exchanges the data of a round between nodes. Null: the MPI's own collective.
  std::shared_ptr<const Choice> inner = nullptr;
};

// The algorithm among all ranks that a choice takes for its exchange: pipelined-copy-to-cpu for the data of a round
// between nodes, others by their parameter `exchange`. No algorithm: it takes none that serves `collective`.
Choice inner_of(Collective collective, const Choice& choice);

// "zero-rotation-bruck:radix=4", "copy-to-cpu:buffers=kept,inner=waitany-stride,stride=5". The inverse of parse_choice.
std::string to_string(const Choice& choice);

// Reads "name" or "name:parameter=value,parameter=value" for `collective`. Missing parameters get
// their standard value. Returns an empty string and fills `choice`, or one line that says what is
// wrong and what would be right (it names the known algorithms, or the parameter's range).
std::string parse_choice(Collective collective, std::string_view text, Choice& choice);

// The algorithm of this name, with the standard values of its parameters. The result has no algorithm if `collective`
// has none of this name.
Choice plain(Collective collective, std::string_view name);

// What the user forced, by collective; a choice without algorithm means: not forced.
struct Forced {
  Choice by_collective[collective_count];
  const Choice& of(Collective collective) const { return by_collective[static_cast<std::size_t>(collective)]; }
};

// Reads "alltoall=pairwise;allgather=bruck:radix=2". Same return rule as parse_choice.
std::string parse_forced(std::string_view text, Forced& forced);

}  // namespace quadrille::choose
