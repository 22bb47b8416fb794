/* A C program that is not linked to an MPI. It loads one, and takes the functions by dlsym(); or a plugin that uses
 * MPI, out of sight of everything else, whose main() it calls.
 *
 *   client_by_handle LIBRARY local      from the handle of a library that is out of sight of all others
 *   client_by_handle LIBRARY global     from the handle of a library in the global scope
 *   client_by_handle LIBRARY default    from the global scope
 *   client_by_handle PLUGIN plugin */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { turns = 24, most = 8, large = 20000 };

static int wrong;

static void expect(int is_right, const char* what) {
  if (is_right) return;
  ++wrong;
  fprintf(stderr, "wrong: %s\n", what);
}

static void* function_in(void* scope, const char* name) {
  void* const found = dlsym(scope, name);
  const char* const error = dlerror();
  if (found == NULL || error != NULL) fprintf(stderr, "%s: %s\n", name, error != NULL ? error : "null"), exit(2);
  return found;
}

static const char* file_of(void* function) {
  Dl_info info;
  return dladdr(function, &info) != 0 ? info.dli_fname : "";
}

/* What is not Quadrille's, or depends on the caller. */
static void check_other_names(void* library, void* scope) {
  const char* const file = file_of(function_in(library, "MPI_Get_library_version"));
  function_in(scope, "MPI_Get_library_version");
  expect(strcmp(file_of(function_in(library, "PMPI_Alltoall")), file) == 0, "PMPI_Alltoall is not the MPI's own");
  expect(dlsym(scope, "MPI_No_such_function") == NULL && dlerror() != NULL, "a function is found that nobody has");
  expect(dlsym(RTLD_NEXT, "malloc") == dlsym(RTLD_DEFAULT, "malloc"), "the next malloc is not the first one");
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int mode = strcmp(argv[2], "local") == 0 || strcmp(argv[2], "plugin") == 0 ? RTLD_LOCAL : RTLD_GLOBAL;
  void* const library = dlopen(argv[1], RTLD_NOW | mode);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 2;
  if (strcmp(argv[2], "plugin") == 0) {
    int (*plugin)(int, char**);
    *(void**)&plugin = function_in(library, "main");
    return plugin(argc, argv);
  }
  void* const scope = strcmp(argv[2], "default") == 0 ? RTLD_DEFAULT : library;
#if defined(OPEN_MPI)
  const MPI_Comm world = function_in(library, "ompi_mpi_comm_world");
  const MPI_Datatype type = function_in(library, "ompi_mpi_int");
#else
  const MPI_Comm world = MPI_COMM_WORLD;
  const MPI_Datatype type = MPI_INT;
#endif
  int (*init)(int*, char***), (*finalize)(void), (*rank_in)(MPI_Comm, int*), (*size_of)(MPI_Comm, int*);
  int (*alltoall)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
  *(void**)&init = function_in(scope, "MPI_Init");
  *(void**)&finalize = function_in(scope, "MPI_Finalize");
  *(void**)&rank_in = function_in(scope, "MPI_Comm_rank");
  *(void**)&size_of = function_in(scope, "MPI_Comm_size");
  *(void**)&alltoall = function_in(scope, "MPI_Alltoall");
  check_other_names(library, scope);

  static int send[most * large], receive[most * large];
  int rank = -1, size = -1;
  init(&argc, &argv);
  rank_in(world, &rank);
  size_of(world, &size);
  for (int turn = 0; turn < turns; ++turn) {
    const int count = turn % 8 == 7 ? large : 5;
    for (int i = 0; i < size * count; ++i) send[i] = turn + rank * 100 + i / count * 10 + i % count % 7;
    alltoall(send, count, type, receive, count, type, world);
    for (int i = 0; i < size * count; ++i)
      expect(receive[i] == turn + i / count * 100 + rank * 10 + i % count % 7, "alltoall");
  }
  if (rank == 0) printf("%s: %d ranks, %d wrong values\n", argv[2], size, wrong);
  fflush(stdout);
  finalize();
  return wrong != 0;
}
