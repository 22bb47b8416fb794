// Calls whose counts the summary must have: on communicators of which rank 0 of MPI_COMM_WORLD is in one alone, and so
// many that not each has a line. With an argument also a nonblocking call on one that is new.
#include <mpi.h>

#include <vector>

namespace count_check {

void call(MPI_Comm comm, int times) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  const std::vector<int> sent(static_cast<std::size_t>(ranks));
  std::vector<int> got(sent.size());
  for (int i = 0; i < times; ++i) MPI_Alltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm);
}

void call_without_waiting(MPI_Comm comm) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  const std::vector<int> sent(static_cast<std::size_t>(ranks));
  std::vector<int> got(sent.size());
  MPI_Request request;
  MPI_Ialltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  // Rank 0 alone, the others together.
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? 0 : 1, me, &part);
  MPI_Comm_set_name(part, me == 0 ? "first" : "others");
  call(part, 30);
  for (int turn = 0; turn < 12; ++turn) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    call(copy, 1);
    MPI_Comm_free(&copy);
  }
  // Between rank 0 and the others.
  MPI_Comm between;
  MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, me == 0 ? 1 : 0, 5, &between);
  int sent[8] = {}, got[8];
  MPI_Alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, between);
  call_without_waiting(MPI_COMM_SELF);  // of one rank
  if (argc > 1) {
    MPI_Comm fresh;  // not prepared yet
    MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
    call_without_waiting(fresh);
    MPI_Comm_free(&fresh);
  }
  MPI_Comm_free(&between);
  MPI_Comm_free(&part);
  MPI_Finalize();
  return 0;
}

}  // namespace count_check
