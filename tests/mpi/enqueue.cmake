# Calls in the order of a device's streams, by stand-ins of its driver (tests/device), which do nothing before they have
# to, or work in drawn order.
# This program replaces malloc to count allocations.
quadrille_mpi_program(quadrille_enqueue_check enqueue_check.cpp)
target_link_libraries(quadrille_enqueue_check PRIVATE quadrille_so)
add_dependencies(quadrille_enqueue_check quadrille_standin_cuda quadrille_standin_hip)
# quadrille_enqueue_test(NAME RANKS DRIVER LEVEL WHO WAITS SETTINGS...)
function(quadrille_enqueue_test name ranks driver level who waits)
  quadrille_mpi_test(mpi.device-enqueue-${name}.${ranks} RANKS ${ranks} PROGRAM quadrille_enqueue_check
                     SETTINGS ${ARGN}
                     ARGUMENTS $<TARGET_FILE:quadrille_standin_${driver}> ${level} ${who} ${waits})
endfunction()
quadrille_enqueue_test(eager 3 cuda multiple all never)
# With sanitizers, which take ten times as long: one of each kind.
if(QUADRILLE_SANITIZE)
  add_dependencies(quadrille_sanitized_tests quadrille_enqueue_check)
  quadrille_enqueue_test(random 3 cuda multiple all never QUADRILLE_STANDIN_STREAMS=random:1)
  quadrille_enqueue_test(some-nodes 4 cuda multiple some never QUADRILLE_STANDIN_STREAMS=random:5 QUADRILLE_NODES=blocked:2)
  return()
endif()
# Other calls while one is pending in a stream. `make test` runs all of them.
function(quadrille_enqueued_beside_test name driver)
  quadrille_mpi_test(mpi.device-enqueue-beside-${name}.2 RANKS 2 PROGRAM quadrille_api_checks
                     SETTINGS QUADRILLE_SETUP_AFTER=0 ${ARGN} ARGUMENTS enqueued_beside $<TARGET_FILE:quadrille_standin_${driver}>)
  set_tests_properties(mpi.device-enqueue-beside-${name}.2 PROPERTIES LABELS device)
endfunction()
quadrille_enqueued_beside_test(host cuda)
quadrille_enqueued_beside_test(pull cuda QUADRILLE_ALGORITHM=alltoall=ipc-pull)
quadrille_enqueued_beside_test(hip hip QUADRILLE_ALGORITHM=alltoall=ipc-pull)
quadrille_mpi_test(mpi.device-enqueue-beside-failed.2 RANKS 2 PROGRAM quadrille_api_checks
                   SETTINGS QUADRILLE_SETUP_AFTER=0 QUADRILLE_ALGORITHM=alltoall=inbox
                   ARGUMENTS enqueued_beside $<TARGET_FILE:quadrille_standin_cuda> failed)
set_tests_properties(mpi.device-enqueue-beside-failed.2 PROPERTIES LABELS device)
quadrille_enqueue_test(eager 2 cuda multiple all never)
quadrille_enqueue_test(lazy 2 cuda multiple all never QUADRILLE_STANDIN_STREAMS=lazy)
quadrille_enqueue_test(lazy 4 cuda multiple all never QUADRILLE_STANDIN_STREAMS=lazy)
foreach(seed 1 2 3)
  quadrille_enqueue_test(random-${seed} 3 cuda multiple all never QUADRILLE_STANDIN_STREAMS=random:${seed})
endforeach()
quadrille_enqueue_test(hip 2 hip multiple all never QUADRILLE_STANDIN_STREAMS=lazy)
# By messages, and where blocking calls are the MPI's.
quadrille_enqueue_test(nodes 4 cuda multiple all never QUADRILLE_STANDIN_STREAMS=lazy QUADRILLE_NODES=blocked:2)
quadrille_enqueue_test(native 3 cuda multiple all never QUADRILLE_STANDIN_STREAMS=random:4
                       "QUADRILLE_ALGORITHM=alltoall=mpi$<SEMICOLON>alltoallv=mpi$<SEMICOLON>alltoallw=mpi")
# Where the host waits: for want of a thread, or of streams that can wait; and on one rank alone.
quadrille_enqueue_test(serialized 3 cuda serialized all always QUADRILLE_STANDIN_STREAMS=lazy)
quadrille_enqueue_test(without-words 3 cuda multiple all always QUADRILLE_STANDIN_STREAMS=lazy
                       QUADRILLE_STANDIN_FAIL=cuStreamWriteValue32_v2:1+:801)
quadrille_enqueue_test(some 3 cuda multiple some never QUADRILLE_STANDIN_STREAMS=lazy)
quadrille_enqueue_test(some-nodes 4 cuda multiple some never QUADRILLE_STANDIN_STREAMS=random:5 QUADRILLE_NODES=blocked:2)
# It says so.
quadrille_enqueue_test(serialized-explained 2 cuda serialized all always QUADRILLE_EXPLAIN=1)
set_tests_properties(mpi.device-enqueue-serialized-explained.2 PROPERTIES PASS_REGULAR_EXPRESSION
                     "enqueued calls wait on the host: .*MPI_THREAD_MULTIPLE")
quadrille_enqueue_test(explained 2 cuda multiple all never QUADRILLE_EXPLAIN=1)
set_tests_properties(mpi.device-enqueue-explained.2 PROPERTIES PASS_REGULAR_EXPRESSION "-> [a-z]+: enqueued"
                     FAIL_REGULAR_EXPRESSION "there is no thread|WRONG")
