// Calls whose data lie in devices' memory on all ranks of a node, by ipc-pull: the ranks open each other's memory and
// copy from it. Stand-ins of the drivers (tests/device) delay and reorder what streams do, count what was called, and
// refuse what they are told to refuse.
//   device_pull LIBRARY CASE    CASE: plain; chosen, where it is not forced; devices, where every second rank has
//                                     another one; hidden, where those do not see each other's
#include <memory>

#include "device_buffers.hpp"
#include "named_functions.hpp"

namespace device_pull_check {

using namespace quadrille::test;

// ---- What is checked ----

void check_forms(const On& on) {
  for (const bool in_place : {false, true}) {  // a kernel that is used for the first time is tried before
    Buffers first({Form::alltoall, 1, in_place}, on);
    first.check_calls(1, "the first");
  }
  for (const Form form : forms) {
    for (const int n : {1, 50, 6000}) {
      for (const bool in_place : {false, true}) {
        Buffers even({form, n, in_place}, on);
        const Pulled pulled;
        even.check_calls(3, "even blocks");
        const bool are_several = on.ranks > 2 || !in_place || !gathers(form);
        if (are_several) pulled.expect(name != "hidden", 3, "even blocks are pulled", in_place);
        if (is_regular(form)) continue;
        Buffers uneven({form, n, in_place, true}, on);
        uneven.check_calls(2, "uneven blocks");
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
    // What cannot be exported, on every second rank, as what is sent, or received.
    const Where some = on.me % 2 == 1 ? Where::pool : Where::device;
    Buffers sent({form, 100}, on, some), received({form, 100}, on, Where::device, some);
    Buffers in_place({form, 100, true}, on, some, some);
    for (Buffers* one : {&sent, &received, &in_place}) {
      const Pulled pulled;
      one->check_calls(2, "memory that cannot be exported");
      const bool are_several = on.ranks > 2 || one != &in_place || !gathers(form);
      if (are_several && !is_led) pulled.expect(name != "hidden", 2, "it is pulled by way of other memory", true);
    }
    // One side of a rank on the host, or both.
    const Where host = on.me == 1 ? Where::host : Where::device;
    Buffers send_on_host({form, 100}, on, host), recv_on_host({form, 100}, on, Where::device, host);
    send_on_host.check_calls(2, "sent from the host");
    recv_on_host.check_calls(2, "received on the host");
    Buffers both({form, 100}, on, host, host);
    const Pulled pulled;
    both.check_calls(2, "a rank on the host");
    pulled.expect(false, 2, "over the host");
    Buffers nobody({form, 100}, on, Where::host, Where::host);
    nobody.check_calls(2, "all ranks on the host");
  }
}

// What was listed and opened once is not again, and nothing is allocated.
void check_repeated(const On& on) {
  Repeated calls_of_all(on, 300, 500);
  calls_of_all.make();
  const unsigned long opened = opens(), allocations = count("allocations");
  const unsigned long handles = count(is_cuda ? "cuIpcGetMemHandle" : "hipIpcGetMemHandle");
  for (int turn = 0; turn < 5; ++turn) calls_of_all.make();
  check(opens() == opened, "opened again");
  check(count("allocations") == allocations, "memory is taken again");
  check(count(is_cuda ? "cuIpcGetMemHandle" : "hipIpcGetMemHandle") == handles, "exported again");
  if (!is_cuda || name == "chosen") return;
  int synchronous = 0;
  must(driver.cuPointerGetAttribute(&synchronous, 6, reinterpret_cast<Address>(calls_of_all.uneven.send.data)) == 0,
       "attribute");
  check(synchronous == 1, "what is exported is used synchronously");
}

// Calls that come again and again with the same buffers: few large copies are made by a graph from the eighth on.
void check_graphs(const On& on) {
  constexpr unsigned long calls = 12, before_graph = 7;
  Buffers one({Form::alltoall, 6000}, on), other({Form::alltoall, 6000}, on);
  const unsigned long launched = graphs();
  for (unsigned long turn = 0; turn < calls; ++turn) {
    one.check_calls(1, "buffers that come again");
    if (turn % 2 == 0) other.check_calls(1, "by turns with others");
  }
  if (name != "plain" || !is_cuda || on.ranks > 2 || !leads()) return;
  check(graphs() == launched + calls - before_graph, "a graph makes what comes again");
}

// Other memory at the address of what was freed.
void check_freed(const On& on) {
  int came_back = 0;  // also what the peers' memory is opened at changes what is free
  for (int turn = 0; turn < 6; ++turn) {
    const unsigned long opened = opens(), closed = closes();
    const int* at = nullptr;
    {
      Buffers one({Form::alltoall, 2000}, on);
      one.check_calls(2, "before it is freed");
      at = one.send.data;
      MPI_Barrier(on.comm);
    }
    {
      // Larger, so that what peers had opened would be too short, too.
      Buffers other({Form::alltoall, turn % 2 == 0 ? 2000 : 2500}, on);
      came_back += other.send.data == at ? 1 : 0;
      other.check_calls(2, "after it was freed");
      MPI_Barrier(on.comm);
    }
    if (name == "plain" && leads()) {
      check(opens() >= opened + 2 * static_cast<unsigned long>(on.ranks - 1), "new memory is opened");
      check(closes() > closed || turn == 0, "what was freed is closed");
    }
  }
  check(came_back > 0, "the test: no address came back");
  check(driver.count("stale", nullptr) == 0, "freed memory is used");
}

// Peers hold what its owner has freed, and with it the device's memory, until they open other memory; no longer.
void check_closed(const On& on) {
  const auto open = [] { return opens() - closes(); };
  Buffers kept({Form::alltoall, 100}, on);
  kept.check_calls(1, "memory that is kept");  // what was freed earlier is closed
  const unsigned long before = open();
  unsigned long with_freed = 0;
  {
    Buffers freed({Form::alltoall, 6000}, on);
    freed.check_calls(2, "memory that is freed then");
    with_freed = open();
    MPI_Barrier(on.comm);
  }
  kept.check_calls(5, "after other memory was freed");
  const unsigned long after = open();
  Buffers other({Form::alltoall, 6000}, on);
  other.check_calls(1, "memory in the place of what was freed");
  const unsigned long with_other = open();
  MPI_Barrier(on.comm);
  if (name != "plain" || !leads()) return;
  check(with_freed > before, "the test: nothing was opened");
  check(after <= with_freed, "known memory is opened again");
  check(with_other == with_freed, "what was freed is not closed, or other memory too");
}

// More buffers than are kept open.
void check_many(const On& on) {
  std::vector<std::unique_ptr<Buffers>> all;
  for (int b = 0; b < 20; ++b)
    all.push_back(std::make_unique<Buffers>(Shape{Form::alltoallv, 10 + b, false, true}, on));
  for (int turn = 0; turn < 3; ++turn) {
    for (auto& one : all) one->check_calls(1, "many buffers");
  }
  MPI_Barrier(on.comm);
}

// A context, and all in it, goes; the next one may be where it was.
void check_contexts(const On& on) {
  if (!is_cuda) return;
  for (int turn = 0; turn < 4; ++turn) {
    Handle own = nullptr;
    must(driver.cuCtxCreate_v2(&own, 0, 0) == 0, "another context");
    {
      Buffers one({Form::alltoallv, 200, turn % 2 == 1}, on);
      one.check_calls(2, "in another context");
      MPI_Barrier(on.comm);
      one.send.gone = one.recv.gone = true;
      must(driver.cuCtxDestroy_v2(own) == 0, "destroy");
    }
    MPI_Barrier(on.comm);
    must(driver.cuCtxSetCurrent(driver.context) == 0, "current context");
  }
}

// One rank, the last, cannot do something: all ranks have their data, or an error.
void check_failures(const On& on) {
  MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN);
  struct Case {
    const char *cuda, *hip;
    bool all_fail = false;
  };
  const Case cases[] = {
      {"cuIpcGetMemHandle:1+", "hipIpcGetMemHandle:1+"},
      {"cuIpcOpenMemHandle_v2:1+", "hipIpcOpenMemHandle:1+"},
      {"cuMemGetAddressRange_v2:1+", "hipMemGetAddressRange:1+"},
      {"cuMemAlloc_v2:1+", "hipMalloc:1+"},
      {"cuStreamCreate:1+", "hipStreamCreateWithFlags:1+"},
      {"cuLaunchKernel:1+", "hipMemcpyAsync:1"},
      {"cuLaunchKernel:1+,cuMemcpyBatchAsync_v2:1+", "hipMemcpy2DAsync:1+"},
      {"cuLaunchKernel:1+,cuMemcpyBatchAsync_v2:1+,cuMemcpyAsync:1", "hipMemcpyAsync:1"},
      {"cuStreamSynchronize:1", "hipStreamSynchronize:1"},
      {"cuStreamSynchronize:2", "hipStreamSynchronize:2"},
      {"cuLaunchKernel:1+,cuMemcpyBatchAsync_v2:1+,cuMemcpyAsync:1+,cuMemcpy2DAsync_v2:1+",
       "hipMemcpyAsync:1+,hipMemcpy2DAsync:1+", true},
  };
  for (const Form form : forms) {
    for (const bool in_place : {false, true}) {
      for (const Case& one : cases) {
        Buffers buffers({form, 70, in_place}, on);
        MPI_Barrier(on.comm);
        fail(on, is_cuda ? one.cuda : one.hip);
        const int error = buffers.make(1);
        fail(on, "");
        const bool may_fail = one.all_fail && !(in_place && gathers(form) && on.ranks == 1);
        check((error != MPI_SUCCESS) == may_fail, is_cuda ? one.cuda : one.hip);
        if (error == MPI_SUCCESS) buffers.look(1, "after what one rank could not do");
        buffers.check_calls(2, "after failures");
        MPI_Barrier(on.comm);
      }
    }
  }
}

// A request: at the least right, and without taking anything again.
void check_requests(const On& on) {
  UniformInit* const init = alltoall_init();
  Buffers one({Form::alltoall, 300}, on);
  MPI_Request persistent = MPI_REQUEST_NULL, request;
  const int ints = one.out.counts[0];
  if (init != nullptr)
    init(one.send.data, ints, MPI_INT, one.recv.data, ints, MPI_INT, on.comm, MPI_INFO_NULL, &persistent);
  unsigned long opened = 0, allocations = 0;
  for (int turn = 0; turn < 8; ++turn) {
    one.fill(turn);
    if (turn == 4) opened = opens(), allocations = count("allocations");
    if (turn < 2 || init == nullptr) {
      MPI_Ialltoall(one.send.data, ints, MPI_INT, one.recv.data, ints, MPI_INT, on.comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Start(&persistent);
      MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    }
    one.send.fill(-11);
    one.look(turn, "a request");
  }
  check(opens() == opened && count("allocations") == allocations, "a start takes nothing");
  if (persistent != MPI_REQUEST_NULL) MPI_Request_free(&persistent);
}

// Blocks of one element, of a type of many equal runs, or of runs that differ.
void check_types(const On& on) {
  constexpr int rows = 3000;
  MPI_Datatype regular, odd;
  MPI_Type_vector(rows, 1, 2, MPI_INT, &regular);
  const int lengths[] = {1, 2, 1, 1}, places[] = {7, 0, 3, 5};
  MPI_Type_indexed(4, lengths, places, MPI_INT, &odd);
  for (MPI_Datatype type : {regular, odd}) {
    MPI_Type_commit(&type);
    const bool is_odd = type == odd;
    const std::size_t ints = is_odd ? 5 : rows, span = is_odd ? 9 : 2 * rows;
    const auto place = [&](std::size_t i) {
      constexpr std::size_t of_odd[] = {7, 0, 1, 3, 5};
      return is_odd ? of_odd[i] : 2 * i;
    };
    const auto n = static_cast<std::size_t>(on.ranks);
    std::vector<int> ones(n, 1), at(n);
    std::vector<MPI_Datatype> types(n, type);
    Ints send(Where::device, span * n), recv(Where::device, span * n);
    send.fill(-3);
    recv.fill(-5);
    for (std::size_t to = 0; to < n; ++to) {
      at[to] = static_cast<int>(to * span * sizeof(int));
      for (std::size_t i = 0; i < ints; ++i)
        send.view[to * span + place(i)] = value(on.me, static_cast<int>(to), static_cast<int>(i), 0);
    }
    const unsigned long copies = count("copies");
    MPI_Alltoallw(send.data, ones.data(), at.data(), types.data(), recv.data, ones.data(), at.data(), types.data(),
                  on.comm);
    if (name == "plain") check(count("copies") - copies <= 10 * n, "a copy a row");
    std::vector<bool> described(recv.count, false);
    for (std::size_t from = 0; from < n; ++from) {
      for (std::size_t i = 0; i < ints; ++i) {
        described[from * span + place(i)] = true;
        check(recv.view[from * span + place(i)] == value(static_cast<int>(from), on.me, static_cast<int>(i), 0),
              "a type");
      }
    }
    for (std::size_t i = 0; i < recv.count; ++i) check(described[i] || recv.view[i] == -5, "a gap of a type");
    MPI_Type_free(&type);
  }
}

void check_communicators() {
  MPI_Comm turned, half;
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &turned);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  const unsigned long opened = opens(), closed = closes();
  Buffers on_world({Form::alltoallv, 60, false, true}, On(MPI_COMM_WORLD));
  {
    Buffers on_turned({Form::alltoall, 60}, On(turned)), on_half({Form::allgather, 60}, On(half));
    for (int turn = 0; turn < 4; ++turn) {
      on_turned.check_calls(1, "turned");
      on_world.check_calls(1, "world");
      if (on_half.on.ranks > 1) on_half.check_calls(1, "half");
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Comm_free(&turned);
  MPI_Comm_free(&half);
  const auto of_world = static_cast<unsigned long>((is_led ? 2 : 1) * (size - 1));
  if (name == "plain" || name == "devices")
    check(opens() - opened <= closes() - closed + of_world, "a communicator that was freed closes all");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 3) return 2;
  begin_pulling(argv[1], argv[2]);
  const On world(MPI_COMM_WORLD);
  check_forms(world);
  check_kinds(world);
  check_types(world);
  check_repeated(world);
  check_graphs(world);
  check_freed(world);
  check_closed(world);
  check_many(world);
  check_null_stream(world, 500);
  check_contexts(world);
  check_requests(world);
  check_communicators();
  if (name != "hidden") check_failures(world);
  const unsigned long opened = opens();
  if (name == "hidden") check(opened > 0, "the test: nobody tried");
  if ((name == "plain" || name == "devices") && leads()) check(opened > 0, "nothing was opened");
  end_pulling();
  // But for what went with its context, and what one rank was refused.
  if (name == "plain" && !is_cuda && rank > 0 && rank < size - 1) check(opens() == closes(), "all is closed");
  return say_verdict();
}

}  // namespace device_pull_check
