/* Quadrille: MPI's all-to-all family, fast on any MPI. The public API, in C.
 *
 * Two doors lead in. Programs that are run under `quadrille run` need nothing of this file. Programs
 * that call Quadrille by name include it, call Quadrille_X instead of MPI_X, and link with
 * -lquadrille beside their MPI (pkg-config: quadrille-openmpi or quadrille-mpich).
 *
 * All functions return MPI_SUCCESS or an MPI error code. Errors are raised through the error handler
 * of the communicator, as the MPI itself would raise them. A call that Quadrille cannot serve, or is
 * not sure about, is handed to the MPI; that is never an error.
 *
 * P is the number of ranks of the communicator throughout. Counts are in elements of the given
 * datatype, displacements in extents of the datatype unless said otherwise, sizes in bytes.
 */
#ifndef QUADRILLE_H
#define QUADRILLE_H

#include <mpi.h>

#define QUADRILLE_VERSION_MAJOR 0
#define QUADRILLE_VERSION_MINOR 1
#define QUADRILLE_VERSION_PATCH 0
/* One number that grows with every release: major * 10000 + minor * 100 + patch. */
#define QUADRILLE_VERSION \
  (QUADRILLE_VERSION_MAJOR * 10000 + QUADRILLE_VERSION_MINOR * 100 + QUADRILLE_VERSION_PATCH)

#if defined(__GNUC__)
#define QUADRILLE_EXPORT __attribute__((visibility("default")))
#else
#define QUADRILLE_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the library that the program runs with, as QUADRILLE_VERSION. May be called before
 * MPI_Init. */
QUADRILLE_EXPORT int Quadrille_Version(void);

/* Every rank sends one block to every rank, all blocks of one size. The first Quadrille call on a
 * communicator is collective in a second sense: it duplicates the communicator for private traffic
 * and finds out which ranks share a node.
 *   sendbuf    P blocks of sendcount elements, block d goes to rank d; or MPI_IN_PLACE at all ranks:
 *              the blocks are taken from recvbuf
 *   recvbuf    P blocks of recvcount elements, block s comes from rank s
 * Errors: those of MPI_Alltoall.
 * Algorithms: spread-out; pairwise and batched exchange (Namugwanya et al., section 3);
 * basic, modified, zero-copy and zero-rotation Bruck (Fan et al., HPDC 2022, section 2). */
QUADRILLE_EXPORT int Quadrille_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                        void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                        MPI_Comm comm);

/* As Quadrille_Alltoall; the sizes of the blocks differ.
 *   sendcounts, recvcounts  [P] elements of the block to, from each rank
 *   sdispls, rdispls        [P] start of each block, in extents of sendtype, recvtype
 * The counts a pair of ranks give must match, as for MPI_Alltoallv. With MPI_IN_PLACE sendcounts,
 * sdispls and sendtype are ignored. No argument array is written to.
 * Errors: those of MPI_Alltoallv. */
QUADRILLE_EXPORT int Quadrille_Alltoallv(const void* sendbuf, const int sendcounts[],
                                         const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                         const int recvcounts[], const int rdispls[],
                                         MPI_Datatype recvtype, MPI_Comm comm);

/* As Quadrille_Alltoallv; the datatypes differ too, and displacements are in bytes.
 *   sendtypes, recvtypes    [P] datatype of the block to, from each rank
 * Errors: those of MPI_Alltoallw. */
QUADRILLE_EXPORT int Quadrille_Alltoallw(const void* sendbuf, const int sendcounts[],
                                         const int sdispls[], const MPI_Datatype sendtypes[],
                                         void* recvbuf, const int recvcounts[], const int rdispls[],
                                         const MPI_Datatype recvtypes[], MPI_Comm comm);

/* Every rank sends one block, the same to all ranks.
 *   sendbuf    one block of sendcount elements; or MPI_IN_PLACE at all ranks: rank r's block is
 *              block r of its recvbuf
 *   recvbuf    P blocks of recvcount elements, block s comes from rank s
 * Errors: those of MPI_Allgather.
 * Algorithms: ring, recursive doubling, Bruck, spread-out. */
QUADRILLE_EXPORT int Quadrille_Allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                         void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                         MPI_Comm comm);

/* As Quadrille_Allgather; the sizes of the blocks differ.
 *   recvcounts  [P] elements of the block of each rank, the same at all ranks
 *   displs      [P] start of each block in recvbuf, in extents of recvtype
 * Errors: those of MPI_Allgatherv. */
QUADRILLE_EXPORT int Quadrille_Allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                          void* recvbuf, const int recvcounts[], const int displs[],
                                          MPI_Datatype recvtype, MPI_Comm comm);

/* Forces an algorithm for one collective on one communicator. Collective over `comm`: all ranks give
 * the same strings.
 *   collective  "alltoall", "alltoallv", "alltoallw", "allgather" or "allgatherv"
 *   algorithm   "name" or "name:parameter=value,...", as printed by `quadrille list`, for example
 *               "zero-rotation-bruck:radix=4"; "mpi" hands every call to the MPI; NULL or "" lets
 *               Quadrille choose again
 * A forced algorithm that cannot serve a particular call (see `quadrille list`) is not obeyed for that
 * call. Stronger than QUADRILLE_ALGORITHM in the environment.
 * Errors: MPI_ERR_ARG for an unknown collective, algorithm or parameter (one line on stderr names
 * what is known), or if the ranks gave different strings. */
QUADRILLE_EXPORT int Quadrille_Set_algorithm(MPI_Comm comm, const char* collective,
                                             const char* algorithm);

/* Allocates memory that the other ranks of the node can reach directly: exchanges between such buffers
 * need one copy. It comes from the shared heap, which this starts if need be; where there can be no
 * heap, it is ordinary memory. May be called before MPI_Init and from any thread.
 *   bytes  size of the memory; 0 gives NULL
 *   base   set to its start, aligned to 64 bytes; the content is undefined
 * Errors: MPI_ERR_ARG if bytes is negative or base is NULL, MPI_ERR_NO_MEM if there is no memory. They
 * are raised on MPI_COMM_WORLD between MPI_Init and MPI_Finalize, and only returned otherwise. */
QUADRILLE_EXPORT int Quadrille_Alloc(MPI_Aint bytes, void** base);

/* Frees memory of Quadrille_Alloc.
 *   base   what Quadrille_Alloc gave, or NULL
 * No errors. */
QUADRILLE_EXPORT int Quadrille_Free(void* base);

#ifdef __cplusplus
}
#endif

#endif /* QUADRILLE_H */
