# The programs of tests/mpi on 2, 3 and 4 hosts, whose ranks are dealt out in turn, in runs of other lengths, and without
# any order. Each goes through small, filtered parts of a program: what takes long is tested on node maps (tests/mpi).
set(places_2_turns 0,1,0,1)
set(places_2_ragged 0,1,1,1)
set(places_2_permuted 1,0,1,1,0)
set(places_3_turns 0,1,2,0,1,2)
set(places_3_ragged 0,1,1,1,2,2,2,2)
set(places_3_permuted 2,0,2,1,1,2)
set(places_4_turns 0,1,2,3,0,1,2)
set(places_4_ragged 0,1,1,2,2,2,3)
set(places_4_permuted 3,1,0,3,2,1,3)
set(every_place 2_turns 2_ragged 2_permuted 3_turns 3_ragged 3_permuted 4_turns 4_ragged 4_permuted)

# quadrille_hosts_test(FAMILY WHERE as quadrille_cluster_test): cluster.FAMILY.on-WHERE.RANKS
function(quadrille_hosts_test family where)
  string(REPLACE "," ";" ranks ${places_${where}})
  list(LENGTH ranks ranks)
  string(REPLACE "_" "-" name ${where})
  quadrille_cluster_test(cluster.${family}.on-${name}.${ranks} PLACES ${places_${where}} MATRIX ${ARGN})
endfunction()

# COLLECTIVE=ALGORITHM, for several; a semicolon would end an element of a list.
function(quadrille_force variable)
  string(JOIN "$<SEMICOLON>" all ${ARGN})
  set(${variable} "QUADRILLE_ALGORITHM=${all}" PARENT_SCOPE)
endfunction()
# Blocks with gaps go through leaders in one turn and, the largest, in several.
quadrille_force(by_leaders alltoall=leaders:leaders=2,piece=8192 alltoallv=leaders alltoallw=leaders:piece=8192
                allgather=leaders:piece=8192 allgatherv=leaders:leaders=3)
quadrille_force(by_messages alltoall=zero-rotation-bruck:radix=3 alltoallv=two-phase-bruck alltoallw=spread-out
                allgather=bruck allgatherv=ring)
quadrille_force(by_copies alltoall=hint-network alltoallv=hint-network:exchange=two-phase-bruck alltoallw=sh-co
                allgather=hint-hilbert allgatherv=single-copy)
quadrille_force(by_neighbors neighbor_alltoall=torus neighbor_allgather=torus neighbor_alltoallv=direct
                neighbor_alltoallw=direct neighbor_allgatherv=direct)
set(forced_turns "${by_messages}")
set(forced_ragged "${by_leaders}")
set(forced_permuted "${by_copies}")

set(data All/*default*:UniformDefault*)
set(some QUADRILLE_TEST_EFFORT=5)
set(long Lifecycle.Thousand*:Progress.PeerInBlockingSend)
set(graphs Neighbors.OnRandomGraphs:Neighbors.OneWay*:Neighbors.Addr*)
# Intercommunicators have no persistent calls; errors of the MPI come later there.
set(of_requests "--gtest_filter=${data}:Lifecycle*:Progress*:Persistent*:${graphs}")
string(APPEND of_requests "-*.ErrorsReach*:*.ALargerBlock*:Lifecycle.Intercommunicator:${long}")
foreach(where ${every_place})
  string(REGEX REPLACE "^[0-9]_" "" kind ${where})
  # What Quadrille chooses by itself, and what it may be told.
  quadrille_hosts_test(dense-api ${where} PROGRAM quadrille_mpi_tests SETTINGS ${some}
                       ARGUMENTS "--gtest_filter=${data}:Arguments*:Lifecycle*:Mismatch*:Progress*-Arguments.Displ*:${long}")
  quadrille_hosts_test(dense-dropin ${where} PRELOAD PROGRAM quadrille_dropin_tests
                       SETTINGS ${some} QUADRILLE_SETUP_AFTER=0 "${forced_${kind}}"
                       ARGUMENTS "--gtest_filter=${data}:Arguments*:Lifecycle*:Progress*-Arguments.Displ*:${long}")
  quadrille_hosts_test(dense-leaders ${where} PROGRAM quadrille_mpi_tests SETTINGS ${some} "${by_leaders}"
                       ARGUMENTS "--gtest_filter=${data}:Mismatch*:Arguments*-Arguments.Displ*")
  quadrille_hosts_test(forced ${where} PROGRAM quadrille_forced_tests
                       ARGUMENTS "--gtest_filter=All/*single_copy*:All/*hint_network*:All/*leaders*:All/*tuna*radix_3:All/*bruck_radix_3")
  quadrille_hosts_test(sparse ${where} PROGRAM quadrille_sparse_tests SETTINGS ${some})
  # Neighbours, through both doors.
  quadrille_hosts_test(neighbor-api ${where} PROGRAM quadrille_neighbor_tests SETTINGS ${some}
                       ARGUMENTS "--gtest_filter=${graphs}:Allgatherw*:Assertions*:Persistent.Started*:Persistent.UnderWay*")
  quadrille_hosts_test(neighbor-dropin ${where} PRELOAD PROGRAM quadrille_neighbor_dropin_tests
                       SETTINGS ${some} QUADRILLE_SETUP_AFTER=0 "${by_neighbors}"
                       ARGUMENTS "--gtest_filter=${graphs}:Neighbors.OnEveryGrid")
  # Requests, by Quadrille's names and by the MPI's.
  foreach(form started persistent)
    quadrille_hosts_test(request-${form} ${where} PROGRAM quadrille_${form}_tests SETTINGS ${some} "${forced_${kind}}"
                         ARGUMENTS "${of_requests}")
  endforeach()
  # Between hosts the first nonblocking calls on a communicator are the MPI's own. MPI_Ialltoallv of Open MPI 4.1 hangs there
  # over TCP, in 4 of 4 runs also without Quadrille.
  if(NOT QUADRILLE_MPI STREQUAL "openmpi")
    quadrille_hosts_test(taken-started ${where} PRELOAD PROGRAM quadrille_taken_started_tests
                         SETTINGS ${some} QUADRILLE_SETUP_AFTER=0 "${forced_${kind}}" ARGUMENTS "${of_requests}")
  endif()
  if(QUADRILLE_PERSISTENT_DOOR)
    quadrille_hosts_test(taken-persistent ${where} PRELOAD PERSISTENT PROGRAM quadrille_taken_persistent_tests
                         SETTINGS ${some} QUADRILLE_SETUP_AFTER=0 "${forced_${kind}}" ARGUMENTS "${of_requests}")
  endif()
  if(QUADRILLE_HAVE_LARGE_COUNT)
    quadrille_hosts_test(large-dense ${where} PRELOAD LARGE PROGRAM quadrille_large_tests
                         SETTINGS ${some} QUADRILLE_SETUP_AFTER=0 "${forced_${kind}}" ARGUMENTS "--gtest_filter=${data}")
    quadrille_hosts_test(large-neighbor ${where} PRELOAD LARGE PROGRAM quadrille_neighbor_large_tests
                         SETTINGS ${some} QUADRILLE_SETUP_AFTER=0 "${by_neighbors}"
                         ARGUMENTS "--gtest_filter=${graphs}")
  endif()
endforeach()
