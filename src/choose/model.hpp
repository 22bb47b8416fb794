// Choosing by the cost model, where nothing was measured for the case itself.
//
// The model is that of Fan et al., HPDC 2022, section 3.3, for any radix, with what it leaves out: copies,
// waiting, and the agreement on the largest block. Its constants are fitted on the machine by
// `quadrille tune --model`; the MPI's own all-to-all has constants of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>

#include "choose/registry.hpp"
#include "plan/cost.hpp"

namespace quadrille::choose {

// Constants of the model for a kind of machine. Plain: it is broadcast as it is.
// What it says of algorithms on nodes of several ranks: model_costs.hpp.
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

}  // namespace quadrille::choose
