// Whether a machine was quiet enough to measure on. Kept with what was measured; nothing is chosen by it.
#pragma once

namespace quadrille::choose {

struct Quietness {
  bool quiet = true;
  double p99_over_median = 1;      // of a short fixed loop, on the most disturbed rank
  double load = 0;                 // tasks that ran beside the ranks, on the busiest machine
  double ranks_per_processor = 0;  // on the fullest machine; 0: no ranks took part
  bool operator==(const Quietness&) const = default;
};

}  // namespace quadrille::choose
