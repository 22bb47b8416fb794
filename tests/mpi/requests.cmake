# All tests of blocking calls as tests of requests: nonblocking ones, and persistent ones that are started twice.
foreach(form started persistent)
  quadrille_mpi_program(quadrille_${form}_tests door_${form}.cpp)
  target_link_libraries(quadrille_${form}_tests PRIVATE quadrille_mpi_test_base quadrille_mpi_test_cases
                        quadrille_neighbor_test_cases quadrille_so)
endforeach()
# Mistakes in persistent calls are found when they are made, and told by Quadrille. Intercommunicators have none.
set(persistent_filter "--gtest_filter=-Errors*:Mismatch*:*.ErrorsReach*:*.ALargerBlock*:Lifecycle.Intercommunicator")
# Open MPI 4.1's own nonblocking collectives hang with uneven data: what would go to them is left out.
set(nodes_algorithms)
if(QUADRILLE_MPI STREQUAL "openmpi")
  set(started_filter "--gtest_filter=-All/*_mpi:All/*_copy_to_cpu*")
  set(started_ring_filter "--gtest_filter=-All/*")
  set(nodes_algorithms "QUADRILLE_ALGORITHM=alltoall=pairwise\;alltoallv=spread-out\;alltoallw=spread-out\;allgather=ring\;allgatherv=ring")
  set(started_nodes_filter "--gtest_filter=-All/*")
endif()
if(QUADRILLE_SANITIZE)
  add_dependencies(quadrille_sanitized_tests quadrille_started_tests quadrille_persistent_tests)
  foreach(form started persistent)
    quadrille_mpi_test(mpi.${form}.3 RANKS 3 PROGRAM quadrille_${form}_tests SETTINGS QUADRILLE_TEST_EFFORT=20
                       ARGUMENTS ${${form}_filter})
  endforeach()
  return()
endif()
set(request_ranks 1 2 3 4 5 8)
if(NOT QUADRILLE_MPI STREQUAL "openmpi")
  set(request_ranks 1 2 3)  # MPICH takes minutes for more on a few cores
endif()
foreach(ranks ${request_ranks})
  foreach(form started persistent)
    quadrille_mpi_test(mpi.${form}.${ranks} RANKS ${ranks} PROGRAM quadrille_${form}_tests
                       SETTINGS QUADRILLE_TEST_EFFORT=50 ARGUMENTS ${${form}_filter})
  endforeach()
endforeach()
foreach(form started persistent)
  quadrille_mpi_test(mpi.${form}-nodes.3 RANKS 3 PROGRAM quadrille_${form}_tests
                     SETTINGS QUADRILLE_TEST_EFFORT=30 QUADRILLE_NODES=ragged:2,1 ${nodes_algorithms}
                     ARGUMENTS ${${form}_filter} ${${form}_nodes_filter})
  quadrille_mpi_test(mpi.${form}-by-ring.3 RANKS 3 PROGRAM quadrille_${form}_tests
                     SETTINGS QUADRILLE_TEST_EFFORT=30 QUADRILLE_REACH=ring
                     ARGUMENTS ${${form}_filter} ${${form}_ring_filter})
endforeach()
# Through ranks of a node that pass on to other nodes.
set(tuna "QUADRILLE_ALGORITHM=alltoall=tuna-hierarchical\;alltoallv=tuna-hierarchical:radix=3\;alltoallw=tuna-hierarchical:exchange=staggered,burst=2")
foreach(form started persistent)
  quadrille_mpi_test(mpi.${form}-tuna.5 RANKS 5 PROGRAM quadrille_${form}_tests
                     SETTINGS QUADRILLE_TEST_EFFORT=30 QUADRILLE_NODES=ragged:1,3 ${tuna}
                     ARGUMENTS "--gtest_filter=All/*default*:UniformDefault*")
endforeach()
# In orders of copies; also where no block lies in the shared heap.
set(orders "QUADRILLE_ALGORITHM=alltoall=sh-co\;alltoallv=hint-hilbert\;alltoallw=hint-row\;allgather=hint-column\;allgatherv=sh-naive")
foreach(form started persistent)
  foreach(ranks 2 3 5)
    quadrille_mpi_test(mpi.${form}-copies.${ranks} RANKS ${ranks} PROGRAM quadrille_${form}_tests
                       SETTINGS QUADRILLE_TEST_EFFORT=30 ${orders} ARGUMENTS ${${form}_filter})
  endforeach()
endforeach()
# Through leaders: in one turn and in several, with all leaders and one, of nodes and of smaller groups.
set(leaders "QUADRILLE_ALGORITHM=alltoall=leaders:leaders=2,order=rotated\;alltoallv=leaders\;alltoallw=leaders:leaders=2,group=2\;allgather=leaders\;allgatherv=leaders:leaders=2,exchange=ring")
set(leaders_in_turns "QUADRILLE_ALGORITHM=alltoall=leaders:piece=64,group=1,order=morton\;alltoallv=leaders:leaders=3,piece=64\;alltoallw=leaders:piece=64\;allgather=leaders:leaders=3,piece=64\;allgatherv=leaders:piece=64")
foreach(form started persistent)
  quadrille_mpi_test(mpi.${form}-leaders.5 RANKS 5 PROGRAM quadrille_${form}_tests
                     SETTINGS QUADRILLE_TEST_EFFORT=30 QUADRILLE_NODES=ragged:3,2 ${leaders}
                     ARGUMENTS ${${form}_filter} ${${form}_nodes_filter})
  quadrille_mpi_test(mpi.${form}-leaders-in-turns.4 RANKS 4 PROGRAM quadrille_${form}_tests
                     SETTINGS QUADRILLE_TEST_EFFORT=30 QUADRILLE_NODES=roundrobin:2 ${leaders_in_turns}
                     ARGUMENTS ${${form}_filter} ${${form}_nodes_filter})
endforeach()
# On several nodes the messages of an exchange between them stand in.
set(network hint-network:exchange=waitall-stride,stride=2)
foreach(form started persistent)
  quadrille_mpi_test(mpi.${form}-network.5 RANKS 5 PROGRAM quadrille_${form}_tests ARGUMENTS "--gtest_filter=All/*default*"
                     SETTINGS QUADRILLE_TEST_EFFORT=30 QUADRILLE_NODES=ragged:2,1 QUADRILLE_EXPLAIN=1
                     "QUADRILLE_ALGORITHM=alltoall=${network};alltoallv=${network};alltoallw=${network};allgather=${network};allgatherv=${network}"
                     WRAPPER sh ${CMAKE_CURRENT_SOURCE_DIR}/says.sh
                     "alltoallv on 5 ranks, 3 nodes -> waitall-stride:stride=2: .*for hint-network" --)
endforeach()
set(passed_on "QUADRILLE_ALGORITHM=alltoall=hint-network:exchange=bruck,radix=3\;alltoallv=hint-network:exchange=two-phase-bruck,radix=3\;alltoallw=hint-network:exchange=two-phase-bruck\;allgather=hint-network:exchange=ring\;allgatherv=hint-network:exchange=bruck")
foreach(form started persistent)
  quadrille_mpi_test(mpi.${form}-passed-on.5 RANKS 5 PROGRAM quadrille_${form}_tests ARGUMENTS "--gtest_filter=All/*default*:UniformDefault*"
                     SETTINGS QUADRILLE_TEST_EFFORT=30 QUADRILLE_NODES=ragged:2,1 QUADRILLE_EXPLAIN=1 ${passed_on}
                     WRAPPER sh ${CMAKE_CURRENT_SOURCE_DIR}/says.sh
                     "alltoall on 5 ranks, 3 nodes.* -> zero-rotation-bruck:radix=3: .*for hint-network" --)
endforeach()
quadrille_mpi_test(mpi.persistent-off.3 RANKS 3 PROGRAM quadrille_persistent_tests
                   SETTINGS QUADRILLE_TEST_EFFORT=30 QUADRILLE=off ARGUMENTS ${persistent_filter})

# Requests among each other. The program has a malloc of its own, to count.
quadrille_mpi_program(quadrille_request_tests requests_test.cpp request_threads_test.cpp door_api.cpp)
target_link_libraries(quadrille_request_tests PRIVATE quadrille_mpi_test_base quadrille_so)
foreach(ranks 1 2 3 4 5 8)
  set(core)
  if(ranks LESS_EQUAL 3)
    set(core CORE)
  endif()
  quadrille_mpi_test(mpi.requests.${ranks} RANKS ${ranks} PROGRAM quadrille_request_tests ${core})
endforeach()
# With more ranks than processors, also on large machines.
quadrille_mpi_test(mpi.requests-one-processor.3 RANKS 3 PROGRAM quadrille_request_tests
                   SETTINGS QUADRILLE_TEST_ONE_PROCESSOR=1 ARGUMENTS --gtest_filter=Requests.*)
# Through rings that are soon full, as messages between nodes, and where nothing is Quadrille's own.
quadrille_mpi_test(mpi.requests-by-ring.3 RANKS 3 PROGRAM quadrille_request_tests SETTINGS QUADRILLE_REACH=ring)
quadrille_mpi_test(mpi.requests-copies.3 RANKS 3 PROGRAM quadrille_request_tests CORE SETTINGS ${orders})
quadrille_mpi_test(mpi.requests-copies-by-thread.3 RANKS 3 PROGRAM quadrille_request_tests SETTINGS ${orders}
                   QUADRILLE_PROGRESS=thread)
quadrille_mpi_test(mpi.requests-nodes.4 RANKS 4 PROGRAM quadrille_request_tests
                   SETTINGS QUADRILLE_NODES=roundrobin:2 "QUADRILLE_ALGORITHM=alltoall=zero-rotation-bruck:radix=3;allgather=ring")
quadrille_mpi_test(mpi.requests-leaders.4 RANKS 4 PROGRAM quadrille_request_tests CORE
                   SETTINGS QUADRILLE_NODES=blocked:2 ${leaders})
quadrille_mpi_test(mpi.requests-leaders-by-thread.4 RANKS 4 PROGRAM quadrille_request_tests
                   SETTINGS QUADRILLE_PROGRESS=thread QUADRILLE_TEST_EFFORT=30 QUADRILLE_NODES=roundrobin:2 ${leaders_in_turns}
                   ARGUMENTS --threads=multiple)
# With a thread that goes on with them, and may or may not call the MPI.
foreach(level single multiple)
  quadrille_mpi_test(mpi.requests-by-thread-${level}.3 RANKS 3 PROGRAM quadrille_request_tests CORE
                     SETTINGS QUADRILLE_PROGRESS=thread QUADRILLE_TEST_EFFORT=30 ARGUMENTS --threads=${level})
  quadrille_mpi_test(mpi.requests-by-thread-${level}-nodes.4 RANKS 4 PROGRAM quadrille_request_tests
                     SETTINGS QUADRILLE_PROGRESS=thread QUADRILLE_TEST_EFFORT=30 QUADRILLE_NODES=roundrobin:2
                              "QUADRILLE_ALGORITHM=alltoall=zero-rotation-bruck:radix=3;allgather=ring"
                     ARGUMENTS --threads=${level})
endforeach()
quadrille_mpi_test(mpi.requests-off.3 RANKS 3 PROGRAM quadrille_request_tests SETTINGS QUADRILLE=off)

# What compares the forms in time; it runs.
quadrille_mpi_program(quadrille_requests_bench ${CMAKE_SOURCE_DIR}/bench/requests.cpp)
target_compile_options(quadrille_requests_bench PRIVATE -O2)
target_link_libraries(quadrille_requests_bench PRIVATE quadrille_so)
quadrille_mpi_test(mpi.requests-bench.2 RANKS 2 PROGRAM quadrille_requests_bench ARGUMENTS 1 8 8192)
