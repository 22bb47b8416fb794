// Calls whose data go from devices' memory to devices' memory of a node in chunks, over memory that the drivers of all
// ranks know: pipelined-copy-to-cpu, forced. Stand-ins of the drivers (tests/device) delay and reorder what streams do,
// count what was called, and refuse what they are told to refuse.
//   device_pipeline LIBRARY CASE    CASE: plain; devices, where every second rank has another one; refused, where
//   the
//                                         last rank's driver registers nothing; left, where nothing is freed before
//                                         MPI_Finalize; broken, where the last rank's device fails in the end; short,
//                                         on a communicator for which there is little shared memory
#include <climits>
#include <memory>

#include "piped_calls.hpp"

namespace device_pipeline_check {

using namespace quadrille::test;

bool is_lonely(const Buffers& one) { return one.on.ranks < 2; }
bool is_refused() { return name == "refused"; }

// Can another rank copy for this one? Not if anything is on the host or in a pool, and if it receives nothing.
bool can_be_led(const Buffers& one) {
  const bool sends = !one.shape.in_place && one.out.ints > 0;
  return is_led && one.recv.where == Where::device && one.in.ints > 0 && (!sends || one.send.where == Where::device);
}
// Is it this rank that copies its data? Collective.
bool copies_itself(const Buffers& one) {
  const int key = has_two_devices() ? rank % 2 : 0;
  int first[2] = {INT_MAX, INT_MAX};
  if (can_be_led(one)) first[key] = one.on.me;
  MPI_Allreduce(MPI_IN_PLACE, first, 2, MPI_INT, MPI_MIN, one.on.comm);
  return !can_be_led(one) || first[key] == one.on.me;
}

// ---- What is checked ----

void check_forms(const On& on) {
  for (const Form form : forms) {
    for (const int n : {1, 50, 6000}) {
      for (const bool in_place : {false, true}) {
        Buffers even({form, n, in_place}, on);
        const bool copies = copies_itself(even);
        const Piped piped;
        even.check_calls(3, "even blocks");
        piped.expect(!is_refused() && !is_lonely(even) && copies, 3, "even blocks go in chunks");
        if (is_regular(form)) continue;
        Buffers uneven({form, n, in_place, true}, on);
        const bool copies_uneven = copies_itself(uneven);
        const Piped unevenly;
        uneven.check_calls(2, "uneven blocks");
        // Each has something to send or to receive, but for rank 0 of an allgather between two.
        if (!gathers(form))
          unevenly.expect(!is_refused() && !is_lonely(uneven) && copies_uneven, 2, "uneven blocks go in chunks");
      }
      Buffers typed({form, n, false, true, true}, on);
      typed.check_calls(2, "types with gaps");
    }
    Buffers none({form, 0}, on);
    none.check_calls(2, "nothing");
  }
}

void check_kinds(const On& on) {
  for (const Form form : forms) {
    for (const int n : {100, 5000}) {
      const Where some = on.me % 2 == 1 ? Where::pool : Where::device;
      Buffers sent({form, n}, on, some), received({form, n, false, true}, on, Where::device, some);
      Buffers in_place({form, n, true}, on, some, some);
      for (Buffers* one : {&sent, &received, &in_place}) {
        const bool copies = copies_itself(*one);
        const Piped piped;
        one->check_calls(2, "memory of pools");
        piped.expect(!is_refused() && copies, 2, "it goes in chunks");
      }
      // One side of a rank on the host, or both; the others go on in chunks.
      const Where host = on.me == 1 ? Where::host : Where::device;
      Buffers send_on_host({form, n}, on, host), recv_on_host({form, n}, on, Where::device, host);
      Buffers both({form, n}, on, host, host), both_in_place({form, n, true}, on, host, host);
      for (Buffers* one : {&send_on_host, &recv_on_host, &both, &both_in_place}) {
        const bool copies = copies_itself(*one);
        const Piped piped;
        one->check_calls(2, "partly on the host");
        const bool on_host = one->send.where == Where::host && one->recv.where == Where::host;
        if (!is_refused()) piped.expect(!on_host && copies, 2, "what is on a device goes in chunks");
      }
      Buffers nobody({form, n}, on, Where::host, Where::host);
      const Piped piped;
      nobody.check_calls(2, "all ranks on the host");
      piped.expect(false, 2, "nothing for the driver");
    }
  }
}

// Who copies for others opens their memory, once; where that fails each copies for itself, in chunks as well.
void check_leaders(const On& on) {
  if (!is_led || is_refused()) return;
  const unsigned long opened = opens(),
                      others = leads() ? static_cast<unsigned long>(on.ranks - 1) / (has_two_devices() ? 2 : 1) : 0;
  {
    Buffers one({Form::alltoall, 5000}, on);
    one.check_calls(3, "by leaders");
    check(opens() - opened <= 2 * others && (others == 0 || opens() > opened),
          "a leader opens what the others have, once");
  }
  struct Case {
    const char *cuda, *hip;
    int at;
  };
  const Case cases[] = {{"cuIpcOpenMemHandle_v2:1+", "hipIpcOpenMemHandle:1+", 0},
                        {"cuIpcOpenMemHandle_v2:2", "hipIpcOpenMemHandle:2", 0},
                        {"cuIpcGetMemHandle:1+", "hipIpcGetMemHandle:1+", on.ranks - 1},
                        {"cuIpcGetMemHandle:2", "hipIpcGetMemHandle:2", on.ranks - 1},
                        {"cuIpcGetMemHandle:1+", "hipIpcGetMemHandle:1+", 0}};
  for (const Case& what : cases) {
    Buffers one({Form::alltoallv, 5000, false, true}, on);
    MPI_Barrier(on.comm);
    if (on.me == what.at) must(driver.set("FAIL", is_cuda ? what.cuda : what.hip), "FAIL");
    const Piped piped;
    one.check_calls(3, "a leader cannot open it");
    must(driver.set("FAIL", ""), "FAIL");
    if (on.me == what.at) piped.expect(true, 3, "each copies for itself");
    MPI_Barrier(on.comm);
  }
}

// What was made once is kept, and no buffer is on the host as a whole.
void check_repeated(const On& on) {
  Repeated calls_of_all(on, 6000, 5000);
  calls_of_all.make();
  const unsigned long made[] = {registered(), streams(), events(), pinned(), count("allocations")};
  for (int turn = 0; turn < 5; ++turn) calls_of_all.make();
  check(made[0] == registered(), "registered again");
  check(made[1] == streams() && made[2] == events(), "streams or events are made again");
  check(made[3] == pinned() && made[4] == count("allocations"), "memory is taken again");
  check(is_refused() || registered() == 1, "one registration for a communicator");
}

// A context, and all in it, goes; the next one may be where it was.
void check_contexts(const On& on) {
  if (!is_cuda) return;
  for (int turn = 0; turn < 4; ++turn) {
    Handle own = nullptr;
    must(driver.cuCtxCreate_v2(&own, 0, 0) == 0, "another context");
    MPI_Comm twin;
    MPI_Comm_dup(on.comm, &twin);
    {
      const On there(twin);
      Buffers one({Form::alltoallv, 4000, turn % 2 == 1}, there);
      const Piped piped;
      one.check_calls(2, "in another context");
      // All on the first device, which is another one for odd ranks where devices are hidden.
      const bool registers = name == "hidden" ? leads() : !is_led || rank == 0;
      piped.expect(!is_refused() && registers, 2, "registered there");
      MPI_Barrier(on.comm);
      one.send.gone = one.recv.gone = true;
      must(driver.cuCtxDestroy_v2(own) == 0, "destroy");
      must(driver.cuCtxSetCurrent(driver.context) == 0, "current context");
      Buffers after({Form::alltoall, 4000}, there);
      const Piped again;
      after.check_calls(2, "when that is gone");
      again.expect(!is_refused() && leads(), 2, "registered anew");
      check(is_refused() || alive("registrations") == 2, "what went with its context is not registered anew");
    }
    MPI_Comm_free(&twin);
  }
}

// Communicators by the dozen: each gives back what it had.
void check_communicators() {
  for (int turn = 0; turn < 12; ++turn) {
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, turn % 3 == 0 ? 0 : rank % 2, turn % 2 == 0 ? rank : size - rank, &half);
    const unsigned long before = alive("registrations");
    {
      const On on(half);
      Buffers one({Form::alltoallv, 3000, false, true}, on);
      if (on.ranks > 1) one.check_calls(2, "another communicator");
      if (on.ranks > 1) check(is_refused() || alive("registrations") == before + 1, "registered for it");
    }
    MPI_Comm_free(&half);
    check(alive("registrations") == before, "what was freed is registered");
  }
}

void check_refusals(const On& on) {
  check_refused(on,
                {{"cuMemHostRegister_v2:1+", "hipHostRegister:1+"},
                 {"cuStreamCreate:1+", "hipStreamCreateWithFlags:1+"},
                 {"cuEventCreate:7+", "hipEventCreateWithFlags:7+"},
                 {"cuMemAllocHost_v2:1+", "hipHostMalloc:1+"}},
                [] { return alive("registrations") == 1 && alive("streams") == 2; });  // those of the world
}

// A copy of one rank fails, when it is submitted or as it goes on: nobody hangs, and all ranks return the same: their
// data, or, if what was sent is gone, MPI_ERR_OTHER.
void check_failures(const On& on) {
  MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN);
  std::vector<std::string> cases;
  for (const char* const times : {"1", "2", "5", "9"}) {
    for (const char* const function : {"Memcpy", "Record", "Query"}) {
      const std::string called = function == std::string("Memcpy")   ? (is_cuda ? "cuMemcpyAsync:" : "hipMemcpyAsync:")
                                 : function == std::string("Record") ? (is_cuda ? "cuEventRecord:" : "hipEventRecord:")
                                                                     : (is_cuda ? "cuEventQuery:" : "hipEventQuery:");
      cases.push_back(called + times);
    }
  }
  cases.push_back(is_cuda ? "cuMemcpyBatchAsync_v2:1+,cuMemcpyAsync:3" : "hipMemcpyAsync:3");
  cases.push_back(is_cuda ? "cuStreamSynchronize:1" : "hipStreamSynchronize:1");
  cases.push_back(is_cuda ? "cuStreamQuery:1" : "hipStreamQuery:1");
  std::size_t turn = 0;
  for (const Form form : forms) {
    for (const bool in_place : {false, true}) {
      for (const std::string& one : part_of_row(cases, turn++)) {
        Buffers buffers({form, 5000, in_place}, on);
        const auto [kind, good] = make_failing(buffers, on, one);
        check(good || (in_place && !gathers(form) && kind == MPI_ERR_OTHER), one.c_str());
        if (good) buffers.look(1, "after what one rank could not do");
        buffers.check_calls(2, "after failures");
        MPI_Barrier(on.comm);
      }
    }
  }
}

// When other communicators have all of the shared memory, the next one has a little of its own: rings are smaller. The
// test looks at what QUADRILLE_EXPLAIN says.
void check_short() {
  std::vector<MPI_Comm> all;
  for (int i = 0; i < 300; ++i) {
    all.emplace_back();
    MPI_Comm_dup(MPI_COMM_WORLD, &all.back());
    int one = 1;
    std::vector<int> send(static_cast<std::size_t>(size), one), recv(send.size());
    MPI_Alltoall(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, all.back());
  }
  {
    const On on(all.back());
    Buffers large({Form::alltoallv, 300000, false, true}, on);
    const Piped piped;
    large.check_calls(3, "with little shared memory");
    piped.expect(true, 3, "they go in chunks");
    check(registered() == 1, "registered once");
  }
  for (MPI_Comm& one : all) MPI_Comm_free(&one);
}

// What goes wrong on the device itself leaves the rank's context unusable: it returns an error for good, and nobody
// hangs.
void check_broken(const On& on) {
  Buffers buffers({Form::alltoallv, 5000}, on);
  MPI_Barrier(on.comm);
  fail(on, "operation:4");
  const int error = buffers.make(1);
  check(error != MPI_SUCCESS || on.me != on.ranks - 1, "a rank whose device fails");
  MPI_Barrier(on.comm);
  fail(on, "");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 3) return 2;
  begin_pulling(argv[1], argv[2]);
  const On world(MPI_COMM_WORLD);
  if (is_refused()) fail(world, is_cuda ? "cuMemHostRegister_v2:1+" : "hipHostRegister:1+");
  MPI_Comm left;
  MPI_Comm_dup(MPI_COMM_WORLD, &left);
  if (name == "short") {
    check_short();
    MPI_Comm_free(&left);
  } else if (name == "left") {
    const On on(left);
    Buffers one({Form::alltoallv, 3000, false, true}, on), other({Form::alltoall, 3000}, world);
    const Piped piped;
    one.check_calls(2, "never freed");
    other.check_calls(2, "of the world");
    piped.expect(leads(), 4, "they go in chunks");
    check(registered() == 2, "registered for both");
  } else {
    check_forms(world);
    check_kinds(world);
    check_repeated(world);
    check_leaders(world);
    check_null_stream(world, 5000);
    check_own_blocks(world, !is_refused());
    check_communicators();
    if (!is_refused()) check_refusals(world);
    MPI_Comm_set_errhandler(world.comm, MPI_ERRORS_RETURN);
    check_too_long(world);
    if (!is_refused()) check_failures(world);
    check_contexts(world);
    MPI_Comm_free(&left);
  }
  if (name == "broken") {
    check_broken(world);
  } else {
    wait_for_null_stream();
    check(driver.count("pending", nullptr) == 0, "work is left in streams");
  }
  end_pulling();
  if (name != "broken") check_given_back("left behind");
  return say_verdict();
}

}  // namespace device_pipeline_check
