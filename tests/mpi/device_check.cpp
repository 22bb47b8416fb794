// Buffers in a device's memory on some ranks, and in host memory on the others: in every collective, in place, with
// gaps, nonblocking and persistent, after calls that were made before the driver was loaded. A processor that touches
// such memory is a crash.
//   device LIBRARY    the stand-in of the driver
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../device/table.hpp"
#include "named_functions.hpp"
#include "program.hpp"
#include "ring.hpp"

namespace device_check {

using namespace quadrille::test;

// With CUDA, the memory belongs to one context and the program's own is another one.
struct Driver : quadrille::standin::Table {
  quadrille::standin::Handle context = nullptr, own = nullptr;
};
Driver driver;

void must(int error) { quadrille::test::must(error == 0, ("the driver says " + std::to_string(error)).c_str()); }

void load_driver(const char* path) {
  if (!driver.load(path)) quadrille::test::must(false, dlerror());
  if (!driver.is_cuda()) return;
  must(driver.cuInit(0));
  must(driver.cuDevicePrimaryCtxRetain(&driver.context, 0));
  // An MPI that takes such memory may want its context to be the current one.
  if (std::getenv("QUADRILLE_TEST_MPI_TAKES_DEVICE") != nullptr) {
    driver.own = driver.context;
    must(driver.cuCtxSetCurrent(driver.own));
  } else {
    must(driver.cuCtxCreate_v2(&driver.own, 0, 0));
  }
}

// Of the library that is tested, not of this program.
unsigned long copies() { return driver.count("copies", "libquadrille_mpi"); }

std::uintptr_t allocate(std::size_t bytes) {
  std::uintptr_t made = 0;
  if (!driver.is_cuda()) {
    void* address = nullptr;
    must(driver.hipMalloc(&address, bytes));
    return reinterpret_cast<std::uintptr_t>(address);
  }
  must(driver.cuCtxPushCurrent_v2(driver.context));
  must(driver.cuMemAlloc_v2(&made, bytes));
  must(driver.cuCtxPopCurrent_v2(nullptr));
  return made;
}

void copy(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  constexpr int either_way = 4;
  if (!driver.is_cuda()) {
    must(driver.hipMemcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes, either_way));
    return;
  }
  must(driver.cuCtxPushCurrent_v2(driver.context));
  must(driver.cuMemcpy(to, from, bytes));
  must(driver.cuCtxPopCurrent_v2(nullptr));
}

// Ints in a device's memory or in the host's, with a copy that the test can look at.
class Buffer {
 public:
  Buffer(bool on_device, std::size_t ints) : host_(ints) {
    if (on_device) device_ = allocate(ints * sizeof(int));
  }
  int& operator[](std::size_t i) { return host_[i]; }
  int* data() { return device_ != 0 ? reinterpret_cast<int*>(device_) : host_.data(); }
  void to_device() {
    if (device_ != 0) copy(device_, address(), host_.size() * sizeof(int));
  }
  void from_device() {
    if (device_ != 0) copy(address(), device_, host_.size() * sizeof(int));
  }

 private:
  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(host_.data()); }
  std::vector<int> host_;
  std::uintptr_t device_ = 0;
};

int value(int from, int to, int i) { return from * 100003 + to * 1009 + i; }

void expect(const char* what, int found, int expected) {
  if (found == expected) return;
  if (++wrong < 5) std::printf("rank %d, %s: %d, expected %d\n", rank, what, found, expected);
}

// Blocks of `count` ints with as many that are not theirs between them; v, w, and their gathers.
void check_vector(MPI_Comm comm, bool device, int count, bool in_place, int form) {
  const auto n = static_cast<std::size_t>(size);
  Buffer send(device, n * 2 * static_cast<std::size_t>(count)), recv(device, n * 2 * static_cast<std::size_t>(count));
  std::vector<int> counts(n, count), places(n), bytes(n);
  std::vector<MPI_Datatype> types(n, MPI_INT);
  for (int peer = 0; peer < size; ++peer) {
    const auto p = static_cast<std::size_t>(peer);
    places[p] = 2 * peer * count;
    bytes[p] = places[p] * static_cast<int>(sizeof(int));
    for (int i = 0; i < 2 * count; ++i) {
      const std::size_t at = p * 2 * static_cast<std::size_t>(count) + static_cast<std::size_t>(i);
      send[at] = i < count ? value(rank, peer, i) : -5;
      recv[at] = in_place && i < count ? value(rank, peer, i) : -7;
    }
  }
  send.to_device();
  recv.to_device();
  const void* const from = in_place ? MPI_IN_PLACE : static_cast<const void*>(send.data());
  if (form == 0) {
    MPI_Alltoallv(from, counts.data(), places.data(), MPI_INT, recv.data(), counts.data(), places.data(), MPI_INT,
                  comm);
  } else if (form == 1) {
    MPI_Alltoallw(from, counts.data(), bytes.data(), types.data(), recv.data(), counts.data(), bytes.data(),
                  types.data(), comm);
  } else {
    MPI_Allgatherv(send.data(), count, MPI_INT, recv.data(), counts.data(), places.data(), MPI_INT, comm);
  }
  recv.from_device();
  for (int peer = 0; peer < size; ++peer) {
    for (int i = 0; i < 2 * count; ++i) {
      const int sent = form == 2 ? value(peer, 0, i) : value(peer, rank, i);
      expect("vector", recv[static_cast<std::size_t>(2 * peer * count + i)], i < count ? sent : -7);
    }
  }
}

void check_uniform(MPI_Comm comm, bool device, int count, bool in_place, bool gathers) {
  const auto n = static_cast<std::size_t>(size) * static_cast<std::size_t>(count);
  Buffer send(device, n), recv(device, n);
  for (int peer = 0; peer < size; ++peer) {
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(peer * count + i);
      send[at] = value(rank, gathers ? 0 : peer, i);
      recv[at] = !in_place ? -7 : gathers ? value(rank, 0, i) : value(rank, peer, i);
    }
  }
  send.to_device();
  recv.to_device();
  const void* const from = in_place ? MPI_IN_PLACE : static_cast<const void*>(send.data());
  if (gathers) {
    MPI_Allgather(from, count, MPI_INT, recv.data(), count, MPI_INT, comm);
  } else {
    MPI_Alltoall(from, count, MPI_INT, recv.data(), count, MPI_INT, comm);
  }
  recv.from_device();
  for (int peer = 0; peer < size; ++peer) {
    for (int i = 0; i < count; ++i) {
      expect(gathers ? "allgather" : "alltoall", recv[static_cast<std::size_t>(peer * count + i)],
             value(peer, gathers ? 0 : rank, i));
    }
  }
}

// A nonblocking call, and a persistent one whose data are others in each start.
void check_requests(MPI_Comm comm, bool device, int count) {
  UniformInit* const init = alltoall_init();
  const auto n = static_cast<std::size_t>(size) * static_cast<std::size_t>(count);
  Buffer send(device, n), recv(device, n);
  MPI_Request persistent = MPI_REQUEST_NULL, request;
  if (init != nullptr) {
    init(send.data(), count, MPI_INT, recv.data(), count, MPI_INT, comm, MPI_INFO_NULL, &persistent);
  }
  for (int turn = 0; turn < 4; ++turn) {
    for (std::size_t i = 0; i < n; ++i) {
      send[i] = value(rank, static_cast<int>(i) / count, static_cast<int>(i) % count) + turn;
      recv[i] = -7;
    }
    send.to_device();
    recv.to_device();
    if (turn % 2 == 0 || init == nullptr) {
      MPI_Ialltoall(send.data(), count, MPI_INT, recv.data(), count, MPI_INT, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Start(&persistent);
      MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    }
    recv.from_device();
    for (std::size_t i = 0; i < n; ++i) {
      expect("request", recv[i], value(static_cast<int>(i) / count, rank, static_cast<int>(i) % count) + turn);
    }
  }
  if (persistent != MPI_REQUEST_NULL) MPI_Request_free(&persistent);
}

// To the left and to the right of a ring.
void check_neighbors(MPI_Comm ring, bool device, int count) {
  const auto block = static_cast<std::size_t>(count);
  Buffer send(device, 2 * block), recv(device, 2 * block), one(device, block), all(device, 2 * block);
  for (std::size_t i = 0; i < block; ++i) {
    send[i] = value(rank, 0, static_cast<int>(i));
    send[block + i] = value(rank, 1, static_cast<int>(i));
    one[i] = value(rank, 2, static_cast<int>(i));
  }
  send.to_device();
  one.to_device();
  MPI_Neighbor_alltoall(send.data(), count, MPI_INT, recv.data(), count, MPI_INT, ring);
  MPI_Neighbor_allgather(one.data(), count, MPI_INT, all.data(), count, MPI_INT, ring);
  recv.from_device();
  all.from_device();
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  for (std::size_t i = 0; i < block; ++i) {
    const int at = static_cast<int>(i);
    expect("neighbors", recv[i], value(left, 1, at));
    expect("neighbors", recv[block + i], value(right, 0, at));
    expect("neighbors", all[i], value(left, 2, at));
    expect("neighbors", all[block + i], value(right, 2, at));
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc < 2) return 2;
  MPI_Comm ring = ring_of_world();
  // So often that the short way of a repeated call is taken.
  for (int turn = 0; turn < 8; ++turn) check_uniform(MPI_COMM_WORLD, false, 4, false, turn % 2 == 1);
  // Nobody else has it: whether there is a driver is a fact of one rank, too.
  const bool device = rank % 2 == 1;
  if (device) load_driver(argv[1]);
  for (const int count : {4, 1000, 20000}) {
    for (const bool in_place : {false, true}) {
      check_uniform(MPI_COMM_WORLD, device, count, in_place, false);
      check_uniform(MPI_COMM_WORLD, device, count, in_place, true);
      check_vector(MPI_COMM_WORLD, device, count, in_place, 0);
      check_vector(MPI_COMM_WORLD, device, count, in_place, 1);
    }
    check_vector(MPI_COMM_WORLD, device, count, false, 2);
    check_neighbors(ring, device, count);
    check_requests(MPI_COMM_WORLD, device, count);
  }
  if (device) {
    const unsigned long before = copies();
    check_uniform(MPI_COMM_WORLD, false, 4, false, false);  // of the host: no copy by the driver
    if (copies() != before) ++wrong;
    // The program's own context is what it was.
    void* current = driver.own;
    if (driver.is_cuda()) must(driver.cuCtxGetCurrent(&current));
    if (current != driver.own || before == 0) ++wrong;
  } else {
    check_uniform(MPI_COMM_WORLD, false, 4, false, false);
  }
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return say_verdict();
}

}  // namespace device_check
