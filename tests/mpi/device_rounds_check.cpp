// Calls between nodes whose data go from devices' memory to devices' memory over the host in rounds, which another
// algorithm exchanges: pipelined-copy-to-cpu, forced, with chunks of 4096 bytes, so that there are many rounds.
// Stand-ins of the drivers (tests/device) delay and reorder what streams do, count what was called, and refuse what
// they are told to refuse.
//   device_rounds LIBRARY CASE    CASE: plain; devices, where every second rank has another one; left, where
//                                       nothing is freed before MPI_Finalize; whole, where what exchanges the rounds
//                                       does not survive a mistake of the program; kernels, where these move small
//                                       pieces
#include <cstdlib>
#include <memory>
#include <string_view>

#include "piped_calls.hpp"

namespace device_rounds_check {

using namespace quadrille::test;

constexpr std::size_t chunk = 4096;

std::size_t rounds_of(std::size_t bytes) { return (bytes + chunk - 1) / chunk; }

// ---- What is checked ----

// Half a chunk, one, one and a byte, many and a part; in ints, two of which are an element here.
constexpr int sizes[] = {1, 250, 512, 513, 6001};

// MPICH's own Allgatherv cuts long blocks by the extent of each rank's type, and ends the program where these differ.
bool is_beyond_mpich([[maybe_unused]] Form form, [[maybe_unused]] int n) {
#ifndef OPEN_MPI
  const std::string_view forced = std::getenv("QUADRILLE_ALGORITHM");  // of Allgatherv last
  return form == Form::allgatherv && n > 1000 && forced.ends_with("inner=mpi");
#else
  return false;
#endif
}

void check_forms(const On& on) {
  for (const Form form : forms) {
    for (const int n : sizes) {
      for (const bool in_place : {false, true}) {
        Buffers even({form, n, in_place}, on);
        const Piped piped;
        even.check_calls(3, "even blocks");
        piped.expect(true, 3, "even blocks go in rounds");
        // Each round is marked once on its way out, and once on its way in.
        const std::size_t rounds = rounds_of(2 * static_cast<std::size_t>(n) * sizeof(int));
        check(marks() - piped.before == 3 * 2 * rounds, "as many rounds as a block has chunks");
        if (is_regular(form)) continue;
        Buffers uneven({form, n, in_place, true}, on);
        const Piped unevenly;
        uneven.check_calls(2, "uneven blocks");
        if (!gathers(form)) unevenly.expect(true, 2, "uneven blocks go in rounds");
      }
      if (is_beyond_mpich(form, n)) continue;
      Buffers typed({form, n, false, true, true}, on);
      const Piped whole;
      typed.check_calls(2, "types with gaps");
      whole.expect(false, 2, "types with gaps go over the host as a whole");
    }
    Buffers none({form, 0}, on);
    none.check_calls(2, "nothing");
  }
}

// Many small pieces are moved by a kernel, out and in.
void check_kernels(const On& on) {
  for (const Form form : forms) {
    for (const bool in_place : {false, true}) {
      Buffers one({form, 250, in_place}, on), more({form, 513, in_place}, on);
      one.check_calls(2, "small pieces");
      more.check_calls(1, "the kernel is tried before it is used");
      const unsigned long before = launches(), marked = marks();
      more.check_calls(2, "two rounds of small pieces");
      check(marks() > marked, "in rounds");
      // Two rounds of each call, in, and out but for the one block of a gather.
      check(launches() - before == (gathers(form) ? 4U : 8U), "a kernel moves them");
    }
  }
}

// One side of a rank on the host, or both; the others go on in rounds.
void check_kinds(const On& on) {
  for (const Form form : forms) {
    for (const int n : {100, 5000}) {
      for (const bool uneven : {false, true}) {
        if (uneven && is_regular(form)) continue;
        const Where some = on.me % 2 == 1 ? Where::pool : Where::device,
                    host = on.me == 1 ? Where::host : Where::device;
        Buffers pool({form, n, false, uneven}, on, some, some), pool_in_place({form, n, true, uneven}, on, some, some);
        Buffers send_on_host({form, n, false, uneven}, on, host),
            recv_on_host({form, n, false, uneven}, on, Where::device, host);
        Buffers both({form, n, false, uneven}, on, host, host), both_in_place({form, n, true, uneven}, on, host, host);
        for (Buffers* one : {&pool, &pool_in_place, &send_on_host, &recv_on_host, &both, &both_in_place}) {
          const Piped piped;
          one->check_calls(2, "memory of different kinds");
          const bool on_host = one->send.where == Where::host && one->recv.where == Where::host;
          if (!uneven) piped.expect(!on_host, 2, "what is on a device goes in rounds");
        }
        Buffers nobody({form, n, false, uneven}, on, Where::host, Where::host);
        const Piped piped;
        nobody.check_calls(2, "all ranks on the host");
        piped.expect(false, 2, "nothing for the driver");
      }
    }
  }
}

// One rank has nothing at all, or nothing to send, or one block that has many more rounds than all others.
void check_sparse(const On& on) {
  const auto ranks = static_cast<std::size_t>(on.ranks);
  enum Pattern { from_first, to_last, one_long, nobody };
  for (const Pattern pattern : {from_first, to_last, one_long, nobody}) {
    const auto ints = [&](int from, int to) {
      if (pattern == from_first) return from == 0 ? 3000 : 0;
      if (pattern == to_last) return to == on.ranks - 1 ? 1500 + from : 0;
      if (pattern == one_long) return from == 0 && to == on.ranks - 1 ? 40001 : 10;
      return 0;
    };
    std::vector<int> sends(ranks), receives(ranks), from(ranks), to(ranks);
    int sent = 0, received = 0;
    for (int peer = 0; peer < on.ranks; ++peer) {
      const auto p = static_cast<std::size_t>(peer);
      sends[p] = ints(on.me, peer), receives[p] = ints(peer, on.me);
      from[p] = sent, to[p] = received;
      sent += sends[p], received += receives[p];
    }
    Ints send(Where::device, static_cast<std::size_t>(sent)), recv(Where::device, static_cast<std::size_t>(received));
    for (int turn = 0; turn < 2; ++turn) {
      recv.fill(-5);
      for (int peer = 0; peer < on.ranks; ++peer) {
        const auto p = static_cast<std::size_t>(peer);
        for (int i = 0; i < sends[p]; ++i) send.view[from[p] + i] = value(on.me, peer, i, turn);
      }
      const int error = MPI_Alltoallv(send.data, sends.data(), from.data(), MPI_INT, recv.data, receives.data(),
                                      to.data(), MPI_INT, on.comm);
      check(error == MPI_SUCCESS, "an error of a sparse call");
      for (int peer = 0; peer < on.ranks; ++peer) {
        const auto p = static_cast<std::size_t>(peer);
        for (int i = 0; i < receives[p]; ++i)
          check(recv.view[to[p] + i] == value(peer, on.me, i, turn), "sparse blocks");
      }
    }
  }
}

// What was made once is kept, and no buffer is on the host as a whole.
void check_repeated(const On& on) {
  Repeated calls_of_all(on, 6000, 5000);
  calls_of_all.make();
  const unsigned long made[] = {streams(), events(), pinned(), count("allocations")};
  for (int turn = 0; turn < 5; ++turn) calls_of_all.make();
  check(made[0] == streams() && made[1] == events(), "streams or events are made again");
  check(made[2] == pinned() && made[3] == count("allocations"), "memory is taken again");
  check(registered() == 0, "nothing is registered");
}

// A context, and all in it, goes; the next one may be where it was.
void check_contexts(const On& on) {
  if (!is_cuda) return;
  for (int turn = 0; turn < 4; ++turn) {
    Handle own = nullptr;
    must(driver.cuCtxCreate_v2(&own, 0, 0) == 0, "another context");
    {
      Buffers one({Form::alltoallv, 4000, turn % 2 == 1}, on);
      if (turn == 0) {
        // No memory that is kept is of that context. The first two pieces are for the streams.
        const Piped refused;
        fail(on, "cuMemAllocHost_v2:3+");
        one.check_calls(1, "one rank has no memory for its slots");
        fail(on, "");
        refused.expect(false, 1, "that call goes over the host as a whole");
      }
      const Piped piped;
      one.check_calls(2, "in another context");
      piped.expect(true, 2, "in rounds there");
      MPI_Barrier(on.comm);
      one.send.gone = one.recv.gone = true;
      must(driver.cuCtxDestroy_v2(own) == 0, "destroy");
      must(driver.cuCtxSetCurrent(driver.context) == 0, "current context");
      Buffers after({Form::alltoall, 4000}, on);
      const Piped again;
      after.check_calls(2, "when that is gone");
      again.expect(true, 2, "in rounds again");
    }
  }
}

// Communicators by the dozen: each gives back what it had. Some have all their ranks on one node.
void check_communicators() {
  for (int turn = 0; turn < 12; ++turn) {
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, turn % 3 == 0 ? 0 : rank % 2, turn % 2 == 0 ? rank : size - rank, &half);
    const unsigned long before[] = {alive("streams"), alive("events"), alive("registrations")};
    {
      const On on(half);
      Buffers one({Form::alltoallv, 3000, false, true}, on);
      if (on.ranks > 1) one.check_calls(2, "another communicator");
    }
    MPI_Comm_free(&half);
    check(alive("streams") == before[0] && alive("events") == before[1] && alive("registrations") == before[2],
          "left of what was freed");
  }
}

void check_refusals(const On& on) {
  const unsigned long before[] = {alive("streams"), alive("events")};
  check_refused(on,
                {{"cuStreamCreate:1+", "hipStreamCreateWithFlags:1+"},
                 {"cuEventCreate:2+", "hipEventCreateWithFlags:2+"},
                 {"cuMemAllocHost_v2:1+", "hipHostMalloc:1+"}},
                [&] { return alive("streams") == before[0] && alive("events") == before[1]; });
}

// A copy of one rank fails, when it is submitted or as it goes on: nobody hangs, and all ranks return the same: their
// data, or MPI_ERR_OTHER. The next call is as if nothing had been.
void check_failures(const On& on) {
  const std::string copy = is_cuda ? "cuMemcpyAsync:" : "hipMemcpyAsync:",
                    batch = is_cuda ? "cuMemcpyBatchAsync_v2:1+," : "";
  const std::string record = is_cuda ? "cuEventRecord:" : "hipEventRecord:",
                    query = is_cuda ? "cuEventQuery:" : "hipEventQuery:";
  struct Case {
    std::string what;
    bool must_fail;
  };
  std::vector<Case> cases = {{batch + copy + "1+", true},
                             {record + "1+", true},
                             {query + "1+", true},
                             {is_cuda ? "cuStreamSynchronize:1" : "hipStreamSynchronize:1", false},
                             {is_cuda ? "cuStreamQuery:1" : "hipStreamQuery:1", true}};
  for (const char* const times : {"1", "2", "3", "5", "8", "13"}) {
    cases.push_back({batch + copy + times, false});
    cases.push_back({record + times, false});
    cases.push_back({query + times, false});
  }
  std::size_t turn = 0;
  for (const Form form : forms) {
    for (const bool in_place : {false, true}) {
      for (const Case& one : part_of_row(cases, turn++)) {
        Buffers buffers({form, 5000, in_place}, on);
        const auto [kind, good] = make_failing(buffers, on, one.what);
        check(good ? !one.must_fail : kind == MPI_ERR_OTHER, one.what.c_str());
        if (good) buffers.look(1, "after what one rank could not do");
        const Piped piped;
        buffers.check_calls(2, "after failures");
        piped.expect(true, 2, "the next calls go in rounds");
        MPI_Barrier(on.comm);
      }
    }
  }
}

// Nonblocking and persistent calls are those of the inner algorithm, over the host as a whole. They do not wait for
// what the program has put into the NULL stream, but mark it: once for each side. Rounds would leave many more marks.
void check_requests(const On& on) {
  for (const Form form : {Form::alltoall, Form::alltoallv, Form::allgather}) {
    Buffers one({form, 3000}, on);
    const unsigned long marked = marks();
    for (int turn = 0; turn < 3; ++turn) {
      one.tell();
      one.fill(turn);
      MPI_Request request = MPI_REQUEST_NULL;
      const Layout &out = one.out, &in = one.in;
      if (form == Form::alltoall) {
        MPI_Ialltoall(one.send.data, out.counts[0], MPI_INT, one.recv.data, in.counts[0], MPI_INT, on.comm, &request);
      } else if (form == Form::alltoallv) {
        MPI_Ialltoallv(one.send.data, out.counts.data(), out.places.data(), MPI_INT, one.recv.data, in.counts.data(),
                       in.places.data(), MPI_INT, on.comm, &request);
      } else {
        MPI_Iallgather(one.send.data, out.counts[0], MPI_INT, one.recv.data, in.counts[0], MPI_INT, on.comm, &request);
      }
      check(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "a nonblocking call");
      one.look(turn, "nonblocking");
    }
    check(marks() - marked <= 3 * 2, "nonblocking calls go over the host as a whole");
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 3) return 2;
  begin_pulling(argv[1], argv[2]);
  const On world(MPI_COMM_WORLD);
  if (name == "left") {
    MPI_Comm left;
    MPI_Comm_dup(MPI_COMM_WORLD, &left);
    const On on(left);
    Buffers one({Form::alltoallv, 3000, false, true}, on), other({Form::alltoall, 3000}, world);
    const Piped piped;
    one.check_calls(2, "never freed");
    other.check_calls(2, "of the world");
    piped.expect(true, 4, "they go in rounds");
  } else if (name == "kernels") {
    check_kernels(world);
  } else {
    check_forms(world);
    check_kinds(world);
    check_sparse(world);
    check_repeated(world);
    check_null_stream(world, 5000);
    check_own_blocks(world, true);
    check_requests(world);
    check_communicators();
    check_refusals(world);
    MPI_Comm_set_errhandler(world.comm, MPI_ERRORS_RETURN);
    if (name != "whole") check_too_long(world);
    check_failures(world);
    check_contexts(world);
  }
  wait_for_null_stream();
  check(driver.count("pending", nullptr) == 0, "work is left in streams");
  end_pulling();
  check_given_back("left behind");
  return say_verdict();
}

}  // namespace device_rounds_check
