/* Quadrille: MPI's all-to-all family, fast on any MPI. The public API, in C.
 *
 * Programs that run under `quadrille run` do not need this file. Programs that call Quadrille by name
 * include it, call Quadrille_X instead of MPI_X, and link with -lquadrille beside their MPI
 * (pkg-config: quadrille).
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
#define QUADRILLE_VERSION (QUADRILLE_VERSION_MAJOR * 10000 + QUADRILLE_VERSION_MINOR * 100 + QUADRILLE_VERSION_PATCH)

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
QUADRILLE_EXPORT int Quadrille_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                        int recvcount, MPI_Datatype recvtype, MPI_Comm comm);

/* As Quadrille_Alltoall; the sizes of the blocks differ.
 *   sendcounts, recvcounts  [P] elements of the block to, from each rank
 *   sdispls, rdispls        [P] start of each block, in extents of sendtype, recvtype
 * The counts a pair of ranks give must match, as for MPI_Alltoallv. With MPI_IN_PLACE sendcounts,
 * sdispls and sendtype are ignored. No argument array is written to.
 * Errors: those of MPI_Alltoallv. */
QUADRILLE_EXPORT int Quadrille_Alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                         MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                         const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm);

/* As Quadrille_Alltoallv; the datatypes differ too, and displacements are in bytes.
 *   sendtypes, recvtypes    [P] datatype of the block to, from each rank
 * Errors: those of MPI_Alltoallw. */
QUADRILLE_EXPORT int Quadrille_Alltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                         const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                         const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm);

/* Every rank sends one block, the same to all ranks.
 *   sendbuf    one block of sendcount elements; or MPI_IN_PLACE at all ranks: rank r's block is
 *              block r of its recvbuf
 *   recvbuf    P blocks of recvcount elements, block s comes from rank s
 * Errors: those of MPI_Allgather.
 * Algorithms: ring, recursive doubling, Bruck, spread-out. */
QUADRILLE_EXPORT int Quadrille_Allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                         int recvcount, MPI_Datatype recvtype, MPI_Comm comm);

/* As Quadrille_Allgather; the sizes of the blocks differ.
 *   recvcounts  [P] elements of the block of each rank, the same at all ranks
 *   displs      [P] start of each block in recvbuf, in extents of recvtype
 * Errors: those of MPI_Allgatherv. */
QUADRILLE_EXPORT int Quadrille_Allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                          const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                                          MPI_Comm comm);

/* The blocks that a rank got in a sparse exchange, one entry a block. Sorted by source; blocks from one
 * source are in the order in which it named them. */
typedef struct {
  int nsources;      /* number of blocks */
  int* sources;      /* [nsources] rank that sent the block; NULL without blocks */
  MPI_Count* counts; /* [nsources] elements of recvtype; may be 0 */
  MPI_Aint* displs;  /* [nsources] start of the block in data, in extents of recvtype */
  void* data;        /* all elements, one block behind the other, aligned to 64 bytes where the lower
                        bound of recvtype is 0; NULL without elements. Gaps are undefined */
  void* memory;      /* Quadrille's own: what all of this lies in */
} Quadrille_Received;

/* The sparse exchange: every rank names the ranks to which it sends, and finds out who sent to it.
 * Collective over `comm`, also for ranks that send nothing.
 *   sendbuf        where the blocks are
 *   ndestinations  number of blocks that this rank sends, 0 or more; the ranks may give different ones
 *   destinations   [ndestinations] rank in comm to which each block goes. A rank may be named several
 *                  times, and may be this one
 *   sendcounts     [ndestinations] elements of sendtype in each block. A block of 0 elements is sent
 *                  too: it arrives as an entry with count 0
 *   sdispls        [ndestinations] start of each block, in extents of sendtype
 *   sendtype       ignored if there is no element to send
 *   recvtype       what the blocks become here. The ranks may give different types, if each block has a
 *                  whole number of elements of its receiver's type, of the same basic types
 *   received       filled in. What it held is not looked at; free it with Quadrille_Received_free. After
 *                  an error it is empty
 * The arrays may be NULL if ndestinations is 0. The memory needed is about twice what arrives.
 * Errors: MPI_ERR_COMM for the null communicator or an intercommunicator. MPI_ERR_COUNT for a negative
 * ndestinations or count, MPI_ERR_ARG for a null array or `received`, MPI_ERR_RANK for a destination that
 * is not a rank of comm (nor is MPI_PROC_NULL), MPI_ERR_BUFFER for a null sendbuf with data in it, and
 * MPI_ERR_TYPE for what the MPI does not take as a committed datatype. If any rank makes one of these
 * mistakes, nothing is delivered and the call fails on all ranks: there with its own error, elsewhere with
 * one of the others'. Of one rank alone are MPI_ERR_TYPE, if a block is not a whole number of elements of
 * recvtype, and MPI_ERR_NO_MEM.
 * Algorithms: "consensus" (Hoefler, Siebert and Lumsdaine, PPoPP 2010, algorithm 2) and "bruck" (the
 * rounds of Bruck et al., IEEE TPDS 1997). */
QUADRILLE_EXPORT int Quadrille_Exchange(const void* sendbuf, int ndestinations, const int destinations[],
                                        const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                        MPI_Datatype recvtype, MPI_Comm comm, Quadrille_Received* received);

/* Frees what Quadrille_Exchange gave, and empties the struct: it may be called again.
 *   received   what Quadrille_Exchange filled in, or NULL
 * No errors. */
QUADRILLE_EXPORT int Quadrille_Received_free(Quadrille_Received* received);

/* ---- Neighbour collectives ----
 *
 * Collective over `comm`, which has a topology: Cartesian, graph, distributed graph, or isomorphic (see
 * Quadrille_Iso_neighborhood_create). Every rank sends one block to each of its destinations and receives one
 * from each of its sources. As in MPI, blocks are numbered
 *   Cartesian                 block 2d for the neighbour at -1 in dimension d, block 2d + 1 for that at +1. The
 *                             block sent to the neighbour at -1 arrives there as the block of its neighbour at
 *                             +1, also where both are one process, or the process itself. Blocks of
 *                             neighbours that are not there are part of the arrays and are not touched
 *   graph                     as MPI_Graph_neighbors
 *   distributed, isomorphic   as MPI_Dist_graph_neighbors: block k goes to destinations[k], comes from
 *                             sources[k]. Of several edges from one rank to another the k-th that the sender
 *                             names is the k-th that the receiver names
 * There is no MPI_IN_PLACE. Send and receive buffers must not overlap. Below, "destinations" and "sources" stand
 * for their numbers.
 * Algorithms: "direct" (any topology); "straightforward", "torus", "torus-direct" and "basis" (Träff,
 * Carpen-Amarie, Hunold and Rougier, Message-Combining Algorithms for Isomorphic, Sparse Collective Communication,
 * sections 3 and 5; Cartesian and isomorphic communicators). The combining three serve calls whose
 * sizes all ranks know: alltoall and allgather, and the others under "quadrille_iso_sizes" or
 * Quadrille_Set_iso_sizes (below). */

/* One size for all blocks.
 *   sendbuf, sendcount, sendtype  [destinations] blocks of sendcount elements, one behind the other
 *   recvbuf, recvcount, recvtype  [sources] blocks of recvcount elements, one behind the other
 * The size is the same at all ranks of the communicator, also at those without any neighbour.
 * Errors: those of MPI_Neighbor_alltoall. */
QUADRILLE_EXPORT int Quadrille_Neighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                 void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm);

/* As Quadrille_Neighbor_alltoall; sizes and places of the blocks differ.
 *   sendcounts, recvcounts  [destinations], [sources] elements of each block; 0: no message
 *   sdispls, rdispls        [destinations], [sources] start of each block, in extents of the type
 * Errors: those of MPI_Neighbor_alltoallv. */
QUADRILLE_EXPORT int Quadrille_Neighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                                  const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm);

/* As Quadrille_Neighbor_alltoallv; the datatypes differ too.
 *   sdispls, rdispls      [destinations], [sources] start of each block, in bytes
 *   sendtypes, recvtypes  [destinations], [sources] datatype of each block
 * Errors: those of MPI_Neighbor_alltoallw. */
QUADRILLE_EXPORT int Quadrille_Neighbor_alltoallw(const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                                  MPI_Comm comm);

/* Every rank sends one and the same block to all of its destinations.
 *   sendbuf, sendcount, sendtype  the block, of sendcount elements
 *   recvbuf, recvcount, recvtype  [sources] blocks of recvcount elements, one behind the other
 * The size is the same at all ranks of the communicator, also at those without any neighbour.
 * Errors: those of MPI_Neighbor_allgather. */
QUADRILLE_EXPORT int Quadrille_Neighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                  void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm);

/* As Quadrille_Neighbor_allgather; the blocks of the ranks differ in size.
 *   recvcounts  [sources] elements of each block
 *   displs      [sources] start of each block, in extents of recvtype
 * Errors: those of MPI_Neighbor_allgatherv. */
QUADRILLE_EXPORT int Quadrille_Neighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                   void* recvbuf, const int recvcounts[], const int displs[],
                                                   MPI_Datatype recvtype, MPI_Comm comm);

/* As Quadrille_Neighbor_allgatherv; the datatypes of the received blocks differ too. MPI has no such function; it
 * is that of Träff et al., section 2, listing 3, Iso_neighbor_allgatherw_init, without the request.
 *   sendbuf, sendcount, sendtype  the block, of sendcount elements, the same for all destinations
 *   recvcounts                    [sources] elements of each block; 0 if its source sends nothing
 *   rdispls                       [sources] start of each block, in bytes from recvbuf
 *   recvtypes                     [sources] datatype of each block
 * A block has one size in bytes at its sender and at all who receive it. The arrays may be NULL where there are no
 * sources; on a Cartesian communicator they have entries also for neighbours that are not there.
 * What is handed to the MPI goes through its MPI_Neighbor_alltoallw, with the same block for each destination.
 * Errors: those of MPI_Neighbor_alltoallw; MPI_ERR_ARG for a null array with blocks in it, and for MPI_IN_PLACE. */
QUADRILLE_EXPORT int Quadrille_Neighbor_allgatherw(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                   void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
                                                   const MPI_Datatype recvtypes[], MPI_Comm comm);

/* Makes a communicator in which every rank has the same neighbourhood around it: block i of a rank goes to the
 * process at +offset i, and block i of its receive blocks comes from the process at -offset i. Since all ranks
 * know each other's neighbours, messages can be combined (Träff et al., section 2, listing 1). Collective over
 * cartcomm.
 *   cartcomm  a Cartesian communicator. Dimensions that are not periodic have no neighbours beyond their ends
 *   s         number of offsets, 0 or more, the same at all ranks
 *   offsets   [s * d] offset i in dimension j is offsets[i * d + j], in processes; d dimensions. The same list in
 *             the same order at all ranks. Offsets may be zero, negative, larger than the extent of the
 *             dimension, and may repeat; several may lead to one process. Not needed after the call
 *   info      hints, the same at all ranks, or MPI_INFO_NULL. "1", "yes" and "on" mean "true"; keys "quadrille_..."
 *             and values that are not known do nothing, and QUADRILLE_EXPLAIN=1 prints a line on each:
 *             "quadrille_check" = "true"      finds out whether all ranks gave the same list. So does
 *                                             QUADRILLE_CHECK=1 in the environment. Without it a wrong list gives
 *                                             wrong results, or hangs. With "quadrille_iso_sizes" each v and w
 *                                             call checks that as well: if it is not true, the call fails with
 *                                             MPI_ERR_ARG on all ranks
 *             "quadrille_iso_sizes" = "true"  the user asserts that in every v and w call block i has one size in
 *                                             bytes at all ranks; then these calls may be combined as well, if no
 *                                             process lacks a neighbour. Their datatypes may differ
 *   isocomm   set to the new communicator, of the same ranks in the same order. It has a distributed graph
 *             topology of those processes that are there, in the order of the offsets, so that MPI's own
 *             functions work on it. In calls on it block k is that of the k-th neighbour that is there.
 *             Duplicates (MPI_Comm_dup) are isomorphic too. Free it with MPI_Comm_free
 * Errors: MPI_ERR_TOPOLOGY if cartcomm is not Cartesian, MPI_ERR_ARG for a negative s, for null offsets with
 * s > 0, for a null isocomm, and, if checked, for ranks with different lists; MPI_ERR_COMM for the null
 * communicator. isocomm is MPI_COMM_NULL then. A mistake of one rank alone is found by the others if checked. */
QUADRILLE_EXPORT int Quadrille_Iso_neighborhood_create(MPI_Comm cartcomm, int s, const int offsets[], MPI_Info info,
                                                       MPI_Comm* isocomm);

/* Asserts that in every v and w call on comm block i has one size in bytes at all ranks, and all blocks of an allgather
 * v or w have one size; or takes that back. The same as "quadrille_iso_sizes" of Quadrille_Iso_neighborhood_create, for
 * any communicator with a topology: these calls may then be combined, if no process lacks a neighbour. Collective over
 * comm: all ranks call it between the same calls on comm.
 *   comm      a Cartesian communicator, an isomorphic one, or a graph. Of a graph it counts if Quadrille recognises a
 *             torus in which block i goes the same way at all ranks
 *   asserted  1, or 0. It counts if all ranks give 1. Duplicates of comm do not inherit it
 * Without this call the key "quadrille_iso_sizes" in the info that the MPI keeps with comm counts (MPI_Comm_get_info),
 * if all ranks gave it; not all MPIs keep it, see docs/neighbours.md. With QUADRILLE_CHECK=1 each call is checked.
 * Errors: MPI_ERR_COMM for the null communicator or an intercommunicator, MPI_ERR_TOPOLOGY without a topology. */
QUADRILLE_EXPORT int Quadrille_Set_iso_sizes(MPI_Comm comm, int asserted);

/* ---- Requests: nonblocking and persistent calls ----
 *
 * A request is a call whose start and completion are separate. Between start and completion the send buffer may not be
 * written to and the receive buffer not be touched. A request belongs to one rank; its functions but the makers are
 * local. A request outlives its communicator: it can be completed, and a persistent one started, as before; the last
 * one that is freed then frees what is left of the communicator, and errors are raised on MPI_COMM_WORLD. Complete all
 * requests, and free the persistent ones, before MPI_Finalize.
 *
 * All pending requests of this process make progress in Test, Wait and the others below, and in blocking calls of
 * Quadrille that wait for ranks of the node; nowhere else. So a rank that has started a request must call one of these
 * before it waits for other ranks in another way.
 *
 * Inside a node requests run through inboxes and rings, whatever a blocking call would choose: in the other ways a rank
 * would have to wait for others in the middle. Algorithms over messages run as they do in blocking calls.
 * QUADRILLE_EXPLAIN says what runs, and docs/requests.md when. */
typedef struct Quadrille_Request_state* Quadrille_Request;
#define QUADRILLE_REQUEST_NULL ((Quadrille_Request)0)

/* Nonblocking calls: started by the call itself. All ranks of `comm` start their nonblocking calls on it in one order,
 * and in one order with other collectives; they may complete them in any. The first Quadrille call on a communicator
 * waits for the other ranks, and so does the first nonblocking one. Any number may be pending: a few of a
 * communicator move their data at the same time, and the others follow in the order of their starts. Arguments up to
 * `comm` are those of the blocking function. Buffers are needed until the call is complete; datatypes and arrays of
 * arguments are not needed after it was made. What Quadrille does not serve is started by the MPI's own nonblocking
 * function. request  set to the request. When Wait or Test says that the call is complete, the request is gone, and the
 * handle is set to QUADRILLE_REQUEST_NULL. After an error of this function it is QUADRILLE_REQUEST_NULL, too Errors:
 * those of the MPI's nonblocking function; MPI_ERR_ARG for a null request; MPI_ERR_NO_MEM. */
QUADRILLE_EXPORT int Quadrille_Ialltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                         int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                                         Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Ialltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                          MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                          const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                                          Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Ialltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                          const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                          const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                                          Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Iallgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                          int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                                          Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Iallgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                           const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                                           MPI_Comm comm, Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Ineighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                  void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                                                  Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Ineighbor_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                   MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                                   const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                                                   Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Ineighbor_alltoallw(const void* sendbuf, const int sendcounts[],
                                                   const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                                   void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
                                                   const MPI_Datatype recvtypes[], MPI_Comm comm,
                                                   Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Ineighbor_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                   void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                                                   Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Ineighbor_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                    void* recvbuf, const int recvcounts[], const int displs[],
                                                    MPI_Datatype recvtype, MPI_Comm comm, Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Ineighbor_allgatherw(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                    void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
                                                    const MPI_Datatype recvtypes[], MPI_Comm comm,
                                                    Quadrille_Request* request);

/* Persistent calls: made once and started as often as wanted; schedule, blocks and memory are kept (Träff et al.,
 * listings 2 and 3). Collective over `comm`: all ranks make their requests in the same order. Nothing moves yet.
 * Arguments up to `comm` are those of the blocking function. Buffers are needed until the request is freed, datatypes
 * and arrays of arguments are not. info     MPI_INFO_NULL; no hints are known request  set to the request, or to
 * QUADRILLE_REQUEST_NULL after an error A forced algorithm is that of the moment. What would be handed to the MPI runs
 * as messages between each two ranks, or neighbours, and so does what would run as "rings" where there is no shared
 * memory left for them. Errors: MPI_ERR_COMM for the null communicator or an intercommunicator; MPI_ERR_TOPOLOGY if
 * comm has no topology and needs one; MPI_ERR_ARG for a null request, a null array or buffer with blocks in it,
 * MPI_IN_PLACE where it is not allowed, a negative count, a datatype that is null or not committed; MPI_ERR_NO_MEM. */
QUADRILLE_EXPORT int Quadrille_Alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                             int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                             Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                              MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                              const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                              Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Alltoallw_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                              const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                              const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                                              MPI_Info info, Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                              int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                              Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                               const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                                               MPI_Comm comm, MPI_Info info, Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Neighbor_alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                      void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                                      MPI_Comm comm, MPI_Info info, Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                       MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                                       const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                                                       MPI_Info info, Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Neighbor_alltoallw_init(const void* sendbuf, const int sendcounts[],
                                                       const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                                       void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
                                                       const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                                                       Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Neighbor_allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                       void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                                       MPI_Comm comm, MPI_Info info, Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Neighbor_allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                        void* recvbuf, const int recvcounts[], const int displs[],
                                                        MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                                        Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Neighbor_allgatherw_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                        void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
                                                        const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                                                        Quadrille_Request* request);

/* Starts a persistent request; all ranks of its communicator start it, as often as each other. Several requests may be
 * pending, on one communicator too, and other calls as well; their order may differ from rank to rank.
 *   request  a request that is not active: after a start Wait, or Test with flag 1, must have completed it, even if its
 *            data have arrived
 * Errors: MPI_ERR_REQUEST for a null request, one that is active, or one of a nonblocking call; those of the messages.
 */
QUADRILLE_EXPORT int Quadrille_Start(Quadrille_Request* request);

/* Starts several persistent requests, one after the other; as Quadrille_Start.
 *   count     number of requests
 *   requests  [count] the requests
 * Errors: as Quadrille_Start, and then those behind it are not started; MPI_ERR_ARG for a negative count or null array.
 */
QUADRILLE_EXPORT int Quadrille_Startall(int count, Quadrille_Request requests[]);

/* Whether a request is complete, without waiting.
 *   request  a request; a null one, and one that was not started, is complete
 *   flag     set to 1 if it is complete, else to 0
 * Errors: MPI_ERR_REQUEST or MPI_ERR_ARG for null pointers; those of the messages, after which the request is not
 * active. */
QUADRILLE_EXPORT int Quadrille_Test(Quadrille_Request* request, int* flag);

/* Whether all of several requests are complete, without waiting. If not, none of them is completed.
 *   count     number of requests
 *   requests  [count] the requests; null ones, and those that were not started, are complete
 *   flag      set to 1 if all are complete, else to 0
 * Errors: MPI_ERR_ARG for a negative count or a null pointer; the first of those of the messages. */
QUADRILLE_EXPORT int Quadrille_Testall(int count, Quadrille_Request requests[], int* flag);

/* Completes one of several requests, without waiting.
 *   count     number of requests
 *   requests  [count] the requests
 *   index     set to the number of the request that was completed, or to MPI_UNDEFINED if none was
 *   flag      set to 1 if one was completed or none is active, else to 0
 * Errors: as Quadrille_Testall. */
QUADRILLE_EXPORT int Quadrille_Testany(int count, Quadrille_Request requests[], int* index, int* flag);

/* Waits until a request is complete; at once if it is null or was not started.
 *   request  a request
 * Errors: as Quadrille_Test. */
QUADRILLE_EXPORT int Quadrille_Wait(Quadrille_Request* request);

/* Waits until all of several requests are complete.
 *   count     number of requests
 *   requests  [count] the requests; null ones, and those that were not started, are complete
 * Errors: as Quadrille_Testall. All requests have been completed then, too. */
QUADRILLE_EXPORT int Quadrille_Waitall(int count, Quadrille_Request requests[]);

/* Waits until one of several requests is complete, and completes it.
 *   count     number of requests
 *   requests  [count] the requests
 *   index     set to its number, or to MPI_UNDEFINED if none is active
 * Errors: as Quadrille_Testall. */
QUADRILLE_EXPORT int Quadrille_Waitany(int count, Quadrille_Request requests[], int* index);

/* Frees a persistent request that is not active, and sets it to QUADRILLE_REQUEST_NULL; does nothing for a null one.
 *   request  a request
 * Errors: MPI_ERR_REQUEST for one that is active. */
QUADRILLE_EXPORT int Quadrille_Request_free(Quadrille_Request* request);

/* ---- Large counts ----
 *
 * The collectives above with counts of MPI_Count and displacements of MPI_Aint, for blocks of more than 2^31 - 1
 * elements: with the argument lists of MPI 4's functions, but with any MPI, also one that has none of these. Either all
 * ranks call the function with large counts or none does, however large the counts of a rank are; only of Alltoall,
 * Allgather and the same among neighbours each rank may call either. Displacements of Alltoallw are in bytes, as
 * without _c. */

/* Blocking calls. What Quadrille does not serve goes to the MPI's own function with large counts. Where the MPI has
 * none, Alltoall, Allgather and the same among neighbours go to that with int counts, with larger elements where need
 * be, and the others are messages between each two ranks or neighbours. Errors: those of the function without _c. Where
 * messages stand in for a function that the MPI does not have, those of Quadrille_Alltoall_init, also MPI_ERR_COMM for
 * an intercommunicator. */
QUADRILLE_EXPORT int Quadrille_Alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                          void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm);
QUADRILLE_EXPORT int Quadrille_Alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                           MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                           const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm);
QUADRILLE_EXPORT int Quadrille_Alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                           const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                           const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm);
QUADRILLE_EXPORT int Quadrille_Allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                           void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm);
QUADRILLE_EXPORT int Quadrille_Allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                            void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                                            MPI_Datatype recvtype, MPI_Comm comm);
QUADRILLE_EXPORT int Quadrille_Neighbor_alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                   void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                                   MPI_Comm comm);
QUADRILLE_EXPORT int Quadrille_Neighbor_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                    const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                                    const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                                    MPI_Datatype recvtype, MPI_Comm comm);
QUADRILLE_EXPORT int Quadrille_Neighbor_alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                                    void* recvbuf, const MPI_Count recvcounts[],
                                                    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                                    MPI_Comm comm);
QUADRILLE_EXPORT int Quadrille_Neighbor_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                    void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                                    MPI_Comm comm);
QUADRILLE_EXPORT int Quadrille_Neighbor_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                     void* recvbuf, const MPI_Count recvcounts[],
                                                     const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm);
QUADRILLE_EXPORT int Quadrille_Neighbor_allgatherw_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                     void* recvbuf, const MPI_Count recvcounts[],
                                                     const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                                     MPI_Comm comm);

/* Nonblocking calls, as Quadrille_Ialltoall and its like. What Quadrille does not serve goes to the MPI's nonblocking
 * function with int counts, with larger elements where need be, if it is an Alltoall, an Allgather or the same among
 * neighbours; the others are messages. Errors: those of the function without _c; where messages stand in, those of
 * Quadrille_Alltoall_init. */
QUADRILLE_EXPORT int Quadrille_Ialltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                           void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                                           Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Ialltoallv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                            MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                            const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                                            Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Ialltoallw_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                            const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                            const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                                            Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Iallgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                            void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                                            Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Iallgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                             void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                                             MPI_Datatype recvtype, MPI_Comm comm, Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Ineighbor_alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                    void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                                    MPI_Comm comm, Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Ineighbor_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                     const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                                     const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                                     MPI_Datatype recvtype, MPI_Comm comm, Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Ineighbor_alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                     const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                                     void* recvbuf, const MPI_Count recvcounts[],
                                                     const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                                     MPI_Comm comm, Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Ineighbor_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                     void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                                     MPI_Comm comm, Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Ineighbor_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                      void* recvbuf, const MPI_Count recvcounts[],
                                                      const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm,
                                                      Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Ineighbor_allgatherw_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                      void* recvbuf, const MPI_Count recvcounts[],
                                                      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                                      MPI_Comm comm, Quadrille_Request* request);

/* Persistent calls, as Quadrille_Alltoall_init and its like.
 * Errors: those of Quadrille_Alltoall_init. */
QUADRILLE_EXPORT int Quadrille_Alltoall_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                               void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                                               MPI_Info info, Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                                const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                                MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                                Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Alltoallw_init_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void* recvbuf,
                                                const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                                const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                                                Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Allgather_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                                MPI_Comm comm, MPI_Info info, Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Allgatherv_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                 void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                                                 MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                                 Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Neighbor_alltoall_init_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                                        void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                                        MPI_Comm comm, MPI_Info info, Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Neighbor_alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                         const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                                         const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                                         MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                                         Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Neighbor_alltoallw_init_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                         const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                                         void* recvbuf, const MPI_Count recvcounts[],
                                                         const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                                         MPI_Comm comm, MPI_Info info, Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Neighbor_allgather_init_c(const void* sendbuf, MPI_Count sendcount,
                                                         MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                                                         MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                                         Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Neighbor_allgatherv_init_c(const void* sendbuf, MPI_Count sendcount,
                                                          MPI_Datatype sendtype, void* recvbuf,
                                                          const MPI_Count recvcounts[], const MPI_Aint displs[],
                                                          MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                                          Quadrille_Request* request);
QUADRILLE_EXPORT int Quadrille_Neighbor_allgatherw_init_c(const void* sendbuf, MPI_Count sendcount,
                                                          MPI_Datatype sendtype, void* recvbuf,
                                                          const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                                          const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                                                          Quadrille_Request* request);

/* ---- Calls in the order of a stream ----
 *
 * A call is put into a stream of CUDA or HIP as a kernel is: what the stream did before is sent, and what it does next
 * finds what has come. Nothing waits on the host, and the call may return before the other ranks have come to it. The
 * first call on a communicator waits for them. A program gets MPI_THREAD_MULTIPLE for that; without it, and where else
 * the driver does not serve (docs/gpu.md), the call waits for the stream and the other ranks before it returns,
 * without an error.
 *
 * All ranks enqueue their calls on a communicator in one order, among each other and with its other collectives.
 * Buffers are a device's memory or the host's, and are needed until the stream has passed the call; datatypes and
 * arrays are not needed after it was made. The communicator may be freed meanwhile. MPI_Finalize waits for what is
 * pending. */

/* Quadrille_Alltoall, Quadrille_Alltoallv and Quadrille_Alltoallw in the order of a stream. Arguments but `stream` are
 * those of the blocking function; MPI_IN_PLACE too. stream   a CUstream, cudaStream_t or hipStream_t of this process.
 * NULL is the legacy NULL stream of the current context, and so is 1 (CU_STREAM_LEGACY); 2 (CU_STREAM_PER_THREAD) is
 * that of the calling thread. Of no meaning if the program has loaded no driver Errors: MPI_ERR_ARG for a stream that
 * captures, which is left unchanged, for an invalid stream, and for what Quadrille_Alltoall_init says MPI_ERR_ARG to:
 * the call does not take part then. MPI_ERR_COMM for the null communicator or an intercommunicator; MPI_ERR_NO_MEM.
 * MPI_ERR_OTHER if the driver refuses in the middle: then the call takes part, and what it sends and receives is
 * undefined. After any other error the call has been enqueued: it is that of an earlier one on the communicator, as
 * Quadrille_Enqueue_status tells it. */
QUADRILLE_EXPORT int Quadrille_Alltoall_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                                void* recvbuf, int recvcount, MPI_Datatype recvtype, void* stream,
                                                MPI_Comm comm);
QUADRILLE_EXPORT int Quadrille_Alltoallv_enqueue(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                 MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                                 const int rdispls[], MPI_Datatype recvtype, void* stream,
                                                 MPI_Comm comm);
QUADRILLE_EXPORT int Quadrille_Alltoallw_enqueue(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                                 const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                                                 const int rdispls[], const MPI_Datatype recvtypes[], void* stream,
                                                 MPI_Comm comm);

/* Starts a persistent request in the order of a stream. It is active until the stream has passed the start: no Wait or
 * Test completes it. Meanwhile it may be started so again, in any stream: each start begins when the one before it is
 * over. Ranks may start their requests in different orders, and the same start of a request in a stream on one rank and
 * on the host on another. A start after the first takes no memory. request  a persistent request; not one that
 * Quadrille_Start has started and that is not completed stream   as of Quadrille_Alltoall_enqueue Errors:
 * MPI_ERR_REQUEST for a null request, one that is active on the host, or one of a nonblocking call; MPI_ERR_ARG for the
 * stream, and MPI_ERR_OTHER and others as Quadrille_Alltoall_enqueue. Of Quadrille_Start and Quadrille_Request_free:
 * MPI_ERR_REQUEST while a start of this kind is active. */
QUADRILLE_EXPORT int Quadrille_Start_enqueue(Quadrille_Request* request, void* stream);

/* Tells the first error of calls on a communicator that were enqueued and that their streams have passed, and forgets
 * it. Does not wait. After an error the receive buffer of the call is undefined. Local. comm  the communicator.
 * MPI_COMM_WORLD tells errors on communicators that were freed, too Errors: that one; MPI_ERR_COMM for the null
 * communicator. */
QUADRILLE_EXPORT int Quadrille_Enqueue_status(MPI_Comm comm);

/* ---- Forced algorithms, and memory ---- */

/* Forces an algorithm for one collective on one communicator. Collective over `comm`: all ranks give
 * the same strings.
 *   collective  "alltoall", "alltoallv", "alltoallw", "allgather", "allgatherv", "exchange",
 *               "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw", "neighbor_allgather",
 *               "neighbor_allgatherv" or "neighbor_allgatherw"
 *   algorithm   "name" or "name:parameter=value,...", as printed by `quadrille list`, for example
 *               "zero-rotation-bruck:radix=4"; "mpi" hands every call to the MPI; NULL or "" lets
 *               Quadrille choose again
 * A forced algorithm that cannot serve a particular call (see `quadrille list`) is not obeyed for that
 * call. Stronger than QUADRILLE_ALGORITHM in the environment. The MPI has no "exchange" of its own, so
 * there is no "mpi" for it.
 * Errors: MPI_ERR_ARG for an unknown collective, algorithm or parameter (one line on stderr names
 * what is known), or if the ranks gave different strings. */
QUADRILLE_EXPORT int Quadrille_Set_algorithm(MPI_Comm comm, const char* collective, const char* algorithm);

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
