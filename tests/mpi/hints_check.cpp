// An info whose keys and values mean nothing, which says.sh looks for.
#include <mpi.h>
#include <quadrille.h>

#include "ring.hpp"

namespace hints_check {

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int offsets[] = {1};
  MPI_Comm ring = quadrille::test::ring_of_world(), iso;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "quadrille_chek", "true");
  MPI_Info_set(info, "quadrille_check", "maybe");
  MPI_Info_set(info, "quadrille_iso_sizes", "yes");
  MPI_Info_set(info, "another_key", "maybe");
  Quadrille_Iso_neighborhood_create(ring, 1, offsets, info, &iso);
  MPI_Info_free(&info);
  MPI_Comm_free(&iso);
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return 0;
}

}  // namespace hints_check
