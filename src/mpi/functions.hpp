// The functions of the MPI that the library calls, beside those of the collectives, in words of our own: X(Name,
// result, (parameters)), where `Name` is what follows "PMPI_". Every supported MPI has them. That each is what the MPI
// declares is checked where its ABI is known (abi/constants.cpp).
#pragma once

#include "mpi/words.hpp"

// In a list that clang-format would spoil.
// clang-format off
#define QUADRILLE_MPI_REQUIRED(X) \
  X(Alloc_mem, int, (MpiAint, MpiInfo, void*))                                                                       \
  X(Allreduce, int, (const void*, void*, int, MpiType, MpiOp, MpiComm)) X(Barrier, int, (MpiComm))                   \
  X(Bcast, int, (void*, int, MpiType, int, MpiComm)) X(Cancel, int, (MpiRequest*))                                   \
  X(Cart_create, int, (MpiComm, int, const int*, const int*, int, MpiComm*))                                         \
  X(Cart_get, int, (MpiComm, int, int*, int*, int*)) X(Cart_rank, int, (MpiComm, const int*, int*))                  \
  X(Cartdim_get, int, (MpiComm, int*)) X(Comm_call_errhandler, int, (MpiComm, int))                                  \
  X(Comm_create, int, (MpiComm, MpiGroup, MpiComm*)) X(Comm_create_group, int, (MpiComm, MpiGroup, int, MpiComm*))   \
  X(Comm_create_keyval, int, (int (*)(MpiComm, int, void*, void*, void*, int*), int (*)(MpiComm, int, void*, void*), int*, void*)) \
  X(Comm_disconnect, int, (MpiComm*)) X(Comm_free, int, (MpiComm*))                                                  \
  X(Comm_get_attr, int, (MpiComm, int, void*, int*))                                                                 \
  X(Comm_get_errhandler, int, (MpiComm, MpiErrhandler*)) X(Comm_get_info, int, (MpiComm, MpiInfo*))                  \
  X(Comm_get_name, int, (MpiComm, char*, int*)) X(Comm_group, int, (MpiComm, MpiGroup*))                             \
  X(Comm_rank, int, (MpiComm, int*)) X(Comm_remote_size, int, (MpiComm, int*))                                       \
  X(Comm_set_attr, int, (MpiComm, int, void*)) X(Comm_set_errhandler, int, (MpiComm, MpiErrhandler))                 \
  X(Comm_size, int, (MpiComm, int*)) X(Comm_split, int, (MpiComm, int, int, MpiComm*))                               \
  X(Comm_split_type, int, (MpiComm, int, int, MpiInfo, MpiComm*)) X(Comm_test_inter, int, (MpiComm, int*))           \
  X(Dims_create, int, (int, int, int*))                                                                              \
  X(Dist_graph_create, int, (MpiComm, int, const int*, const int*, const int*, const int*, MpiInfo, int, MpiComm*))  \
  X(Dist_graph_create_adjacent, int, (MpiComm, int, const int*, const int*, int, const int*, const int*, MpiInfo, int, MpiComm*)) \
  X(Dist_graph_neighbors, int, (MpiComm, int, int*, int*, int, int*, int*))                                          \
  X(Dist_graph_neighbors_count, int, (MpiComm, int*, int*, int*)) X(Errhandler_free, int, (MpiErrhandler*))          \
  X(Error_class, int, (int, int*)) X(Finalize, int, ()) X(Finalized, int, (int*)) X(Free_mem, int, (void*))          \
  X(Gather, int, (const void*, int, MpiType, void*, int, MpiType, int, MpiComm))                                     \
  X(Get_elements_x, int, (const MpiStatus*, MpiType, MpiCount*)) X(Get_library_version, int, (char*, int*))          \
  X(Get_processor_name, int, (char*, int*)) X(Graph_neighbors, int, (MpiComm, int, int, int*))                       \
  X(Graph_neighbors_count, int, (MpiComm, int, int*)) X(Grequest_complete, int, (MpiRequest))                        \
  X(Grequest_start, int, (int (*)(void*, MpiStatus*), int (*)(void*), int (*)(void*, int), void*, MpiRequest*))      \
  X(Group_free, int, (MpiGroup*)) X(Group_range_incl, int, (MpiGroup, int, int (*)[3], MpiGroup*))                   \
  X(Group_size, int, (MpiGroup, int*)) X(Group_translate_ranks, int, (MpiGroup, int, const int*, MpiGroup, int*))    \
  X(Iallreduce, int, (const void*, void*, int, MpiType, MpiOp, MpiComm, MpiRequest*))                                \
  X(Ibarrier, int, (MpiComm, MpiRequest*)) X(Ibcast, int, (void*, int, MpiType, int, MpiComm, MpiRequest*))          \
  X(Info_create, int, (MpiInfo*)) X(Info_free, int, (MpiInfo*))                                                      \
  X(Info_get, int, (MpiInfo, const char*, int, char*, int*)) X(Info_get_nkeys, int, (MpiInfo, int*))                 \
  X(Info_get_nthkey, int, (MpiInfo, int, char*)) X(Info_set, int, (MpiInfo, const char*, const char*))               \
  X(Init, int, (int*, char***)) X(Init_thread, int, (int*, char***, int, int*)) X(Initialized, int, (int*))          \
  X(Iprobe, int, (int, int, MpiComm, int*, MpiStatus*))                                                              \
  X(Irecv, int, (void*, int, MpiType, int, int, MpiComm, MpiRequest*))                                               \
  X(Isend, int, (const void*, int, MpiType, int, int, MpiComm, MpiRequest*))                                         \
  X(Issend, int, (const void*, int, MpiType, int, int, MpiComm, MpiRequest*))                                        \
  X(Pack, int, (const void*, int, MpiType, void*, int, int*, MpiComm)) X(Query_thread, int, (int*))                  \
  X(Recv_init, int, (void*, int, MpiType, int, int, MpiComm, MpiRequest*))                                           \
  X(Request_free, int, (MpiRequest*)) X(Request_get_status, int, (MpiRequest, int*, MpiStatus*))                     \
  X(Send, int, (const void*, int, MpiType, int, int, MpiComm))                                                       \
  X(Sendrecv, int, (const void*, int, MpiType, int, int, void*, int, MpiType, int, int, MpiComm, MpiStatus*))        \
  X(Start, int, (MpiRequest*)) X(Startall, int, (int, MpiRequests)) X(Status_set_cancelled, int, (MpiStatus*, int))  \
  X(Status_set_elements, int, (MpiStatus*, MpiType, int)) X(T_cvar_get_index, int, (const char*, int*))              \
  X(T_cvar_handle_alloc, int, (int, void*, void**, int*)) X(T_cvar_handle_free, int, (void**))                       \
  X(T_cvar_write, int, (void*, const void*)) X(T_finalize, int, ()) X(T_init_thread, int, (int, int*))               \
  X(Test, int, (MpiRequest*, int*, MpiStatus*)) X(Testall, int, (int, MpiRequests, int*, MpiStatus*))                \
  X(Testany, int, (int, MpiRequests, int*, int*, MpiStatus*))                                                        \
  X(Testsome, int, (int, MpiRequests, int*, int*, MpiStatus*)) X(Topo_test, int, (MpiComm, int*))                    \
  X(Type_commit, int, (MpiType*)) X(Type_contiguous, int, (int, MpiType, MpiType*))                                  \
  X(Type_create_hindexed, int, (int, const int*, const MpiAint*, MpiType, MpiType*))                                 \
  X(Type_create_hvector, int, (int, int, MpiAint, MpiType, MpiType*))                                                \
  X(Type_create_keyval, int, (int (*)(MpiType, int, void*, void*, void*, int*), int (*)(MpiType, int, void*, void*), int*, void*)) \
  X(Type_create_resized, int, (MpiType, MpiAint, MpiAint, MpiType*))                                                 \
  X(Type_create_struct, int, (int, const int*, const MpiAint*, MpiTypes, MpiType*))                                  \
  X(Type_create_subarray, int, (int, const int*, const int*, const int*, int, MpiType, MpiType*))                    \
  X(Type_free, int, (MpiType*))                                                                                      \
  X(Type_get_attr, int, (MpiType, int, void*, int*))                                                                 \
  X(Type_get_contents, int, (MpiType, int, int, int, int*, MpiAint*, MpiTypes))                                      \
  X(Type_get_envelope, int, (MpiType, int*, int*, int*, int*))                                                       \
  X(Type_get_extent, int, (MpiType, MpiAint*, MpiAint*)) X(Type_get_true_extent, int, (MpiType, MpiAint*, MpiAint*)) \
  X(Type_set_attr, int, (MpiType, int, void*)) X(Type_size_x, int, (MpiType, MpiCount*))                             \
  X(Unpack, int, (const void*, int, int*, void*, int, MpiType, MpiComm)) X(Wait, int, (MpiRequest*, MpiStatus*))     \
  X(Waitall, int, (int, MpiRequests, MpiStatus*)) X(Waitany, int, (int, MpiRequests, int*, MpiStatus*))              \
  X(Waitsome, int, (int, MpiRequests, int*, int*, MpiStatus*)) X(Wtime, double, ())

// Functions that an MPI may lack; they are null then: X(Name, result, (parameters), name in the library).
//   Async_start, opal_progress_...   by which an MPI calls others while it makes progress (mpi/progress_hook.hpp)
//   Comm_get_failed, ..._is_revoked  what an MPI says of a communicator where its fault tolerance is enabled
//   Comm_revoke                      ends all messages in flight on a communicator, on all of its ranks
//   GPU_query_support, Query_...     extensions: whether the MPI's functions take a device's memory
//   Request_is_complete              of MPICH: looks at a request, and at nothing else
//   Type_get_envelope_c              of MPI 4; the older function fails for types made with large counts
#define QUADRILLE_MPI_OPTIONAL(X) \
  X(Async_start, int, (int (*)(void*), void*, int), PMPIX_Async_start)                                               \
  X(Comm_get_failed, int, (MpiComm, MpiGroup*), PMPIX_Comm_get_failed)                                               \
  X(Comm_is_revoked, int, (MpiComm, int*), PMPIX_Comm_is_revoked)                                                    \
  X(Comm_revoke, int, (MpiComm), PMPIX_Comm_revoke)                                                                  \
  X(GPU_query_support, int, (int, int*), MPIX_GPU_query_support)                                                     \
  X(Query_cuda_support, int, (), MPIX_Query_cuda_support) X(Query_hip_support, int, (), MPIX_Query_hip_support)      \
  X(Query_rocm_support, int, (), MPIX_Query_rocm_support)                                                            \
  X(Request_is_complete, int, (MpiRequest), MPIX_Request_is_complete)                                                \
  X(Type_get_envelope_c, int, (MpiType, MpiCount*, MpiCount*, MpiCount*, MpiCount*, int*), PMPI_Type_get_envelope_c) \
  X(opal_progress_register, int, (int (*)()), opal_progress_register)                                                \
  X(opal_progress_unregister, int, (int (*)()), opal_progress_unregister)
// clang-format on
