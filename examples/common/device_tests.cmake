# Tests of examples with the memory of a device, over the stand-ins of tests/device.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Empty files in place of libraries, so that the messages do not depend on the libraries of the machine.
set(example_no_library ${CMAKE_BINARY_DIR}/lib/no-library)
foreach(name libcuda.so.1 libcuda.so libamdhip64.so.7 libamdhip64.so.6 libamdhip64.so.5 libamdhip64.so libcufft.so.12
             libcufft.so.11 libcufft.so.10 libcufft.so)
  file(WRITE ${example_no_library}/${name} "")
endforeach()

# example_device_test(NAME RANKS PROGRAM [FOLDERS folders...] [WRAPPER words...] [PRELOAD words...] [SETTINGS settings...]
#                     ARGUMENTS words...)
# FOLDERS: folders that are searched first for libraries: cuda, hip, cufft, or a path.
function(example_device_test name ranks program)
  cmake_parse_arguments(PARSE_ARGV 3 T "" "" "FOLDERS;WRAPPER;PRELOAD;SETTINGS;ARGUMENTS")
  add_test(NAME ${name} COMMAND ${T_WRAPPER} ${QUADRILLE_MPIRUN} -n ${ranks} ${T_PRELOAD} $<TARGET_FILE:${program}>
                                ${T_ARGUMENTS})
  set(paths)
  foreach(folder IN LISTS T_FOLDERS)
    set(places ${folder})
    if(NOT IS_ABSOLUTE ${folder})  # the drivers are the product's, cuFFT is of the examples
      set(places ${QUADRILLE_LIBRARY_BUILD}/lib/standin-${folder} ${CMAKE_BINARY_DIR}/lib/standin-${folder})
    endif()
    list(TRANSFORM places PREPEND LD_LIBRARY_PATH=path_list_prepend:)
    list(APPEND paths ${places})
  endforeach()
  example_processors(processors ${ranks})
  set_tests_properties(${name} PROPERTIES LABELS examples TIMEOUT 120 PROCESSORS ${processors}
    ENVIRONMENT "${example_environment};QUADRILLE_TUNING=none;${T_SETTINGS}"
    ENVIRONMENT_MODIFICATION "${paths}")
endfunction()

# example_says(VARIABLE PATTERNS...): a wrapper of `quadrille run`, under which the output must have each pattern.
function(example_says variable)
  set(${variable} ${QUADRILLE_SH} ${PROJECT_SOURCE_DIR}/tests/mpi/says.sh ${ARGN} --
      $<TARGET_FILE:quadrille_tool> run --explain -- PARENT_SCOPE)
endfunction()

# Under Quadrille, which would order its copies after pending work: what is in front checks before.
example_in_front(example_waited waited :$<TARGET_FILE:quadrille_preload>)
