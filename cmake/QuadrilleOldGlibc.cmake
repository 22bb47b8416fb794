# Libraries and a tool that run with an older glibc than this system's, and need nothing else: for the Python wheel.
# QUADRILLE_GLIBC=2.28 says which one; empty: this system's. cmake/old_glibc/stubs.py explains how.
set(QUADRILLE_GLIBC "" CACHE STRING "The oldest glibc for the result, for example 2.28; empty: this system's")
if(NOT QUADRILLE_GLIBC)
  return()
endif()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(_old_glibc ${CMAKE_SOURCE_DIR}/cmake/old_glibc)
set(_stubs ${CMAKE_BINARY_DIR}/old_glibc)
file(MAKE_DIRECTORY ${_stubs})
foreach(_part newer no_udev start)
  execute_process(COMMAND ${CMAKE_C_COMPILER} -O2 -fPIC -fno-stack-protector -c ${_old_glibc}/${_part}.c
                          -o ${_stubs}/${_part}.o COMMAND_ERROR_IS_FATAL ANY)
endforeach()
# An archive: each object is taken only where something of it is missing.
execute_process(COMMAND ${CMAKE_AR} rcs ${_stubs}/libnewer.a ${_stubs}/newer.o COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${Python3_EXECUTABLE} ${_old_glibc}/stubs.py --compiler ${CMAKE_C_COMPILER}
                        --glibc ${QUADRILLE_GLIBC} --out ${_stubs} ${_stubs}/libnewer.a COMMAND_ERROR_IS_FATAL ANY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_old_glibc}/stubs.py ${_old_glibc}/newer.c
                                                               ${_old_glibc}/no_udev.c ${_old_glibc}/start.c)
add_link_options(-Wl,--no-as-needed -L${_stubs})

# quadrille_link_again_with_glibc(TARGETS...): they are linked anew when the stubs are.
function(quadrille_link_again_with_glibc)
  set_property(TARGET ${ARGN} APPEND PROPERTY LINK_DEPENDS ${CMAKE_BINARY_DIR}/old_glibc/libc.so)
endfunction()

# quadrille_needs_glibc_alone(PROGRAM): nothing else is loaded with it, and it starts with an old glibc.
find_library(QUADRILLE_HWLOC_STATIC NAMES libhwloc.a REQUIRED)
function(quadrille_needs_glibc_alone program)
  target_link_libraries(${program} PRIVATE ${QUADRILLE_HWLOC_STATIC} ${CMAKE_BINARY_DIR}/old_glibc/no_udev.o
                                           ${CMAKE_BINARY_DIR}/old_glibc/start.o)
  target_link_options(${program} PRIVATE -static-libstdc++ -static-libgcc -Wl,--wrap=__libc_start_main)
endfunction()
