# What `cmake --install` puts under a prefix. Both ABIs can be installed into one prefix:
#   bin/quadrille-<abi>, bin/quadrille    the tool; the plain name is the ABI installed last
#   bin/quadrille-lab-<abi>, bin/quadrille-lab   the laboratory, likewise
#   lib/quadrille/<abi>/                  libquadrille.so, libquadrille_mpi.so and, for names that not
#                                         every MPI has, libquadrille_mpi_large.so and
#                                         libquadrille_mpi[x]_persistent.so
#   lib/pkgconfig/quadrille-<abi>.pc
#   lib/cmake/Quadrille/                  find_package(Quadrille COMPONENTS <abi>)
#   include/quadrille.h, share/doc/quadrille/
#   share/modulefiles/quadrille/<version>  for environment modules and Lmod
#   share/man/, share/bash-completion/, share/zsh/   of what the tool and the header say of themselves
# The tree may be moved: everything finds the rest relative to itself. `lib` is not CMAKE_INSTALL_LIBDIR, because the tool
# looks for the libraries in ../lib/quadrille/<abi>, and in ../lib/<triplet>/quadrille/<abi> as Debian has it.
include(CMakePackageConfigHelpers)

set(QUADRILLE_LIBDIR "lib" CACHE STRING "Where the libraries go under the prefix: lib, or lib/<triplet>")
set(_abi_lib ${QUADRILLE_LIBDIR}/quadrille/${QUADRILLE_MPI})
set(_package ${QUADRILLE_LIBDIR}/cmake/Quadrille)
# From there back to the prefix.
file(RELATIVE_PATH _package_to_prefix /${_package} /)
file(RELATIVE_PATH _pkgconfig_to_prefix /${QUADRILLE_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" _package_to_prefix "${_package_to_prefix}")
string(REGEX REPLACE "/$" "" _pkgconfig_to_prefix "${_pkgconfig_to_prefix}")
set(_generated ${CMAKE_BINARY_DIR}/install)

if(TARGET quadrille_so)
  install(TARGETS quadrille_so LIBRARY DESTINATION ${_abi_lib})
  install(FILES include/quadrille.h DESTINATION include)

  configure_file(cmake/quadrille.pc.in ${_generated}/quadrille-${QUADRILLE_MPI}.pc @ONLY)
  install(FILES ${_generated}/quadrille-${QUADRILLE_MPI}.pc DESTINATION ${QUADRILLE_LIBDIR}/pkgconfig)

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

file(MAKE_DIRECTORY ${_generated})
foreach(_program quadrille_tool:quadrille quadrille_lab:quadrille-lab)
  string(REPLACE ":" ";" _program ${_program})
  list(GET _program 0 _target)
  list(GET _program 1 _name)
  if(TARGET ${_target})
    install(PROGRAMS $<TARGET_FILE:${_target}> DESTINATION bin RENAME ${_name}-${QUADRILLE_MPI})
    file(CREATE_LINK ${_name}-${QUADRILLE_MPI} ${_generated}/${_name} SYMBOLIC)
    install(FILES ${_generated}/${_name} DESTINATION bin)
  endif()
endforeach()

configure_file(cmake/modulefile.in ${_generated}/modulefile @ONLY)
install(FILES ${_generated}/modulefile DESTINATION share/modulefiles/quadrille RENAME ${PROJECT_VERSION})

# Manual pages and completions. Without Python there are none.
find_package(Python3 COMPONENTS Interpreter)
if(TARGET quadrille_tool AND TARGET quadrille_lab AND Python3_FOUND)
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

install(FILES LICENSE DESTINATION share/doc/quadrille)
# The libraries contain jemalloc, from memkind's package: its licence goes with them.
if(TARGET quadrille_jemalloc)
  install(FILES /usr/share/doc/libmemkind-dev/copyright DESTINATION share/doc/quadrille
          RENAME jemalloc-copyright OPTIONAL)
endif()
install(DIRECTORY docs/ DESTINATION share/doc/quadrille FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
foreach(_document README.md CHANGELOG.md)
  if(EXISTS ${CMAKE_SOURCE_DIR}/${_document})
    install(FILES ${_document} DESTINATION share/doc/quadrille)
  endif()
endforeach()
