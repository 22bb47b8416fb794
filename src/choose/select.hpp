// Which algorithm serves a call.
//
// A choice may read only what all ranks know to be equal: that is what GlobalKey holds. Facts of one
// rank (addresses, its counts, its datatypes) are deliberately not in it, so that ranks cannot choose
// differently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "choose/model.hpp"
#include "choose/model_costs.hpp"
#include "choose/registry.hpp"
#include "choose/tuning_algorithms.hpp"
#include "text/reason.hpp"

namespace quadrille::choose {

struct GlobalKey {
  Collective collective;
  int ranks;
  int nodes;
  // Bytes of the largest block where all ranks know it (is_sized()); 0 where ranks know different counts.
  std::size_t bytes;
  bool inbox;                              // the ranks share a node and have inboxes
  std::size_t inbox_limit;                 // largest block that should go through them
  std::size_t slot_limit;                  // largest block that can
  bool load_store = false;                 // every rank reaches the buffers of all ranks of its node by load and store
  bool direct = false;                     // large blocks can be exchanged inside the node, too
  const Model* model = nullptr;            // of the network, the same on all ranks; null: none
  bool tries = false;                      // what nothing is known of may be tried (choose/trial.hpp)
  bool tries_between = false;              // likewise between nodes
  int ranks_on_node = 1;                   // of the fullest node
  const SizedChoices* measured = nullptr;  // what was best at which size, the same on all ranks; null: not measured
  bool mpi_collects_devices = false;       // its collectives take a device's memory, on all ranks
  bool mpi_sends_devices = false;          // its messages do
  Costs* costs = nullptr;                  // of the collective on the map of all ranks, for `model`; null: none
  const DeviceModel* device_model = nullptr;  // of calls with a device's memory, beside `model`; null: none
};

struct Selection {
  Choice choice;
  Why why;  // for QUADRILLE_EXPLAIN
  // The ranks agree on the load of each call, and the model chooses (choose/model.hpp); `choice` is the MPI's at first.
  bool by_load = false;
  // To be tried against `choice` by the first calls (choose/trial.hpp). They stay when a trial has decided.
  std::vector<Choice> rivals = {};
};

// None if this algorithm can serve the call, else why not.
Reason why_not(const Algorithm& algorithm, const GlobalKey& key);

// The same of a choice with its parameters, and of what it has exchange its data; with numbers and names.
Why why_not(const Choice& choice, const GlobalKey& key);
// An algorithm that is wanted by `reason`, one of those "cannot", and why not.
Why cannot(Reason reason, const Algorithm& algorithm, Why obstacle);

// What the model of `key`, which must have one, likes best for such a load of what can serve.
Priced fastest(const GlobalKey& key, const Load& load);

// By what is forced, then by what was measured, then by the model, then by the first of the default rules (select.cpp)
// whose algorithm can serve it. `forced` may be without algorithm. The result always has one.
Selection select(const GlobalKey& key, const Choice& forced);

// Where some ranks' buffers are in a device's memory: the MPI's own collective, if that takes it, else the way over the
// host. Between nodes the model for such memory, if there is one and all ranks know the size, names what is faster,
// which counts where nothing may be tried, and else is tried first. The other of the two is tried, and so are the
// algorithms whose messages go straight from and to the device, if the MPI takes them, and, on one node, what copies
// between the ranks' memory. `host` is what serves such calls on the host; `measured` what was measured to be best for
// such calls, which counts if it can serve (where all ranks know the size: the trials see to the others). May be null.
Selection select_for_devices(const GlobalKey& key, const Choice& host, const SizedChoices* measured = nullptr);

}  // namespace quadrille::choose
