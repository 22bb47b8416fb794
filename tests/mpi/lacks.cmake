# What a rank or the MPI has not: memory, communicators.
# A rank without memory to pack in must not leave the others waiting.
quadrille_mpi_program(quadrille_no_memory_check no_memory_check.cpp)
add_dependencies(quadrille_no_memory_check quadrille_preload)
foreach(way ring cma-write)
  quadrille_mpi_test(mpi.no-memory.${way}.3 RANKS 3 PROGRAM quadrille_no_memory_check PRELOAD
                     SETTINGS QUADRILLE_SETUP_AFTER=0 QUADRILLE_HEAP=off QUADRILLE_REACH=${way},ring)
endforeach()

# The same wherever Quadrille asks for memory in a call.
add_library(quadrille_lack_of_memory MODULE lack_of_memory.c)
target_link_libraries(quadrille_lack_of_memory PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(quadrille_lack_of_memory PROPERTIES PREFIX "" OUTPUT_NAME lack_of_memory)
target_compile_options(quadrille_lack_of_memory PRIVATE -fno-builtin)
quadrille_mpi_program(quadrille_lacking_rank_check lacking_rank_check.cpp)
target_link_libraries(quadrille_lacking_rank_check PRIVATE quadrille_so)
add_dependencies(quadrille_lacking_rank_check quadrille_lack_of_memory)
function(quadrille_lacking_rank_test name ranks)
  quadrille_mpi_test(mpi.lacking-rank-${name}.${ranks} RANKS ${ranks} PROGRAM quadrille_lacking_rank_check
                     WRAPPER ${CMAKE_COMMAND} -E env LD_PRELOAD=$<TARGET_FILE:quadrille_lack_of_memory>
                     SETTINGS QUADRILLE_HEAP=off ${ARGN})
endfunction()
quadrille_lacking_rank_test(dense 3 ARGUMENTS dense)
quadrille_lacking_rank_test(neighbors 3 ARGUMENTS neighbors)
quadrille_lacking_rank_test(nodes 4 QUADRILLE_NODES=blocked:2 ARGUMENTS dense)
quadrille_lacking_rank_test(leaders 4 QUADRILLE_NODES=blocked:2 ARGUMENTS leaders)
quadrille_lacking_rank_test(network 4 ${standin} QUADRILLE_NODES=blocked:2 ARGUMENTS network)
set(pipeline ARGUMENTS pipeline $<TARGET_FILE:quadrille_standin_cuda>)
quadrille_lacking_rank_test(pipeline 3 ${pipeline})
quadrille_lacking_rank_test(pipeline-nodes 4 QUADRILLE_NODES=blocked:2 ${pipeline})
add_dependencies(quadrille_lacking_rank_check quadrille_standin_cuda)
quadrille_lacking_rank_test(nodes-neighbors 4 QUADRILLE_NODES=blocked:2 ARGUMENTS neighbors)

# A program has as many communicators as without Quadrille.
quadrille_mpi_program(quadrille_communicators_check communicators_check.cpp)
add_dependencies(quadrille_communicators_check quadrille_preload)
quadrille_mpi_test(mpi.communicators.2 RANKS 2 PROGRAM quadrille_communicators_check PRELOAD
                   SETTINGS QUADRILLE_SETUP_AFTER=0 QUADRILLE_ALGORITHM=alltoall=zero-rotation-bruck ARGUMENTS 1100)
# MPI_COMM_WORLD is left as it was.
if(QUADRILLE_MPI STREQUAL "openmpi")
  quadrille_mpi_program(quadrille_world_tags_check world_tags_check.cpp)
  add_dependencies(quadrille_world_tags_check quadrille_preload)
  foreach(calls 16 17 18)
    quadrille_mpi_test(mpi.world-tags.${calls} RANKS 4 PROGRAM quadrille_world_tags_check PRELOAD ARGUMENTS ${calls})
  endforeach()
endif()

# Where the communicator that is used first has all ranks in another order.
quadrille_mpi_program(quadrille_first_order_check first_order_check.cpp)
target_link_libraries(quadrille_first_order_check PRIVATE quadrille_so)
foreach(ranks 2 3 5)
  quadrille_mpi_test(mpi.first-order.${ranks} RANKS ${ranks} PROGRAM quadrille_first_order_check
                     SETTINGS QUADRILLE_ALGORITHM=alltoall=pairwise)
endforeach()
