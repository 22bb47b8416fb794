# Does mpi.h declare the collectives with large counts that Quadrille serves (MPI 4)?
#
# quadrille_find_large_count(RESULT FOLDER...): sets RESULT to ON or OFF, for the mpi.h in these include folders.
#
# The question is put to the compiler alone: nothing is linked, as no MPI is linked to Quadrille. And it is put
# twice. If the compiler denies what the header's text declares, then the check is broken, not the MPI, and the
# configure step ends: doors that are left out by mistake show in no test.
include_guard()

set(_quadrille_large_doors Alltoall Alltoallv Alltoallw Allgather Allgatherv Neighbor_alltoall Neighbor_alltoallv
    Neighbor_alltoallw Neighbor_allgather Neighbor_allgatherv)

function(quadrille_find_large_count result)
  set(source "#include <mpi.h>\nvoid (*const functions[])() = {")
  foreach(door ${_quadrille_large_doors})
    string(APPEND source "(void (*)())&MPI_${door}_c, (void (*)())&PMPI_${door}_c,\n")
  endforeach()
  string(APPEND source "};\n")
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  try_compile(compiles SOURCE_FROM_CONTENT check.c "${source}" CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${ARGN}"
              OUTPUT_VARIABLE output NO_CACHE)
  set(declared OFF)
  foreach(folder ${ARGN})
    file(GLOB headers ${folder}/mpi.h ${folder}/mpi_*.h ${folder}/mpi/*.h)
    foreach(header ${headers})
      file(STRINGS ${header} lines REGEX "[^A-Za-z_]MPI_Alltoallv?_c *\\(" LIMIT_COUNT 1)
      if(lines)
        set(declared ${header})
      endif()
    endforeach()
  endforeach()
  if(declared AND NOT compiles)
    message(FATAL_ERROR "${declared} declares the collectives with large counts (MPI_Alltoall_c), but the check "
                        "that they can be used fails:\n${output}")
  endif()
  set(${result} ${compiles} PARENT_SCOPE)
endfunction()
