// What it takes until calls are what they stay: MPI_Init, and each of the first calls on a communicator. Prints a line
// each: "init US", "world US" for the first call on MPI_COMM_WORLD, and "call N US" for the calls on its copies.
//
//   setup_cost [COMMUNICATORS [CALLS]]
//
// All calls are MPI_Alltoall with blocks of 8 bytes, and the ranks meet before each. A time is that of the slowest
// rank; of the communicators, made and freed one after the other, the median is printed.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double slowest(double us) {
  double most = 0;
  MPI_Allreduce(&us, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

// By this rank alone: what the ranks say to each other may be set up, too.
double call_on(MPI_Comm comm, const std::vector<double>& send, std::vector<double>& recv) {
  MPI_Barrier(comm);
  const auto begin = Clock::now();
  MPI_Alltoall(send.data(), 1, MPI_DOUBLE, recv.data(), 1, MPI_DOUBLE, comm);
  return us_since(begin);
}

double median(std::vector<double> all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

}  // namespace

int main(int argc, char** argv) {
  const int communicators = argc > 1 ? std::max(1, std::atoi(argv[1])) : 50,
            calls = argc > 2 ? std::max(1, std::atoi(argv[2])) : 20;
  const auto begin = Clock::now();
  MPI_Init(&argc, &argv);
  const double init = us_since(begin);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::vector<double> send(static_cast<std::size_t>(ranks), 1.0);
  std::vector<double> recv(send.size());
  const double world = call_on(MPI_COMM_WORLD, send, recv);
  std::vector<std::vector<double>> us(static_cast<std::size_t>(calls));  // [call][communicator]
  for (int c = 0; c < communicators; ++c) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    std::vector<double> mine;
    for (int call = 0; call < calls; ++call) mine.push_back(call_on(comm, send, recv));
    for (std::size_t call = 0; call < mine.size(); ++call) us[call].push_back(slowest(mine[call]));
    MPI_Comm_free(&comm);
  }
  const double all_init = slowest(init), all_world = slowest(world);
  if (rank == 0) {
    std::printf("init %.2f\nworld %.2f\n", all_init, all_world);
    for (std::size_t call = 0; call < us.size(); ++call) std::printf("call %zu %.2f\n", call + 1, median(us[call]));
  }
  MPI_Finalize();
}
