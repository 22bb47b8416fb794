# What depends on the ABI of the MPI, in small programs of googletest that run in full on every MPI: the MPI's constants,
# handles and statuses as the library has them (constants_test.cpp, linked to Quadrille's core), and as a program has them
# under Quadrille (handles_test.cpp, linked to the MPI alone).

# quadrille_abi_tests(PREFIX MPI [NAME=value...]): the programs linked to a library of an MPI, compiled with these
# definitions.
function(quadrille_abi_tests prefix mpi)
  foreach(name constants handles)
    set(target quadrille_${prefix}${name}_tests)
    add_executable(${target} ${name}_test.cpp abi_main.cpp)
    target_link_libraries(${target} PRIVATE quadrille_options quadrille_registry quadrille_mpi_headers GTest::gtest
                          Threads::Threads ${mpi} ${CMAKE_DL_LIBS})
    target_compile_definitions(${target} PRIVATE ${ARGN})
  endforeach()
  target_link_libraries(quadrille_${prefix}constants_tests PRIVATE quadrille_core)
  add_dependencies(quadrille_${prefix}handles_tests quadrille_preload)
  quadrille_mpi_test(mpi.${prefix}constants.2 RANKS 2 PROGRAM quadrille_${prefix}constants_tests CORE)
  quadrille_mpi_test(mpi.${prefix}handles.2 RANKS 2 PROGRAM quadrille_${prefix}handles_tests PRELOAD CORE
                     WRAPPER sh ${CMAKE_CURRENT_SOURCE_DIR}/says.sh "summary: [1-9][0-9]* calls served" --
                     SETTINGS QUADRILLE_EXPLAIN=1 QUADRILLE_SETUP_AFTER=0)
endfunction()

quadrille_abi_tests("" MPI::MPI_C)
# By the ABI of the MPI standard, too, as the clients are (tests/clients).
if(QUADRILLE_MPI STREQUAL "mpich" AND EXISTS ${MPI_C_HEADER_DIR}/../lib/libmpi_abi.so.1)
  quadrille_abi_tests(standard_ ${MPI_C_HEADER_DIR}/../lib/libmpi_abi.so.1 MPI_ABI=1)
endif()
