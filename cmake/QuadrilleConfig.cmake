# find_package(Quadrille [COMPONENTS openmpi|mpich]): one component for each MPI ABI. Targets:
#   Quadrille::openmpi, Quadrille::mpich  the library for that ABI
#   Quadrille::quadrille                  the first component asked for; without any, the only
#                                         ABI that is installed
set(_quadrille_installed)
foreach(_abi openmpi mpich)
  if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/Quadrille-${_abi}.cmake")
    list(APPEND _quadrille_installed ${_abi})
  endif()
endforeach()

set(_quadrille_wanted ${Quadrille_FIND_COMPONENTS})
if(NOT _quadrille_wanted)
  list(LENGTH _quadrille_installed _quadrille_count)
  if(_quadrille_count EQUAL 1)
    set(_quadrille_wanted ${_quadrille_installed})
  else()
    set(Quadrille_FOUND FALSE)
    set(Quadrille_NOT_FOUND_MESSAGE
        "Quadrille is installed for several MPIs: ask for COMPONENTS openmpi or COMPONENTS mpich")
  endif()
endif()

foreach(_abi ${_quadrille_wanted})
  if(_abi IN_LIST _quadrille_installed)
    include("${CMAKE_CURRENT_LIST_DIR}/Quadrille-${_abi}.cmake")
    set(Quadrille_${_abi}_FOUND TRUE)
    if(NOT TARGET Quadrille::quadrille)
      add_library(Quadrille::quadrille INTERFACE IMPORTED)
      target_link_libraries(Quadrille::quadrille INTERFACE Quadrille::${_abi})
    endif()
  elseif(Quadrille_FIND_REQUIRED_${_abi})
    set(Quadrille_FOUND FALSE)
    set(Quadrille_NOT_FOUND_MESSAGE
        "Quadrille is not installed for '${_abi}'; it is for: ${_quadrille_installed}")
  endif()
endforeach()
unset(_abi)
unset(_quadrille_installed)
unset(_quadrille_wanted)
unset(_quadrille_count)
