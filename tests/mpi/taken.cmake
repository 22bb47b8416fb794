# Requests that the program gets from functions of the MPI's own names (src/api/taken.cpp): all tests of blocking calls by
# MPI_IX and MPI_X_init, completed by every function that completes something, also by those that Quadrille does not see.
foreach(form taken_started taken_persistent)
  quadrille_mpi_program(quadrille_${form}_tests door_${form}.cpp)
  target_link_libraries(quadrille_${form}_tests PRIVATE quadrille_mpi_test_base quadrille_mpi_test_cases
                        quadrille_neighbor_test_cases)
  add_dependencies(quadrille_${form}_tests quadrille_preload)
endforeach()
set(taken_started_filter ${started_filter})
set(taken_started_nodes_filter ${started_nodes_filter})
set(taken_persistent_filter ${persistent_filter})
set(taken_persistent_nodes_filter ${persistent_nodes_filter})
# One rank has nobody to wait for: its calls are the MPI's.
set(taken_ranks ${request_ranks})
list(REMOVE_ITEM taken_ranks 1)
# No MPI function of the standard ABI makes our calls progress: they are served where a thread does it, and the program allows that.
set(taken_levels single multiple)
set(taken_progress)
if(QUADRILLE_MPI STREQUAL "standard")
  set(taken_levels multiple)
  set(taken_progress QUADRILLE_PROGRESS=thread)
endif()
set(taken_forms taken_started)
if(QUADRILLE_PERSISTENT_DOOR)
  list(APPEND taken_forms taken_persistent)
  add_dependencies(quadrille_taken_persistent_tests ${QUADRILLE_PERSISTENT_DOOR})
  set(taken_persistent_doors PERSISTENT)
endif()
foreach(form ${taken_forms})
  string(REPLACE "_" "-" name ${form})
  foreach(ranks ${taken_ranks})
    quadrille_mpi_test(mpi.${name}.${ranks} RANKS ${ranks} PROGRAM quadrille_${form}_tests PRELOAD ${${form}_doors}
                       SETTINGS QUADRILLE_SETUP_AFTER=0 QUADRILLE_TEST_EFFORT=50 QUADRILLE_TEST_LEAST_GRID=2 ${taken_progress}
                       ARGUMENTS ${${form}_filter})
  endforeach()
endforeach()

# What holds for them alone. The program has nothing of Quadrille; what serves it is said by EXPLAIN.
quadrille_mpi_program(quadrille_taken_check taken_check.cpp apart_check.cpp door_taken_started.cpp)
target_link_libraries(quadrille_taken_check PRIVATE quadrille_mpi_test_base)
add_dependencies(quadrille_taken_check quadrille_preload)
set(says_persistent)
if(QUADRILLE_PERSISTENT_DOOR)
  set(says_persistent "alltoall on . ranks, 1 node -> inbox: persistent" "alltoall on . ranks, 1 node -> rings: persistent")
  add_dependencies(quadrille_taken_check ${QUADRILLE_PERSISTENT_DOOR})
endif()
foreach(ranks 2 3 4 7)
  foreach(level ${taken_levels})
    quadrille_mpi_test(mpi.taken-check-${level}.${ranks} RANKS ${ranks} PROGRAM quadrille_taken_check PRELOAD
                       ${taken_persistent_doors} ARGUMENTS --threads=${level} --gtest_filter=-Apart.* SETTINGS QUADRILLE_EXPLAIN=1
                       QUADRILLE_TEST_EFFORT=50 ${taken_progress} WRAPPER sh ${CMAKE_CURRENT_SOURCE_DIR}/says.sh
                       "alltoall on . ranks, 1 node -> inbox: nonblocking" "alltoall on . ranks, 1 node -> rings: nonblocking"
                       "by barrier, . ranks: [1-9][0-9]* served" "by allreduce, . ranks: [1-9][0-9]* served" ${says_persistent} --)
  endforeach()
endforeach()

# On communicators on which nothing but nonblocking calls is called. What serves them is in the summary, by their names.
foreach(ranks 2 3 4 7)
  set(says_graph)
  if(ranks GREATER 2)
    set(says_graph "summary: graph, . ranks: [1-9][0-9]* served")
  endif()
  foreach(level ${taken_levels})
    quadrille_mpi_test(mpi.taken-apart-${level}.${ranks} RANKS ${ranks} PROGRAM quadrille_taken_check PRELOAD
                       ${taken_persistent_doors} ARGUMENTS --threads=${level} --gtest_filter=Apart.*
                       SETTINGS QUADRILLE_EXPLAIN=1 ${taken_progress} WRAPPER sh ${CMAKE_CURRENT_SOURCE_DIR}/says.sh
                       "summary: nothing else, . ranks: [1-9][0-9]* served" ${says_graph}
                       "spread-out: nonblocking; there is no shared memory left for rings" --)
  endforeach()
endforeach()

# Calls that the MPI refuses on one rank leave no trace, through both doors.
set(refused_step 1)
if(NOT QUADRILLE_MPI STREQUAL "openmpi")
  set(refused_step 4)  # on few cores its ranks wait for each other for half a minute
endif()
quadrille_mpi_test(mpi.refused-dropin.3 RANKS 3 PROGRAM quadrille_dropin_checks PRELOAD ${taken_persistent_doors}
                   ARGUMENTS refused first ${refused_step})
quadrille_mpi_test(mpi.refused-api.3 RANKS 3 PROGRAM quadrille_api_checks ARGUMENTS refused first ${refused_step})
# Between nodes persistent calls have tags, which are counted.
quadrille_mpi_test(mpi.refused-api-nodes.3 RANKS 3 PROGRAM quadrille_api_checks ARGUMENTS refused first ${refused_step}
                   SETTINGS QUADRILLE_NODES=blocked:2)
quadrille_mpi_test(mpi.refused-trials.4 RANKS 4 PROGRAM quadrille_dropin_checks PRELOAD ARGUMENTS refused trials
                   SETTINGS QUADRILLE_NODES=blocked:2 QUADRILLE_TRIALS=on)
# What compares them in time with the MPI's own and with the C API; it runs.
quadrille_mpi_program(quadrille_taken_bench ${CMAKE_SOURCE_DIR}/bench/taken.cpp)
target_compile_options(quadrille_taken_bench PRIVATE -O2)
target_link_libraries(quadrille_taken_bench PRIVATE quadrille_so)
quadrille_mpi_test(mpi.taken-bench.2 RANKS 2 PROGRAM quadrille_taken_bench PRELOAD ${taken_persistent_doors} ARGUMENTS 1 8 8192)

# Calls that send to their own process, one inside of the other.
foreach(level ${taken_levels})
  quadrille_mpi_test(mpi.taken-around-${level}.2 RANKS 2 PROGRAM quadrille_taken_check PRELOAD ${taken_persistent_doors}
                     ARGUMENTS --threads=${level} --gtest_filter=TakenAround.* WRAPPER sh
                     ${CMAKE_CURRENT_SOURCE_DIR}/says.sh
                     "neighbor_alltoall on 2 ranks, 1 node, blocks of 48000 bytes -> torus:ports=1,pack=0: forced" --
                     SETTINGS QUADRILLE_EXPLAIN=1 QUADRILLE_SETUP_AFTER=0 ${taken_progress}
                     "QUADRILLE_ALGORITHM=neighbor_alltoall=torus:ports=1,pack=0")
endforeach()
