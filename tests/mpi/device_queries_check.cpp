// What a program sees of our questions to the driver, by a stand-in of it (tests/device), through MPI's own names: no
// error that HIP keeps, and an error of MPI where the driver does not answer.
//   device_queries LIBRARY
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "../device/table.hpp"
#include "program.hpp"

namespace device_queries_check {

using namespace quadrille::test;

constexpr int block = 500;

void check(bool good, const char* what, const char* kind) {
  if (good) return;
  doing = std::string("memory of kind ") + kind;
  quadrille::test::check(false, what);
}

quadrille::standin::Table driver;
bool keeps_errors() { return !driver.is_cuda(); }

void load_driver(const char* path) {
  must(driver.load(path), path);
  if (!driver.is_cuda()) return;
  void* context = nullptr;
  must(driver.cuInit(0) == 0 && driver.cuDevicePrimaryCtxRetain(&context, 0) == 0, "the driver does not begin");
  must(driver.cuCtxSetCurrent(context) == 0, "current context");
}

enum class Kind { host, pinned, managed, device, pool };
const char* name_of(Kind kind) {
  constexpr const char* names[] = {"host", "pinned", "managed", "device", "pool"};
  return names[static_cast<int>(kind)];
}

// Stays until the end. `view` is what the test looks at.
struct Ints {
  int *data = nullptr, *view = nullptr;
  explicit Ints(Kind kind) {
    const std::size_t bytes = sizeof(int) * block * static_cast<std::size_t>(size);
    void* memory = nullptr;
    int error = 0;
    if (kind == Kind::host) {
      memory = std::malloc(bytes);
    } else if (kind == Kind::pinned) {
      error = driver.hipHostMalloc(&memory, bytes, 0);
    } else if (kind == Kind::managed) {
      error = driver.hipMallocManaged(&memory, bytes, 1);
    } else if (kind == Kind::pool) {
      error = driver.hipMallocAsync(&memory, bytes, nullptr);
    } else if (driver.is_cuda()) {
      std::uintptr_t address = 0;
      error = driver.cuMemAlloc_v2(&address, bytes);
      memory = reinterpret_cast<void*>(address);
    } else {
      error = driver.hipMalloc(&memory, bytes);
    }
    must(error == 0 && memory != nullptr, "no memory");
    data = static_cast<int*>(memory);
    const bool is_device = kind == Kind::device || kind == Kind::pool;
    view = is_device ? static_cast<int*>(driver.host(reinterpret_cast<std::uintptr_t>(memory), bytes)) : data;
    must(view != nullptr, "memory that cannot be looked at");
  }
};

// A call of each kind; the first error.
class Calls {
 public:
  explicit Calls(Kind kind) : kind_(kind), send_(kind), recv_(kind) {}
  int alltoall(MPI_Comm comm) {
    fill();
    return MPI_Alltoall(send_.data, block, MPI_INT, recv_.data, block, MPI_INT, comm);
  }
  int ialltoall(MPI_Comm comm) {
    fill();
    MPI_Request request;
    const int error = MPI_Ialltoall(send_.data, block, MPI_INT, recv_.data, block, MPI_INT, comm, &request);
    return error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  int start(MPI_Comm comm, MPI_Request* request) {
    fill();
    return MPI_Ialltoall(send_.data, block, MPI_INT, recv_.data, block, MPI_INT, comm, request);
  }
  int allgather(MPI_Comm comm) {
    fill();
    const int error = MPI_Allgather(send_.data, block, MPI_INT, recv_.data, block, MPI_INT, comm);
    for (int i = 0; i < block * size; ++i) {
      if (error == MPI_SUCCESS) check(recv_.view[i] == value(i / block, 0, i % block), "allgather", name_of(kind_));
    }
    return error;
  }
  void look(const char* what) const {
    for (int i = 0; i < block * size; ++i) {
      check(recv_.view[i] == value(i / block, rank, i % block), what, name_of(kind_));
    }
  }

 private:
  static int value(int from, int to, int i) { return from * 100'000 + to * 1000 + i; }
  void fill() {
    for (int i = 0; i < block * size; ++i) send_.view[i] = value(rank, i / block, i % block);
    std::fill(recv_.view, recv_.view + block * size, -1);
  }
  Kind kind_;
  Ints send_, recv_;
};

// On a new communicator the first call begins to tell the ranks what later ones need, and rank 0 comes last: the other
// calls of a rank start before it has been told.
void sends_data_of_deferred_calls() {
  constexpr std::size_t calls = 4;
  std::vector<Calls> made;
  while (made.size() < calls) made.emplace_back(Kind::device);
  for (int turn = 0; turn < 8; ++turn) {
    MPI_Comm fresh;
    MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
    MPI_Request requests[calls];
    if (rank == 0) usleep(20'000);
    for (std::size_t c = 0; c < calls; ++c) must(made[c].start(fresh, &requests[c]) == MPI_SUCCESS, "ialltoall");
    must(MPI_Waitall(calls, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "waitall");
    for (const Calls& one : made) one.look("ialltoall that started before the rank was told");
    MPI_Comm_free(&fresh);
  }
}

void leaves_no_error(MPI_Comm comm) {
  constexpr int invalid_value = 1;
  for (const Kind kind : {Kind::host, Kind::pinned, Kind::managed, Kind::device, Kind::pool}) {
    Calls calls(kind);
    const auto is_clean = [&](const char* what) { check(driver.hipGetLastError() == 0, what, name_of(kind)); };
    is_clean("before");
    const unsigned long copies = driver.count("copies", "libquadrille");
    for (int turn = 0; turn < 12; ++turn) {
      check(calls.alltoall(comm) == MPI_SUCCESS, "alltoall", name_of(kind));
      is_clean("MPI_Alltoall leaves an error of HIP");
      calls.look("alltoall");
      check(calls.allgather(comm) == MPI_SUCCESS, "allgather", name_of(kind));
      is_clean("MPI_Allgather leaves an error of HIP");
      check(calls.ialltoall(comm) == MPI_SUCCESS, "ialltoall", name_of(kind));
      is_clean("MPI_Ialltoall leaves an error of HIP");
      calls.look("ialltoall");
    }
    if (kind != Kind::host && kind != Kind::pinned) continue;
    check(driver.count("copies", "libquadrille") == copies, "the driver copies memory of the host", name_of(kind));
    // The program's own error stays for it to find.
    int type = 0;
    check(driver.hipPointerGetAttribute(&type, 2, &type) == invalid_value, "an error of the program's", name_of(kind));
    calls.alltoall(comm);
    check(driver.hipGetLastError() == invalid_value, "an error of the program's is gone", name_of(kind));
  }
}

// The last rank's driver does not say whose memory it is.
void fails_without_answers(MPI_Comm comm) {
  Calls on_device(Kind::device), on_host(Kind::host);
  const bool is_broken = rank == size - 1;
  // Asks whose memory it is.
  const char* const queries = driver.is_cuda() ? "cuPointerGetAttributes:1+:999" : "hipDrvPointerGetAttributes:1+:999";
  for (int turn = 0; turn < 3; ++turn) {
    if (is_broken) must(driver.set("FAIL", queries), "a setting");
    // A rank that is calls ahead may write over what it has said of this one, so no rank is.
    check(on_device.alltoall(comm) != MPI_SUCCESS, "alltoall returns no error", "device");
    MPI_Barrier(comm);
    check(on_device.ialltoall(comm) != MPI_SUCCESS || !is_broken, "ialltoall returns no error", "device");
    MPI_Barrier(comm);
    check(on_device.allgather(comm) != MPI_SUCCESS, "allgather returns no error", "device");
    MPI_Barrier(comm);
    if (keeps_errors()) check(driver.hipGetLastError() == 0, "an error of HIP is left", "device");
    // What the processor can read is the host's.
    check(on_host.alltoall(comm) == MPI_SUCCESS, "alltoall", "host");
    on_host.look("alltoall without answers");
    if (is_broken) must(driver.set("FAIL", ""), "a setting");
    check(on_device.alltoall(comm) == MPI_SUCCESS, "alltoall afterwards", "device");
    on_device.look("afterwards");
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc < 2) return 2;
  alarm(60);
  load_driver(argv[1]);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (keeps_errors()) leaves_no_error(comm);
  const bool pulls = keeps_errors() && std::getenv("QUADRILLE_ALGORITHM") != nullptr;
  if (pulls) check(driver.count("opens", "libquadrille") > 0, "no memory was opened", "device");
  sends_data_of_deferred_calls();
  fails_without_answers(comm);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return say_verdict();
}

}  // namespace device_queries_check
