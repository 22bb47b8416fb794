# Memory of a device, by stand-ins of its driver (tests/device).

# On odd ranks; of the last sizes are so many bytes that copies have other ways.
set(device_doors)
if(QUADRILLE_PERSISTENT_DOOR)
  set(device_doors PERSISTENT)
endif()
function(quadrille_device_test name ranks driver)
  quadrille_mpi_test(mpi.device-${name}.${ranks} RANKS ${ranks} PROGRAM quadrille_dropin_checks PRELOAD ${device_doors}
                     SETTINGS QUADRILLE_SETUP_AFTER=0 ${ARGN}
                     ARGUMENTS device $<TARGET_FILE:quadrille_standin_${driver}>)
  if(driver STREQUAL "cuda")
    set_property(TEST mpi.device-${name}.${ranks} APPEND PROPERTY LABELS mpi-device)
  endif()
endfunction()
# Streams that do all at once, nothing before they have to, and in drawn order.
set(device_streams eager lazy random)
set(streams_eager eager)
set(streams_lazy lazy)
set(streams_random random:1)
foreach(streams IN LISTS device_streams)
  foreach(ranks 2 3 4 5)
    quadrille_device_test(${streams} ${ranks} cuda QUADRILLE_STANDIN_STREAMS=${streams_${streams}})
  endforeach()
endforeach()
set_property(TEST mpi.device-eager.3 APPEND PROPERTY LABELS mpi-core)
quadrille_device_test(ring 3 cuda QUADRILLE_REACH=ring)
quadrille_device_test(hip 3 hip)
quadrille_device_test(hip-lazy 2 hip QUADRILLE_STANDIN_STREAMS=lazy)
quadrille_device_test(messages 4 cuda
  "QUADRILLE_ALGORITHM=alltoall=modified-bruck$<SEMICOLON>alltoallv=two-phase-bruck$<SEMICOLON>alltoallw=spread-out$<SEMICOLON>allgather=ring$<SEMICOLON>allgatherv=ring$<SEMICOLON>neighbor_alltoall=torus$<SEMICOLON>neighbor_allgather=torus")

# What goes to the MPI goes there from the host: the first calls, those for which it was chosen, and what asks for an MPI
# that takes such memory.
quadrille_device_test(early 3 cuda QUADRILLE_SETUP_AFTER=1000 CORE)
set(every alltoall alltoallv alltoallw allgather allgatherv neighbor_alltoall neighbor_alltoallv neighbor_alltoallw
          neighbor_allgather neighbor_allgatherv)
foreach(name mpi cuda-aware-mpi copy-to-cpu:buffers=fresh)
  list(TRANSFORM every REPLACE "(.+)" "\\1=${name}" OUTPUT_VARIABLE forced)
  list(JOIN forced "$<SEMICOLON>" forced)
  string(REGEX REPLACE ":.*" "" test ${name})
  quadrille_device_test(by-${test} 3 cuda "QUADRILLE_ALGORITHM=${forced}" CORE)
endforeach()
quadrille_device_test(over-host 4 cuda
  "QUADRILLE_ALGORITHM=alltoall=copy-to-cpu:inner=waitany-stride,stride=3$<SEMICOLON>alltoallv=copy-to-cpu:inner=pairwise,buffers=pageable$<SEMICOLON>alltoallw=copy-to-cpu:inner=inbox$<SEMICOLON>allgather=copy-to-cpu:inner=bruck,buffers=fresh$<SEMICOLON>allgatherv=copy-to-cpu:inner=ring$<SEMICOLON>neighbor_alltoall=copy-to-cpu:inner=torus$<SEMICOLON>neighbor_alltoallv=copy-to-cpu:inner=direct$<SEMICOLON>neighbor_allgather=copy-to-cpu:inner=rings")

# What a program sees of our questions to the driver. `make test` runs all of them.
function(quadrille_device_queries_test name driver)
  quadrille_mpi_test(mpi.device-queries-${name}.3 RANKS 3 PROGRAM quadrille_dropin_checks PRELOAD
                     SETTINGS QUADRILLE_SETUP_AFTER=0 ${ARGN} ARGUMENTS device_queries $<TARGET_FILE:quadrille_standin_${driver}>)
  set_tests_properties(mpi.device-queries-${name}.3 PROPERTIES LABELS device)
endfunction()
set(queries_pull "QUADRILLE_ALGORITHM=alltoall=ipc-pull$<SEMICOLON>allgather=ipc-pull")
quadrille_device_queries_test(hip hip)
quadrille_device_queries_test(hip-pull hip ${queries_pull})
quadrille_device_queries_test(hip-7.11 hip ${queries_pull} QUADRILLE_STANDIN_HIP_IPC_ATTRIBUTE=1)
quadrille_device_queries_test(cuda cuda)
set(pipelined pipelined-copy-to-cpu)
quadrille_device_queries_test(cuda-pipeline cuda
                              "QUADRILLE_ALGORITHM=alltoall=${pipelined}$<SEMICOLON>allgather=${pipelined}")

# What is moved of it, and over which memory. By the standard ABI nobody makes progress with requests: they are forwarded.
set(device_staging_forwarded)
if(QUADRILLE_MPI STREQUAL "standard")
  set(device_staging_forwarded QUADRILLE_TEST_FORWARDED=1)
endif()
function(quadrille_device_staging_test name ranks)
  quadrille_mpi_test(mpi.device-staging-${name}.${ranks} RANKS ${ranks} PROGRAM quadrille_dropin_checks PRELOAD
                     ${device_doors} SETTINGS QUADRILLE_SETUP_AFTER=0 ${device_staging_forwarded} ${ARGN}
                     ARGUMENTS device_staging $<TARGET_FILE:quadrille_standin_cuda>)
  set_property(TEST mpi.device-staging-${name}.${ranks} APPEND PROPERTY LABELS mpi-device)
endfunction()
foreach(streams IN LISTS device_streams)
  quadrille_device_staging_test(${streams} 3 QUADRILLE_STANDIN_STREAMS=${streams_${streams}})
endforeach()

# Where the MPI moves the data, and between nodes.
quadrille_device_staging_test(failed-by-mpi 3 QUADRILLE_ALGORITHM=alltoall=mpi)
quadrille_device_staging_test(failed-nodes 4 QUADRILLE_NODES=blocked:2)

# Many small pieces, which a kernel moves. The program loads the driver before main() (device_memory.cpp).
quadrille_mpi_program(quadrille_device_pieces_check device_pieces_check.cpp device_memory.cpp)
target_link_libraries(quadrille_device_pieces_check PRIVATE quadrille_so)
add_dependencies(quadrille_device_pieces_check quadrille_standin_cuda)
function(quadrille_device_pieces_test name how)
  quadrille_mpi_test(mpi.device-pieces-${name}.3 RANKS 3 PROGRAM quadrille_device_pieces_check ARGUMENTS ${how}
                     SETTINGS QUADRILLE_TEST_DRIVER=$<TARGET_FILE:quadrille_standin_cuda> ${ARGN})
endfunction()
foreach(streams IN LISTS device_streams)
  quadrille_device_pieces_test(${streams} kernel QUADRILLE_STANDIN_STREAMS=${streams_${streams}})
endforeach()
set_property(TEST mpi.device-pieces-random.3 APPEND PROPERTY LABELS mpi-core)
quadrille_device_pieces_test(off copies QUADRILLE_DEVICE_KERNELS=off)
# What the driver refuses, and a kernel that does not do on this device what it should.
quadrille_device_pieces_test(no-module copies QUADRILLE_STANDIN_FAIL=cuModuleLoadData:1+)
quadrille_device_pieces_test(no-launch copies QUADRILLE_STANDIN_FAIL=cuLaunchKernel:2+)
quadrille_device_pieces_test(wrong wrong)

# Copies between the ranks' own buffers.
foreach(leader 0 1)
  set(pulled_${leader})
  foreach(name alltoall alltoallv alltoallw allgather allgatherv)
    list(APPEND pulled_${leader} ${name}=ipc-pull:leader=${leader})
  endforeach()
  list(JOIN pulled_${leader} "$<SEMICOLON>" pulled_${leader})
endforeach()
function(quadrille_device_pull_test name ranks driver case leader)
  quadrille_mpi_test(mpi.device-pull-${name}.${ranks} RANKS ${ranks} PROGRAM quadrille_dropin_checks PRELOAD
                     ${device_doors} SETTINGS QUADRILLE_SETUP_AFTER=0 "QUADRILLE_ALGORITHM=${pulled_${leader}}" ${ARGN}
                     ARGUMENTS device_pull $<TARGET_FILE:quadrille_standin_${driver}> ${case})
endfunction()
foreach(streams IN LISTS device_streams)
  set(setting QUADRILLE_STANDIN_STREAMS=${streams_${streams}})
  foreach(ranks 2 3 5 8)
    quadrille_device_pull_test(${streams} ${ranks} cuda plain 0 ${setting})
    quadrille_device_pull_test(led-${streams} ${ranks} cuda plain 1 ${setting})
  endforeach()
  quadrille_device_pull_test(hip-${streams} 3 hip plain 0 ${setting})
  quadrille_device_pull_test(hip-led-${streams} 3 hip plain 1 ${setting})
endforeach()
set_property(TEST mpi.device-pull-lazy.3 mpi.device-pull-led-lazy.3 APPEND PROPERTY LABELS mpi-core)
quadrille_device_pull_test(tree 5 cuda plain 0 QUADRILLE_NODE_TREE=2)
foreach(driver cuda hip)
  quadrille_device_pull_test(${driver}-devices 4 ${driver} devices 0)
  quadrille_device_pull_test(${driver}-devices-led 4 ${driver} devices 1)
  quadrille_device_pull_test(${driver}-hidden 3 ${driver} hidden 0)
endforeach()

# The same by requests. By the standard ABI they are forwarded, unless a thread makes progress with them.
set(device_requests_thread)
if(QUADRILLE_MPI STREQUAL "standard")
  set(device_requests_thread QUADRILLE_PROGRESS=thread QUADRILLE_TEST_THREADS=multiple)
endif()
function(quadrille_device_requests_test name ranks driver case leader)
  quadrille_mpi_test(mpi.device-pull-requests-${name}.${ranks} RANKS ${ranks} PROGRAM quadrille_dropin_checks
                     PRELOAD ${device_doors} SETTINGS QUADRILLE_SETUP_AFTER=0 "QUADRILLE_ALGORITHM=${pulled_${leader}}"
                     ${device_requests_thread} ${ARGN}
                     ARGUMENTS device_pull_requests $<TARGET_FILE:quadrille_standin_${driver}> ${case})
endfunction()
# And their starts in the order of the program's streams.
function(quadrille_enqueued_pull_test name ranks driver case leader)
  quadrille_mpi_test(mpi.device-enqueue-pull-${name}.${ranks} RANKS ${ranks} PROGRAM quadrille_api_checks
                     SETTINGS QUADRILLE_SETUP_AFTER=0 "QUADRILLE_ALGORITHM=${pulled_${leader}}" ${ARGN}
                     ARGUMENTS enqueued_pull $<TARGET_FILE:quadrille_standin_${driver}> ${case})
endfunction()
foreach(streams IN LISTS device_streams)
  set(setting QUADRILLE_STANDIN_STREAMS=${streams_${streams}})
  foreach(ranks 2 3 5)
    quadrille_device_requests_test(${streams} ${ranks} cuda plain 0 ${setting})
    quadrille_device_requests_test(led-${streams} ${ranks} cuda plain 1 ${setting})
    quadrille_enqueued_pull_test(${streams} ${ranks} cuda plain 0 ${setting})
    quadrille_enqueued_pull_test(led-${streams} ${ranks} cuda led 1 ${setting})
  endforeach()
  quadrille_device_requests_test(hip-${streams} 3 hip plain 0 ${setting})
  quadrille_enqueued_pull_test(hip-${streams} 3 hip plain 0 ${setting})
endforeach()
quadrille_device_requests_test(tree 5 cuda plain 0 QUADRILLE_NODE_TREE=2)
quadrille_device_requests_test(thread 3 cuda plain 0 QUADRILLE_PROGRESS=thread QUADRILLE_STANDIN_STREAMS=random:3)
quadrille_device_requests_test(devices 4 cuda devices 0)
quadrille_device_requests_test(devices-led 4 cuda devices 1)
quadrille_device_requests_test(hidden 3 cuda hidden 0)
set_property(TEST mpi.device-pull-requests-lazy.3 APPEND PROPERTY LABELS mpi-core)

quadrille_enqueued_pull_test(tree 5 cuda plain 0 QUADRILLE_NODE_TREE=2)
quadrille_enqueued_pull_test(copies 3 cuda plain 0 QUADRILLE_DEVICE_KERNELS=off QUADRILLE_STANDIN_STREAMS=random:7)
quadrille_enqueued_pull_test(explained 2 cuda explained 0 QUADRILLE_EXPLAIN=1)
set_tests_properties(mpi.device-enqueue-pull-explained.2 PROPERTIES PASS_REGULAR_EXPRESSION
                     "wait on the host: .*one launch cannot make all copies"
                     FAIL_REGULAR_EXPRESSION "WRONG|no thread may call the MPI")

# Over memory that the drivers of all ranks know, in chunks that are small, so that each place is used many times.
function(quadrille_device_pipeline_test name ranks driver case ways)
  set(forced)
  foreach(collective alltoall alltoallv alltoallw allgather allgatherv)
    list(APPEND forced ${collective}=pipelined-copy-to-cpu${ways})
  endforeach()
  list(JOIN forced "$<SEMICOLON>" forced)
  quadrille_mpi_test(mpi.device-pipeline-${name}.${ranks} RANKS ${ranks} PROGRAM quadrille_dropin_checks PRELOAD
                     ${device_doors} SETTINGS QUADRILLE_SETUP_AFTER=0 "QUADRILLE_ALGORITHM=${forced}" ${ARGN}
                     ARGUMENTS device_pipeline $<TARGET_FILE:quadrille_standin_${driver}> ${case})
endfunction()
foreach(streams IN LISTS device_streams)
  set(setting QUADRILLE_STANDIN_STREAMS=${streams_${streams}})
  foreach(ranks 2 3 4 7)
    quadrille_device_pipeline_test(${streams} ${ranks} cuda plain :chunk=4096,depth=2 ${setting})
  endforeach()
  quadrille_device_pipeline_test(alone-${streams} 3 cuda plain :chunk=4096,depth=1 ${setting})
  quadrille_device_pipeline_test(hip-${streams} 3 hip plain :chunk=4096,depth=3 ${setting})
endforeach()
set_property(TEST mpi.device-pipeline-lazy.3 APPEND PROPERTY LABELS mpi-core)
quadrille_device_pipeline_test(standard 3 cuda plain "" QUADRILLE_STANDIN_STREAMS=random:5)
quadrille_device_pipeline_test(tree 5 cuda plain :chunk=4096,depth=4 QUADRILLE_NODE_TREE=2)
foreach(case devices refused left broken)
  quadrille_device_pipeline_test(${case} 4 cuda ${case} :chunk=5000,depth=3 QUADRILLE_STANDIN_STREAMS=lazy)
endforeach()
set(led :chunk=4096,depth=2,leader=1)
foreach(streams IN LISTS device_streams)
  foreach(ranks 2 3 5)
    quadrille_device_pipeline_test(led-${streams} ${ranks} cuda plain ${led} QUADRILLE_STANDIN_STREAMS=${streams_${streams}})
  endforeach()
endforeach()
quadrille_device_pipeline_test(led-standard 4 cuda plain :leader=1 QUADRILLE_STANDIN_STREAMS=random:7)
quadrille_device_pipeline_test(led-tree 5 cuda plain ${led} QUADRILLE_NODE_TREE=2)
quadrille_device_pipeline_test(led-hip 3 hip plain ${led})
foreach(case devices refused left broken hidden)
  quadrille_device_pipeline_test(led-${case} 4 cuda ${case} ${led} QUADRILLE_STANDIN_STREAMS=lazy)
endforeach()
quadrille_device_pipeline_test(short 3 cuda short "" QUADRILLE_EXPLAIN=1)
set_tests_properties(mpi.device-pipeline-short.3 PROPERTIES PASS_REGULAR_EXPRESSION "in chunks of 1048576 bytes"
                     FAIL_REGULAR_EXPRESSION "WRONG")
quadrille_device_pipeline_test(led-explained 2 cuda left ${led} QUADRILLE_EXPLAIN=1)
set_tests_properties(mpi.device-pipeline-led-explained.2 PROPERTIES PASS_REGULAR_EXPRESSION
                     "in chunks of 4096 bytes, .*one rank of each device"
                     FAIL_REGULAR_EXPRESSION "WRONG")
quadrille_device_pipeline_test(hip-left 3 hip left :chunk=4096,depth=2)
quadrille_device_pipeline_test(hip-devices 4 hip devices :chunk=4096,depth=2)

# The same between nodes, in rounds. What exchanges them: the MPI's own, messages, rounds of store and forward, leaders,
# shared memory inside the nodes.
set(inner_mpi mpi mpi mpi mpi mpi)
set(inner_messages spread-out waitany-stride,stride=2 pairwise spread-out ring)
set(inner_bruck zero-rotation-bruck,radix=3 two-phase-bruck padded-bruck bruck mn-co)
set(inner_leaders leaders leaders,leaders=2 leaders leaders leaders,leaders=2)
set(inner_shared hint-network,exchange=bruck single-copy sh-co hint-row single-copy)
function(quadrille_device_rounds_test name ranks driver case inner depth nodes)
  set(forced)
  foreach(collective algorithm IN ZIP_LISTS collectives_of_rounds inner_${inner})
    list(APPEND forced ${collective}=pipelined-copy-to-cpu:chunk=4096,depth=${depth},inner=${algorithm})
  endforeach()
  list(JOIN forced "$<SEMICOLON>" forced)
  quadrille_mpi_test(mpi.device-pipeline-nodes-${name}.${ranks} RANKS ${ranks} PROGRAM quadrille_dropin_checks
                     PRELOAD ${device_doors}
                     SETTINGS QUADRILLE_SETUP_AFTER=0 QUADRILLE_NODES=${nodes} "QUADRILLE_ALGORITHM=${forced}"
                     QUADRILLE_DEVICE_KERNELS=${kernels_of_rounds}  # the stand-in interprets them, which takes long
                     ${ARGN} ARGUMENTS device_rounds $<TARGET_FILE:quadrille_standin_${driver}> ${case})
endfunction()
set(collectives_of_rounds alltoall alltoallv alltoallw allgather allgatherv)
set(kernels_of_rounds off)
foreach(streams IN LISTS device_streams)
  set(setting QUADRILLE_STANDIN_STREAMS=${streams_${streams}})
  foreach(ranks 2 3 5)
    quadrille_device_rounds_test(${streams} ${ranks} cuda plain messages 2 blocked:1 ${setting})
  endforeach()
  quadrille_device_rounds_test(mpi-${streams} 3 cuda whole mpi 3 roundrobin:2 ${setting})
  quadrille_device_rounds_test(bruck-${streams} 5 cuda whole bruck 2 blocked:1 ${setting})
  quadrille_device_rounds_test(leaders-${streams} 5 cuda plain leaders 2 ragged:2,3 ${setting})
  quadrille_device_rounds_test(shared-${streams} 5 cuda plain shared 4 roundrobin:2 ${setting})
  quadrille_device_rounds_test(hip-${streams} 3 hip plain messages 2 blocked:1 ${setting})
endforeach()
set_property(TEST mpi.device-pipeline-nodes-lazy.3 APPEND PROPERTY LABELS mpi-core)
foreach(case devices left)
  quadrille_device_rounds_test(${case} 4 cuda ${case} messages 2 blocked:2 QUADRILLE_STANDIN_STREAMS=lazy)
endforeach()
quadrille_device_rounds_test(hip-devices 4 hip devices messages 2 roundrobin:2)
set(kernels_of_rounds on)
quadrille_device_rounds_test(kernels 5 cuda kernels messages 2 blocked:1 QUADRILLE_STANDIN_STREAMS=lazy)

# Small blocks, which one kernel reads where they are.
function(quadrille_device_gather_test name ranks how leader)
  quadrille_mpi_test(mpi.device-gather-${name}.${ranks} RANKS ${ranks} PROGRAM quadrille_dropin_checks PRELOAD
                     ${device_doors} SETTINGS QUADRILLE_SETUP_AFTER=0 "QUADRILLE_ALGORITHM=${pulled_${leader}}" ${ARGN}
                     ARGUMENTS device_gather $<TARGET_FILE:quadrille_standin_${gather_driver}> ${how})
endfunction()
set(gather_driver hip)
quadrille_device_gather_test(hip 4 batch 0 QUADRILLE_STANDIN_STREAMS=lazy)
set(gather_driver cuda)
foreach(streams IN LISTS device_streams)
  quadrille_device_gather_test(${streams} 4 kernel 0 QUADRILLE_STANDIN_STREAMS=${streams_${streams}})
  quadrille_device_gather_test(led-${streams} 3 kernel 1 QUADRILLE_STANDIN_STREAMS=${streams_${streams}})
endforeach()
set_property(TEST mpi.device-gather-random.4 APPEND PROPERTY LABELS mpi-core)
quadrille_device_gather_test(few 3 kernel 0)
quadrille_device_gather_test(devices 4 devices 0)
quadrille_device_gather_test(off 4 batch 0 QUADRILLE_DEVICE_KERNELS=off)
quadrille_device_gather_test(no-module 4 batch 0 QUADRILLE_STANDIN_FAIL=cuModuleLoadData:1+)
quadrille_device_gather_test(no-launch 4 no-launch 0 QUADRILLE_STANDIN_FAIL=cuLaunchKernel:2+)
quadrille_device_gather_test(wrong 4 wrong 0)
foreach(refused cuGraphCreate:1+ cuGraphAddMemcpyNode:2+ cuGraphInstantiateWithFlags:1+ cuGraphLaunch:1+)
  string(REGEX REPLACE ":.*" "" test ${refused})
  quadrille_device_gather_test(${test} 4 no-graph 0 QUADRILLE_STANDIN_FAIL=${refused},cuModuleLoadData:1+)
endforeach()
quadrille_device_gather_test(no-batch 4 copies 0
                             QUADRILLE_STANDIN_FAIL=cuLaunchKernel:2+,cuGraphLaunch:1+,cuMemcpyBatchAsync_v2:1+,cuMemcpyBatchAsync:1+)

# More than 2 GiB in a call.
quadrille_mpi_test(mpi.device-huge.3 RANKS 3 PROGRAM quadrille_dropin_checks PRELOAD
                   SETTINGS QUADRILLE_SETUP_AFTER=0 ARGUMENTS device_staging $<TARGET_FILE:quadrille_standin_cuda> huge)
set_property(TEST mpi.device-huge.3 PROPERTY SKIP_REGULAR_EXPRESSION "skipped: less than")

# Every call, in all forms, by each of these algorithms; also on MPIs that take such memory themselves
# (scripts/other_mpis.py runs what has the label mpi-device). A new algorithm is a line here.
quadrille_mpi_program(quadrille_device_aware_tests device_aware_test.cpp device_memory.cpp door_forms.cpp neighbors.cpp)
target_link_libraries(quadrille_device_aware_tests PRIVATE quadrille_mpi_test_base quadrille_so)
add_dependencies(quadrille_device_aware_tests quadrille_standin_cuda quadrille_standin_nvml)
set(to_all "alltoall alltoallv alltoallw")
set(gathers "allgather allgatherv")
set(to_neighbors "neighbor_alltoall neighbor_alltoallv neighbor_alltoallw neighbor_allgather neighbor_allgatherv")
# What the test is called, the algorithm, and the collectives. Not by the MPI: MPI_Ialltoallv and w, which in Open MPI mix
# messages up after one in place in which a rank has no data, nor those of neighbours with several edges between two ranks;
# mpi.device-by-mpi has the blocking ones.
set(device_algorithms
    "default"
    "pairwise pairwise ${to_all}"
    "nonblocking nonblocking ${to_all}"
    "waitall-stride waitall-stride ${to_all}"
    "waitall-stride-1 waitall-stride:stride=1 ${to_all}"
    "waitany-stride waitany-stride ${to_all}"
    "testany-stride testany-stride:stride=2 ${to_all}"
    "spread-out spread-out ${to_all} ${gathers}"
    "ring ring ${gathers}"
    "direct direct ${to_neighbors}"
    "cuda-aware-mpi cuda-aware-mpi alltoall ${gathers}"
    "ipc-pull ipc-pull ${to_all} ${gathers}"
    "ipc-pull-led ipc-pull:leader=1 ${to_all} ${gathers}"
    "pipelined pipelined-copy-to-cpu:chunk=4096,depth=2 ${to_all} ${gathers}"
    "pipelined-led pipelined-copy-to-cpu:chunk=4096,depth=2,leader=1 ${to_all} ${gathers}"
    "over-host-mpi copy-to-cpu:inner=mpi alltoall ${gathers}"
    "over-host-waitany copy-to-cpu:inner=waitany-stride ${to_all}"
    "over-host-inbox copy-to-cpu:inner=inbox,buffers=fresh ${to_all} ${gathers}"
    "over-host-direct copy-to-cpu:inner=direct,buffers=pageable ${to_neighbors}")
function(quadrille_device_aware_test test ranks streams says forced)
  list(JOIN forced "$<SEMICOLON>" forced)
  quadrille_mpi_test(${test}.${ranks} RANKS ${ranks} PROGRAM quadrille_device_aware_tests
                     WRAPPER sh ${CMAKE_CURRENT_SOURCE_DIR}/says.sh ${says} --
                     SETTINGS QUADRILLE_EXPLAIN=1 QUADRILLE_TEST_DRIVER=$<TARGET_FILE:quadrille_standin_cuda>
                     QUADRILLE_STANDIN_STREAMS=${streams_${streams}} "QUADRILLE_ALGORITHM=${forced}" ${ARGN})
  set_property(TEST ${test}.${ranks} APPEND PROPERTY LABELS mpi-device)
endfunction()
foreach(line IN LISTS device_algorithms)
  separate_arguments(words UNIX_COMMAND "${line}")
  list(POP_FRONT words name algorithm)
  string(REGEX REPLACE ":.*" "" said "${algorithm}")
  if(said STREQUAL "cuda-aware-mpi")  # or the MPI does not take such memory
    set(said ".*cuda-aware-mpi")
  else()
    set(said "${said}.*: .*forced")
  endif()
  set(forced)
  set(says)
  foreach(collective IN LISTS words)
    list(APPEND forced ${collective}=${algorithm})
    list(APPEND says "quadrille: ${collective} on . ranks, .* -> ${said}")
  endforeach()
  foreach(streams IN LISTS device_streams)
    foreach(ranks 2 3 4 5)
      quadrille_device_aware_test(mpi.device-aware-${name}-${streams} ${ranks} ${streams} "${says}" "${forced}")
    endforeach()
  endforeach()
endforeach()

# On several nodes with messages; not by the MPI, for the reason above.
set(forced)
separate_arguments(words UNIX_COMMAND "${to_all} ${gathers}")
foreach(collective IN LISTS words)
  list(APPEND forced ${collective}=spread-out)
endforeach()
separate_arguments(words UNIX_COMMAND "${to_neighbors}")
foreach(collective IN LISTS words)
  list(APPEND forced ${collective}=direct)
endforeach()
foreach(streams IN LISTS device_streams)
  quadrille_device_aware_test(mpi.device-aware-nodes-${streams} 5 ${streams} "alltoallw on . ranks, .* -> spread-out"
                              "${forced}" QUADRILLE_NODES=ragged:2,3)
endforeach()

# As over a real driver, with what it lets the tests see.
add_dependencies(quadrille_device_aware_tests quadrille_over_driver)
quadrille_mpi_test(mpi.device-aware-over-driver.3 RANKS 3 PROGRAM quadrille_device_aware_tests
                   SETTINGS QUADRILLE_TEST_DRIVER=$<TARGET_FILE:quadrille_over_driver> QUADRILLE_SETUP_AFTER=0
                            LD_LIBRARY_PATH=$<TARGET_FILE_DIR:quadrille_standin_cuda>:$ENV{LD_LIBRARY_PATH})

# Between nodes, in rounds. Other forms, and calls that cannot be pipelined, are staged through the host by the same
# inner algorithm.
foreach(inner mpi pairwise ring leaders)
  set(collectives alltoall allgather allgatherv)
  if(inner STREQUAL "pairwise")
    set(collectives alltoall alltoallv alltoallw)
  elseif(inner STREQUAL "ring")
    set(collectives allgather allgatherv)
  elseif(inner STREQUAL "leaders")
    set(collectives alltoall alltoallv alltoallw allgather allgatherv)
  endif()
  set(forced)
  set(says)
  foreach(collective IN LISTS collectives)
    list(APPEND forced ${collective}=pipelined-copy-to-cpu:chunk=4096,depth=2,inner=${inner})
    list(APPEND says "quadrille: ${collective} on . ranks, .* -> pipelined-copy-to-cpu.*,inner=${inner}.*: .*forced")
  endforeach()
  list(APPEND says "pipelined-copy-to-cpu.*: .* staged through host memory in rounds of [0-9]* bytes")
  foreach(streams IN LISTS device_streams)
    quadrille_device_aware_test(mpi.device-aware-rounds-${inner}-${streams} 3 ${streams} "${says}" "${forced}"
                                QUADRILLE_NODES=blocked:1)
    quadrille_device_aware_test(mpi.device-aware-rounds-${inner}-${streams} 5 ${streams} "${says}" "${forced}"
                                QUADRILLE_NODES=ragged:2,3)
  endforeach()
endforeach()

# By what every driver has: as it runs on a GPU.
foreach(way ipc-pull ipc-pull:leader=1 copy-to-cpu pipelined-copy-to-cpu pipelined-copy-to-cpu:leader=1 pairwise)
  string(REGEX REPLACE ":.*" "-led" test ${way})
  foreach(streams IN LISTS device_streams)
    quadrille_mpi_test(mpi.device-any-${test}-${streams}.3 RANKS 3 PROGRAM quadrille_api_checks
                       SETTINGS QUADRILLE_SETUP_AFTER=0 QUADRILLE_STANDIN_STREAMS=${streams_${streams}}
                                "QUADRILLE_ALGORITHM=alltoall=${way}"
                       ARGUMENTS any_driver $<TARGET_FILE:quadrille_standin_cuda>)
    set_property(TEST mpi.device-any-${test}-${streams}.3 APPEND PROPERTY LABELS mpi-device)
  endforeach()
endforeach()

# What serves calls with a device's memory where the MPI takes it. The program loads the driver before main(), too.
quadrille_mpi_program(quadrille_device_choice_check device_choice_check.cpp device_memory.cpp $<TARGET_OBJECTS:quadrille_api>)
target_link_libraries(quadrille_device_choice_check PRIVATE quadrille_core)
add_dependencies(quadrille_device_choice_check quadrille_standin_cuda)
foreach(case slow fast messages pull piped rounds)
  set(takes 1)
  set(nodes)
  if(case STREQUAL "messages")
    set(takes messages)
  elseif(case MATCHES "pull|piped|rounds")
    set(takes 0)
  endif()
  if(case STREQUAL "rounds")
    set(nodes QUADRILLE_NODES=blocked:2)
  endif()
  foreach(ranks 3 4)
    quadrille_mpi_test(mpi.device-choice-${case}.${ranks} RANKS ${ranks} PROGRAM quadrille_device_choice_check
                       ARGUMENTS ${case}
                       SETTINGS QUADRILLE_MPI_DEVICE=${takes} QUADRILLE_TRIALS=on QUADRILLE_TUNING=none ${nodes}
                                QUADRILLE_DEVICE_KERNELS=off  # the stand-in interprets them: hundreds take long
                                QUADRILLE_TEST_DRIVER=$<TARGET_FILE:quadrille_standin_cuda>)
  endforeach()
endforeach()
# Nothing is tried, and models say what is faster.
quadrille_mpi_test(mpi.device-choice-model.4 RANKS 4 PROGRAM quadrille_device_choice_check ARGUMENTS model
                   SETTINGS QUADRILLE_MPI_DEVICE=messages QUADRILLE_TRIALS=off QUADRILLE_NODES=blocked:1
                            QUADRILLE_DEVICE_KERNELS=off QUADRILLE_TEST_DRIVER=$<TARGET_FILE:quadrille_standin_cuda>)
# What is found is kept for the next program.
quadrille_mpi_test(mpi.device-choice-learn.4 RANKS 4 PROGRAM quadrille_device_choice_check ARGUMENTS slow
                   WRAPPER sh ${CMAKE_CURRENT_SOURCE_DIR}/learn_devices.sh
                   SETTINGS QUADRILLE_MPI_DEVICE=1 QUADRILLE_NODES=blocked:2 QUADRILLE_DEVICE_KERNELS=off
                            QUADRILLE_TEST_DRIVER=$<TARGET_FILE:quadrille_standin_cuda>)
# The ranks ask each other, and none has such memory.
foreach(takes 1 messages)
  quadrille_mpi_test(mpi.device-asked-${takes}.4 RANKS 4 PROGRAM quadrille_mpi_tests
                     ARGUMENTS "--gtest_filter=UniformDefault*:All/*default*:Lifecycle*"
                     SETTINGS QUADRILLE_MPI_DEVICE=${takes} QUADRILLE_TEST_EFFORT=30)
endforeach()
