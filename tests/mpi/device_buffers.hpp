// Buffers in devices' memory on the ranks of a node, and calls with them, for programs that load a stand-in of a driver
// (tests/device), CUDA's or HIP's. The globals belong to the one check that a process runs.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../device/table.hpp"
#include "program.hpp"

namespace quadrille::test {

inline std::string name;

// ---- The driver, CUDA's or HIP's ----

using quadrille::standin::Address;
using quadrille::standin::Handle;

struct Driver : quadrille::standin::Table {
  Handle context = nullptr;
};
inline Driver driver;
inline bool is_cuda = false;

inline void load_driver(const char* path) {
  const int device = name == "devices" ? rank % 2 : 0;
  setenv("QUADRILLE_STANDIN_DEVICES", "2", 1);
  if (name == "hidden")
    setenv(std::strstr(path, "cuda") != nullptr ? "CUDA_VISIBLE_DEVICES" : "HIP_VISIBLE_DEVICES",
           rank % 2 == 0 ? "0" : "1", 1);
  must(driver.load(path), "no library");
  is_cuda = driver.is_cuda();
  if (!is_cuda) return must(driver.hipSetDevice(device) == 0, "device");
  must(driver.cuInit(0) == 0, "cuInit");
  must(driver.cuDevicePrimaryCtxRetain(&driver.context, device) == 0, "context");
  must(driver.cuCtxSetCurrent(driver.context) == 0, "current context");
}

// Of the library that is tested.
inline unsigned long count(const char* what) { return driver.count(what, "libquadrille_mpi"); }
inline unsigned long opens() { return count("opens"); }
inline unsigned long closes() { return count(is_cuda ? "cuIpcCloseMemHandle" : "hipIpcCloseMemHandle"); }
inline unsigned long launches() { return count("cuLaunchKernel"); }
// Calls of the driver that make all copies of a call.
inline unsigned long graphs() { return count(is_cuda ? "cuGraphLaunch" : "hipGraphLaunch"); }
inline unsigned long batches() { return count("cuMemcpyBatchAsync_v2") + launches() + graphs(); }

// By leaders the first rank of a device copies for all of it.
inline bool is_led = false;
// Have odd ranks another device than even ones? If it is hidden from the others, each takes its own for the first.
inline bool has_two_devices() { return name == "devices" || name == "hidden"; }
inline bool leads() { return !is_led || rank == 0 || (has_two_devices() && rank == 1); }

// Were calls of this rank pulled, in which it received several blocks? Only CUDA's table tells.
struct Pulled {
  unsigned long before = batches();
  // `packs`: a kernel may bring what is sent to other memory before; what is pulled may be of either kind.
  void expect(bool pulled, unsigned long calls, const char* what, bool packs = false) const {
    if (!is_cuda || name == "chosen") return;
    const unsigned long made = batches() - before, least = pulled && leads() ? calls : 0;
    check(made >= least && made <= least + (pulled || packs ? calls : 0), what);
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

// On the rank that fails: one that copies.
inline void fail(const On& on, const char* what) {
  if (on.me == (is_led ? 0 : on.ranks - 1)) must(driver.set("FAIL", what), "FAIL");
}

inline int value(int from, int to, int i, int turn) { return from * 100003 + to * 1009 + i + turn * 7919 + 1; }

enum class Form { alltoall, alltoallv, alltoallw, allgather, allgatherv };
constexpr Form forms[] = {Form::alltoall, Form::alltoallv, Form::alltoallw, Form::allgather, Form::allgatherv};
inline bool gathers(Form form) { return form == Form::allgather || form == Form::allgatherv; }
inline bool is_regular(Form form) { return form == Form::alltoall || form == Form::allgather; }

struct Shape {
  Form form;
  int n;  // ints a block, about
  bool in_place = false;
  bool uneven = false;  // and none between some ranks
  bool typed =
      false;  // every third int belongs to nobody, in every second rank's receive buffer and another's send buffer
};

// One buffer of a rank: where each block is, in ints.
struct Layout {
  std::vector<int> counts, places;
  std::vector<MPI_Datatype> types;
  std::vector<std::vector<std::size_t>> positions;
  std::size_t ints = 0;
};

inline MPI_Datatype with_gaps = MPI_DATATYPE_NULL;  // two ints of three

inline int ints_between(const Shape& shape, int from, int to) {
  if (!shape.uneven || is_regular(shape.form)) return 2 * shape.n;
  return gathers(shape.form) ? 2 * shape.n * (from % 3) : 2 * shape.n * ((from * to + from + to) % 4);
}

inline Layout layout_of(const Shape& shape, const On& on, bool sends) {
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
inline void pack_tightly(const Shape& shape, Layout& layout) {
  if (!is_regular(shape.form)) return;
  std::size_t at = 0;
  for (std::size_t b = 0; b < layout.positions.size(); ++b) {
    const bool gaps = layout.types[b] == with_gaps;
    for (std::size_t i = 0; i < layout.positions[b].size(); ++i)
      layout.positions[b][i] = at + (gaps ? i / 2 * 3 + i % 2 : i);
    at += static_cast<std::size_t>(layout.counts[b]) * (gaps ? 3 : 1);
  }
  layout.ints = std::max<std::size_t>(at, 1);
}

inline int call(const Shape& shape, const On& on, const Layout& out, const Layout& in, const int* send, int* recv) {
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
    doing = std::string(names[static_cast<int>(shape.form)]) + " of " + std::to_string(2 * shape.n) +
            (shape.in_place ? " in place" : "") + (shape.uneven ? ", uneven" : "") + (shape.typed ? ", typed" : "");
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

// Calls with the same buffers, again and again: of uneven blocks, of small ones in place, and an allgather.
struct Repeated {
  Buffers uneven, small, gathered;
  Repeated(const On& on, int n, int gathered_n)
      : uneven({Form::alltoallv, n, false, true}, on),
        small({Form::alltoall, 40, true}, on),
        gathered({Form::allgather, gathered_n}, on) {}
  void make() {
    for (Buffers* const one : {&uneven, &small, &gathered}) one->check_calls(1, "repeated");
  }
};

inline void make_type_with_gaps() {
  MPI_Datatype two, three;
  MPI_Type_vector(1, 2, 3, MPI_INT, &two);
  MPI_Type_create_resized(two, 0, 3 * sizeof(int), &three);
  MPI_Type_free(&two);
  with_gaps = three;
  MPI_Type_commit(&with_gaps);
}

// Of the arguments of a program: LIBRARY CASE.
inline void begin_pulling(const char* library, const char* of) {
  find_rank();
  name = of;
  const char* const forced = std::getenv("QUADRILLE_ALGORITHM");
  is_led = forced != nullptr && std::strstr(forced, "leader=1") != nullptr;
  load_driver(library);
  make_type_with_gaps();
}

// The same at the end, with MPI_Finalize.
inline void end_pulling() {
  MPI_Type_free(&with_gaps);
  check(driver.count("stale", nullptr) == 0, "freed memory was used");
  MPI_Finalize();
}

inline void wait_for_null_stream() {
  must((is_cuda ? driver.cuStreamSynchronize(nullptr) : driver.hipStreamSynchronize(nullptr)) == 0, "wait");
}

// Put into the NULL stream: not done before somebody waits for it.
inline void set_bytes(const Ints& ints, int byte) {
  const std::size_t bytes = ints.count * sizeof(int);
  const int error = is_cuda ? driver.cuMemsetD8Async(reinterpret_cast<Address>(ints.data),
                                                     static_cast<unsigned char>(byte), bytes, nullptr)
                            : driver.hipMemsetAsync(ints.data, byte, bytes, nullptr);
  must(error == 0, "memset");
}

// What the program has put into the NULL stream is done before the call: what it writes to is sent, or received over.
// Rank 0 alone sends, and the others alone receive, so that no rank waits for its stream because of the other side.
inline void check_null_stream(const On& on, int n) {
  const auto ranks = static_cast<std::size_t>(on.ranks);
  const auto count = static_cast<std::size_t>(n);
  Ints send(Where::device, ranks * count), recv(Where::device, count);
  std::vector<int> sends(ranks, on.me == 0 ? n : 0), receives(ranks, 0), places(ranks), none(ranks, 0);
  sends[0] = 0;
  if (on.me != 0) receives[0] = n;
  for (std::size_t to = 0; to < ranks; ++to) places[to] = static_cast<int>(to) * n;
  send.fill(-3);
  recv.fill(-5);
  set_bytes(send, 3);
  set_bytes(recv, 99);
  MPI_Alltoallv(send.data, sends.data(), places.data(), MPI_INT, recv.data, receives.data(), none.data(), MPI_INT,
                on.comm);
  wait_for_null_stream();
  for (int i = 0; i < n && on.me != 0; ++i) check(recv.view[i] == 0x03030303, "work before the call");
}

}  // namespace quadrille::test
