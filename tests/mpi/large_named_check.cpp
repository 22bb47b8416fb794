// What Quadrille's functions with large counts say to mistakes where the MPI has none of its own, and that of the
// collectives with one count each rank may call either function.  large_named HAS    HAS: 1 if the MPI has them
#include <quadrille.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace large_named_check {

int rank = 0, ranks = 0, failures = 0;

void expect(const char* what, bool good) {
  if (good) return;
  std::fprintf(stderr, "rank %d: %s\n", rank, what);
  ++failures;
}

int class_of(int error) {
  int found = error;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &found);
  return found;
}

// Odd ranks call the functions with large counts.
void mix() {
  std::vector<int> sent(static_cast<std::size_t>(ranks)), got(sent.size(), -1);
  for (int to = 0; to < ranks; ++to) sent[static_cast<std::size_t>(to)] = 100 * rank + to;
  Quadrille_Request request = QUADRILLE_REQUEST_NULL;
  const bool large = rank % 2 == 1;
  const auto all_came = [&](const char* what, bool gathers) {
    for (int from = 0; from < ranks; ++from) {
      int& one = got[static_cast<std::size_t>(from)];
      expect(what, one == 100 * from + (gathers ? 0 : rank));
      one = -1;
    }
  };
  large ? Quadrille_Alltoall_c(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, MPI_COMM_WORLD)
        : Quadrille_Alltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, MPI_COMM_WORLD);
  all_came("Alltoall and Alltoall_c", false);
  large ? Quadrille_Allgather_c(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, MPI_COMM_WORLD)
        : Quadrille_Allgather(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, MPI_COMM_WORLD);
  all_came("Allgather and Allgather_c", true);
  large ? Quadrille_Ialltoall_c(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, MPI_COMM_WORLD, &request)
        : Quadrille_Ialltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, MPI_COMM_WORLD, &request);
  Quadrille_Wait(&request);
  all_came("Ialltoall and Ialltoall_c", false);
}

// On all ranks, so that none waits for another.
void make_mistakes() {
  const std::vector<MPI_Count> negative(static_cast<std::size_t>(ranks), -(MPI_Count{1} << 32));
  const std::vector<MPI_Aint> places(negative.size());
  int there = 0;
  Quadrille_Request request = QUADRILLE_REQUEST_NULL;
  const int of_vectors = Quadrille_Alltoallv_c(&there, negative.data(), places.data(), MPI_INT, &there, negative.data(),
                                               places.data(), MPI_INT, MPI_COMM_WORLD);
  expect("Alltoallv_c with negative counts", class_of(of_vectors) == MPI_ERR_ARG);
  // As an int that count would be 0.
  const int of_one = Quadrille_Alltoall_c(&there, negative[0], MPI_INT, &there, negative[0], MPI_INT, MPI_COMM_WORLD);
  expect("Alltoall_c with a negative count", class_of(of_one) == MPI_ERR_COUNT);
  const int started = Quadrille_Ialltoallv_c(&there, negative.data(), places.data(), MPI_INT, &there, negative.data(),
                                             places.data(), MPI_INT, MPI_COMM_WORLD, &request);
  expect("Ialltoallv_c with negative counts", class_of(started) == MPI_ERR_ARG && request == QUADRILLE_REQUEST_NULL);
}

// Between the even and the odd ranks.
void call_between() {
  MPI_Comm half, between;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &between);
  MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
  int others = 0;
  MPI_Comm_remote_size(between, &others);
  const std::vector<MPI_Count> ones(static_cast<std::size_t>(others), 1);
  std::vector<MPI_Aint> places(ones.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<MPI_Aint>(i);
  const std::vector<int> sent(ones.size(), rank);
  std::vector<int> got(ones.size(), -1);
  const int refused = Quadrille_Alltoallv_c(sent.data(), ones.data(), places.data(), MPI_INT, got.data(), ones.data(),
                                            places.data(), MPI_INT, between);
  expect("Alltoallv_c of an intercommunicator", class_of(refused) == MPI_ERR_COMM);
  const int served = Quadrille_Alltoall_c(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, between);
  expect("Alltoall_c of an intercommunicator", served == MPI_SUCCESS && got[0] == 1 - rank % 2);
  MPI_Comm_free(&between), MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  const bool has = argc > 1 && std::atoi(argv[1]) != 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  mix();
  if (!has) make_mistakes(), call_between();
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0 && failures == 0) std::puts("all as expected");
  MPI_Finalize();
  return failures > 0 ? 1 : 0;
}

}  // namespace large_named_check
