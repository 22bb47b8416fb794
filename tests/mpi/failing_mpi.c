/* An MPI in which something fails for lack of memory. It stands before the real one, to which it is linked.
   A large MPI_Ibcast is pending on rank 1 until let_broadcast_fail() is called, and then fails. MPI_Recv_init and
   MPI_Grequest_start fail as long as let_receives_fail() and let_generalised_fail() say so. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

enum { large = 8192 }; /* bytes: what is told of a communicator (src/team/setup.hpp) */

static MPI_Request failing;
static int is_pending, may_fail;

int has_pending_broadcast(void);
int has_pending_broadcast(void) { return is_pending; }
void let_broadcast_fail(void);
void let_broadcast_fail(void) { may_fail = 1; }

static int receives_fail, tag_of_last;

void let_receives_fail(int fail);
void let_receives_fail(int fail) { receives_fail = fail; }
int tag_of_last_receive(void);
int tag_of_last_receive(void) { return tag_of_last; }

int PMPI_Recv_init(void* data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  int (*const next)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) =
      (int (*)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*))dlsym(RTLD_NEXT, "PMPI_Recv_init");
  tag_of_last = tag;
  return receives_fail ? MPI_ERR_NO_MEM : next(data, count, type, source, tag, comm, request);
}

static int generalised_fail;

void let_generalised_fail(int fail);
void let_generalised_fail(int fail) { generalised_fail = fail; }

int PMPI_Grequest_start(MPI_Grequest_query_function* query, MPI_Grequest_free_function* end,
                        MPI_Grequest_cancel_function* cancel, void* data, MPI_Request* request) {
  int (*const next)(MPI_Grequest_query_function*, MPI_Grequest_free_function*, MPI_Grequest_cancel_function*, void*,
                    MPI_Request*) =
      (int (*)(MPI_Grequest_query_function*, MPI_Grequest_free_function*, MPI_Grequest_cancel_function*, void*,
               MPI_Request*))dlsym(RTLD_NEXT, "PMPI_Grequest_start");
  return generalised_fail ? MPI_ERR_NO_MEM : next(query, end, cancel, data, request);
}

/* By this one the library is found. */
int PMPI_Comm_rank(MPI_Comm comm, int* rank) {
  int (*const next)(MPI_Comm, int*) = (int (*)(MPI_Comm, int*))dlsym(RTLD_NEXT, "PMPI_Comm_rank");
  return next(comm, rank);
}

int PMPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  int (*const next)(void*, int, MPI_Datatype, int, MPI_Comm, MPI_Request*) =
      (int (*)(void*, int, MPI_Datatype, int, MPI_Comm, MPI_Request*))dlsym(RTLD_NEXT, "PMPI_Ibcast");
  const int error = next(data, count, type, root, comm, request);
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (error == MPI_SUCCESS && count == large && rank == 1) {
    failing = *request;
    is_pending = 1;
  }
  return error;
}

int PMPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  int (*const next)(MPI_Request*, int*, MPI_Status*) =
      (int (*)(MPI_Request*, int*, MPI_Status*))dlsym(RTLD_NEXT, "PMPI_Test");
  const int is_failing = is_pending && *request == failing;
  *flag = 0;
  if (is_failing && !may_fail) return MPI_SUCCESS;
  const int error = next(request, flag, status);
  if (!is_failing || !*flag) return error;
  is_pending = 0;
  return MPI_ERR_NO_MEM;
}

int PMPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  int (*const next)(int, MPI_Request*, int*, MPI_Status*) =
      (int (*)(int, MPI_Request*, int*, MPI_Status*))dlsym(RTLD_NEXT, "PMPI_Testall");
  const int is_failing = is_pending && count == 1 && requests[0] == failing;
  *flag = 0;
  if (is_failing && !may_fail) return MPI_SUCCESS;
  const int error = next(count, requests, flag, statuses);
  if (!is_failing || !*flag) return error;
  is_pending = 0;
  statuses[0].MPI_ERROR = MPI_ERR_NO_MEM;
  return MPI_ERR_IN_STATUS;
}
