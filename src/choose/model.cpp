#include "choose/model.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include "plan/bruck_index.hpp"
#include "plan/closed_forms.hpp"

namespace quadrille::choose {
namespace {

Choice with_radix(Collective collective, std::string_view name, std::int64_t radix) {
  Choice choice = plain(collective, name);
  for (plan::Parameter& parameter : choice.parameters) {
    if (parameter.name == "radix") parameter.value = radix;
  }
  return choice;
}

// Messages are taken to be of one length, and what is told alone for short.
double time(const plan::Counts& counts, const plan::Machine& machine, double block_bytes, const Model& model) {
  const auto messages = static_cast<double>(std::max<std::uint64_t>(counts.messages, 1));
  const bool wait = static_cast<double>(counts.blocks_sent) * block_bytes / messages > sent_at_once(model);
  const double answers = wait ? machine.handshake * static_cast<double>(counts.rounds) : 0;
  return plan::time(counts, machine, block_bytes) + answers;
}

double two_phase(const Choice& choice, int ranks, const Load& load, const Model& model) {
  const plan::Machine& machine = model.quadrille;
  const std::int64_t radix = plan::value_of(choice.parameters, "radix", 2);
  const auto eager = static_cast<double>(plan::value_of(choice.parameters, "eager", 0));
  plan::Counts counts = plan::count_two_phase_bruck(ranks, radix);
  counts.size_messages = plan::count_sizes_alone(ranks, radix, load.mean, eager);
  // Where sizes travel alone, the peers are waited for twice.
  const double again = counts.size_messages > 0 ? machine.rho * static_cast<double>(counts.rounds) : 0;
  return time(counts, machine, load.mean, model) + again;
}

}  // namespace

std::vector<std::int64_t> radices(int ranks) {
  std::vector<std::int64_t> list = {2, 3, 4, 8};
  for (int rounds = 2; rounds <= 4; ++rounds) {
    std::int64_t radix = 2;
    while (plan::bruck::positions(ranks, radix) > rounds) ++radix;
    list.push_back(radix);
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  std::erase_if(list, [&](std::int64_t radix) { return radix >= ranks && radix > 2; });
  return list;
}

double agreement(int ranks, const Model& model) {
  const plan::Machine m = plan::flat(model.mpi, 1);
  return plan::bruck::positions(ranks, 2) * (m.alpha + m.rho + m.beta * 2 * sizeof(std::uint64_t));
}

double predict(const Choice& choice, int ranks, const Load& load, const Model& model) {
  const std::string_view name = choice.algorithm->name;
  const std::int64_t radix = plan::value_of(choice.parameters, "radix", 2);
  const plan::Machine& machine = model.quadrille;
  const plan::Counts direct = plan::count_spread_out(ranks);
  // Padding writes and reads each block once more.
  const double padding = 2.0 * ranks * (machine.delta + machine.gamma * load.mean) + agreement(ranks, model);
  if (name == "mpi") return time(direct, model.mpi, load.mean, model);
  if (name == "spread-out") return time(direct, machine, load.mean, model);
  if (name == "two-phase-bruck") return two_phase(choice, ranks, load, model);
  if (name == "padded-alltoall") return padding + time(direct, model.mpi, load.largest, model);
  if (name == "zero-rotation-bruck" || name == "padded-bruck") {
    const double rounds = time(plan::count_zero_rotation_bruck(ranks, radix), machine, load.largest, model);
    return rounds + (name == "padded-bruck" ? padding : 0);
  }
  if (name == "sloav") {
    const double rounds = machine.rho * plan::bruck::positions(ranks, radix);
    return time(plan::count_sloav(ranks, radix), machine, load.mean, model) + rounds;
  }
  return std::numeric_limits<double>::infinity();
}

Prediction fastest(Collective collective, int ranks, const Load& load, const Model& model) {
  Prediction best{with_radix(collective, "mpi", 0), 0};
  best.seconds = model_margin * predict(best.choice, ranks, load, model);
  for (const std::string_view name : {"zero-rotation-bruck", "two-phase-bruck", "padded-bruck"}) {
    if (find(collective, name) == nullptr) continue;
    for (const std::int64_t radix : radices(ranks)) {
      const Choice choice = with_radix(collective, name, radix);
      const double seconds = predict(choice, ranks, load, model);
      if (seconds < best.seconds) best = {choice, seconds};
    }
  }
  return best;
}

Model aries() {
  const plan::Machine machine = plan::one_class({1.5e-6, 0.5e-9, 0});
  return {machine, machine};
}

Model aries_nodes() {
  plan::Machine machine{1.4e-6, 0.4e-9, 0.1e-9, 10e-9, 0.5e-6};
  machine.node_message = 0.1e-6;
  machine.node_byte = 0.1e-9;
  machine.near_message = 0.5e-6;
  machine.near_byte = 0.2e-9;
  machine.shared_byte = 0.2e-9;
  machine.shared_block = 20e-9;
  machine.fence = 0.5e-6;
  return {machine, machine};
}

}  // namespace quadrille::choose
