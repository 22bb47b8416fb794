// What the cost model says of all algorithms of a collective on a map of nodes, in terms of plan/placed_cost.hpp.
//
// Idea    What an algorithm does is counted from its schedules, once for all sizes of blocks; a model and a load make
//         times of that. There is nothing here for an algorithm, only for engines: those that run no schedule, or do
//         more than it says. Values of parameters are found by trying the likely ones of their ranges, one parameter
//         after the other, until nothing gets better.
//
// The MPI's own is not known: it is taken for the best of some of ours, with constants of its own. So the model
// promises little beside it.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "choose/model.hpp"
#include "plan/placed_cost.hpp"

namespace quadrille::choose {

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
  const plan::NodeMap& map() const { return map_; }
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
