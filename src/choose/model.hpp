// Choosing by the cost model, where nothing was measured for the case itself.
//
// The model is that of Fan et al., HPDC 2022, section 3.3, for any radix, with what it leaves out: copies,
// waiting, and the agreement on the largest block. Its constants are fitted on the machine by
// `quadrille tune --model`; the MPI's own all-to-all has constants of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "choose/registry.hpp"
#include "plan/cost.hpp"

namespace quadrille::choose {

// Constants of the model for a kind of machine. Plain: it is broadcast as it is.
struct Model {
  plan::Machine quadrille{};
  plan::Machine mpi{};    // of the MPI's own, as if it were one of ours
  double processors = 0;  // of a node; 0: as many as it has ranks
  double eager = 0;  // bytes of a message that the MPI sends without asking the receiver; 0: not known, all of them
  bool operator==(const Model&) const = default;
};
// The way of a device's data to the host and back, in seconds.
struct Bus {
  double byte = 0;  // that a rank moves over it, while all ranks do
  double call = 0;  // for both ways, however little it is
  bool operator==(const Bus&) const = default;
};
// Of calls whose data are in a device's memory. Plain likewise.
struct DeviceModel {
  Model straight;  // of what the MPI moves from and to such memory itself; all zero: nothing is known of that
  Bus bus;         // of what goes over the host, whose own model says the rest
  bool operator==(const DeviceModel&) const = default;
};
inline double sent_at_once(const Model& model) {
  return model.eager > 0 ? model.eager : std::numeric_limits<double>::infinity();
}

// The blocks of a call, in bytes.
struct Load {
  double mean = 0;     // of the rank that sends most
  double largest = 0;  // of all
  double node = -1;    // the mean of the node that sends most; negative: as `mean`
};
// That of a call whose blocks all have `bytes` bytes.
inline Load even_load(std::size_t bytes) { return {static_cast<double>(bytes), static_cast<double>(bytes)}; }

// Seconds of agreeing on the load, whatever the nodes.
double agreement(int ranks, const Model& model);

// Anything else must be faster than the MPI's own by so much: the model is not exact.
inline constexpr double model_margin = 0.9;

// Base of digits that are worth trying: small ones, and those that make 2, 3 or 4 rounds.
std::set<std::int64_t> radices(int ranks);

// ---- What the model says of all algorithms of a collective on a map of nodes, in terms of plan/cost.hpp ----
//
// Idea    What an algorithm does is counted from its schedules, once for all sizes of blocks; a model and a load make
//         times of that. There is nothing here for an algorithm, only for engines: those that run no schedule, or do
//         more than it says. Values of parameters are found by trying the likely ones of their ranges, one parameter
//         after the other, until nothing gets better.
//
// The MPI's own is not known: it is taken for the best of some of ours, with constants of its own. So the model
// promises little beside it.

// How the schedules of a map are looked at.
struct CostsSetting {
  double processors = 0;  // of a node; 0: as many as ranks
  plan::SampleLimits limits = {};
  int away_steps = plan::standard_away_steps;
};

// Of one collective on one map; counted when asked for, and kept.
class Costs {
 public:
  Costs(Collective collective, plan::NodeMap map, const CostsSetting& setting);

  // Of a choice of an engine with plans.
  const plan::PlacedCost& of(const Choice& choice);
  // What the ranks of a node do to exchange blocks once through its memory.
  const plan::PlacedCost& inside() const { return inside_; }

  Collective collective() const { return collective_; }
  const plan::NodeMap& node_map() const { return map_; }
  int per_node() const { return per_node_; }  // ranks of the fullest node

 private:
  plan::PlacedCost count(const Choice& choice) const;

  Collective collective_;
  plan::NodeMap map_;
  CostsSetting setting_;
  int per_node_;
  std::vector<plan::SampledNode> sampled_;
  plan::PlacedCost inside_;
  std::map<std::string, plan::PlacedCost> known_;
};

// Limits by which all of a collective's algorithms are counted within a call without being noticed much.
plan::SampleLimits limits_within_a_call(int ranks);

// Why the model has no time for an algorithm; none if it has.
Reason why_no_cost(const Algorithm& algorithm);

// A choice with what its time is made of.
struct Priced {
  Choice choice;  // no algorithm: no way is known
  double seconds = std::numeric_limits<double>::infinity();
  plan::Amounts ours{};   // to be paid by the model's constants of ours
  plan::Amounts mpis{};   // likewise of the MPI's own
  std::string stands_in;  // of the MPI's own: for which of ours it is taken
};

Priced price(const Choice& choice, const Load& load, const Model& model, Costs& costs);

// With the parameters that the model likes best.
Priced best_of(const Algorithm& algorithm, const Load& load, const Model& model, Costs& costs);

// The fastest of those that `can_serve` takes. The MPI's own, if it is among them, stays unless another takes less than
// model_margin of its time.
Priced fastest(const Load& load, const Model& model, Costs& costs,
               const std::function<bool(const Algorithm&)>& can_serve);

// Is it worth while to agree on the loads of v and w calls: could anything but the MPI's own win, even if every call
// had to ask?
bool worth_agreeing(const Model& model, Costs& costs, const std::function<bool(const Algorithm&)>& can_serve);

}  // namespace quadrille::choose
