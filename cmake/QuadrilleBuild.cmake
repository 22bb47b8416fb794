# What the builds of examples and tests with ranks (QUADRILLE_MPI) take from this one: QuadrilleBuild.cmake has its settings,
# QuadrilleTargets.cmake its targets, with the names that they have here.
set(_lines "# Of the build in ${CMAKE_BINARY_DIR}; included before project().\n")
foreach(_variable CMAKE_BUILD_TYPE CMAKE_C_COMPILER CMAKE_CXX_COMPILER CMAKE_C_FLAGS CMAKE_CXX_FLAGS QUADRILLE_SANITIZE
                  QUADRILLE_TOGETHER QUADRILLE_ABIS)
  string(APPEND _lines "set(${_variable} \"${${_variable}}\")\n")
endforeach()
if(NOT QUADRILLE_TESTS)  # they need stand-ins of drivers
  string(APPEND _lines "set(QUADRILLE_TESTS OFF)\n")
endif()
foreach(_abi ${QUADRILLE_ABIS})
  string(APPEND _lines "set(QUADRILLE_INCLUDES_${_abi} \"${QUADRILLE_INCLUDES_${_abi}}\")\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/QuadrilleBuild.cmake CONTENT "${_lines}" @ONLY)

set(_targets)
foreach(_target options fmt plan registry core jemalloc api so preload preload_large preload_persistent preload_mpix tool lab
                standin_cuda standin_hip standin_nvml over_driver xpmem_standin)
  if(TARGET quadrille_${_target})
    list(APPEND _targets quadrille_${_target})
  endif()
endforeach()
export(TARGETS ${_targets} FILE ${CMAKE_BINARY_DIR}/QuadrilleTargets.cmake)
