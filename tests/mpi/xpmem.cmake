# XPMEM by a stand-in of its library, which maps shared memory of the other ranks. What the tests allocate
# under the preload library is such memory (QUADRILLE_HEAP=early); what they allocate without is not, so each
# attach fails, and the receivers ask for the ring.
set(standin LD_LIBRARY_PATH=${QUADRILLE_LIBRARY_BUILD}/lib/standin QUADRILLE_REACH=xpmem,ring)
foreach(ranks 2 4)
  quadrille_mpi_test(mpi.xpmem.${ranks} RANKS ${ranks} PROGRAM quadrille_dropin_checks PRELOAD ARGUMENTS xpmem
                     SETTINGS ${standin} QUADRILLE_SETUP_AFTER=0)
endforeach()
quadrille_mpi_test(mpi.xpmem-dropin.3 RANKS 3 PROGRAM quadrille_dropin_tests PRELOAD SETTINGS ${standin}
                   QUADRILLE_SETUP_AFTER=0 QUADRILLE_HEAP=early QUADRILLE_TEST_EFFORT=40 ARGUMENTS ${data})
# The orders, who attach buffers of both sides. `heap` as well: then a rank's memory of both kinds is in one call.
set(both LD_LIBRARY_PATH=${QUADRILLE_LIBRARY_BUILD}/lib/standin QUADRILLE_REACH=heap,xpmem,ring)
function(quadrille_xpmem_orders_test name ranks order mode)
  quadrille_mpi_test(mpi.xpmem-orders.${name}.${ranks} RANKS ${ranks} PROGRAM quadrille_dropin_checks PRELOAD
                     WRAPPER sh ${CMAKE_CURRENT_SOURCE_DIR}/says.sh
                     "alltoall on ${ranks} ranks, 1 node, blocks of 100 bytes -> ${order}.*: forced" -- ARGUMENTS xpmem_orders ${mode}
                     SETTINGS QUADRILLE_EXPLAIN=1 "QUADRILLE_ALGORITHM=alltoall=${order};alltoallv=${order}" ${ARGN})
endfunction()
quadrille_xpmem_orders_test(row 2 hint-row orders ${standin})
quadrille_xpmem_orders_test(column 3 hint-column column ${standin})
quadrille_xpmem_orders_test(hilbert 4 hint-hilbert orders ${standin})
quadrille_xpmem_orders_test(hilbert-and-heap 4 hint-hilbert orders ${both})
quadrille_xpmem_orders_test(morton-and-heap 5 sh-co orders ${both})
quadrille_xpmem_orders_test(unlike 3 hint-hilbert unlike ${both})
# All the calls that the tests know. From 64 bytes on what they allocate can be attached.
set(orders "alltoall=hint-hilbert;alltoallv=sh-co;alltoallw=hint-row;allgather=sh-co;allgatherv=hint-hilbert")
quadrille_mpi_test(mpi.xpmem-orders.dropin.3 RANKS 3 PROGRAM quadrille_dropin_tests PRELOAD SETTINGS ${standin}
                   QUADRILLE_SETUP_AFTER=0 QUADRILLE_HEAP=early QUADRILLE_HEAP_FROM=64 QUADRILLE_TEST_EFFORT=40
                   "QUADRILLE_ALGORITHM=${orders}" ARGUMENTS ${data})
quadrille_mpi_test(mpi.xpmem-orders.neighbors.4 RANKS 4 PROGRAM quadrille_neighbor_dropin_tests PRELOAD
                   SETTINGS ${standin} QUADRILLE_SETUP_AFTER=0 QUADRILLE_HEAP=early QUADRILLE_HEAP_FROM=64
                   QUADRILLE_TEST_EFFORT=40 QUADRILLE_EXPLAIN=1
                   "QUADRILLE_ALGORITHM=neighbor_alltoall=sh-co;neighbor_alltoallv=sh-co;neighbor_alltoallw=sh-co;neighbor_allgather=sh-co;neighbor_allgatherv=sh-co"
                   WRAPPER sh ${CMAKE_CURRENT_SOURCE_DIR}/says.sh "-> sh-co: forced" --)
# Attaches fail here, whatever the algorithm: the orders must let the call be done in another way.
quadrille_mpi_test(mpi.xpmem-fails.3 RANKS 3 PROGRAM quadrille_mpi_tests SETTINGS ${standin}
                   QUADRILLE_TEST_EFFORT=40 ARGUMENTS ${data})
