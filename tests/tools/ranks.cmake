# `quadrille` as users start it, by scripts, with real launchers.
foreach(name program tool_in_front)
  add_library(tools_${name}_object OBJECT ${name}.c)
  target_include_directories(tools_${name}_object SYSTEM PRIVATE $<TARGET_PROPERTY:MPI::MPI_C,INTERFACE_INCLUDE_DIRECTORIES>)
endforeach()
add_executable(tools_program)
target_link_libraries(tools_program PRIVATE tools_program_object MPI::MPI_C)
# Finds its MPI by a DT_RPATH or DT_RUNPATH, in a folder that tests fill. Its own options stand before those of MPI::MPI_C, which may have one.
set(own_mpi ${CMAKE_CURRENT_BINARY_DIR}/own-mpi)
add_executable(tools_program_rpath)
target_link_libraries(tools_program_rpath PRIVATE tools_program_object MPI::MPI_C)
set_target_properties(tools_program_rpath PROPERTIES SKIP_BUILD_RPATH ON)
target_link_options(tools_program_rpath PRIVATE -Wl,--disable-new-dtags,-rpath,${own_mpi})
# The same, with the name that a library of Cray MPICH has.
if(QUADRILLE_MPI STREQUAL "mpich")
  add_library(quadrille_standin_cray SHARED standin_cray.c)
  set_target_properties(quadrille_standin_cray PROPERTIES OUTPUT_NAME mpi_gnu_123 SUFFIX .so.12
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/standin-cray)
  add_executable(tools_program_cray)
  target_link_libraries(tools_program_cray PRIVATE tools_program_object quadrille_standin_cray)
  set_target_properties(tools_program_cray PROPERTIES SKIP_BUILD_RPATH ON)
  target_link_options(tools_program_cray PRIVATE -Wl,--disable-new-dtags,-rpath,${own_mpi},--no-as-needed,--unresolved-symbols=ignore-all)
endif()
# Stands in front of the MPI: as a library, and in a program.
add_executable(tools_program_with_tool)
target_link_libraries(tools_program_with_tool PRIVATE tools_program_object tools_tool_in_front_object MPI::MPI_C)
add_library(quadrille_tool_in_front SHARED)
target_link_libraries(quadrille_tool_in_front PRIVATE tools_tool_in_front_object MPI::MPI_C)
# Its calls are known to `quadrille report`.
add_executable(report_program report_program.c)
target_link_libraries(report_program PRIVATE MPI::MPI_C ${CMAKE_DL_LIBS})
target_include_directories(report_program PRIVATE ${PROJECT_SOURCE_DIR}/include)

# With a tool that watches its memory built into it.
if(NOT QUADRILLE_SANITIZE)
  add_executable(tools_checked_asan program.c)
  target_link_libraries(tools_checked_asan PRIVATE MPI::MPI_C)
  target_compile_options(tools_checked_asan PRIVATE -fsanitize=address)
  target_link_options(tools_checked_asan PRIVATE -fsanitize=address)
endif()

# The program of the other ABI, if its compiler is on this machine: for mixed MPIs.
if(QUADRILLE_MPI STREQUAL "openmpi")
  find_program(QUADRILLE_OTHER_LAUNCHER NAMES mpirun.mpich mpiexec.hydra)
else()
  find_program(QUADRILLE_OTHER_LAUNCHER NAMES mpirun.openmpi orterun)
endif()

# An MPI that delivers a wrong byte.
add_library(quadrille_wrong_mpi SHARED wrong_mpi.c)
target_link_libraries(quadrille_wrong_mpi PRIVATE MPI::MPI_C ${CMAKE_DL_LIBS})
target_link_options(quadrille_wrong_mpi PRIVATE -Wl,--no-as-needed)
set_target_properties(quadrille_wrong_mpi PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/wrong-mpi)

set(script_environment
  "CUDA=$<TARGET_FILE_DIR:quadrille_standin_cuda>" "HIP=$<TARGET_FILE_DIR:quadrille_standin_hip>"
  "WRONG_MPI=$<TARGET_FILE:quadrille_wrong_mpi>"
  "TOOL=$<TARGET_FILE:quadrille_tool>" "LAB=$<TARGET_FILE:quadrille_lab>" "PROGRAM=$<TARGET_FILE:tools_program>" "REPORT_PROGRAM=$<TARGET_FILE:report_program>"
  "OWN_MPI=${own_mpi}" "RPATH_PROGRAM=$<TARGET_FILE:tools_program_rpath>" "TOOL_IN_FRONT=$<TARGET_FILE:quadrille_tool_in_front>"
  "PROGRAM_WITH_TOOL=$<TARGET_FILE:tools_program_with_tool>"
  "CRAY_PROGRAM=$<$<STREQUAL:${QUADRILLE_MPI},mpich>:$<TARGET_FILE_DIR:tools_program>/tools_program_cray>"
  "PRELOAD=$<TARGET_FILE:quadrille_preload>" "MPIRUN=${QUADRILLE_MPIRUN}" "PYTHON=${Python3_EXECUTABLE}"
  "OTHER_MPIRUN=${QUADRILLE_OTHER_LAUNCHER}" "ABI=${QUADRILLE_MPI}" "STANDINS=${QUADRILLE_LIBRARY_BUILD}/lib"
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)
set(scripts run_errors run_passes run_signals run_mixed doctor_runs doctor_waits job_runs bench_runs bench_errors device_runs gpu_figure_runs gpu_report_runs late_runs overlap_runs info_runs lab_runs lab_errors tune_runs model_runs
            explain_runs simulate_runs tune_neighbors_runs tune_algorithms_runs html_runs html_browser report_runs report_again report_kinds
            report_errors report_browser)
# These ask nothing of the MPI that differs from one to another.
if(QUADRILLE_MPI STREQUAL "mpich")
  list(REMOVE_ITEM scripts bench_errors lab_errors device_runs gpu_figure_runs gpu_report_runs model_runs explain_runs simulate_runs tune_neighbors_runs html_runs
       html_browser report_browser)
endif()
if(NOT QUADRILLE_SANITIZE)
  list(APPEND scripts fault_tolerance memory_checkers)
  list(APPEND script_environment "OPENMPI5=${CMAKE_SOURCE_DIR}/build/venv-openmpi5" "CHECKED_ASAN=$<TARGET_FILE:tools_checked_asan>")
endif()
# With sanitizers those that take long there stay out, and that which limits the address space. What an MPI leaves
# behind is not looked at: a launcher's ranks end as they like.
if(QUADRILLE_SANITIZE)
  set(scripts run_errors bench_errors lab_errors model_runs)
  list(APPEND script_environment ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0)
endif()
# The doors that not every MPI has, with stand-ins of MPIs: as old ones, as those between, as new ones.
set(added)
if(QUADRILLE_MPI STREQUAL "openmpi")
  set(soversion 40)
  set(middle WITH_MPIX)
  set(new WITH_PERSISTENT)
  set(doors "DOORS=$<TARGET_FILE:quadrille_preload_persistent>" "DOORS_OF_MIDDLE=$<TARGET_FILE:quadrille_preload_mpix>")
  set(added ":$<TARGET_FILE:${QUADRILLE_PERSISTENT_DOOR}>")
elseif(QUADRILLE_HAVE_LARGE_COUNT)
  set(soversion 12)
  set(middle WITH_LARGE)
  set(new WITH_LARGE WITH_PERSISTENT)
  set(doors "DOORS=$<TARGET_FILE:quadrille_preload_large>:$<TARGET_FILE:quadrille_preload_persistent>"
      "DOORS_OF_MIDDLE=$<TARGET_FILE:quadrille_preload_large>")
  set(added ":$<TARGET_FILE:quadrille_preload_large>:$<TARGET_FILE:quadrille_preload_persistent>")
endif()
list(APPEND script_environment "ADDED=${added}")
if(doors AND NOT QUADRILLE_SANITIZE)
  foreach(kind old middle new)
    add_library(quadrille_standin_mpi_${kind} SHARED standin_mpi.c)
    set_target_properties(quadrille_standin_mpi_${kind} PROPERTIES OUTPUT_NAME mpi SUFFIX .so.${soversion}
                          LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/standin-mpi-${kind})
  endforeach()
  target_compile_definitions(quadrille_standin_mpi_middle PRIVATE ${middle})
  target_compile_definitions(quadrille_standin_mpi_new PRIVATE ${new})
  add_executable(quadrille_standin_program standin_program.c)
  target_link_libraries(quadrille_standin_program PRIVATE quadrille_standin_mpi_old)
  set_target_properties(quadrille_standin_program PROPERTIES SKIP_BUILD_RPATH ON)
  list(APPEND script_environment ${doors} "STANDIN=$<TARGET_FILE:quadrille_standin_program>"
       "OLD=$<TARGET_FILE_DIR:quadrille_standin_mpi_old>" "MIDDLE=$<TARGET_FILE_DIR:quadrille_standin_mpi_middle>"
       "NEW=$<TARGET_FILE_DIR:quadrille_standin_mpi_new>")
  list(APPEND scripts run_added)
endif()
# Programs that are refused before they start, with stand-ins of their MPIs: of the MPI standard's ABI, of another version of
# it, and of two ABIs.
if(QUADRILLE_MPI STREQUAL "openmpi" AND NOT QUADRILLE_SANITIZE)
  foreach(version 1 2)
    add_library(quadrille_standin_abi_${version} SHARED standin_mpi.c)
    set_target_properties(quadrille_standin_abi_${version} PROPERTIES OUTPUT_NAME mpi_abi SUFFIX .so.${version}
                          LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/standin-abi)
    add_executable(quadrille_standin_program_abi_${version} standin_program.c)
    target_link_libraries(quadrille_standin_program_abi_${version} PRIVATE quadrille_standin_abi_${version})
  endforeach()
  add_executable(quadrille_standin_program_two standin_program.c)
  target_link_options(quadrille_standin_program_two PRIVATE -Wl,--no-as-needed)
  target_link_libraries(quadrille_standin_program_two PRIVATE quadrille_standin_mpi_old quadrille_standin_abi_1)
  list(APPEND script_environment "STANDARD=$<TARGET_FILE:quadrille_standin_program_abi_1>"
       "STANDARD_2=$<TARGET_FILE:quadrille_standin_program_abi_2>" "TWO=$<TARGET_FILE:quadrille_standin_program_two>")
  list(APPEND scripts run_abis)
endif()
# The program by the ABI of the MPI standard, as the clients are (tests/clients).
if(QUADRILLE_MPI STREQUAL "mpich" AND EXISTS ${MPI_C_HEADER_DIR}/../lib/libmpi_abi.so.1 AND NOT QUADRILLE_SANITIZE)
  add_executable(tools_program_standard program.c)
  target_compile_definitions(tools_program_standard PRIVATE MPI_ABI=1)
  target_include_directories(tools_program_standard SYSTEM PRIVATE ${MPI_C_HEADER_DIR})
  target_link_libraries(tools_program_standard PRIVATE ${MPI_C_HEADER_DIR}/../lib/libmpi_abi.so.1)
  list(APPEND script_environment "STANDARD_PROGRAM=$<TARGET_FILE:tools_program_standard>")
  list(APPEND scripts standard_runs)
endif()
# Ranks of MPICH that wait for each other keep their cores: side by side such tests take twenty times as long. Those of Open
# MPI do the same unless a job has more ranks than cores, and yield if they are told to.
set(processors 4)
if(QUADRILLE_MPI STREQUAL "openmpi")
  set(processors 2)
  list(APPEND script_environment OMPI_MCA_mpi_yield_when_idle=1)
endif()
foreach(name ${scripts})
  add_test(NAME tools.${name} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/${name}.sh)
  set_tests_properties(tools.${name} PROPERTIES LABELS tools TIMEOUT 900 SKIP_RETURN_CODE 77 PROCESSORS ${processors}
    ENVIRONMENT "${script_environment}")
endforeach()
# Half a minute each: they begin first, so that none is left to run alone, mostly waiting for launchers.
foreach(name fault_tolerance device_runs bench_runs report_again tune_neighbors_runs lab_runs)
  if(name IN_LIST scripts)
    set_tests_properties(tools.${name} PROPERTIES COST 30)
  endif()
endforeach()
