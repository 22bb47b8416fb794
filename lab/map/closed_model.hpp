// The cost model in closed forms: that of choose/model.hpp on nodes of one rank, for maps of many numbers of
// ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "choose/model.hpp"
#include "lab/map/closed_forms.hpp"

namespace quadrille::lab {

using choose::Choice;
using choose::Load;
using choose::Model;

struct Prediction {
  Choice choice;
  double seconds = 0;
};

inline Choice with_radix(Collective collective, std::string_view name, std::int64_t radix) {
  Choice choice = choose::plain(collective, name);
  for (plan::Parameter& parameter : choice.parameters) {
    if (parameter.name == "radix") parameter.value = radix;
  }
  return choice;
}

// Messages are taken to be of one length, and what is told alone for short.
inline double time(const Counts& counts, const Machine& machine, double block_bytes, const Model& model) {
  const auto messages = static_cast<double>(std::max<std::uint64_t>(counts.messages, 1));
  const bool wait = static_cast<double>(counts.blocks_sent) * block_bytes / messages > choose::sent_at_once(model);
  const double answers = wait ? machine.handshake * static_cast<double>(counts.rounds) : 0;
  return time(counts, machine, block_bytes) + answers;
}

inline double two_phase(const Choice& choice, int ranks, const Load& load, const Model& model) {
  const Machine& machine = model.quadrille;
  const std::int64_t radix = plan::value_of(choice.parameters, "radix", 2);
  const auto eager = static_cast<double>(plan::value_of(choice.parameters, "eager", 0));
  Counts counts = count_two_phase_bruck(ranks, radix);
  counts.size_messages = count_sizes_alone(ranks, radix, load.mean, eager);
  // Where sizes travel alone, the peers are waited for twice.
  const double again = counts.size_messages > 0 ? machine.rho * static_cast<double>(counts.rounds) : 0;
  return time(counts, machine, load.mean, model) + again;
}

// Seconds of `choice` on `ranks` ranks with a node each. Knows mpi, spread-out, zero-rotation-bruck, two-phase-bruck,
// sloav, padded-bruck and padded-alltoall; of others it returns infinity.
inline double predict(const Choice& choice, int ranks, const Load& load, const Model& model) {
  const std::string_view name = choice.algorithm->name;
  const std::int64_t radix = plan::value_of(choice.parameters, "radix", 2);
  const Machine& machine = model.quadrille;
  const Counts direct = count_spread_out(ranks);
  // Padding writes and reads each block once more.
  const double padding = 2.0 * ranks * (machine.delta + machine.gamma * load.mean) + choose::agreement(ranks, model);
  if (name == "mpi") return time(direct, model.mpi, load.mean, model);
  if (name == "spread-out") return time(direct, machine, load.mean, model);
  if (name == "two-phase-bruck") return two_phase(choice, ranks, load, model);
  if (name == "padded-alltoall") return padding + time(direct, model.mpi, load.largest, model);
  if (name == "zero-rotation-bruck" || name == "padded-bruck") {
    const double rounds = time(count_zero_rotation_bruck(ranks, radix), machine, load.largest, model);
    return rounds + (name == "padded-bruck" ? padding : 0);
  }
  if (name == "sloav") {
    const double rounds = machine.rho * plan::bruck::positions(ranks, radix);
    return time(count_sloav(ranks, radix), machine, load.mean, model) + rounds;
  }
  return std::numeric_limits<double>::infinity();
}

// The fastest for an all-to-all by the model, among `mpi` and Bruck of several radices. For the v and w forms
// `load` must be what all ranks agreed on.
inline Prediction fastest(Collective collective, int ranks, const Load& load, const Model& model) {
  Prediction best{with_radix(collective, "mpi", 0), 0};
  best.seconds = choose::model_margin * predict(best.choice, ranks, load, model);
  for (const std::string_view name : {"zero-rotation-bruck", "two-phase-bruck", "padded-bruck"}) {
    if (choose::find(collective, name) == nullptr) continue;
    for (const std::int64_t radix : choose::radices(ranks)) {
      const Choice choice = with_radix(collective, name, radix);
      const double seconds = predict(choice, ranks, load, model);
      if (seconds < best.seconds) best = {choice, seconds};
    }
  }
  return best;
}

}  // namespace quadrille::lab
