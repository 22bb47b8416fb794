# What a rank, or its processor, or the MPI has not: memory, access to memory of a device, communicators.
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
quadrille_lacking_rank_test(nodes-neighbors 4 QUADRILLE_NODES=blocked:2 ARGUMENTS neighbors)

# Memory of a device, by a stand-in of its driver (tests/device), on odd ranks; the last are so many that copies have other ways.
quadrille_mpi_program(quadrille_device_check device_check.cpp)
add_dependencies(quadrille_device_check quadrille_preload quadrille_standin_cuda quadrille_standin_hip)
set(device_doors)
if(QUADRILLE_PERSISTENT_DOOR)
  set(device_doors PERSISTENT)
endif()
function(quadrille_device_test name ranks driver)
  quadrille_mpi_test(mpi.device-${name}.${ranks} RANKS ${ranks} PROGRAM quadrille_device_check PRELOAD ${device_doors}
                     SETTINGS QUADRILLE_SETUP_AFTER=0 ${ARGN}
                     ARGUMENTS $<TARGET_FILE:quadrille_standin_${driver}>)
endfunction()
quadrille_device_test(default 2 cuda)
quadrille_device_test(default 3 cuda CORE)
quadrille_device_test(ring 3 cuda QUADRILLE_REACH=ring)
quadrille_device_test(hip 3 hip)
# Streams that do nothing before they have to, and work in drawn order.
quadrille_device_test(lazy 2 cuda QUADRILLE_STANDIN_STREAMS=lazy)
quadrille_device_test(hip-lazy 2 hip QUADRILLE_STANDIN_STREAMS=lazy)
quadrille_device_test(random 3 cuda QUADRILLE_STANDIN_STREAMS=random:1)
quadrille_device_test(messages 4 cuda
  "QUADRILLE_ALGORITHM=alltoall=modified-bruck;alltoallv=two-phase-bruck;alltoallw=spread-out;allgather=ring;allgatherv=ring;neighbor_alltoall=torus;neighbor_allgather=torus")

# What goes to the MPI goes there from the host: the first calls, those for which it was chosen, and what asks for an MPI
# that takes such memory.
quadrille_device_test(early 3 cuda QUADRILLE_SETUP_AFTER=1000 CORE)
set(every alltoall alltoallv alltoallw allgather allgatherv neighbor_alltoall neighbor_alltoallv neighbor_alltoallw
          neighbor_allgather neighbor_allgatherv)
list(TRANSFORM every REPLACE "(.+)" "\\1=mpi" OUTPUT_VARIABLE all_by_mpi)
list(TRANSFORM every REPLACE "(.+)" "\\1=cuda-aware-mpi" OUTPUT_VARIABLE all_by_device_mpi)
list(TRANSFORM every REPLACE "(.+)" "\\1=copy-to-cpu:buffers=fresh" OUTPUT_VARIABLE all_over_fresh)
foreach(name by_mpi by_device_mpi over_fresh)
  list(JOIN all_${name} "$<SEMICOLON>" forced)
  string(REPLACE _ - test ${name})
  quadrille_device_test(${test} 3 cuda "QUADRILLE_ALGORITHM=${forced}")
endforeach()
quadrille_device_test(over-host 4 cuda
  "QUADRILLE_ALGORITHM=alltoall=copy-to-cpu:inner=waitany-stride,stride=3;alltoallv=copy-to-cpu:inner=pairwise,buffers=pageable;alltoallw=copy-to-cpu:inner=inbox;allgather=copy-to-cpu:inner=bruck,buffers=fresh;allgatherv=copy-to-cpu:inner=ring;neighbor_alltoall=copy-to-cpu:inner=torus;neighbor_alltoallv=copy-to-cpu:inner=direct;neighbor_allgather=copy-to-cpu:inner=rings")

# What is moved of it, and over which memory.
quadrille_mpi_program(quadrille_device_staging_check device_staging_check.cpp)
add_dependencies(quadrille_device_staging_check quadrille_preload quadrille_standin_cuda)
function(quadrille_device_staging_test name ranks)
  quadrille_mpi_test(mpi.device-staging-${name}.${ranks} RANKS ${ranks} PROGRAM quadrille_device_staging_check PRELOAD
                     ${device_doors} SETTINGS QUADRILLE_SETUP_AFTER=0 ${ARGN}
                     ARGUMENTS $<TARGET_FILE:quadrille_standin_cuda>)
endfunction()
quadrille_device_staging_test(eager 3)
quadrille_device_staging_test(lazy 3 QUADRILLE_STANDIN_STREAMS=lazy)
quadrille_device_staging_test(random 3 QUADRILLE_STANDIN_STREAMS=random:1)

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
