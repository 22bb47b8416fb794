# What `cmake --install` puts under a prefix. Both ABIs can be installed into one prefix:
#   bin/quadrille-<abi>, bin/quadrille    the tool; the plain name is the ABI installed last
#   lib/quadrille/<abi>/                  libquadrille.so, libquadrille_mpi.so and, for names that not
#                                         every MPI has, libquadrille_mpi_large.so and
#                                         libquadrille_mpi[x]_persistent.so
#   lib/pkgconfig/quadrille-<abi>.pc
#   lib/cmake/Quadrille/                  find_package(Quadrille COMPONENTS <abi>)
#   include/quadrille.h, share/doc/quadrille/
# The tree may be moved: everything finds the rest relative to itself. `lib` is spelled out, not
# CMAKE_INSTALL_LIBDIR, because the tool looks for the libraries in ../lib/quadrille/<abi>.
include(CMakePackageConfigHelpers)

set(_abi_lib lib/quadrille/${QUADRILLE_MPI})
set(_package lib/cmake/Quadrille)
set(_generated ${CMAKE_BINARY_DIR}/install)

if(TARGET quadrille_so)
  install(TARGETS quadrille_so LIBRARY DESTINATION ${_abi_lib})
  install(FILES include/quadrille.h DESTINATION include)

  configure_file(cmake/quadrille.pc.in ${_generated}/quadrille-${QUADRILLE_MPI}.pc @ONLY)
  install(FILES ${_generated}/quadrille-${QUADRILLE_MPI}.pc DESTINATION lib/pkgconfig)

  configure_file(cmake/QuadrilleAbi.cmake.in ${_generated}/Quadrille-${QUADRILLE_MPI}.cmake @ONLY)
  write_basic_package_version_file(${_generated}/QuadrilleConfigVersion.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${_generated}/Quadrille-${QUADRILLE_MPI}.cmake
                ${_generated}/QuadrilleConfigVersion.cmake cmake/QuadrilleConfig.cmake
          DESTINATION ${_package})
endif()

foreach(_door quadrille_preload quadrille_preload_large quadrille_preload_persistent quadrille_preload_mpix)
  if(TARGET ${_door})
    install(TARGETS ${_door} LIBRARY DESTINATION ${_abi_lib})
  endif()
endforeach()

if(TARGET quadrille_tool)
  install(PROGRAMS $<TARGET_FILE:quadrille_tool> DESTINATION bin
          RENAME quadrille-${QUADRILLE_MPI})
  file(MAKE_DIRECTORY ${_generated})
  file(CREATE_LINK quadrille-${QUADRILLE_MPI} ${_generated}/quadrille SYMBOLIC)
  install(FILES ${_generated}/quadrille DESTINATION bin)
endif()

install(FILES LICENSE DESTINATION share/doc/quadrille)
# The libraries contain jemalloc, from memkind's package: its licence goes with them.
if(TARGET quadrille_jemalloc)
  install(FILES /usr/share/doc/libmemkind-dev/copyright DESTINATION share/doc/quadrille
          RENAME jemalloc-copyright OPTIONAL)
endif()
install(DIRECTORY docs/ DESTINATION share/doc/quadrille FILES_MATCHING PATTERN "*.md")
foreach(_document README.md CHANGELOG.md)
  if(EXISTS ${CMAKE_SOURCE_DIR}/${_document})
    install(FILES ${_document} DESTINATION share/doc/quadrille)
  endif()
endforeach()
