// Why something is done, or is not. The code stores and compares values of one enum; words are made where a line is
// printed, by the row of the value.
//
// To add a reason: a line here. Its code is its name with hyphens. Other programs read the codes of some lines, so
// these names stay: is_read_by_programs().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// X(name, words, words in the summary, what stands before another reason that follows). The words are formatted with
// the name and the two numbers of a Why. The first, up to `other`, are those that the summary names, in its order.
#define QUADRILLE_REASONS(X)                                                                                       \
  X(none, "no reason")                                                                                             \
  X(early, "the first calls on a communicator go to the MPI (QUADRILLE_SETUP_AFTER)",                              \
    "among the first calls on a communicator (QUADRILLE_SETUP_AFTER)")                                             \
  X(one_rank, "there is one rank", "on a communicator of one rank")                                                \
  X(intercommunicator, "it is an intercommunicator", "on an intercommunicator")                                    \
  X(several_worlds, "its ranks come from several worlds", "among ranks of several worlds")                         \
  X(switched_off, "Quadrille is switched off", "with Quadrille switched off")                                      \
  X(argument, "an argument that the MPI must check", "with an argument that the MPI must check")                   \
  X(mpi_between_nodes, "the MPI was chosen", "between nodes, where the MPI was chosen")                            \
  X(mpi_inside_a_node, "the MPI was chosen", "inside a node, where the MPI was chosen")                            \
  X(no_communicator, "the MPI has no communicator left for Quadrille", "where the MPI had no communicator left")   \
  X(not_prepared, "the next blocking call on this communicator sets up nonblocking ones",                          \
    "before the communicator was prepared for them")                                                               \
  X(lacks_progress,                                                                                                \
    "this MPI lets no call make progress while the program waits in it (QUADRILLE_PROGRESS=thread does, with "     \
    "MPI_THREAD_MULTIPLE)",                                                                                        \
    "because this MPI makes no progress on Quadrille's calls while the program waits in it")                       \
  X(no_memory, "no memory is left for it", "because memory is exhausted")                                          \
  X(fault_tolerant, "the MPI runs with fault tolerance, so calls are forwarded to it",                             \
    "with an MPI that runs with fault tolerance")                                                                  \
  X(rank_failed, "a rank has failed, or the communicator is revoked", "after a rank failed, or a revocation")      \
  X(other, "another reason", "for another reason")                                                                 \
  /* Lines that other programs read. */                                                                            \
  X(not_used, "not used", "", ": ")                                                                                \
  X(no_heap, "heap is unavailable", "", ": ")                                                                      \
  X(no_xpmem, "xpmem is unavailable", "", ": ")                                                                    \
  X(no_cma_read, "cma-read is unavailable", "", ": ")                                                              \
  X(no_cma_write, "cma-write is unavailable", "", ": ")                                                            \
  X(no_ring, "ring is unavailable", "", ": ")                                                                      \
  /* Of the whole process. */                                                                                      \
  X(unusable_mpi, "{0}")                                                                                           \
  X(out_of_memory, "out of memory")                                                                                \
  X(heap_off, "switched off by QUADRILLE_HEAP=off")                                                                \
  X(heap_not_started, "not started yet")                                                                           \
  X(heap_forked, "this process is the child of a fork, which has a private copy")                                  \
  X(forks_unwatched, "forks cannot be watched")                                                                    \
  X(memory_watched, "{0} watches the memory of this process")                                                      \
  X(memory_size_unknown, "the size of memory is unknown")                                                          \
  X(address_space_limited, "the address space is limited (ulimit -v)")                                             \
  X(file_size_limited, "the size of files is limited (ulimit -f)")                                                 \
  X(no_overcommit, "the system does not overcommit memory")                                                        \
  X(no_memory_file, "the system gives no shared memory (memfd_create)")                                            \
  X(segment_not_mapped, "the segment cannot be mapped")                                                            \
  X(segment_without_status, "the segment has no status")                                                           \
  X(no_arena, "the allocator gave no arena")                                                                       \
  X(built_without_heap, "this Quadrille is built without the heap")                                                \
  X(library_not_found, "{0} not found")                                                                            \
  X(library_lacks_function, "{0} lacks a function of XPMEM")                                                       \
  X(no_xpmem_in_kernel, "the kernel has no XPMEM (/dev/xpmem)")                                                    \
  X(xpmem_version, "XPMEM has version {1:.0f}, not 2")                                                             \
  X(no_xpmem_segment, "XPMEM cannot create a segment of this process")                                             \
  /* Of memory between ranks. */                                                                                   \
  X(no_heap_here, "this rank has no shared heap")                                                                  \
  X(heaps_not_mapped, "not all ranks have a shared heap that others can map")                                      \
  X(xpmem_requires_ring, "it requires ring, for memory that cannot be attached")                                   \
  X(memory_not_attached, "the memory of other ranks cannot be attached")                                           \
  X(read_failed, "process_vm_readv: {0}")                                                                          \
  X(write_failed, "process_vm_writev: {0}")                                                                        \
  X(another_process, "another process has this rank's number here")                                                \
  X(peer_is_checked, "valgrind or a sanitizer checks that rank's memory")                                          \
  X(failed_at_setup, "it failed at set-up")                                                                        \
  X(too_many_for_rings, "too many ranks for rings")                                                                \
  X(inboxes_off, "inboxes are switched off")                                                                       \
  X(no_shared_node, "the ranks do not share a node")                                                               \
  X(no_communicator_to_meet, "the MPI has no communicator left to look for shared memory")                         \
  X(no_tag, "too many persistent requests were made on this communicator")                                         \
  X(too_many_for_inboxes, "too many ranks for inboxes")                                                            \
  X(no_memory_for_inboxes, "no shared memory left for inboxes")                                                    \
  X(memory_not_reached, "shared memory cannot be reached by all ranks")                                            \
  X(no_memory_for_rings, "there is no shared memory left for rings")                                               \
  X(no_memory_for_leaders, "there is no shared memory left for leaders")                                           \
  /* Why an algorithm cannot serve a call, or has no time in the cost model. */                                    \
  X(several_nodes, "the ranks live on {1:.0f} nodes")                                                              \
  X(no_inboxes, "no inboxes")                                                                                      \
  X(no_data, "no data to move")                                                                                    \
  X(too_large, "a block of {1:.0f} bytes is larger than {2:.0f}")                                                  \
  X(not_direct, "memory of the node cannot be shared")                                                             \
  X(too_many_for_leaders, "more than {1:.0f} ranks")                                                               \
  X(no_device_mpi,                                                                                                 \
    "the MPI does not report support for device memory in collectives (QUADRILLE_MPI_DEVICE=1 overrides it)")      \
  X(no_load_store, "not all ranks of a node reach each other's memory by load and store")                          \
  X(no_node_memory, "the ranks do not share the memory of a node")                                                 \
  X(not_isomorphic, "the communicator is neither Cartesian nor isomorphic")                                        \
  X(sizes_unknown, "not all ranks know the sizes of the blocks")                                                   \
  X(inner_cannot, "{0} cannot exchange its rounds", "", ": ")                                                      \
  X(of_the_mpi, "it is the MPI's own")                                                                             \
  X(no_schedule, "it has no schedule that is known before the call")                                               \
  X(no_topology, "it has no topology")                                                                             \
  /* Why an algorithm is selected. */                                                                              \
  X(forced, "forced")                                                                                              \
  X(forced_cannot, "the forced {0} cannot serve it", "", ": ")                                                     \
  X(measured, "measured before, in the tuning table")                                                              \
  X(measured_on_devices, "measured before with device memory, in the tuning table")                                \
  X(measured_cannot, "the measured {0} cannot serve it", "", ": ")                                                 \
  X(nothing_measured_faster, "nothing faster was measured before, in the tuning table")                            \
  X(modelled, "the cost model expects {1:.1f} us")                                                                 \
  X(modelled_on_devices, "the cost model expects {1:.1f} us with a device's memory")                               \
  X(modelled_by_load, "the cost model chooses by the load")                                                        \
  X(nothing_modelled_faster, "the cost model finds nothing faster")                                                \
  X(few_ranks, "few ranks: a few rounds need no barrier")                                                          \
  X(many_ranks, "many ranks: each block goes straight to its place")                                               \
  X(fits_inboxes, "one node, and the block fits the inboxes")                                                      \
  X(large_in_a_node, "one node, and the block is large: one copy is better")                                       \
  X(any_size_in_a_node, "one node; each block goes by the best way for its size")                                  \
  X(small_in_a_node, "one node; blocks that fit go through inboxes")                                               \
  X(mpi_takes_devices, "the MPI supports device memory")                                                           \
  X(mpi_lacks_devices, "staged through the host, as the MPI's collectives do not support device memory")           \
  X(fewer_messages, "{1:.0f} messages instead of {2:.0f}", "", ": ")                                               \
  X(combining_measured, "measured to be better up to {1:.0f} bytes")                                               \
  X(combining_small, "better for blocks below {1:.0f} bytes")                                                      \
  X(combining_modelled, "better for blocks below {1:.0f} bytes by the cost model")                                 \
  X(no_gain_by_combining, "combining messages would not pay")                                                      \
  X(measured_in_a_node, "measured to be faster inside a node")                                                     \
  X(shared_node, "the ranks share a node")                                                                         \
  X(mpis_mix_edges, "some MPIs mix up several edges between two processes")                                        \
  /* Of trials. */                                                                                                 \
  X(first_calls_try, "the first calls try {0}")                                                                    \
  X(first_calls_differ, "the first calls differ too much to compare {0}")                                          \
  X(first_calls_took, "the first calls took", "", " ")                                                             \
  X(first_steps_took, "the first calls, with their effect until the next call, took", "", " ")                     \
  X(later_calls_took, "later calls took", "", " ")                                                                 \
  X(later_steps_took, "later calls, with their effect until the next call, took", "", " ")                         \
  X(took, "{1:.1f} us with {0}")                                                                                   \
  X(measured_elsewhere, "measured on another communicator", "", ": ")                                              \
  X(identical_plans, "all candidates have identical plans")                                                        \
  /* Of requests. */                                                                                               \
  X(enqueued, "enqueued")                                                                                          \
  X(persistent, "persistent")                                                                                      \
  X(nonblocking, "nonblocking")                                                                                    \
  X(stands_in, "for {0}", "", ": ")                                                                                \
  X(every_rank_waits, "in {0} every rank waits for all")                                                           \
  X(leaders_not_prepared, "the leaders' memory for nonblocking calls is not set up yet")                           \
  X(sizes_to_check, "the sizes of its blocks are to be checked")                                                   \
  X(broadcast_in_flight, "rank 0 is broadcasting what later calls need")                                           \
  X(no_driver, "the program has not loaded a device driver")                                                       \
  X(no_thread, "no thread may call the MPI; this needs MPI_THREAD_MULTIPLE")                                       \
  X(received_on_device, "the MPI receives its blocks in device memory")                                            \
  X(no_pinned_memory, "no pinned memory is left for its blocks, or they span too much memory")                     \
  X(another_context, "the stream is not of the buffers' context")                                                  \
  X(driver_refused, "the driver refused an earlier operation")                                                     \
  X(streams_cannot_wait, "the driver's streams cannot wait for the host")                                          \
  X(pull_failed, "the ranks could not copy from each other's device memory in an earlier start")                   \
  X(several_launches, "the ranks copy from each other's device memory, and one launch cannot make all copies")     \
  /* How data of a device go. */                                                                                   \
  X(straight, "messages go directly from and to device memory")                                                    \
  X(staged, "device data are staged through the host")                                                             \
  X(pulled, "the ranks copy from each other's device memory")                                                      \
  X(not_pulled, "not all ranks can map the data of all others; staging through the host")                          \
  X(in_chunks, "device data are staged through host memory in chunks of {1:.0f} bytes, both directions at once")   \
  X(by_leaders, "one rank of each device submits the copies of the others")                                        \
  X(in_rounds,                                                                                                     \
    "device data are staged through host memory in rounds of {1:.0f} bytes per block, while earlier rounds are "   \
    "exchanged")                                                                                                   \
  X(not_pipelined,                                                                                                 \
    "pipelining disabled (unsupported on some rank, no device data, or non-contiguous type); staging through the " \
    "host")

namespace quadrille {

#define QUADRILLE_REASON(name, ...) name,
enum class Reason : std::uint8_t { QUADRILLE_REASONS(QUADRILLE_REASON) };
#undef QUADRILLE_REASON

#define QUADRILLE_REASON(name, ...) +1
inline constexpr std::size_t reason_count = QUADRILLE_REASONS(QUADRILLE_REASON);
#undef QUADRILLE_REASON

// Whether a line for this reason ends with its code: "xpmem is unavailable: libxpmem.so.0 not found (code=no-xpmem)".
constexpr bool is_read_by_programs(Reason why) {
  return why == Reason::lacks_progress || (why >= Reason::not_used && why <= Reason::no_ring);
}

// The index of a counter. Calls forwarded for a reason that the summary does not name are counted as `other`.
inline constexpr std::size_t counted_reasons = static_cast<std::size_t>(Reason::other) + 1;
constexpr std::size_t counted_as(Reason why) {
  return static_cast<std::size_t>(why != Reason::none && why < Reason::other ? why : Reason::other);
}

// A reason, what its words name, and the reasons that follow it.
struct Why {
  Reason reason = Reason::none;
  std::string name = {};
  double number = 0, limit = 0;
  std::vector<Why> then = {};
};

}  // namespace quadrille

namespace quadrille::text {

// With the code, if programs read it.
std::string words_of(const Why& why);
// In the summary: "12 forwarded <words>". Empty if it does not name this reason.
std::string_view summary_words_of(Reason reason);

std::string code_of(Reason reason);
// By the code at the end of a line; none if there is no code, or an unknown one.
Reason reason_of(std::string_view line);
std::string_view without_code(std::string_view line);

}  // namespace quadrille::text
