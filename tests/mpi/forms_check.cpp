// Calls nonblocking and persistent functions in a program that does not know which of them its MPI has: they are looked
// for as mpi4py does. What they bring must be right. Of each that is there two calls are made.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <vector>

#include "native_signatures.hpp"

namespace forms_check {

int ranks = 0, me = 0;

template <class Function>
Function find(const char* name, const char* older = nullptr) {
  void* symbol = dlsym(RTLD_DEFAULT, name);
  if (symbol == nullptr && older != nullptr) symbol = dlsym(RTLD_DEFAULT, older);
  return reinterpret_cast<Function>(symbol);
}

// What rank `from` sends to `to`; to all the same in an allgather.
int value(bool gathers, int from, int to) { return gathers ? 1000 + from : 100 * from + to; }

// call(sendbuf, recvbuf, request) begins it, or makes a persistent request.
template <class Call>
void run(const char* name, bool gathers, bool persistent, Call call) {
  std::vector<int> sent, got(static_cast<std::size_t>(ranks), -1);
  for (int to = 0; to < (gathers ? 1 : ranks); ++to) sent.push_back(value(gathers, me, to));
  MPI_Request request = MPI_REQUEST_NULL;
  bool right = call(sent.data(), got.data(), &request) == MPI_SUCCESS;
  if (persistent) MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (persistent) MPI_Request_free(&request);
  for (int from = 0; from < ranks; ++from)
    right = right && got[static_cast<std::size_t>(from)] == value(gathers, from, me);
  if (right) return;
  std::fprintf(stderr, "rank %d: %s is wrong\n", me, name);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

template <class Count, class Address>
void run_forms(const char* begin, const char* make, const char* older, bool gathers) {
  using Begin = int (*)(QUADRILLE_PARAMETERS_UNIFORM(Count, Address), MPI_Request*);
  using Make = int (*)(QUADRILLE_PARAMETERS_UNIFORM(Count, Address), MPI_Info, MPI_Request*);
  if (const auto function = find<Begin>(begin)) {
    run(begin, gathers, false, [&](int* sent, int* got, MPI_Request* request) {
      return function(sent, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD, request);
    });
  }
  if (const auto function = find<Make>(make, older)) {
    run(make, gathers, true, [&](int* sent, int* got, MPI_Request* request) {
      return function(sent, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, request);
    });
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  run_forms<int, int>("MPI_Ialltoall", "MPI_Alltoall_init", "MPIX_Alltoall_init", false);
  run_forms<int, int>("MPI_Iallgather", "MPI_Allgather_init", "MPIX_Allgather_init", true);
  run_forms<MPI_Count, MPI_Aint>("MPI_Ialltoall_c", "MPI_Alltoall_init_c", nullptr, false);
  run_forms<MPI_Count, MPI_Aint>("MPI_Iallgather_c", "MPI_Allgather_init_c", nullptr, true);
  MPI_Finalize();
  return 0;
}

}  // namespace forms_check
