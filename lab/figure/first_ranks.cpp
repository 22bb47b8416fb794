#include "lab/figure/first_ranks.hpp"

#include <chrono>
#include <thread>

namespace quadrille::tools {

MpiComm first_ranks(int count) {
  int rank = 0;
  mpi().Comm_rank(mpi().comm_world, &rank);
  MpiComm comm = mpi().comm_null;
  mpi().Comm_split(mpi().comm_world, rank < count ? 1 : 0, rank, &comm);
  return comm;
}

void sleep_until_all_are_here() {
  MpiRequest request = mpi().request_null;
  mpi().Ibarrier(mpi().comm_world, &request);
  MpiStatus status;
  for (int done = 0;;) {
    mpi().Test(&request, &done, &status);
    if (done != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace quadrille::tools
