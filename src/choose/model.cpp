#include "choose/model.hpp"

#include <algorithm>

#include "plan/bruck_index.hpp"

namespace quadrille::choose {

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
