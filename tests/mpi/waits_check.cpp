// Ranks that share one processor under the preload library: was the MPI asked to let others run while it waits?
//   waits LOOKS   how many looks it should take before it sleeps; 0: it should not sleep at all
// Only for an MPI that has the control variables of MPICH 4.1 or newer.
#include <mpi.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>

namespace waits_check {

// All ranks go to the lowest processor that they may use.
void share_one_processor() {
  cpu_set_t allowed, one;
  CPU_ZERO(&one);
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &allowed)) continue;
    CPU_SET(processor, &one);
    break;
  }
  sched_setaffinity(0, sizeof one, &one);
}

int value_of(const char* variable) {
  int index = 0, count = 0, value = -1;
  MPI_T_cvar_handle handle;
  if (MPI_T_cvar_get_index(variable, &index) != MPI_SUCCESS) return -1;
  MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count);
  MPI_T_cvar_read(handle, &value);
  MPI_T_cvar_handle_free(&handle);
  return value;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int wanted = std::atoi(argv[1]);
  if (std::getenv("WAITS_CHECK_SPREAD") == nullptr) share_one_processor();
  MPI_Init(&argc, &argv);
  int ranks = 0, provided = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int send[16] = {}, receive[16] = {};
  for (int call = 0; call < 50; ++call) MPI_Alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  const int sleeps = value_of("MPIR_CVAR_CH4_PROGRESS_THROTTLE");
  const int looks = value_of("MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT");
  MPI_T_finalize();
  MPI_Finalize();
  const bool right = wanted == 0 ? sleeps == 0 : sleeps == 1 && looks == wanted;
  if (!right) std::fprintf(stderr, "the MPI's waits: sleeps %d, after %d looks; wanted %d\n", sleeps, looks, wanted);
  return right ? 0 : 1;
}

}  // namespace waits_check
