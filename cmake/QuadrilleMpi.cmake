# Finds the MPI of the ABI that is built for. Two targets come out:
#   quadrille_mpi_headers  mpi.h alone: the libraries and the tool are compiled with it, not linked
#   MPI::MPI_C             the MPI itself: example and test programs are linked to it
# The compiler wrapper and launcher are named explicitly, so that two MPIs can live on one machine.
if(QUADRILLE_MPI STREQUAL "openmpi")
  set(_mpicc mpicc.openmpi mpicc)
  set(_mpirun mpirun.openmpi mpirun)
elseif(QUADRILLE_MPI STREQUAL "mpich")
  # A wheel in the project's virtual environment comes first; it is newer than Debian's.
  set(_mpicc ${CMAKE_SOURCE_DIR}/build/venv/bin/mpicc mpicc.mpich mpicc)
  set(_mpirun ${CMAKE_SOURCE_DIR}/build/venv/bin/mpirun mpirun.mpich mpirun)
else()
  message(FATAL_ERROR "QUADRILLE_MPI is '${QUADRILLE_MPI}'; it must be openmpi or mpich")
endif()
if(NOT MPI_C_COMPILER)
  find_program(MPI_C_COMPILER NAMES ${_mpicc} REQUIRED)
endif()
find_program(QUADRILLE_MPIRUN NAMES ${_mpirun} REQUIRED
             DOC "Launcher of the MPI that is built for")
set(MPI_CXX_SKIP_MPICXX ON)
set(MPIEXEC_EXECUTABLE ${QUADRILLE_MPIRUN})
find_package(MPI REQUIRED COMPONENTS C)

add_library(quadrille_mpi_headers INTERFACE)
target_include_directories(quadrille_mpi_headers SYSTEM INTERFACE ${MPI_C_INCLUDE_DIRS})
target_compile_definitions(quadrille_mpi_headers INTERFACE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1
  $<IF:$<STREQUAL:${QUADRILLE_MPI},openmpi>,QUADRILLE_ABI_OPENMPI=1,QUADRILLE_ABI_MPICH=1>)

include(CheckSymbolExists)
set(CMAKE_REQUIRED_INCLUDES ${MPI_C_INCLUDE_DIRS})
check_symbol_exists(MPI_Alltoall_c mpi.h QUADRILLE_HAVE_LARGE_COUNT)
unset(CMAKE_REQUIRED_INCLUDES)
if(QUADRILLE_HAVE_LARGE_COUNT)
  target_compile_definitions(quadrille_mpi_headers INTERFACE QUADRILLE_HAVE_LARGE_COUNT=1)
endif()
