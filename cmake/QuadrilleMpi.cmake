# Finds the MPI of the tests and examples. Two targets come out:
#   quadrille_mpi_headers  mpi.h alone, for tests that are not linked to the MPI
#   MPI::MPI_C             the MPI itself: example and test programs are linked to it
# The compiler wrapper and launcher are named explicitly, so that two MPIs can live on one machine.
if(QUADRILLE_MPI STREQUAL "openmpi")
  set(_mpicc mpicc.openmpi mpicc)
  set(_mpirun mpirun.openmpi mpirun)
elseif(QUADRILLE_MPI STREQUAL "mpich")
  # A wheel in the project's virtual environment comes first; it is newer than Debian's.
  set(_mpicc ${CMAKE_SOURCE_DIR}/build/venv/bin/mpicc mpicc.mpich mpicc)
  set(_mpirun ${CMAKE_SOURCE_DIR}/build/venv/bin/mpirun mpirun.mpich mpirun)
elseif(QUADRILLE_MPI STREQUAL "standard")
  set(_mpicc ${CMAKE_SOURCE_DIR}/build/venv/bin/mpicc_abi mpicc_abi)
  set(_mpirun ${CMAKE_SOURCE_DIR}/build/venv/bin/mpirun mpirun.mpich mpirun)
else()
  message(FATAL_ERROR "QUADRILLE_MPI is '${QUADRILLE_MPI}'; it must be openmpi, mpich or standard")
endif()
# A wheel may come or go after this build was configured. Ninja looks at this list each time, and configures again.
file(GLOB _wheel CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/build/venv/bin/mpicc)
# Then what was found by itself is looked for anew; what the user named stays. QUADRILLE_FOUND_MPICC is what was found.
find_program(_mpicc_now NAMES ${_mpicc} NO_CACHE REQUIRED)
if(QUADRILLE_FOUND_MPICC AND "${MPI_C_COMPILER}" STREQUAL "${QUADRILLE_FOUND_MPICC}"
   AND NOT "${_mpicc_now}" STREQUAL "${QUADRILLE_FOUND_MPICC}")
  message(STATUS "This build moves from the MPI of ${QUADRILLE_FOUND_MPICC} to that of ${_mpicc_now}")
  get_cmake_property(_cached CACHE_VARIABLES)
  list(FILTER _cached INCLUDE REGEX "^(MPI_|MPIEXEC_|QUADRILLE_MPIRUN$|QUADRILLE_HAVE_)")
  foreach(_variable ${_cached})
    unset(${_variable} CACHE)
  endforeach()
endif()
if(NOT MPI_C_COMPILER)
  set(QUADRILLE_FOUND_MPICC ${_mpicc_now} CACHE INTERNAL "The compiler wrapper that nobody named")
  set(MPI_C_COMPILER ${_mpicc_now} CACHE FILEPATH "Compiler wrapper of the MPI that is built for")
endif()
find_program(QUADRILLE_MPIRUN NAMES ${_mpirun} REQUIRED
             DOC "Launcher of the MPI that is built for")
set(MPI_CXX_SKIP_MPICXX ON)
set(MPIEXEC_EXECUTABLE ${QUADRILLE_MPIRUN})
find_package(MPI REQUIRED COMPONENTS C)

add_library(quadrille_mpi_headers INTERFACE)
target_include_directories(quadrille_mpi_headers SYSTEM INTERFACE ${MPI_C_INCLUDE_DIRS})
target_compile_definitions(quadrille_mpi_headers INTERFACE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)

include(QuadrilleLargeCount)
quadrille_find_large_count(QUADRILLE_HAVE_LARGE_COUNT ${MPI_C_INCLUDE_DIRS})
if(QUADRILLE_HAVE_LARGE_COUNT)
  target_compile_definitions(quadrille_mpi_headers INTERFACE QUADRILLE_HAVE_LARGE_COUNT=1)
endif()

# The library with the doors for persistent collectives that this MPI has, by the name of its target. Open MPI 4.1 declares
# them in a header of its own.
if(QUADRILLE_MPI STREQUAL "openmpi")
  file(STRINGS ${MPI_C_HEADER_DIR}/mpi.h _persistent REGEX "MPI_Alltoall_init" LIMIT_COUNT 1)
  if(_persistent)
    set(QUADRILLE_PERSISTENT_DOOR quadrille_preload_persistent)
  else()
    set(QUADRILLE_PERSISTENT_DOOR quadrille_preload_mpix)
  endif()
elseif(QUADRILLE_HAVE_LARGE_COUNT)
  set(QUADRILLE_PERSISTENT_DOOR quadrille_preload_persistent)
endif()
