#include "choose/model.hpp"

#include "plan/bruck_index.hpp"

namespace quadrille::choose {

std::set<std::int64_t> radices(int ranks) {
  std::set<std::int64_t> all = {2, 3, 4, 8};
  for (int rounds = 2; rounds <= 4; ++rounds) {
    std::int64_t radix = 2;
    while (plan::bruck::positions(ranks, radix) > rounds) ++radix;
    all.insert(radix);
  }
  std::erase_if(all, [&](std::int64_t radix) { return radix >= ranks && radix > 2; });
  return all;
}

double agreement(int ranks, const Model& model) {
  const plan::Machine m = plan::flat(model.mpi, 1);
  return plan::bruck::positions(ranks, 2) * (m.alpha + m.rho + m.beta * 2 * sizeof(std::uint64_t));
}

}  // namespace quadrille::choose
