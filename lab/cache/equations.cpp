#include "lab/cache/equations.hpp"

#include <cmath>

namespace quadrille::lab {
namespace {

double lines_of_block(const IdealCache& c) { return std::ceil(c.block / c.line); }
double lines_of_buffer(const IdealCache& c) { return std::ceil(c.ranks * c.block / c.line_of_run); }
double lines_of_all(const IdealCache& c) { return c.ranks * c.ranks * c.block / c.line; }

}  // namespace

Case case_of(const IdealCache& c) {
  if (c.block > c.bytes / 2) return Case::too_large;
  return c.ranks >= std::sqrt(c.bytes / c.block) ? Case::exceeds : Case::fits;
}

double alltoall_naive(const IdealCache& c) {
  return c.ranks * lines_of_buffer(c) + c.ranks * c.ranks * lines_of_block(c);
}

double alltoall_co(const IdealCache& c) { return 2 * c.ranks * lines_of_buffer(c); }

double alltoall_co_bound(const IdealCache& c) { return lines_of_all(c) + std::pow(c.ranks, 1.5); }

double allgather_naive(const IdealCache& c) { return alltoall_naive(c); }

double allgather_co(const IdealCache& c) {
  switch (case_of(c)) {
    case Case::too_large:
      return allgather_naive(c);
    case Case::exceeds:
      return c.ranks * c.ranks * lines_of_block(c) / std::sqrt(c.bytes / c.block) + c.ranks * lines_of_buffer(c);
    case Case::fits:
      break;
  }
  return c.ranks * lines_of_block(c) + c.ranks * lines_of_buffer(c);
}

double allgather_co_bound(const IdealCache& c) {
  switch (case_of(c)) {
    case Case::too_large:
      return lines_of_all(c) + c.ranks * c.ranks;
    case Case::exceeds:
      return lines_of_all(c) + c.ranks * c.ranks / std::sqrt(c.bytes / c.block);
    case Case::fits:
      break;
  }
  return lines_of_all(c) + std::pow(c.ranks, 1.5);
}

int equation_of_allgather_co(Case which) { return which == Case::too_large ? 4 : which == Case::exceeds ? 6 : 8; }

int equation_of_allgather_co_bound(Case which) { return which == Case::too_large ? 5 : which == Case::exceeds ? 7 : 9; }

}  // namespace quadrille::lab
