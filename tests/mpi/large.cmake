# The doors for large counts, where the MPI has such functions: the tests of CMakeLists.txt through them, and what is
# above 2^31.
quadrille_mpi_program(quadrille_large_tests door_large.cpp)
target_link_libraries(quadrille_large_tests PRIVATE quadrille_mpi_test_base quadrille_mpi_test_cases)
quadrille_mpi_program(quadrille_neighbor_large_tests door_large.cpp)
target_link_libraries(quadrille_neighbor_large_tests PRIVATE quadrille_mpi_test_base quadrille_neighbor_test_cases)
foreach(program quadrille_large_tests quadrille_neighbor_large_tests)
  add_dependencies(${program} quadrille_preload quadrille_preload_large)
endforeach()

# With large counts: each test, each engine, and the MPI's functions for forwarded calls.
# Blocks that do not match end as with the MPI where the MPI, or its messages, serve them.
set(served_by_the_mpi ARGUMENTS --gtest_filter=-Mismatch*)
set(large_data "--gtest_filter=All/*:UniformDefault.*:Progress.Interleaved*:Progress.Other*")
foreach(ranks 1 2 3 5 8)
  set(core)
  if(ranks LESS_EQUAL 3)
    set(core CORE)
  endif()
  quadrille_mpi_test(mpi.dropin-large.${ranks} RANKS ${ranks} PROGRAM quadrille_large_tests PRELOAD LARGE
                     SETTINGS QUADRILLE_SETUP_AFTER=0 QUADRILLE_TEST_EFFORT=50 ${core})
endforeach()
quadrille_mpi_test(mpi.dropin-large-late.3 RANKS 3 PROGRAM quadrille_large_tests PRELOAD LARGE
                   SETTINGS QUADRILLE_TEST_EFFORT=30 ${served_by_the_mpi})
quadrille_mpi_test(mpi.dropin-large-off.2 RANKS 2 PROGRAM quadrille_large_tests PRELOAD LARGE
                   SETTINGS QUADRILLE=off QUADRILLE_TEST_EFFORT=20 ${served_by_the_mpi})
quadrille_mpi_test(mpi.dropin-large-forced.5 RANKS 5 PROGRAM quadrille_large_tests PRELOAD LARGE SETTINGS
                   "QUADRILLE_ALGORITHM=alltoall=zero-rotation-bruck:radix=3;alltoallv=two-phase-bruck;alltoallw=pairwise;allgather=bruck:radix=3;allgatherv=ring"
                   QUADRILLE_TEST_EFFORT=50 ${served_by_the_mpi})
quadrille_mpi_test(mpi.dropin-large-orders.4 RANKS 4 PROGRAM quadrille_large_tests PRELOAD LARGE SETTINGS
                   "QUADRILLE_ALGORITHM=alltoall=hint-hilbert;alltoallv=sh-co;alltoallw=hint-row;allgather=sh-co;allgatherv=hint-hilbert"
                   QUADRILLE_TEST_EFFORT=50 ARGUMENTS ${large_data})
foreach(way heap cma-read cma-write ring)
  quadrille_mpi_test(mpi.dropin-large-reach.${way}.3 RANKS 3 PROGRAM quadrille_large_tests PRELOAD LARGE
                     SETTINGS QUADRILLE_REACH=${way} QUADRILLE_INBOX=64 QUADRILLE_SETUP_AFTER=0
                     QUADRILLE_TEST_EFFORT=20 ARGUMENTS ${large_data})
endforeach()
foreach(nodes blocked:2 ragged:1,3)
  quadrille_mpi_test(mpi.dropin-large-nodes.${nodes}.4 RANKS 4 PROGRAM quadrille_large_tests PRELOAD LARGE
                     SETTINGS QUADRILLE_NODES=${nodes} QUADRILLE_SETUP_AFTER=0 QUADRILLE_TEST_EFFORT=30
                     ARGUMENTS ${large_data})
endforeach()
# Above 2^31 for real.
function(quadrille_huge_test name mode)
  quadrille_mpi_test(mpi.huge.${name}.2 RANKS 2 PROGRAM quadrille_dropin_checks PRELOAD LARGE ARGUMENTS huge ${mode}
                     WRAPPER sh ${CMAKE_CURRENT_SOURCE_DIR}/says.sh "summary: [1-9][0-9]* calls served, 0 forwarded" --
                     SETTINGS QUADRILLE_SETUP_AFTER=0 QUADRILLE_EXPLAIN=1 ${ARGN})
  set_tests_properties(mpi.huge.${name}.2 PROPERTIES RUN_SERIAL TRUE)  # it takes most of the memory
endfunction()
quadrille_huge_test(default dense)
quadrille_huge_test(packed packed)
quadrille_huge_test(packed-by-ring packed QUADRILLE_REACH=ring)
quadrille_huge_test(cma-write messages QUADRILLE_REACH=cma-write)
quadrille_huge_test(ring messages QUADRILLE_REACH=ring)
quadrille_huge_test(messages messages "QUADRILLE_ALGORITHM=alltoallv=spread-out\;alltoallw=pairwise")
quadrille_huge_test(carried messages "QUADRILLE_ALGORITHM=alltoallv=two-phase-bruck\;alltoallw=sloav")
foreach(case "one-node blocked:2" "nodes blocked:1")
  separate_arguments(words UNIX_COMMAND "${case}")
  list(GET words 0 name)
  list(GET words 1 nodes)
  quadrille_huge_test(tuna-${name} messages QUADRILLE_NODES=${nodes}
                      "QUADRILLE_ALGORITHM=alltoallv=tuna-hierarchical\;alltoallw=tuna-hierarchical:exchange=staggered")
endforeach()
quadrille_huge_test(nodes messages QUADRILLE_NODES=blocked:1
                    "QUADRILLE_ALGORITHM=alltoallv=single-copy\;alltoallw=single-copy")
quadrille_mpi_test(mpi.grids-large.8 RANKS 8 PROGRAM quadrille_neighbor_large_tests PRELOAD LARGE
                   SETTINGS QUADRILLE_SETUP_AFTER=0 ARGUMENTS --gtest_filter=Grids*)

# Neighbours, by each engine.
foreach(case "direct direct 3" "torus direct 2" "torus-direct direct 4" "rings rings 3" "sh-co sh-co 4")
  separate_arguments(words UNIX_COMMAND "${case}")
  list(GET words 0 name)
  list(GET words 1 uneven)
  list(GET words 2 ranks)
  quadrille_mpi_test(mpi.neighbor-large.${name}.${ranks} RANKS ${ranks}
                     PROGRAM quadrille_neighbor_large_tests PRELOAD LARGE CORE
                     ARGUMENTS --gtest_filter=-Grids* SETTINGS QUADRILLE_TEST_EFFORT=50
                     "QUADRILLE_ALGORITHM=neighbor_alltoall=${name};neighbor_alltoallv=${uneven};neighbor_alltoallw=${uneven};neighbor_allgather=${name};neighbor_allgatherv=${uneven}")
endforeach()

# They are served, by name.
quadrille_mpi_test(mpi.explained-large.3 RANKS 3 PROGRAM quadrille_dropin_checks PRELOAD LARGE ARGUMENTS explain large
                   WRAPPER sh ${CMAKE_CURRENT_SOURCE_DIR}/says.sh
                   "allgather on 3 ranks, 1 node, blocks of 64 bytes -> inbox"
                   "alltoall on 3 ranks, 1 node, blocks of 64 bytes -> inbox"
                   "summary: 18 calls served, 9 forwarded" --
                   SETTINGS QUADRILLE_EXPLAIN=1 CORE)
