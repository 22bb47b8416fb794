# All tests of blocking calls as tests of requests: nonblocking ones, and persistent ones that are started twice.
foreach(form started persistent)
  quadrille_mpi_program(quadrille_${form}_tests door_${form}.cpp neighbor_door_${form}.cpp)
  target_link_libraries(quadrille_${form}_tests PRIVATE quadrille_mpi_test_base quadrille_mpi_test_cases
                        quadrille_neighbor_test_cases quadrille_so)
endforeach()

# Mistakes in persistent calls are found when they are made, and told by Quadrille. Intercommunicators have none.
set(persistent_filter "--gtest_filter=-Errors*:Mismatch*:*.ErrorsReach*:Lifecycle.Intercommunicator")
# Open MPI 4.1's own nonblocking collectives hang with uneven data: what would go to them is left out.
set(nodes_algorithms)
if(QUADRILLE_MPI STREQUAL "openmpi")
  set(started_filter "--gtest_filter=-All/*_mpi")
  set(started_ring_filter "--gtest_filter=-All/*")
  set(nodes_algorithms "QUADRILLE_ALGORITHM=alltoall=pairwise\;alltoallv=spread-out\;alltoallw=spread-out\;allgather=ring\;allgatherv=ring")
  set(started_nodes_filter "--gtest_filter=-All/*")
endif()
if(QUADRILLE_SANITIZE)
  foreach(form started persistent)
    quadrille_mpi_test(mpi.${form}.3 RANKS 3 PROGRAM quadrille_${form}_tests SETTINGS QUADRILLE_TEST_EFFORT=20
                       ARGUMENTS ${${form}_filter})
  endforeach()
else()
  foreach(ranks 1 2 3 4 5 8)
    foreach(form started persistent)
      quadrille_mpi_test(mpi.${form}.${ranks} RANKS ${ranks} PROGRAM quadrille_${form}_tests
                         SETTINGS QUADRILLE_TEST_EFFORT=50 ARGUMENTS ${${form}_filter})
    endforeach()
  endforeach()
  foreach(form started persistent)
    quadrille_mpi_test(mpi.${form}-nodes.5 RANKS 5 PROGRAM quadrille_${form}_tests
                       SETTINGS QUADRILLE_TEST_EFFORT=30 QUADRILLE_NODES=ragged:2,3 ${nodes_algorithms}
                       ARGUMENTS ${${form}_filter} ${${form}_nodes_filter})
    quadrille_mpi_test(mpi.${form}-by-ring.3 RANKS 3 PROGRAM quadrille_${form}_tests
                       SETTINGS QUADRILLE_TEST_EFFORT=30 QUADRILLE_REACH=ring
                       ARGUMENTS ${${form}_filter} ${${form}_ring_filter})
  endforeach()
  quadrille_mpi_test(mpi.persistent-off.3 RANKS 3 PROGRAM quadrille_persistent_tests
                     SETTINGS QUADRILLE_TEST_EFFORT=30 QUADRILLE=off ARGUMENTS ${persistent_filter})
  if(NOT QUADRILLE_MPI STREQUAL "openmpi")
    quadrille_mpi_test(mpi.started-off.3 RANKS 3 PROGRAM quadrille_started_tests
                       SETTINGS QUADRILLE_TEST_EFFORT=30 QUADRILLE=off ARGUMENTS ${started_filter})
  endif()
endif()
