# What a rank or the MPI has not: memory, communicators.
# A rank without memory to pack in must not leave the others waiting.
foreach(way ring cma-write)
  quadrille_mpi_test(mpi.no-memory.${way}.3 RANKS 3 PROGRAM quadrille_dropin_checks PRELOAD ARGUMENTS no_memory
                     SETTINGS QUADRILLE_SETUP_AFTER=0 QUADRILLE_HEAP=off QUADRILLE_REACH=${way},ring)
endforeach()

# The same wherever Quadrille asks for memory in a call.
add_library(quadrille_lack_of_memory MODULE lack_of_memory.c)
target_link_libraries(quadrille_lack_of_memory PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(quadrille_lack_of_memory PROPERTIES PREFIX "" OUTPUT_NAME lack_of_memory)
target_compile_options(quadrille_lack_of_memory PRIVATE -fno-builtin)
add_dependencies(quadrille_api_checks quadrille_lack_of_memory)
function(quadrille_lacking_rank_test name ranks case)
  quadrille_mpi_test(mpi.lacking-rank-${name}.${ranks} RANKS ${ranks} PROGRAM quadrille_api_checks
                     WRAPPER ${CMAKE_COMMAND} -E env LD_PRELOAD=$<TARGET_FILE:quadrille_lack_of_memory>
                     ARGUMENTS lacking_rank ${case} SETTINGS QUADRILLE_HEAP=off ${ARGN})
endfunction()
quadrille_lacking_rank_test(dense 3 dense)
quadrille_lacking_rank_test(neighbors 3 neighbors)
quadrille_lacking_rank_test(nodes 4 dense QUADRILLE_NODES=blocked:2)
quadrille_lacking_rank_test(leaders 4 leaders QUADRILLE_NODES=blocked:2)
quadrille_lacking_rank_test(network 4 network ${standin} QUADRILLE_NODES=blocked:2)
set(pipeline pipeline $<TARGET_FILE:quadrille_standin_cuda>)
quadrille_lacking_rank_test(pipeline 3 "${pipeline}")
quadrille_lacking_rank_test(pull 3 "pull;$<TARGET_FILE:quadrille_standin_cuda>"
                            QUADRILLE_STANDIN_FAIL=cuIpcGetMemHandle:1+)
quadrille_lacking_rank_test(pipeline-nodes 4 "${pipeline}" QUADRILLE_NODES=blocked:2)
quadrille_lacking_rank_test(nodes-neighbors 4 neighbors QUADRILLE_NODES=blocked:2)

# A program has as many communicators as without Quadrille.
quadrille_mpi_test(mpi.communicators.2 RANKS 2 PROGRAM quadrille_dropin_checks PRELOAD
                   SETTINGS QUADRILLE_SETUP_AFTER=0 QUADRILLE_ALGORITHM=alltoall=zero-rotation-bruck ARGUMENTS communicators 1100)
# MPI_COMM_WORLD is left as it was.
if(QUADRILLE_MPI STREQUAL "openmpi")
  foreach(calls 16 17 18)
    quadrille_mpi_test(mpi.world-tags.${calls} RANKS 4 PROGRAM quadrille_dropin_checks PRELOAD ARGUMENTS world_tags ${calls})
  endforeach()
endif()

# An MPI in which something fails. The program is linked to this library first: it is taken for the MPI.
if(QUADRILLE_MPI STREQUAL "openmpi" AND NOT QUADRILLE_SANITIZE)
  add_library(quadrille_failing_mpi SHARED failing_mpi.c)
  target_link_libraries(quadrille_failing_mpi PRIVATE MPI::MPI_C ${CMAKE_DL_LIBS})
  target_link_options(quadrille_failing_mpi PRIVATE -Wl,--no-as-needed)
  add_executable(quadrille_failing_mpi_check failing_mpi_check.cpp)
  target_link_libraries(quadrille_failing_mpi_check PRIVATE quadrille_failing_mpi quadrille_options
                        quadrille_mpi_headers MPI::MPI_C ${CMAKE_DL_LIBS})
  quadrille_mpi_test(mpi.failing-mpi.2 RANKS 2 PROGRAM quadrille_failing_mpi_check PRELOAD PERSISTENT
                     SETTINGS QUADRILLE_SETUP_AFTER=0)
endif()

# Where the communicator that is used first has all ranks in another order.
foreach(ranks 2 3 5)
  quadrille_mpi_test(mpi.first-order.${ranks} RANKS ${ranks} PROGRAM quadrille_api_checks ARGUMENTS first_order
                     SETTINGS QUADRILLE_ALGORITHM=alltoall=pairwise)
endforeach()
