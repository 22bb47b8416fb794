# Quadrille's own functions with large counts, which are there whatever the MPI has.
foreach(form blocking started persistent)
  quadrille_mpi_program(quadrille_large_${form}_tests door_large_named.cpp)
  target_compile_definitions(quadrille_large_${form}_tests PRIVATE LARGE_FORM=${form})
  target_link_libraries(quadrille_large_${form}_tests PRIVATE quadrille_mpi_test_base quadrille_mpi_test_cases
                        quadrille_neighbor_test_cases quadrille_so)
endforeach()
# Mistakes in persistent calls are told by Quadrille, and so they are in others where a function of the MPI is missing
# (large_named_check.cpp). Intercommunicators have none of these.
set(told_by_quadrille Errors*:Mismatch*:*.ErrorsReach*:*.ALargerBlock*:Lifecycle.Intercommunicator)
set(large_persistent_filter "--gtest_filter=-${told_by_quadrille}")
set(large_started_filter "--gtest_filter=-${told_by_quadrille}")
set(large_has 0)
if(QUADRILLE_HAVE_LARGE_COUNT)
  set(large_has 1)
else()
  set(large_blocking_filter "--gtest_filter=-Errors*:Lifecycle.Intercommunicator")
endif()
# Blocks that do not match may hang in an MPI, as may an empty type against no element; and Open MPI 4.1's own nonblocking
# functions between neighbours lose data.
set(hang_in_an_mpi Mismatch*:*.ALargerBlock*:Arguments.EmptyType*)
set(large_blocking_passed "--gtest_filter=-Errors*:${hang_in_an_mpi}:Lifecycle.Intercommunicator")
set(large_persistent_passed ${large_persistent_filter})
set(large_started_passed "${large_started_filter}:${hang_in_an_mpi}")
if(QUADRILLE_MPI STREQUAL "openmpi")
  string(APPEND large_started_passed ":Neighbors*:Grids*")
endif()
set(all_by_the_mpi "QUADRILLE_ALGORITHM=alltoall=mpi\;alltoallv=mpi\;alltoallw=mpi\;allgather=mpi\;allgatherv=mpi\;neighbor_alltoall=mpi\;neighbor_alltoallv=mpi\;neighbor_alltoallw=mpi\;neighbor_allgather=mpi\;neighbor_allgatherv=mpi")
set(large_blocking_ranks 1 2 3 5)
set(large_started_ranks 1 3)
set(large_persistent_ranks 2 3)
if(NOT QUADRILLE_MPI STREQUAL "openmpi")
  set(large_blocking_ranks 1 3)
endif()
foreach(form blocking started persistent)
  foreach(ranks ${large_${form}_ranks})
    quadrille_mpi_test(mpi.large-${form}.${ranks} RANKS ${ranks} PROGRAM quadrille_large_${form}_tests CORE
                       SETTINGS QUADRILLE_TEST_EFFORT=20 ARGUMENTS ${large_${form}_filter})
  endforeach()
  # Where the MPI would serve the call, and something must stand in for a function that it may not have.
  quadrille_mpi_test(mpi.large-${form}-off.3 RANKS 3 PROGRAM quadrille_large_${form}_tests
                     SETTINGS QUADRILLE_TEST_EFFORT=20 QUADRILLE=off ARGUMENTS ${large_${form}_passed})
  quadrille_mpi_test(mpi.large-${form}-passed.4 RANKS 4 PROGRAM quadrille_large_${form}_tests
                     SETTINGS QUADRILLE_TEST_EFFORT=20 QUADRILLE_NODES=blocked:2 ${all_by_the_mpi}
                     ARGUMENTS ${large_${form}_passed})
  quadrille_mpi_test(mpi.large-${form}-nodes.3 RANKS 3 PROGRAM quadrille_large_${form}_tests
                     SETTINGS QUADRILLE_TEST_EFFORT=20 QUADRILLE_NODES=ragged:2,1 ARGUMENTS ${large_${form}_filter})
endforeach()

foreach(ranks 2 4)
  quadrille_mpi_test(mpi.large-named.${ranks} RANKS ${ranks} PROGRAM quadrille_api_checks CORE
                     ARGUMENTS large_named ${large_has})
endforeach()
quadrille_mpi_test(mpi.large-named-off.4 RANKS 4 PROGRAM quadrille_api_checks ARGUMENTS large_named ${large_has}
                   SETTINGS QUADRILLE=off)
quadrille_mpi_test(mpi.large-named-passed.4 RANKS 4 PROGRAM quadrille_api_checks ARGUMENTS large_named ${large_has}
                   SETTINGS QUADRILLE_NODES=blocked:2 ${all_by_the_mpi})

# Above 2^31 for real: of those that the MPI would serve Open MPI 4.1 has no function for such counts.
function(quadrille_huge_named_test name mode)
  quadrille_mpi_test(mpi.huge-named.${name}.2 RANKS 2 PROGRAM quadrille_api_checks ARGUMENTS huge ${mode}
                     SETTINGS QUADRILLE_EXPLAIN=1 ${ARGN})
  set_tests_properties(mpi.huge-named.${name}.2 PROPERTIES RUN_SERIAL TRUE)  # it takes most of the memory
endfunction()
quadrille_huge_named_test(default dense)
quadrille_huge_named_test(packed packed)
quadrille_huge_named_test(requests requests)
quadrille_huge_named_test(off dense QUADRILLE=off)
quadrille_huge_named_test(off-requests requests QUADRILLE=off)
