// What is moved of a device's memory, and over which memory: every rank but the first has buffers there. The stand-in
// of CUDA's driver (tests/device) shows what was touched, counts what was called, and refuses what it is told to
// refuse.
//   device_staging LIBRARY [huge]    huge: only a call of more than 2 GiB
#include <mpi.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "../device/table.hpp"
#include "named_functions.hpp"
#include "program.hpp"
#include "ring.hpp"

namespace device_staging_check {

using namespace quadrille::test;

struct Driver : quadrille::standin::Table {
  quadrille::standin::Handle context = nullptr, own = nullptr;
};
Driver driver;
bool on_device() { return rank > 0; }

void load_driver(const char* path) {
  must(driver.load(path), "no library");
  must(driver.cuInit(0) == 0, "cuInit");
  must(driver.cuDevicePrimaryCtxRetain(&driver.context, 0) == 0, "context");
  must(driver.cuCtxCreate_v2(&driver.own, 0, 0) == 0, "own context");
}

// Of the library that is tested; also what UCX has put itself before, to see memory that goes.
unsigned long count(const char* what) {
  if (!on_device()) return 0;
  return driver.count(what, "libquadrille_mpi") + driver.count(what, "libucm");
}
// On one rank alone, the last: the others cannot know.
bool is_failing() { return rank == size - 1 && on_device(); }
void fail(const char* what) {
  if (is_failing()) must(driver.set("FAIL", what), "FAIL");
}

// Ints in a device's memory, or the host's; `view` is where the test looks at them.
struct Ints {
  explicit Ints(std::size_t n, bool pool = false) : count(n), host(n) {
    data = view = host.data();
    if (!on_device()) return;
    must(driver.cuCtxPushCurrent_v2(driver.context) == 0, "push");
    const int error = pool ? driver.cuMemAllocAsync(&device, n * sizeof(int), nullptr)
                           : driver.cuMemAlloc_v2(&device, n * sizeof(int));
    must(error == 0, "allocation");
    must(driver.cuCtxPopCurrent_v2(nullptr) == 0, "pop");
    data = reinterpret_cast<int*>(device);
    view = static_cast<int*>(driver.host(device, n * sizeof(int)));
  }
  Ints(const Ints&) = delete;
  Ints& operator=(const Ints&) = delete;
  void fill(int value) { std::fill(view, view + count, value); }
  std::size_t count;
  std::vector<int> host;
  std::uintptr_t device = 0;
  int *data = nullptr, *view = nullptr;
};

int value(int from, int to, int i) { return from * 100003 + to * 1009 + i + 1; }

// Ints of a layout, in the order in which the MPI packs them.
using Positions = std::vector<std::vector<std::size_t>>;  // by block

// Calls with these blocks, both ways alike, while what is in no block changes on the device. Each side takes so many
// copies of the driver at most: also what it refuses counts.
void check_gaps(const char* what, const Positions& blocks, std::size_t ints, std::size_t copies,
                const std::function<void(const int*, int*, MPI_Request*)>& call) {
  Ints send(ints), recv(ints);
  send.fill(-3);
  recv.fill(-5);
  std::vector<bool> described(ints, false);
  for (int peer = 0; peer < size; ++peer) {
    const auto& block = blocks[static_cast<std::size_t>(peer)];
    for (std::size_t i = 0; i < block.size(); ++i) {
      send.view[block[i]] = value(rank, peer, static_cast<int>(i));
      described[block[i]] = true;
    }
  }
  MPI_Request request;
  const unsigned long before = count("copies");
  call(send.data, recv.data, &request);
  for (std::size_t i = 0; i < ints; ++i) {
    if (!described[i]) recv.view[i] = -9;
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (on_device()) check(count("copies") - before <= 2 * copies, "copies of a call");
  for (int peer = 0; peer < size; ++peer) {
    const auto& block = blocks[static_cast<std::size_t>(peer)];
    for (std::size_t i = 0; i < block.size(); ++i) {
      check(recv.view[block[i]] == value(peer, rank, static_cast<int>(i)), what);
    }
  }
  for (std::size_t i = 0; i < ints; ++i) check(described[i] || recv.view[i] == -9, what);
}

// Dense blocks of `n` ints, backwards, each gap larger than the one before, or all gaps the same.
void check_displacements(int n, int gap = 3, bool evenly = false) {
  std::vector<int> counts(static_cast<std::size_t>(size), n), places;
  Positions blocks;
  int all = 7;
  const auto gap_of = [&](int peer) { return evenly ? gap : gap * (peer + 1); };
  for (int peer = size - 1; peer >= 0; --peer) all += n + gap_of(peer);
  for (int peer = 0, at = all; peer < size; ++peer) {
    at -= n + gap_of(peer);
    places.push_back(at);
    blocks.emplace_back(static_cast<std::size_t>(n));
    std::iota(blocks.back().begin(), blocks.back().end(), static_cast<std::size_t>(at));
  }
  const std::size_t copies = n == 0 ? 0 : evenly ? 1 : blocks.size();
  check_gaps("displacements", blocks, static_cast<std::size_t>(all), copies,
             [&](const int* from, int* to, MPI_Request* request) {
               MPI_Ialltoallv(from, counts.data(), places.data(), MPI_INT, to, counts.data(), places.data(), MPI_INT,
                              MPI_COMM_WORLD, request);
             });
}

// Two ints of three, `rows` times: one element a block, so large in the end that its bytes are not kept with the type.
void check_vector_type(int rows, std::size_t copies_of_a_block = 1) {
  MPI_Datatype type;
  MPI_Type_vector(rows, 2, 3, MPI_INT, &type);
  MPI_Type_commit(&type);
  const std::size_t block = 3 * static_cast<std::size_t>(rows) + 5;
  std::vector<int> counts(static_cast<std::size_t>(size), 1), places;
  std::vector<MPI_Datatype> types(static_cast<std::size_t>(size), type);
  Positions blocks(static_cast<std::size_t>(size));
  for (std::size_t peer = 0; peer < blocks.size(); ++peer) {
    places.push_back(static_cast<int>(peer * block * sizeof(int)));
    for (std::size_t i = 0; i < 2 * static_cast<std::size_t>(rows); ++i) {
      blocks[peer].push_back(peer * block + i / 2 * 3 + i % 2);
    }
  }
  check_gaps("vector type", blocks, blocks.size() * block, copies_of_a_block * blocks.size(),
             [&](const int* from, int* to, MPI_Request* request) {
               MPI_Ialltoallw(from, counts.data(), places.data(), types.data(), to, counts.data(), places.data(),
                              types.data(), MPI_COMM_WORLD, request);
             });
  MPI_Type_free(&type);
}

// Columns of a matrix of so many rows; a block is two beside each other, and one column belongs to nobody.
void check_columns(int rows) {
  const int width = 2 * size + 1;
  MPI_Datatype column, type;
  MPI_Type_vector(rows, 1, width, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, sizeof(int), &type);
  MPI_Type_commit(&type);
  std::vector<int> counts(static_cast<std::size_t>(size), 2), places;
  Positions blocks(static_cast<std::size_t>(size));
  for (int peer = 0; peer < size; ++peer) {
    places.push_back(2 * peer);
    for (int i = 0; i < 2 * rows; ++i) {
      blocks[static_cast<std::size_t>(peer)].push_back(
          static_cast<std::size_t>(i % rows * width + 2 * peer + i / rows));
    }
  }
  const auto ints = static_cast<std::size_t>(rows * width);
  check_gaps("columns", blocks, ints, 1, [&](const int* from, int* to, MPI_Request* request) {
    MPI_Ialltoallv(from, counts.data(), places.data(), type, to, counts.data(), places.data(), type, MPI_COMM_WORLD,
                   request);
  });
  MPI_Type_free(&type);
  MPI_Type_free(&column);
}

// The blocks of one buffer in two allocations, between which there is nothing.
void check_two_allocations(int n) {
  Ints one(static_cast<std::size_t>(n)), other(static_cast<std::size_t>(n * size)),
      recv(static_cast<std::size_t>(n * size));
  std::vector<int> counts(static_cast<std::size_t>(size), n), places, recv_places;
  for (int peer = 0; peer < size; ++peer) {
    int* const from = peer == 0 ? one.data : other.data + (peer - 1) * n;
    places.push_back(static_cast<int>(from - one.data));
    recv_places.push_back(peer * n);
    for (int i = 0; i < n; ++i) (peer == 0 ? one.view : other.view + (peer - 1) * n)[i] = value(rank, peer, i);
  }
  MPI_Alltoallv(one.data, counts.data(), places.data(), MPI_INT, recv.data, counts.data(), recv_places.data(), MPI_INT,
                MPI_COMM_WORLD);
  for (int i = 0; i < n * size; ++i) check(recv.view[i] == value(i / n, rank, i % n), "two allocations");
}

void fill_uniform(Ints& send, int n) {
  for (int i = 0; i < n * size; ++i) send.view[i] = value(rank, i / n, i % n);
}

// `lost`: what the last rank sends may be anything.
void check_uniform(const Ints& recv, int n, bool lost, const char* what) {
  for (int i = 0; i < n * size; ++i) {
    if (!lost || i / n != size - 1) check(recv.view[i] == value(i / n, rank, i % n), what);
  }
}

int alltoall(const Ints& send, Ints& recv, int n) {
  recv.fill(-5);
  return MPI_Alltoall(send.data, n, MPI_INT, recv.data, n, MPI_INT, MPI_COMM_WORLD);
}

// A call of contiguous buffers is one copy a side, in memory of the call before; in place as well.
void check_few_calls(int n) {
  Ints send(static_cast<std::size_t>(n * size)), recv(static_cast<std::size_t>(n * size));
  fill_uniform(send, n);
  alltoall(send, recv, n);
  const unsigned long copies = count("copies"), allocations = count("allocations");
  for (int turn = 0; turn < 3; ++turn) {
    alltoall(send, recv, n);
    check_uniform(recv, n, false, "again");
  }
  check(count("copies") == copies + (on_device() ? 6 : 0), "one copy a side");
  fill_uniform(recv, n);
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, recv.data, n, MPI_INT, MPI_COMM_WORLD);
  check_uniform(recv, n, false, "in place");
  check(count("copies") == copies + (on_device() ? 8 : 0), "one copy each way in place");
  check(count("allocations") == allocations, "memory is kept");
  for (int i = 0; i < n; ++i) recv.view[rank * n + i] = value(rank, 0, i);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, recv.data, n, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < n * size; ++i) check(recv.view[i] == value(i / n, 0, i % n), "allgather in place");
}

void check_persistent(int n) {
  if (alltoall_init() == nullptr) return;
  Ints send(static_cast<std::size_t>(n * size)), recv(static_cast<std::size_t>(n * size));
  MPI_Request request;
  alltoall_init()(send.data, n, MPI_INT, recv.data, n, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  const unsigned long allocations = count("allocations");
  for (int turn = 0; turn < 4; ++turn) {
    fill_uniform(send, n);
    for (int i = 0; i < n * size; ++i) send.view[i] += turn;
    recv.fill(-5);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < n * size; ++i) recv.view[i] -= turn;
    check_uniform(recv, n, false, "persistent");
  }
  check(count("allocations") == allocations, "a start takes no memory");
  MPI_Request_free(&request);
}

// The ends of a line lack a neighbour: those blocks stay as they are.
void check_line(MPI_Comm line, int n) {
  Ints send(static_cast<std::size_t>(2 * n)), recv(static_cast<std::size_t>(2 * n));
  for (int i = 0; i < 2 * n; ++i) send.view[i] = value(rank, i / n, i % n);
  recv.fill(-5);
  MPI_Neighbor_alltoall(send.data, n, MPI_INT, recv.data, n, MPI_INT, line);
  for (int i = 0; i < 2 * n; ++i) {
    const int from = i < n ? rank - 1 : rank + 1;
    check(recv.view[i] == (from < 0 || from >= size ? -5 : value(from, i < n ? 1 : 0, i % n)), "line");
  }
}

// What the program has put into the NULL stream before the call is sent.
void check_null_stream(int n) {
  const auto ints = static_cast<std::size_t>(n * size);
  Ints send(ints), recv(ints);
  send.fill(-3);
  if (on_device()) {
    must(driver.cuCtxPushCurrent_v2(driver.context) == 0, "push");
    must(driver.cuMemsetD32Async(send.device, static_cast<unsigned>(rank), ints, nullptr) == 0, "memset");
    must(driver.cuCtxPopCurrent_v2(nullptr) == 0, "pop");
  } else {
    send.fill(rank);
  }
  alltoall(send, recv, n);
  for (int i = 0; i < n * size; ++i) check(recv.view[i] == i / n, "work before the call");
}

// A thread without a context, and memory that has none of its own.
void check_pool(int n) {
  Ints send(static_cast<std::size_t>(n * size), true), recv(static_cast<std::size_t>(n * size), true);
  void* none = driver.own;
  if (on_device()) must(driver.cuCtxSetCurrent(nullptr) == 0, "set");
  fill_uniform(send, n);
  alltoall(send, recv, n);
  check_uniform(recv, n, false, "pool");
  if (!on_device()) return;
  must(driver.cuCtxGetCurrent(&none) == 0, "get");
  check(none == nullptr, "no context stays none");
  must(driver.cuCtxSetCurrent(driver.own) == 0, "set");
}

// Pinned memory goes with its context. What was kept of it is not given back to the driver, nor used. Returns how much.
unsigned long check_context_that_goes(int n) {
  const unsigned long before = count("cuMemAllocHost_v2");
  const quadrille::standin::Handle usual = driver.context;
  if (on_device()) {
    must(driver.cuCtxCreate_v2(&driver.context, 0, 0) == 0, "create");
    must(driver.cuCtxPopCurrent_v2(nullptr) == 0, "pop");
  }
  {
    Ints send(static_cast<std::size_t>(n * size)), recv(static_cast<std::size_t>(n * size));
    fill_uniform(send, n);
    alltoall(send, recv, n);
    check_uniform(recv, n, false, "context that goes");
  }
  if (on_device()) must(driver.cuCtxDestroy_v2(driver.context) == 0, "destroy");
  driver.context = usual;
  return count("cuMemAllocHost_v2") - before;
}

// An all-to-all in one of its forms, on a rank that may not be able to read or to write its data.
enum class Form { waits, nonblocking, persistent };
class Call {
 public:
  Call(Form form, const Ints& send, Ints& recv, int n) : form_(form), send_(send), recv_(recv), n_(n) {
    if (form == Form::persistent) made_ = init(send.data, recv.data, n, &request_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    if (made_ && request_ != MPI_REQUEST_NULL) MPI_Request_free(&request_);
  }
  int make(const char* failure) {
    recv_.fill(-5);
    fail(failure);
    const int error = make();
    fail("");
    return error;
  }

 private:
  static bool init(const int* send, int* recv, int n, MPI_Request* request) {
    return alltoall_init() != nullptr &&
           alltoall_init()(send, n, MPI_INT, recv, n, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, request) == MPI_SUCCESS;
  }
  int make() {
    if (form_ == Form::waits || (form_ == Form::persistent && !made_)) return alltoall(send_, recv_, n_);
    const int begun = made_
                          ? MPI_Start(&request_)
                          : MPI_Ialltoall(send_.data, n_, MPI_INT, recv_.data, n_, MPI_INT, MPI_COMM_WORLD, &request_);
    const int ended = MPI_Wait(&request_, MPI_STATUS_IGNORE);
    return begun != MPI_SUCCESS ? begun : ended;
  }
  Form form_;
  const Ints& send_;
  Ints& recv_;
  int n_;
  bool made_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

void check_failures(int n) {
  Ints send(static_cast<std::size_t>(n * size)), recv(static_cast<std::size_t>(n * size));
  fill_uniform(send, n);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  // Requests that the MPI carries out: nobody hears of another's failure.
  const bool forwarded = std::getenv("QUADRILLE_TEST_FORWARDED") != nullptr;
  const bool chosen = std::getenv("QUADRILLE_ALGORITHM") != nullptr;
  const bool by_mpi = forwarded || chosen || std::getenv("QUADRILLE_NODES") != nullptr;
  for (const Form form : {Form::waits, Form::nonblocking, Form::persistent}) {
    // A request asks for the end of its copies, more or less often. One that the MPI's function begins waits for the
    // first ones.
    std::vector<const char*> failures = {"cuMemcpyAsync:1", "cuMemcpyAsync:2"};
    if (form == Form::waits) {
      failures.insert(failures.end(), {"cuStreamSynchronize:1", "cuStreamSynchronize:2"});
    } else if (form == Form::persistent || !(forwarded || chosen)) {
      failures.push_back("cuStreamQuery:1");
    }
    for (const char* what : failures) {
      Call call(form, send, recv, n);
      const bool reads = what[std::strlen(what) - 1] == '1';
      const int error = call.make(what);
      // What it sends is wrong, and all that know of devices hear of it; what it receives the others have.
      if (on_device() && (is_failing() || form == Form::waits || !by_mpi))
        check((error != MPI_SUCCESS) == (reads || is_failing()), what);
      if (error != MPI_SUCCESS && form != Form::persistent) check(error == MPI_ERR_OTHER, what);
      if (!is_failing() && !reads) check_uniform(recv, n, false, what);
      if (form == Form::persistent) continue;  // Open MPI gives a request back that has failed
      check(call.make("") == MPI_SUCCESS, "after a failure");
      check_uniform(recv, n, false, "after a failure");
    }
  }
  check(alltoall(send, recv, n) == MPI_SUCCESS, "after failures");
  check_uniform(recv, n, false, "after failures");
  fail("cuMemcpy2DAsync_v2:1+");
  check_vector_type(50, is_failing() ? 51 : 1);
  // Of a size that was not there before.
  fail("cuMemAllocHost_v2:1+");
  Ints more(static_cast<std::size_t>(9 * n * size)), got(static_cast<std::size_t>(9 * n * size));
  fill_uniform(more, 9 * n);
  check(alltoall(more, got, 9 * n) == MPI_SUCCESS, "without pinned memory");
  check_uniform(got, 9 * n, false, "without pinned memory");
  fail("");
}

std::size_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("MemAvailable:", 0) == 0) return std::stoull(line.substr(13)) << 10;
  }
  return 0;
}

// Blocks of more than 2 GiB in all, and a displacement of more than that, into the last rank's memory. What the others
// send is not written, but for the ends, so it takes no memory.
void check_huge() {
  constexpr std::size_t block = (std::size_t{11} << 30) / 10 / sizeof(int), gap = 1000, edge = 5000;
  const bool receives = rank == size - 1;
  std::vector<int> sends(static_cast<std::size_t>(size), 0), receives_of(sends), places(sends), none(sends);
  if (!receives) sends.back() = static_cast<int>(block);
  for (int peer = 0; receives && peer < size - 1; ++peer) {
    receives_of[static_cast<std::size_t>(peer)] = static_cast<int>(block);
    places[static_cast<std::size_t>(peer)] = static_cast<int>((block + gap) * static_cast<std::size_t>(peer));
  }
  const std::size_t all = (block + gap) * static_cast<std::size_t>(size - 1);
  if (!receives) {
    void* const memory =
        mmap(nullptr, block * sizeof(int), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    must(memory != MAP_FAILED, "addresses");
    int* const data = static_cast<int*>(memory);
    for (std::size_t i = 0; i < edge; ++i) {
      data[i] = value(rank, 0, static_cast<int>(i));
      data[block - 1 - i] = value(rank, 1, static_cast<int>(i));
    }
    MPI_Alltoallv(data, sends.data(), none.data(), MPI_INT, nullptr, none.data(), none.data(), MPI_INT, MPI_COMM_WORLD);
    munmap(memory, block * sizeof(int));
    return;
  }
  std::uintptr_t device = 0;
  must(driver.cuCtxPushCurrent_v2(driver.context) == 0, "push");
  must(driver.cuMemAlloc_v2(&device, all * sizeof(int)) == 0, "allocation");
  must(driver.cuCtxPopCurrent_v2(nullptr) == 0, "pop");
  auto* const view = static_cast<int*>(driver.host(device, all * sizeof(int)));
  for (int peer = 0; peer < size - 1; ++peer)
    std::fill_n(view + places[static_cast<std::size_t>(peer)] + block, gap, -5);
  const int error = MPI_Alltoallv(nullptr, none.data(), none.data(), MPI_INT, reinterpret_cast<void*>(device),
                                  receives_of.data(), places.data(), MPI_INT, MPI_COMM_WORLD);
  check(error == MPI_SUCCESS, "huge: an error");
  for (int peer = 0; peer < size - 1; ++peer) {
    const int* const from = view + places[static_cast<std::size_t>(peer)];
    for (std::size_t i = 0; i < edge; ++i) {
      check(from[i] == value(peer, 0, static_cast<int>(i)), "huge: the beginning");
      check(from[block - 1 - i] == value(peer, 1, static_cast<int>(i)), "huge: the end");
      check(from[edge + i] == 0 && from[block / 2 + i] == 0, "huge: the middle");
    }
    for (std::size_t i = 0; i < gap; ++i) check(from[block + i] == -5, "huge: the gap");
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc < 2) return 2;
  if (on_device()) load_driver(argv[1]);
  if (argc > 2) {
    constexpr std::size_t needed = std::size_t{7} << 30;
    std::size_t available = available_bytes();
    MPI_Bcast(&available, sizeof available, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (available < needed && rank == 0) std::printf("skipped: less than 7 GiB of memory are available\n");
    if (available >= needed) check_huge();
    MPI_Finalize();
    return say_verdict();
  }
  MPI_Comm line = ring_of_world(0);
  for (const int n : {1, 100, 20000}) {
    check_displacements(n);
    check_displacements(n, 5, true);
    check_two_allocations(n);
    check_few_calls(n);
    check_persistent(n);
    check_line(line, n);
    check_null_stream(n);
    check_pool(n);
  }
  for (const int rows : {3, 500, 40000}) check_vector_type(rows);
  for (const int rows : {3, 500, 40000}) check_columns(rows);
  check_displacements(0);
  // So far apart that the memory between is not pinned.
  const unsigned long pinned = count("cuMemAllocHost_v2");
  check_displacements(4, 1 << 19);
  check(count("cuMemAllocHost_v2") == pinned, "memory that is not used");
  const unsigned long gone = check_context_that_goes(1000);
  check(!on_device() || gone > 0, "pinned memory of each context");
  check_failures(5000);
  void* current = driver.own;
  if (on_device()) must(driver.cuCtxGetCurrent(&current) == 0, "get");
  check(current == driver.own, "the program's context");
  MPI_Comm_free(&line);
  check(!on_device() || count("cuMemAllocHost_v2") > 0, "pinned memory");
  MPI_Finalize();
  // All of it came back, but for what the driver refused to give.
  if (on_device() && !is_failing())
    check(count("cuMemAllocHost_v2") == count("cuMemFreeHost") + gone, "freed at the end");
  return say_verdict();
}

}  // namespace device_staging_check
