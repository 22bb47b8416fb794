// Calls whose data lie in devices' memory on all ranks of a node, by ipc-pull: the ranks open each other's memory and copy
// from it. Stand-ins of the drivers (tests/device) delay and reorder what streams do, count what was called, and refuse what
// they are told to refuse.
//   device_pull_check LIBRARY CASE    CASE: plain; chosen, where it is not forced; devices, where every second rank has
//                                     another one; hidden, where those do not see each other's
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../device/standin.hpp"

namespace {

int rank = 0, size = 1, wrong = 0;
std::string name;

std::string calls;  // of which kind they are

void check(bool good, const char* what) {
  if (!good && ++wrong < 8) std::printf("rank %d, %s: %s\n", rank, calls.c_str(), what);
}

void must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "rank %d: %s\n", rank, what);
  std::abort();
}

// ---- The driver, CUDA's or HIP's ----

using quadrille::standin::Address;
using quadrille::standin::Handle;

struct Driver {
#define QUADRILLE_MEMBER(name, ...) int (*name)(__VA_ARGS__) = nullptr;
  QUADRILLE_CUDA_CALLS(QUADRILLE_MEMBER)
  QUADRILLE_MEMBER(hipSetDevice, int)
  QUADRILLE_MEMBER(hipMalloc, void**, std::size_t)
  QUADRILLE_MEMBER(hipFree, void*)
  QUADRILLE_MEMBER(hipMallocAsync, void**, std::size_t, Handle)
  QUADRILLE_MEMBER(hipFreeAsync, void*, Handle)
  QUADRILLE_MEMBER(hipStreamSynchronize, Handle)
  QUADRILLE_MEMBER(hipMemsetAsync, void*, int, std::size_t, Handle)
  quadrille_standin_count_t* count = nullptr;
  quadrille_standin_set_t* set = nullptr;
  quadrille_standin_host_t* host = nullptr;
  Handle context = nullptr;
};
Driver driver;
bool is_cuda = false;

template <class Function>
void load(void* library, const char* function_name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, function_name));
  must(function != nullptr, function_name);
}

void load_driver(const char* path) {
  const int device = name == "devices" ? rank % 2 : 0;
  setenv("QUADRILLE_STANDIN_DEVICES", "2", 1);
  if (name == "hidden") setenv(std::strstr(path, "cuda") != nullptr ? "CUDA_VISIBLE_DEVICES" : "HIP_VISIBLE_DEVICES", rank % 2 == 0 ? "0" : "1", 1);
  void* const library = dlopen(path, RTLD_NOW);
  must(library != nullptr, "no library");
  load(library, "quadrille_standin_count", driver.count);
  load(library, "quadrille_standin_set", driver.set);
  load(library, "quadrille_standin_host", driver.host);
  is_cuda = dlsym(library, "cuInit") != nullptr;
  if (!is_cuda) {
    load(library, "hipSetDevice", driver.hipSetDevice);
    load(library, "hipMalloc", driver.hipMalloc);
    load(library, "hipFree", driver.hipFree);
    load(library, "hipMallocAsync", driver.hipMallocAsync);
    load(library, "hipFreeAsync", driver.hipFreeAsync);
    load(library, "hipMemsetAsync", driver.hipMemsetAsync);
    load(library, "hipStreamSynchronize", driver.hipStreamSynchronize);
    must(driver.hipSetDevice(device) == 0, "device");
    return;
  }
#define QUADRILLE_LOAD(name, ...) load(library, #name, driver.name);
  QUADRILLE_CUDA_CALLS(QUADRILLE_LOAD)
  must(driver.cuInit(0) == 0, "cuInit");
  must(driver.cuDevicePrimaryCtxRetain(&driver.context, device) == 0, "context");
  must(driver.cuCtxSetCurrent(driver.context) == 0, "current context");
}

// Of the library that is tested.
unsigned long count(const char* what) { return driver.count(what, "libquadrille_mpi"); }
unsigned long opens() { return count("opens"); }
unsigned long closes() { return count(is_cuda ? "cuIpcCloseMemHandle" : "hipIpcCloseMemHandle"); }
unsigned long batches() { return count("cuMemcpyBatchAsync_v2"); }

// By leaders the first rank of a device copies for all of it.
bool is_led = false;
bool leads() { return !is_led || rank == 0 || (name == "devices" && rank == 1); }

// Were calls of this rank pulled, in which it received several blocks? Only CUDA's table tells.
struct Pulled {
  unsigned long before = batches();
  void expect(bool pulled, unsigned long calls, const char* what) const {
    if (is_cuda && name != "chosen") check(batches() - before == (pulled && leads() ? calls : 0), what);
  }
};

// ---- Buffers ----

enum class Where { device, pool, host };

// Ints; `view` is where the test looks at them.
struct Ints {
  Ints(Where kind, std::size_t n) : where(kind), count(n) {
    const std::size_t bytes = std::max<std::size_t>(n, 1) * sizeof(int);
    void* made = nullptr;
    if (kind == Where::host) {
      host.resize(n + 1);
      data = view = host.data();
      return;
    }
    if (is_cuda) {
      Address address = 0;
      must((kind == Where::pool ? driver.cuMemAllocAsync(&address, bytes, nullptr)
                                : driver.cuMemAlloc_v2(&address, bytes)) == 0,
           "allocation");
      made = reinterpret_cast<void*>(address);
    } else {
      must((kind == Where::pool ? driver.hipMallocAsync(&made, bytes, nullptr) : driver.hipMalloc(&made, bytes)) == 0,
           "allocation");
    }
    data = static_cast<int*>(made);
    view = static_cast<int*>(driver.host(reinterpret_cast<Address>(made), bytes));
    must(view != nullptr, "view");
  }
  Ints(const Ints&) = delete;
  Ints& operator=(const Ints&) = delete;
  ~Ints() {
    if (where == Where::host || gone) return;
    if (is_cuda) {
      const auto address = reinterpret_cast<Address>(data);
      where == Where::pool ? driver.cuMemFreeAsync(address, nullptr) : driver.cuMemFree_v2(address);
    } else {
      where == Where::pool ? driver.hipFreeAsync(data, nullptr) : driver.hipFree(data);
    }
  }
  void fill(int value) { std::fill_n(view, count, value); }
  const Where where;
  const std::size_t count;
  std::vector<int> host;
  int *data = nullptr, *view = nullptr;
  bool gone = false;  // with its context
};

// ---- Calls ----

struct On {
  MPI_Comm comm;
  int me, ranks;
  explicit On(MPI_Comm of) : comm(of), me(0), ranks(1) {
    MPI_Comm_rank(of, &me);
    MPI_Comm_size(of, &ranks);
  }
};

int value(int from, int to, int i, int turn) { return from * 100003 + to * 1009 + i + turn * 7919 + 1; }

enum class Form { alltoall, alltoallv, alltoallw, allgather, allgatherv };
constexpr Form forms[] = {Form::alltoall, Form::alltoallv, Form::alltoallw, Form::allgather, Form::allgatherv};
bool gathers(Form form) { return form == Form::allgather || form == Form::allgatherv; }
bool is_regular(Form form) { return form == Form::alltoall || form == Form::allgather; }

struct Shape {
  Form form;
  int n;                  // ints a block, about
  bool in_place = false;
  bool uneven = false;    // and none between some ranks
  bool typed = false;     // every third int belongs to nobody, in every second rank's receive buffer and another's send buffer
};

// One buffer of a rank: where each block is, in ints.
struct Layout {
  std::vector<int> counts, places;
  std::vector<MPI_Datatype> types;
  std::vector<std::vector<std::size_t>> positions;
  std::size_t ints = 0;
};

MPI_Datatype with_gaps = MPI_DATATYPE_NULL;  // two ints of three

int ints_between(const Shape& shape, int from, int to) {
  if (!shape.uneven || is_regular(shape.form)) return 2 * shape.n;
  return gathers(shape.form) ? 2 * shape.n * (from % 3) : 2 * shape.n * ((from * to + from + to) % 4);
}

Layout layout_of(const Shape& shape, const On& on, bool sends) {
  Layout layout;
  const bool gaps = shape.typed && (on.me % 2 == 0) == sends;
  const int blocks = sends && gathers(shape.form) ? 1 : on.ranks;
  for (int b = 0; b < blocks; ++b) {
    const int ints = sends || shape.in_place ? ints_between(shape, on.me, b) : ints_between(shape, b, on.me);
    const int both = gathers(shape.form) && !sends ? ints_between(shape, b, 0) : ints;
    const int extent = gaps ? both / 2 * 3 : both;
    layout.counts.push_back(gaps ? both / 2 : both);
    layout.types.push_back(gaps ? with_gaps : MPI_INT);
    const std::size_t at = layout.ints + (is_regular(shape.form) || (sends && gathers(shape.form)) ? 0 : 3);
    layout.places.push_back(shape.form == Form::alltoallw ? static_cast<int>(at * sizeof(int))
                                                          : static_cast<int>(gaps ? at / 3 : at));
    layout.positions.emplace_back();
    for (int i = 0; i < both; ++i) {
      const int place = gaps ? i / 2 * 3 + i % 2 : i;
      layout.positions.back().push_back(at + static_cast<std::size_t>(place));
    }
    layout.ints = at + static_cast<std::size_t>(extent);
    while (layout.ints % 3 != 0) ++layout.ints;
  }
  if (is_regular(shape.form)) layout.ints = std::max<std::size_t>(layout.ints, 1);
  return layout;
}

// Regular blocks have no room between them.
void pack_tightly(const Shape& shape, Layout& layout) {
  if (!is_regular(shape.form)) return;
  std::size_t at = 0;
  for (std::size_t b = 0; b < layout.positions.size(); ++b) {
    const bool gaps = layout.types[b] == with_gaps;
    for (std::size_t i = 0; i < layout.positions[b].size(); ++i) layout.positions[b][i] = at + (gaps ? i / 2 * 3 + i % 2 : i);
    at += static_cast<std::size_t>(layout.counts[b]) * (gaps ? 3 : 1);
  }
  layout.ints = std::max<std::size_t>(at, 1);
}

int call(const Shape& shape, const On& on, const Layout& out, const Layout& in, const int* send, int* recv) {
  const void* const from = shape.in_place ? MPI_IN_PLACE : static_cast<const void*>(send);
  switch (shape.form) {
    case Form::alltoall:
      return MPI_Alltoall(from, out.counts[0], out.types[0], recv, in.counts[0], in.types[0], on.comm);
    case Form::alltoallv:
      return MPI_Alltoallv(from, out.counts.data(), out.places.data(), out.types[0], recv, in.counts.data(),
                           in.places.data(), in.types[0], on.comm);
    case Form::alltoallw:
      return MPI_Alltoallw(from, out.counts.data(), out.places.data(), out.types.data(), recv, in.counts.data(),
                           in.places.data(), in.types.data(), on.comm);
    case Form::allgather:
      return MPI_Allgather(from, out.counts[0], out.types[0], recv, in.counts[0], in.types[0], on.comm);
    default:
      return MPI_Allgatherv(from, out.counts[0], out.types[0], recv, in.counts.data(), in.places.data(), in.types[0],
                            on.comm);
  }
}

struct Buffers {
  const Shape shape;
  const On on;
  Layout out, in;
  Ints send, recv;
  Buffers(const Shape& of, const On& where, Where sent = Where::device, Where received = Where::device)
      : shape(of), on(where), out(layout(true)), in(layout(false)), send(sent, out.ints), recv(received, in.ints) {}

  void tell() const {
    static const char* const names[] = {"alltoall", "alltoallv", "alltoallw", "allgather", "allgatherv"};
    calls = std::string(names[static_cast<int>(shape.form)]) + " of " + std::to_string(2 * shape.n) + (shape.in_place ? " in place" : "") +
            (shape.uneven ? ", uneven" : "") + (shape.typed ? ", typed" : "");
  }
  // A call with new data. What a rank has sent it overwrites at once.
  int make(int turn) {
    tell();
    fill(turn);
    const int error = call(shape, on, out, in, send.data, recv.data);
    send.fill(-11);
    return error;
  }
  void look(int turn, const char* what, int lost = -1) const {
    std::vector<bool> described(in.ints, false);
    for (int from = 0; from < on.ranks; ++from) {
      const auto& block = in.positions[static_cast<std::size_t>(from)];
      for (std::size_t i = 0; i < block.size(); ++i) {
        described[block[i]] = true;
        if (from == lost) continue;
        check(recv.view[block[i]] == value(from, gathers(shape.form) ? 0 : on.me, static_cast<int>(i), turn), what);
      }
    }
    for (std::size_t i = 0; i < in.ints; ++i) check(described[i] || recv.view[i] == -5, "a gap");
  }
  void check_calls(int calls, const char* what) {
    for (int turn = 0; turn < calls; ++turn) {
      check(make(turn) == MPI_SUCCESS, "an error");
      look(turn, what);
    }
  }
  void fill(int turn) {
    send.fill(-3);
    recv.fill(-5);
    const bool gather = gathers(shape.form);
    for (std::size_t to = 0; to < (shape.in_place ? in : out).positions.size(); ++to) {
      if (shape.in_place && gather && static_cast<int>(to) != on.me) continue;
      const auto& block = (shape.in_place ? in : out).positions[to];
      int* const at = shape.in_place ? recv.view : send.view;
      for (std::size_t i = 0; i < block.size(); ++i)
        at[block[i]] = value(on.me, gather ? 0 : static_cast<int>(to), static_cast<int>(i), turn);
    }
  }

 private:
  Layout layout(bool sends) const {
    Layout made = layout_of(shape, on, sends);
    pack_tightly(shape, made);
    return made;
  }
};

// ---- What is checked ----

void check_forms(const On& on) {
  for (const Form form : forms) {
    for (const int n : {1, 50, 6000}) {
      for (const bool in_place : {false, true}) {
        Buffers even({form, n, in_place}, on);
        const Pulled pulled;
        even.check_calls(3, "even blocks");
        const bool are_several = on.ranks > 2 || !in_place || !gathers(form);
        if (are_several) pulled.expect(name != "hidden", 3, "even blocks are pulled");
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
      if (are_several && !is_led) pulled.expect(name != "hidden", 2, "it is pulled by way of other memory");
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
  Buffers first({Form::alltoallv, 300, false, true}, on), second({Form::alltoall, 40, true}, on);
  Buffers third({Form::allgather, 500}, on);
  const auto all = [&] {
    first.check_calls(1, "repeated");
    second.check_calls(1, "repeated");
    third.check_calls(1, "repeated");
  };
  all();
  const unsigned long opened = opens(), allocations = count("allocations");
  const unsigned long handles = count(is_cuda ? "cuIpcGetMemHandle" : "hipIpcGetMemHandle");
  for (int turn = 0; turn < 5; ++turn) all();
  check(opens() == opened, "opened again");
  check(count("allocations") == allocations, "memory is taken again");
  check(count(is_cuda ? "cuIpcGetMemHandle" : "hipIpcGetMemHandle") == handles, "exported again");
  if (!is_cuda || name == "chosen") return;
  int synchronous = 0;
  must(driver.cuPointerGetAttribute(&synchronous, 6, reinterpret_cast<Address>(first.send.data)) == 0, "attribute");
  check(synchronous == 1, "what is exported is used synchronously");
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

// More buffers than are kept open.
void check_many(const On& on) {
  std::vector<std::unique_ptr<Buffers>> all;
  for (int b = 0; b < 20; ++b) all.push_back(std::make_unique<Buffers>(Shape{Form::alltoallv, 10 + b, false, true}, on));
  for (int turn = 0; turn < 3; ++turn) {
    for (auto& one : all) one->check_calls(1, "many buffers");
  }
  MPI_Barrier(on.comm);
}

void wait_for_null_stream() { must((is_cuda ? driver.cuStreamSynchronize(nullptr) : driver.hipStreamSynchronize(nullptr)) == 0, "wait"); }

// What the program has put into the NULL stream is done before the call: what it writes to is sent, or received over. Rank 0
// alone sends, and the others alone receive, so that no rank waits for its stream because of the other side.
void check_null_stream(const On& on) {
  constexpr int n = 500;
  const auto ranks = static_cast<std::size_t>(on.ranks);
  Ints send(Where::device, ranks * n), recv(Where::device, n);
  std::vector<int> sends(ranks, on.me == 0 ? n : 0), receives(ranks, 0), places(ranks), none(ranks, 0);
  sends[0] = 0;
  if (on.me != 0) receives[0] = n;
  for (std::size_t to = 0; to < ranks; ++to) places[to] = static_cast<int>(to) * n;
  send.fill(-3);
  recv.fill(-5);
  const auto set = [](const Ints& ints, int byte) {
    const std::size_t bytes = ints.count * sizeof(int);
    const int error = is_cuda ? driver.cuMemsetD8Async(reinterpret_cast<Address>(ints.data), static_cast<unsigned char>(byte), bytes, nullptr)
                              : driver.hipMemsetAsync(ints.data, byte, bytes, nullptr);
    must(error == 0, "memset");
  };
  set(send, 3);
  set(recv, 99);
  MPI_Alltoallv(send.data, sends.data(), places.data(), MPI_INT, recv.data, receives.data(), none.data(), MPI_INT, on.comm);
  wait_for_null_stream();
  for (int i = 0; i < n && on.me != 0; ++i) check(recv.view[i] == 0x03030303, "work before the call");
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
  const bool fails = is_led ? on.me == 0 : on.me == on.ranks - 1;
  const auto fail = [&](const char* what) {
    if (fails) must(driver.set("FAIL", what), "FAIL");
  };
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
      {"cuMemcpyBatchAsync_v2:1+", "hipMemcpy2DAsync:1+"},
      {"cuMemcpyBatchAsync_v2:1+,cuMemcpyAsync:1", "hipMemcpyAsync:1"},
      {"cuStreamSynchronize:1", "hipStreamSynchronize:1"},
      {"cuStreamSynchronize:2", "hipStreamSynchronize:2"},
      {"cuMemcpyBatchAsync_v2:1+,cuMemcpyAsync:1+,cuMemcpy2DAsync_v2:1+", "hipMemcpyAsync:1+,hipMemcpy2DAsync:1+", true},
  };
  for (const Form form : forms) {
    for (const bool in_place : {false, true}) {
      for (const Case& one : cases) {
        Buffers buffers({form, 70, in_place}, on);
        MPI_Barrier(on.comm);
        fail(is_cuda ? one.cuda : one.hip);
        const int error = buffers.make(1);
        fail("");
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
  using Init = int(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);
  void* symbol = dlsym(RTLD_DEFAULT, "MPI_Alltoall_init");
  if (symbol == nullptr) symbol = dlsym(RTLD_DEFAULT, "MPIX_Alltoall_init");
  auto* const init = reinterpret_cast<Init*>(symbol);
  Buffers one({Form::alltoall, 300}, on);
  MPI_Request persistent = MPI_REQUEST_NULL, request;
  const int ints = one.out.counts[0];
  if (init != nullptr) init(one.send.data, ints, MPI_INT, one.recv.data, ints, MPI_INT, on.comm, MPI_INFO_NULL, &persistent);
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
      for (std::size_t i = 0; i < ints; ++i) send.view[to * span + place(i)] = value(on.me, static_cast<int>(to), static_cast<int>(i), 0);
    }
    const unsigned long copies = count("copies");
    MPI_Alltoallw(send.data, ones.data(), at.data(), types.data(), recv.data, ones.data(), at.data(), types.data(), on.comm);
    if (name == "plain") check(count("copies") - copies <= 10 * n, "a copy a row");
    std::vector<bool> described(recv.count, false);
    for (std::size_t from = 0; from < n; ++from) {
      for (std::size_t i = 0; i < ints; ++i) {
        described[from * span + place(i)] = true;
        check(recv.view[from * span + place(i)] == value(static_cast<int>(from), on.me, static_cast<int>(i), 0), "a type");
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
  if (name == "plain" || name == "devices") check(opens() - opened <= closes() - closed + of_world, "a communicator that was freed closes all");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 3) return 2;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  name = argv[2];
  const char* const forced = std::getenv("QUADRILLE_ALGORITHM");
  is_led = forced != nullptr && std::strstr(forced, "leader=1") != nullptr;
  load_driver(argv[1]);
  MPI_Type_vector(1, 2, 3, MPI_INT, &with_gaps);
  MPI_Datatype three;
  MPI_Type_create_resized(with_gaps, 0, 3 * sizeof(int), &three);
  MPI_Type_free(&with_gaps);
  with_gaps = three;
  MPI_Type_commit(&with_gaps);
  const On world(MPI_COMM_WORLD);
  check_forms(world);
  check_kinds(world);
  check_types(world);
  check_repeated(world);
  check_freed(world);
  check_many(world);
  check_null_stream(world);
  check_contexts(world);
  check_requests(world);
  check_communicators();
  if (name != "hidden") check_failures(world);
  MPI_Type_free(&with_gaps);
  const unsigned long opened = opens();
  if (name == "hidden") check(opened > 0, "the test: nobody tried");
  if ((name == "plain" || name == "devices") && leads()) check(opened > 0, "nothing was opened");
  check(driver.count("stale", nullptr) == 0, "freed memory was used");
  MPI_Finalize();
  // But for what went with its context, and what one rank was refused.
  if (name == "plain" && !is_cuda && rank > 0 && rank < size - 1) check(opens() == closes(), "all is closed");
  std::printf("rank %d: %s\n", rank, wrong == 0 ? "good" : "WRONG");
  return wrong == 0 ? 0 : 1;
}
