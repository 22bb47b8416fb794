// How `quadrille tune` times calls.
#pragma once

#include <algorithm>

#include "mpi/mpi.hpp"

namespace quadrille::tools {

// Collective: seconds that a call takes the slowest rank, in a batch of `calls`.
template <class Call>
double seconds_of_batch(MpiComm comm, int calls, Call call) {
  mpi().Barrier(comm);
  const double begin = mpi().Wtime();
  for (int i = 0; i < calls; ++i) call();
  double mine = (mpi().Wtime() - begin) / calls, most = 0;
  mpi().Allreduce(&mine, &most, 1, mpi().double_type, mpi().op_max, comm);
  return most;
}

// Calls of a batch that shall take `seconds`, if one takes `estimate`.
inline int calls_of_batch(double seconds, double estimate) {
  constexpr int most_calls = 1000;
  return std::clamp(static_cast<int>(seconds / std::max(estimate, 1e-8)), 1, most_calls);
}

}  // namespace quadrille::tools
