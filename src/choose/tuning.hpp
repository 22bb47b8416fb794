// Tuning tables: switch points that were measured on a machine (`quadrille tune`), in a JSON file.
//
// {
//   "quadrille_tuning": 2,
//   "machine": {"processor": "AMD EPYC 9654", "cores": 96},
//   "quiet": {"quiet": true, "p99_over_median": 1.02, "load": 0, "ranks_per_processor": 0.5},
//   "entries": [
//     {"of": "inbox", "collective": "alltoall", "ranks": 8, "crowded": false,
//      "choices": [{"up_to": 4096, "take": "inbox"}]},
//     {"of": "algorithm", "collective": "alltoall", "ranks": 8, "ranks_on_node": 8, "nodes": 1, "crowded": false,
//      "choices": [{"up_to": 512, "take": "default"}, {"up_to": 65536, "take": "hint-hilbert"}]}
//   ]
// }
//
// Each entry says what it is of, in which case it holds, and what serves blocks of which sizes; one of a model has
// constants instead. docs/tuning.md has them all. A table is refused as a whole if anything in it is wrong: nothing is
// guessed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "choose/model.hpp"
#include "choose/registry.hpp"
#include "choose/trial.hpp"

namespace quadrille::choose {

// Where one way inside a node becomes better than another. Plain: it is broadcast as it is.
struct SwitchPoints {
  // Largest block in bytes that is better sent through inboxes than copied once, by collective.
  std::array<std::size_t, dense_collective_count> inbox_limit{};
  // Block in bytes from which on a copy by the kernel (CMA) is better than a ring.
  std::size_t cma_from = 0;
  // Bytes that a rank copies in a call from which on it streams; 0: each rank finds out by itself.
  std::size_t stream_from = 0;
  bool operator==(const SwitchPoints&) const = default;
};

// Without a table. Where each rank has a core, a block above 1 KiB that lies in a shared heap is faster
// copied once, with another wait at the end, than twice. With more ranks than cores a wait costs as much as
// copying some KiB; and a ring keeps both sides busy, while the kernel's copy has one core at a time.
SwitchPoints default_switch_points(bool crowded = false);

// ---- Which algorithm was measured to be best at which block size (`quadrille tune --algorithms`) ----
//
// The offline choice of Ramesh et al., HINT, section V.D, for the collectives whose block size all ranks know.

// For blocks of at most `up_to` bytes, and more than those of the choice before.
struct SizedChoice {
  std::size_t up_to = 0;
  Choice choice;         // without algorithm: the default way, which the switch points and the model choose
  bool measured = true;  // false: between what was measured, as above the largest
};
// Ascending. Larger blocks were not measured.
using SizedChoices = std::vector<SizedChoice>;

// Of collectives whose sizes no rank knows alone, the bytes are those that the busiest rank sends and receives.
// beside_ranks() of this and other entries is the case for which the entry holds, without the number of ranks.
struct AlgorithmEntry {
  Collective collective{};  // a dense one
  int ranks = 0;
  int ranks_on_node = 0;  // of the fullest node
  int nodes = 1;
  bool crowded = false;
  SizedChoices choices;
  bool on_devices = false;  // of calls in which some ranks' data are in a device's memory

  // Where all ranks share a node their number says everything.
  auto beside_ranks() const {
    return std::tuple(collective, crowded, nodes == 1, nodes == 1 ? 0 : ranks_on_node, on_devices);
  }
};

// What decides whether combining pays, as the paper's cut-off has it: neighbours that are other processes (s), and of
// the algorithm with the fewest messages these (D) and the blocks it sends (V).
struct NeighborhoodKind {
  std::int64_t neighbors = 0;
  std::int64_t rounds = 0;
  std::int64_t blocks = 0;
  bool operator==(const NeighborhoodKind&) const = default;
};

// Of neighbours between nodes. Plain: it is broadcast as it is.
struct NeighborEntry {
  Collective collective{};
  int ranks = 0;
  int ranks_on_node = 1;  // of the fullest node
  bool crowded = false;
  NeighborhoodKind kind;
  std::size_t largest_combined = 0;  // bytes of a block

  auto beside_ranks() const { return std::tuple(collective, crowded, ranks_on_node, kind); }
  bool operator==(const NeighborEntry&) const = default;
};

// Of neighbours inside a node: orders of copies by load and store, or the default exchange.
struct InsideEntry {
  Collective collective{};
  int ranks = 0;
  bool crowded = false;
  NeighborhoodKind kind;
  SizedChoices choices;

  auto beside_ranks() const { return std::tuple(collective, crowded, kind); }
};
// The orders that may replace the default exchange for this collective, in the order of the registry.
std::vector<const Algorithm*> inside_orders(Collective collective);

// At most so many choices in an entry, and no block is larger.
inline constexpr std::size_t most_sized_choices = 64;
inline constexpr std::uint64_t most_bytes_in_table = std::uint64_t{1} << 40;

// What was measured for blocks of `bytes`; null: nothing was.
const SizedChoice* choice_for(const SizedChoices& choices, std::size_t bytes);

// Up to which size, beginning with the smallest, blocks go the default way or through inboxes. SIZE_MAX if all do.
std::size_t default_up_to(const SizedChoices& choices);

// Blocks of at most so many bytes go the default way, whatever was measured.
void keep_default(SizedChoices& choices, std::size_t up_to);

// `choice` was the best for blocks of `from` to `to` bytes, from 1 on. What was known of others stays. False, and
// nothing is changed, if there would be too many choices.
bool put_choice(SizedChoices& choices, std::size_t from, std::size_t to, const Choice& choice);

// "default" or "zero-rotation-bruck:radix=4"; "unknown" of what was not measured.
std::string word_of(const SizedChoice& one);
// The inverse: fills all but `up_to`. Returns an empty string, or what is wrong.
std::string read_word(Collective collective, std::string_view word, SizedChoice& one);

// By dense collective. If nothing was measured of allgatherv it goes by allgather, with its largest block.
using ChoicesByCollective = std::array<SizedChoices, dense_collective_count>;

// What was measured, by where the data are; and of neighbours inside a node.
struct MeasuredChoices {
  ChoicesByCollective on_host, on_devices;
  std::vector<InsideEntry> inside = {};
};

// As text that one rank can send to others. The inverse takes what it does not know for the default way, and does not
// have the ranks of entries.
std::string text_of(const MeasuredChoices& choices);
MeasuredChoices choices_from(std::string_view text);

// ---- The table ----

struct TuningEntry {
  int ranks = 0;
  bool crowded = false;
  SwitchPoints points;

  auto beside_ranks() const { return crowded; }
  bool operator==(const TuningEntry&) const = default;
};

struct ModelEntry {
  int ranks = 0;
  int ranks_on_node = 1;  // of the fullest node
  bool crowded = false;
  Model model;              // with `on_devices` of messages from and to such memory
  bool on_devices = false;  // of calls whose data are in a device's memory
  Bus bus = {};             // of these

  auto beside_ranks() const { return std::tuple(ranks_on_node, crowded, on_devices); }
  bool operator==(const ModelEntry&) const = default;
};

struct Machine {
  std::string processor;
  int cores = 0;
  bool operator==(const Machine&) const = default;
};

// Whether a machine was quiet enough to measure on. Kept with what was measured; nothing is chosen by it.
struct Quietness {
  bool quiet = true;
  double p99_over_median = 1;      // of a short fixed loop, on the most disturbed rank
  double load = 0;                 // tasks that ran beside the ranks, on the busiest machine
  double ranks_per_processor = 0;  // on the fullest machine; 0: no ranks took part
  bool operator==(const Quietness&) const = default;
};

struct TuningTable {
  Machine machine;
  std::vector<TuningEntry> entries;
  std::vector<ModelEntry> models = {};
  std::vector<NeighborEntry> neighbors = {};
  std::vector<AlgorithmEntry> algorithms = {};
  std::vector<InsideEntry> inside = {};     // in the file those of "order"
  std::optional<Quietness> quietness = {};  // of the machine, when `quadrille tune` last added something
};

// Reads a table. Returns an empty string, or "line 7: <what is wrong>"; then `table` is as it was.
std::string parse_tuning(const std::string& text, TuningTable& table);
std::string tuning_text(const TuningTable& table);

// Of the entries that are for the case of `wanted`, but for the number of ranks, the one whose number is nearest by
// ratio, of two the one with fewer; null if there is none.
template <class Entry>
const Entry* nearest(const std::vector<Entry>& entries, const Entry& wanted) {
  const int ranks = wanted.ranks;
  const Entry* found = nullptr;
  double least = 0;
  for (const Entry& e : entries) {
    if (e.beside_ranks() != wanted.beside_ranks()) continue;
    const double distance = static_cast<double>(std::max(e.ranks, ranks)) / std::min(e.ranks, ranks);
    if (found == nullptr || distance < least || (distance == least && e.ranks < found->ranks)) {
      found = &e;
      least = distance;
    }
  }
  return found;
}

// Of the entries for ranks that are so many on the fullest node, whatever else their case is, the nearest of each case.
template <class Entry>
std::vector<Entry> nearest_of_each(const std::vector<Entry>& entries, int ranks, int ranks_on_node, bool crowded) {
  std::vector<Entry> found;
  for (const Entry& one : entries) {
    if (one.crowded != crowded) continue;
    if constexpr (requires { one.ranks_on_node; }) {
      if (one.ranks_on_node != ranks_on_node) continue;
    }
    Entry wanted = one;
    wanted.ranks = ranks;
    if (nearest(entries, wanted) == &one) found.push_back(one);
  }
  return found;
}

// What was measured of `collective` on such a communicator: one on as many nodes, as far as one and several go; of
// several, with as many ranks on the fullest; of those with half to twice as many ranks the nearest by ratio.
const AlgorithmEntry* nearest_algorithms(const TuningTable& table, Collective collective, const plan::NodeMap& nodes,
                                         bool crowded, bool on_devices = false);
// Adds what trials found: to the entry of the same case, or as one of its own.
void put_verdicts(TuningTable& table, const Verdicts& verdicts);
// Adds all that is in `found`.
void put_all(TuningTable& table, const TuningTable& found);

// The one of the same case; null if there is none.
template <class Entry>
Entry* same_case(std::vector<Entry>& entries, const Entry& entry) {
  const auto is_same = [&](const Entry& e) {
    return e.ranks == entry.ranks && e.beside_ranks() == entry.beside_ranks();
  };
  const auto known = std::find_if(entries.begin(), entries.end(), is_same);
  return known != entries.end() ? &*known : nullptr;
}
// Adds an entry to a table's entries of its kind, or replaces the one of the same case.
template <class Entry>
void put(std::vector<Entry>& entries, const Entry& entry) {
  if (Entry* const known = same_case(entries, entry)) {
    *known = entry;
  } else {
    entries.push_back(entry);
  }
}

// ---- The file ----

// $QUADRILLE_TUNING, else quadrille/tuning.json in $XDG_CONFIG_HOME, else in ~/.config. Empty if there is
// no such place, or for QUADRILLE_TUNING=none.
std::string tuning_path(std::string (*get)(const char*));

enum class FileState { absent, good, bad };
// Reads the table of a file; `why` says what is wrong with a bad one.
FileState read_tuning_file(const std::string& path, TuningTable& table, std::string& why);
// Writes the file whole or not at all; makes its folder. Returns an empty string, or what went wrong.
std::string write_tuning_file(const std::string& path, const TuningTable& table);

// Adds what was found on `machine` to the table of a file, or makes one. Other programs may do so at the same time:
// each waits for the one before, by a lock on "<path>.lock", for some seconds at most. Returns an empty string, or why
// the file is as it was.
std::string update_tuning_file(const std::string& path, const Machine& machine,
                               const std::function<void(TuningTable&)>& add);

}  // namespace quadrille::choose
