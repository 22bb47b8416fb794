# MPI_Alloc_mem and Quadrille_Alloc with an MPI.
if(QUADRILLE_SANITIZE)
  return()
endif()
add_executable(quadrille_heap_mpi mpi_check.cpp maps.cpp)
quadrille_together(quadrille_heap_mpi)
target_link_libraries(quadrille_heap_mpi PRIVATE quadrille_options quadrille_mpi_headers quadrille_so
                      MPI::MPI_C)
foreach(mode on early off)
  foreach(door preload explicit)
    set(settings QUADRILLE_HEAP=${mode})
    if("${door}" STREQUAL "preload")
      list(APPEND settings ${preload})
    endif()
    add_test(NAME heap.mpi.${door}.${mode}
             COMMAND ${QUADRILLE_MPIRUN} -n 1 env ${settings} $<TARGET_FILE:quadrille_heap_mpi>
                     ${door} ${mode})
    set_tests_properties(heap.mpi.${door}.${mode} PROPERTIES LABELS heap TIMEOUT 300 ENVIRONMENT
      "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
  endforeach()
endforeach()

# Small blocks lie in the heap as well, those of the MPI among them.
add_test(NAME heap.mpi.preload.small
         COMMAND ${QUADRILLE_MPIRUN} -n 1 env QUADRILLE_HEAP=early QUADRILLE_HEAP_FROM=1 ${preload}
                 $<TARGET_FILE:quadrille_heap_mpi> preload early)
set_tests_properties(heap.mpi.preload.small PROPERTIES LABELS heap TIMEOUT 300 ENVIRONMENT
  "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
