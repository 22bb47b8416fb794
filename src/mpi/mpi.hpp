// The MPI of the running program, found at run time.
//
// No library of Quadrille is linked to an MPI. The functions that it calls are looked up in the MPI
// library that the program has loaded, under their PMPI_ names and past our own interposed symbols.
// So one build serves every MPI of the same ABI, whatever its library is called and however it was
// loaded (a Python extension module loads it outside the global scope).
//
// Code that uses MPI includes this header and calls mpi().Comm_rank(...), never MPI_Comm_rank(...).
// Predefined handles are addresses inside the library in Open MPI: use the members below instead.
#pragma once

#include <mpi.h>

#include <atomic>
#include <string>

#include "collective/signatures.hpp"

namespace quadrille {

// The functions that every supported MPI has, beside those of the collectives. In a list that clang-format would spoil.
// clang-format off
#define QUADRILLE_MPI_REQUIRED(X)                                                                                   \
  X(Abort) X(Alloc_mem) X(Allreduce) X(Barrier) X(Bcast) X(Cancel) X(Cart_create) X(Cart_get) X(Cart_rank)          \
  X(Cartdim_get) X(Comm_call_errhandler) X(Comm_create) X(Comm_create_group) X(Comm_create_keyval) X(Comm_free)     \
  X(Comm_get_attr) X(Comm_get_errhandler) X(Comm_get_info) X(Comm_get_name) X(Comm_group) X(Comm_rank)              \
  X(Comm_remote_size) X(Comm_set_attr) X(Comm_set_errhandler) X(Comm_size) X(Comm_split) X(Comm_split_type)         \
  X(Comm_test_inter) X(Dims_create) X(Dist_graph_create) X(Dist_graph_create_adjacent) X(Dist_graph_neighbors)      \
  X(Dist_graph_neighbors_count) X(Errhandler_free) X(Error_class) X(Finalize) X(Finalized) X(Free_mem) X(Gather)    \
  X(Get_elements_x) X(Get_library_version) X(Get_processor_name) X(Get_version) X(Graph_neighbors)                  \
  X(Graph_neighbors_count) X(Grequest_complete) X(Grequest_start) X(Group_free) X(Group_range_incl) X(Group_size)   \
  X(Group_translate_ranks) X(Iallreduce) X(Ibarrier) X(Ibcast) X(Info_create) X(Info_free) X(Info_get) X(Info_get_nkeys)      \
  X(Info_get_nthkey) X(Info_set) X(Init) X(Init_thread) X(Initialized) X(Iprobe) X(Irecv) X(Isend) X(Issend)        \
  X(Pack) X(Query_thread) X(Recv_init) X(Reduce) X(Request_free) X(Request_get_status) X(Send) X(Sendrecv) X(Start) \
  X(Startall) X(Status_set_cancelled) X(Status_set_elements) X(T_cvar_get_index) X(T_cvar_handle_alloc)             \
  X(T_cvar_handle_free) X(T_cvar_write) X(T_finalize) X(T_init_thread) X(Test) X(Testall) X(Testany) X(Testsome)    \
  X(Topo_test) X(Type_commit) X(Type_contiguous) X(Type_create_hindexed) X(Type_create_hvector)                     \
  X(Type_create_keyval) X(Type_create_resized) X(Type_create_struct) X(Type_create_subarray) X(Type_dup)            \
  X(Type_free) X(Type_get_attr) X(Type_get_contents) X(Type_get_envelope) X(Type_get_extent)                        \
  X(Type_get_true_extent) X(Type_set_attr) X(Type_size_x) X(Type_vector) X(Unpack) X(Wait) X(Waitall) X(Waitany)    \
  X(Waitsome) X(Wtime)
// clang-format on

struct Mpi {
#define QUADRILLE_MEMBER(name) decltype(&PMPI_##name) name = nullptr;
#define QUADRILLE_BLOCKING(collective, Name, ...) QUADRILLE_MEMBER(Name)
#define QUADRILLE_NONBLOCKING(collective, ...) QUADRILLE_MEMBER(I##collective)
  QUADRILLE_MPI_COLLECTIVES(QUADRILLE_BLOCKING)
  QUADRILLE_MPI_COLLECTIVES(QUADRILLE_NONBLOCKING)
  QUADRILLE_MPI_REQUIRED(QUADRILLE_MEMBER)
#undef QUADRILLE_BLOCKING
#undef QUADRILLE_NONBLOCKING
#undef QUADRILLE_MEMBER
  // Forms of MPI 4, which mpi.h may not declare. Null if the library that is loaded has not; those of Open MPI 4.1 have
  // a name of their own, MPIX_.
#define QUADRILLE_LATER_MEMBERS(collective, Name, FORM, Displacement)                                       \
  int (*Name##_c)(QUADRILLE_PARAMETERS_##FORM(MPI_Count, MPI_Aint)) = nullptr;                              \
  int (*Name##_init)(QUADRILLE_PARAMETERS_##FORM(int, Displacement), MPI_Info, MPI_Request*) = nullptr;     \
  int (*Name##_init_c)(QUADRILLE_PARAMETERS_##FORM(MPI_Count, MPI_Aint), MPI_Info, MPI_Request*) = nullptr; \
  int (*I##collective##_c)(QUADRILLE_PARAMETERS_##FORM(MPI_Count, MPI_Aint), MPI_Request*) = nullptr;
  QUADRILLE_MPI_COLLECTIVES(QUADRILLE_LATER_MEMBERS)
#undef QUADRILLE_LATER_MEMBERS

  // By which an MPI calls others while it makes progress, wherever that is (mpi/progress_hook.hpp). Null where it has
  // none.
  int (*opal_progress_register)(int (*)()) = nullptr, (*opal_progress_unregister)(int (*)()) = nullptr;
  // Open MPI: its fault tolerance (ULFM) is enabled. Null where it has none.
  const bool* ftmpi_enabled = nullptr;
  int (*Async_start)(int (*)(void*), void*, int) = nullptr;
  // Extensions: may its functions be given a device's memory?
  int (*Query_cuda_support)() = nullptr, (*Query_rocm_support)() = nullptr, (*Query_hip_support)() = nullptr;
  int (*GPU_query_support)(int kind, int* is_supported) = nullptr;
  // Of MPICH: looks at a request, and at nothing else.
  int (*Request_is_complete)(MPI_Request) = nullptr;

  MPI_Comm comm_world, comm_self, comm_null;
  MPI_Group group_null;
  MPI_Info info_null;
  MPI_Request request_null;
  MPI_Errhandler errors_return, errors_are_fatal;
  MPI_Datatype datatype_null, byte, packed, char_type, int_type, uint64, double_type;
  MPI_Op op_max, op_min, op_sum, op_bor;
  int* unweighted = nullptr;  // MPI_UNWEIGHTED

  // False if the library that was found has another ABI than this build, or lacks something. No handle of ours
  // may be used then.
  bool usable = false;
  // The handles of the library that was found do not fit into those of this build: not even the program's own
  // calls can be forwarded.
  bool foreign = false;
  // This MPI cuts what is longer than its receive block, and reports no error: in allgathers, among neighbours.
  bool cuts_long_gathers = false, cuts_long_neighbors = false;
  // It takes no data out of a device's memory into a type with gaps, wherever that is.
  bool device_lacks_gaps = false;
  std::string library;  // path of the MPI library
  std::string problem;  // one line, when not usable
};

namespace detail {
extern std::atomic<const Mpi*> mpi_table;
const Mpi& find_mpi();
}  // namespace detail

// The table. Looked up on first use, in what the program has loaded. Without any MPI in the process
// this ends the program with one line on stderr: nothing could go on.
inline const Mpi& mpi() {
  const Mpi* table = detail::mpi_table.load(std::memory_order_acquire);
  return table != nullptr ? *table : detail::find_mpi();
}

// For programs that are not linked to an MPI (the command line tool): loads the MPI library of this
// build's ABI. `name` is a file, or empty for QUADRILLE_LIBMPI in the environment, else the ABI's
// usual names. Returns an empty string, or one line that says what was tried.
std::string load_mpi(const std::string& name = {});

}  // namespace quadrille
