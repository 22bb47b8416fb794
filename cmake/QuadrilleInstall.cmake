# What `cmake --install` puts under a prefix:
#   bin/                        quadrille, quadrille-lab
#   lib/quadrille/              libquadrille.so, libquadrille_mpi.so and, for functions that not every MPI has,
#                               libquadrille_mpi_large.so and libquadrille_mpi[x]_persistent.so
#   lib/pkgconfig/quadrille.pc
#   lib/cmake/Quadrille/        find_package(Quadrille)
#   include/quadrille.h, share/doc/quadrille/
#   share/modulefiles/quadrille/<version>             for Environment Modules and Lmod
#   share/man/, share/bash-completion/, share/zsh/    written from the programs' help and the header
# The tree may be moved: each file finds the others relative to itself. `lib` is not CMAKE_INSTALL_LIBDIR, because the tool
# looks for the libraries in ../lib/quadrille, and in ../lib/<triplet>/quadrille as Debian has it.
include(CMakePackageConfigHelpers)

set(QUADRILLE_LIBDIR "lib" CACHE STRING "Where the libraries go under the prefix: lib, or lib/<triplet>")
set(_package ${QUADRILLE_LIBDIR}/cmake/Quadrille)
# From there back to the prefix.
file(RELATIVE_PATH _package_to_prefix /${_package} /)
file(RELATIVE_PATH _pkgconfig_to_prefix /${QUADRILLE_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" _package_to_prefix "${_package_to_prefix}")
string(REGEX REPLACE "/$" "" _pkgconfig_to_prefix "${_pkgconfig_to_prefix}")
set(_generated ${CMAKE_BINARY_DIR}/install)

install(TARGETS quadrille_so quadrille_preload quadrille_preload_large quadrille_preload_persistent quadrille_preload_mpix
        LIBRARY DESTINATION ${QUADRILLE_LIBDIR}/quadrille)
install(PROGRAMS $<TARGET_FILE:quadrille_tool> $<TARGET_FILE:quadrille_lab> DESTINATION bin)
install(FILES include/quadrille.h DESTINATION include)

list(JOIN QUADRILLE_ABIS " " _abis)
configure_file(cmake/quadrille.pc.in ${_generated}/quadrille.pc @ONLY)
install(FILES ${_generated}/quadrille.pc DESTINATION ${QUADRILLE_LIBDIR}/pkgconfig)

configure_file(cmake/QuadrilleConfig.cmake.in ${_generated}/QuadrilleConfig.cmake @ONLY)
write_basic_package_version_file(${_generated}/QuadrilleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${_generated}/QuadrilleConfig.cmake ${_generated}/QuadrilleConfigVersion.cmake DESTINATION ${_package})

configure_file(cmake/modulefile.in ${_generated}/modulefile @ONLY)
install(FILES ${_generated}/modulefile DESTINATION share/modulefiles/quadrille RENAME ${PROJECT_VERSION})

# Manual pages and completions. Without Python there are none.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  set(_programs $<TARGET_FILE:quadrille_tool> $<TARGET_FILE:quadrille_lab>)
  set(_scripts ${CMAKE_SOURCE_DIR}/scripts)
  add_custom_command(OUTPUT ${_generated}/pages.stamp
                     COMMAND ${CMAKE_COMMAND} -E rm -rf ${_generated}/man ${_generated}/share
                     COMMAND Python3::Interpreter ${_scripts}/man_pages.py ${_programs} ${_generated}/man
                     COMMAND Python3::Interpreter ${_scripts}/completions.py ${_programs} ${_generated}/share
                     COMMAND ${CMAKE_COMMAND} -E touch ${_generated}/pages.stamp
                     DEPENDS quadrille_tool quadrille_lab ${_scripts}/man_pages.py ${_scripts}/completions.py ${_scripts}/cli_help.py
                             ${_scripts}/docs_settings.py ${CMAKE_SOURCE_DIR}/include/quadrille.h
                     COMMENT "Writing manual pages and completions")
  add_custom_target(quadrille_pages ALL DEPENDS ${_generated}/pages.stamp)
  install(DIRECTORY ${_generated}/man/ DESTINATION share/man)
  install(DIRECTORY ${_generated}/share/ DESTINATION share)
endif()

# The libraries contain jemalloc, from memkind's package: its licence goes with them.
if(TARGET quadrille_jemalloc)
  install(FILES /usr/share/doc/libmemkind-dev/copyright DESTINATION share/doc/quadrille
          RENAME jemalloc-copyright OPTIONAL)
endif()
install(DIRECTORY docs/ DESTINATION share/doc/quadrille FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
install(FILES LICENSE README.md CHANGELOG.md DESTINATION share/doc/quadrille)
