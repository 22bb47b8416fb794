// All forms of an all-to-all beside the MPI's own, in one run and by turns: microseconds of a call, started and
// completed at once. Linked to libquadrille, so MPI_ names are the MPI's own.
//
//   mpirun -n 2 --bind-to core build/openmpi/bin/quadrille_requests_bench [BATCHES [BLOCK BYTES...]]
//
// A line a block size: the median over the batches of each form (of the slowest rank), the quartiles of the ratios that
// matter, taken batch by batch. MPI_Alltoall_init is looked up at run time: older MPIs have none.
#include <dlfcn.h>
#include <mpi.h>
#include <quadrille.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "by_turns.hpp"

namespace {

using namespace quadrille::measure;

using Init = int(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);

void measure(std::size_t bytes, int batches) {
  int ranks = 1, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  void *from = nullptr, *to = nullptr;
  Quadrille_Alloc(static_cast<MPI_Aint>(bytes) * ranks, &from);
  Quadrille_Alloc(static_cast<MPI_Aint>(bytes) * ranks, &to);
  const int count = static_cast<int>(bytes);
  const auto all = MPI_COMM_WORLD;
  Quadrille_Request kept = QUADRILLE_REQUEST_NULL;
  Quadrille_Alltoall_init(from, count, MPI_BYTE, to, count, MPI_BYTE, all, MPI_INFO_NULL, &kept);
  std::vector<Form> forms = {
      {"blocking", [=] { Quadrille_Alltoall(from, count, MPI_BYTE, to, count, MPI_BYTE, all); }, {}},
      {"nonblocking",
       [=] {
         Quadrille_Request request;
         Quadrille_Ialltoall(from, count, MPI_BYTE, to, count, MPI_BYTE, all, &request);
         Quadrille_Wait(&request);
       },
       {}},
      {"persistent", [&kept] { Quadrille_Start(&kept), Quadrille_Wait(&kept); }, {}},
      {"MPI blocking", [=] { MPI_Alltoall(from, count, MPI_BYTE, to, count, MPI_BYTE, all); }, {}},
      {"MPI nonblocking",
       [=] {
         MPI_Request request;
         MPI_Ialltoall(from, count, MPI_BYTE, to, count, MPI_BYTE, all, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE);
       },
       {}}};
  MPI_Request theirs = MPI_REQUEST_NULL;
  if (auto* init = reinterpret_cast<Init*>(dlsym(RTLD_DEFAULT, "MPI_Alltoall_init"))) {
    init(from, count, MPI_BYTE, to, count, MPI_BYTE, all, MPI_INFO_NULL, &theirs);
    forms.push_back({"MPI persistent", [&theirs] { MPI_Start(&theirs), MPI_Wait(&theirs, MPI_STATUS_IGNORE); }, {}});
  }
  measure_by_turns(forms, batches, calls_of(bytes));
  if (rank == 0) {
    std::printf("%zu bytes:", bytes);
    print_times(forms);
    std::printf("\n   ratios:");
    print_ratio("persistent/blocking", forms[2], forms[0]);
    print_ratio("nonblocking/MPI's", forms[1], forms[4]);
    print_ratio(forms.size() > 5 ? "persistent/MPI's" : "persistent/MPI's nonblocking", forms[2], forms.back());
    std::printf("\n");
    std::fflush(stdout);
  }
  Quadrille_Request_free(&kept);
  if (theirs != MPI_REQUEST_NULL) MPI_Request_free(&theirs);
  Quadrille_Free(from), Quadrille_Free(to);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int batches = argc > 1 ? std::atoi(argv[1]) : 15;
  std::vector<std::size_t> sizes;
  for (int i = 2; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  if (sizes.empty()) sizes = {8, 64, 512, 2048, 8192, 32768, 131072};
  for (const std::size_t bytes : sizes) measure(bytes, batches);
  MPI_Finalize();
}
