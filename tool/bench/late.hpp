// One rank that enters each measured call late, as one whose work before the call took longer.
//
// Namugwanya et al. choose between their exchanges by that (section 2: the pairwise exchange waits idly for a rank that
// is not ready, section 3.1: a batch is waited for as a whole, or refilled by who is ready), but measure it in programs
// alone.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tool/bench/statistics.hpp"

namespace quadrille::tools {

struct Late {
  double seconds = 0;
  int rank = -1;  // -1: another one is drawn for each round

  bool is_drawn() const { return rank < 0; }
};

// "500" (microseconds, of a rank that is drawn) or "500:3" (of rank 3). Empty text: nobody is late. Returns an empty
// string, or one line that says what is wrong.
std::string parse_late(std::string_view text, std::optional<Late>& late);

// Who it is in a round. Pure, so all ranks and all machines agree; the same for all that are measured in the round.
int late_rank(const Late& late, std::size_t round, int ranks);

// What a row has of it, in microseconds. The row's own times are then those from when the late rank enters until the
// last rank is done: what is left of the exchange when all could be there. These are those of the other ranks, from
// when they enter: they wait for the late one as well.
struct LateColumns {
  Late late;
  Summary mpi_others, quadrille_others;
};

}  // namespace quadrille::tools
