// Goes through all doors, with small blocks and large ones, on several communicators. Compiled twice: with the MPI's
// names, for the preload library, and with Quadrille's. lack_of_memory.py lets memory run out on the way.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "quadrille.h"
#include "ring.hpp"

#if defined(QUADRILLE_TEST_API)
#define DOOR(name) Quadrille_##name
#else
#define DOOR(name) MPI_##name
#endif

namespace doors_check {

struct Data {
  Data(int blocks, int block)
      : send(static_cast<std::size_t>(blocks * block), 7),
        recv(send.size()),
        counts(static_cast<std::size_t>(blocks), block),
        places(counts.size()),
        bytes(counts.size()),
        types(counts.size(), MPI_INT) {
    for (std::size_t b = 0; b < counts.size(); ++b) {
      places[b] = static_cast<int>(b) * block;
      far.push_back(places[b] * static_cast<MPI_Aint>(sizeof(int)));
      bytes[b] = static_cast<int>(far[b]);
    }
  }
  std::vector<int> send, recv, counts, places, bytes;
  std::vector<MPI_Aint> far;
  std::vector<MPI_Datatype> types;
};

void use_dense(MPI_Comm comm, int block, MPI_Datatype pair) {
  int size = 0, rank = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  Data d(size, block);
  DOOR(Alltoall)(d.send.data(), block, MPI_INT, d.recv.data(), block, MPI_INT, comm);
  DOOR(Alltoall)(d.send.data(), block / 2, pair, d.recv.data(), block / 2, pair, comm);
  DOOR(Alltoallv)
  (d.send.data(), d.counts.data(), d.places.data(), MPI_INT, d.recv.data(), d.counts.data(), d.places.data(), MPI_INT,
   comm);
  DOOR(Alltoallw)
  (d.send.data(), d.counts.data(), d.bytes.data(), d.types.data(), d.recv.data(), d.counts.data(), d.bytes.data(),
   d.types.data(), comm);
  DOOR(Alltoallw)
  (MPI_IN_PLACE, nullptr, nullptr, nullptr, d.recv.data(), d.counts.data(), d.bytes.data(), d.types.data(), comm);
  DOOR(Allgather)(d.send.data(), block, MPI_INT, d.recv.data(), block, MPI_INT, comm);
  DOOR(Allgatherv)(d.send.data(), block, MPI_INT, d.recv.data(), d.counts.data(), d.places.data(), MPI_INT, comm);
}

void use_neighbors(MPI_Comm comm, int blocks, int block) {
  Data d(blocks, block);
  DOOR(Neighbor_alltoall)(d.send.data(), block, MPI_INT, d.recv.data(), block, MPI_INT, comm);
  DOOR(Neighbor_alltoallv)
  (d.send.data(), d.counts.data(), d.places.data(), MPI_INT, d.recv.data(), d.counts.data(), d.places.data(), MPI_INT,
   comm);
  DOOR(Neighbor_alltoallw)
  (d.send.data(), d.counts.data(), d.far.data(), d.types.data(), d.recv.data(), d.counts.data(), d.far.data(),
   d.types.data(), comm);
  DOOR(Neighbor_allgather)(d.send.data(), block, MPI_INT, d.recv.data(), block, MPI_INT, comm);
  DOOR(Neighbor_allgatherv)
  (d.send.data(), block, MPI_INT, d.recv.data(), d.counts.data(), d.places.data(), MPI_INT, comm);
#if defined(QUADRILLE_TEST_API)
  Quadrille_Neighbor_allgatherw(d.send.data(), block, MPI_INT, d.recv.data(), d.counts.data(), d.far.data(),
                                d.types.data(), comm);
  Quadrille_Request request = QUADRILLE_REQUEST_NULL;
  Quadrille_Neighbor_alltoallw_init(d.send.data(), d.counts.data(), d.far.data(), d.types.data(), d.recv.data(),
                                    d.counts.data(), d.far.data(), d.types.data(), comm, MPI_INFO_NULL, &request);
  for (int start = 0; start < 2; ++start) {
    Quadrille_Start(&request);
    int done = 0;
    while (start == 0 && done == 0) Quadrille_Test(&request, &done);
    if (start == 1) Quadrille_Wait(&request);
  }
  Quadrille_Request_free(&request);
#endif
}

#if defined(QUADRILLE_TEST_API)
void use_own_doors(MPI_Comm comm, MPI_Comm cart) {
  const int offsets[] = {1, -1, 2};
  MPI_Comm around = MPI_COMM_NULL;
  Quadrille_Iso_neighborhood_create(cart, 3, offsets, MPI_INFO_NULL, &around);
  Quadrille_Set_iso_sizes(around, 1);
  use_neighbors(around, 3, 40);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(around, &copy);
  MPI_Comm_free(&around);
  MPI_Comm_free(&copy);
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int to[] = {(rank + 1) % size};
  const MPI_Count counts[] = {1000};
  const MPI_Aint places[] = {0};
  const std::vector<int> send(1000, 3);
  Quadrille_Received received;
  Quadrille_Exchange(send.data(), 1, to, counts, places, MPI_INT, MPI_INT, comm, &received);
  Quadrille_Received_free(&received);
  for (const char* name : {"two-phase-bruck", "padded-bruck", "pairwise", ""}) {
    Quadrille_Set_algorithm(comm, "alltoallv", name);
    use_dense(comm, 8, MPI_2INT);
  }
}
#endif

void use_memory() {
  void* block = nullptr;
#if defined(QUADRILLE_TEST_API)
  Quadrille_Alloc(100'000, &block);
  Quadrille_Free(block);
#else
  MPI_Alloc_mem(100'000, MPI_INFO_NULL, &block);
  MPI_Free_mem(block);
#endif
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  use_memory();
  MPI_Datatype pair;
  MPI_Type_vector(2, 1, 1, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm copy, cart = quadrille::test::ring_of_world();
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (const MPI_Comm comm : {MPI_COMM_WORLD, copy}) {
    for (const int block : {4, 3000, 200'000}) use_dense(comm, block, pair);
  }
  for (const int block : {4, 3000, 60'000}) use_neighbors(cart, 2, block);
#if defined(QUADRILLE_TEST_API)
  use_own_doors(copy, cart);
#endif
  MPI_Comm_free(&cart);
  MPI_Comm_free(&copy);
  MPI_Type_free(&pair);
  MPI_Finalize();
  if (rank == 0) std::puts("all doors");
  return 0;
}

#undef DOOR

}  // namespace doors_check
