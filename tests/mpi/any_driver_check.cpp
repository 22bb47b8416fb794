// Calls in the order of streams and on the host, with the memory of a device, by what every driver of CUDA has: so it
// runs over the stand-in and on a GPU alike. What is sent the device itself makes, in the stream, and what has come it
// copies to pinned memory, in the stream; then both buffers are overwritten there. All is looked at when the streams
// are done.
//   any_driver LIBRARY    of the driver
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "../device/table.hpp"
#include "program.hpp"
#include "quadrille.h"

namespace any_driver_check {

using namespace quadrille::test;

using quadrille::standin::Address;
using quadrille::standin::Handle;

quadrille::standin::Table driver;
long looked = 0;

void must(int error, const char* what) {
  if (error == 0) return;
  std::fprintf(stderr, "rank %d: %s: error %d\n", rank, what, error);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

void load_driver(const char* path) {
  if (!driver.load(path)) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
  must(driver.cuInit(0), "cuInit");
  Handle context = nullptr;
  must(driver.cuDevicePrimaryCtxRetain(&context, 0), "primary context");
  must(driver.cuCtxSetCurrent(context), "current context");
}

Handle new_stream(unsigned flags) {
  Handle stream = nullptr;
  must(driver.cuStreamCreate(&stream, flags), "stream");
  return stream;
}
void wait(Handle stream) { must(driver.cuStreamSynchronize(stream), "cuStreamSynchronize"); }

// Ints of the device, or pinned ones.
class Ints {
 public:
  Ints(std::size_t count, bool is_pinned) : is_pinned_(is_pinned) {
    void* memory = nullptr;
    if (is_pinned) {
      must(driver.cuMemAllocHost_v2(&memory, count * sizeof(int)), "pinned memory");
      address_ = reinterpret_cast<Address>(memory);
    } else {
      must(driver.cuMemAlloc_v2(&address_, count * sizeof(int)), "memory");
    }
  }
  Ints(const Ints&) = delete;
  Ints& operator=(const Ints&) = delete;
  ~Ints() { is_pinned_ ? driver.cuMemFreeHost(data()) : driver.cuMemFree_v2(address_); }
  int* data() const { return reinterpret_cast<int*>(address_); }
  Address at(std::size_t i) const { return address_ + i * sizeof(int); }

 private:
  Address address_ = 0;
  bool is_pinned_;
};

enum class Form { uniform, vector, typed };

unsigned value(int from, int to, int turn) { return 1u + static_cast<unsigned>((from * 64 + to) * 64 + turn); }
constexpr unsigned untouched = 0xF1F1F1F1u;

// Blocks of `block` ints for each rank, with a gap of as many between them where there are displacements.
class Exchange {
 public:
  Exchange(MPI_Comm comm, Form form, std::size_t block, int turns)
      : comm_(comm),
        form_(form),
        block_(block),
        pitch_(form == Form::uniform ? block : 2 * block),
        turns_(turns),
        ints_(pitch_ * static_cast<std::size_t>(size)),
        send_(ints_, false),
        recv_(ints_, false),
        found_(ints_ * static_cast<std::size_t>(turns), true) {}

  void make(Handle stream, int turn) {
    fill(recv_, untouched, ints_, stream, 0);
    for (int to = 0; to < size; ++to)
      fill(send_, value(rank, to, turn), block_, stream, pitch_ * static_cast<std::size_t>(to));
  }
  int enqueue(Handle stream) {
    const auto n = static_cast<std::size_t>(size);
    std::vector<int> counts(n, static_cast<int>(block_)), places(n), bytes(n);
    std::vector<MPI_Datatype> types(n, MPI_INT);
    for (std::size_t i = 0; i < n; ++i) {
      places[i] = static_cast<int>(i * pitch_);
      bytes[i] = static_cast<int>(i * pitch_ * sizeof(int));
    }
    switch (form_) {
      case Form::uniform:
        return Quadrille_Alltoall_enqueue(send_.data(), counts[0], MPI_INT, recv_.data(), counts[0], MPI_INT, stream,
                                          comm_);
      case Form::vector:
        return Quadrille_Alltoallv_enqueue(send_.data(), counts.data(), places.data(), MPI_INT, recv_.data(),
                                           counts.data(), places.data(), MPI_INT, stream, comm_);
      default:
        return Quadrille_Alltoallw_enqueue(send_.data(), counts.data(), bytes.data(), types.data(), recv_.data(),
                                           counts.data(), bytes.data(), types.data(), stream, comm_);
    }
  }
  void keep(Handle stream, int turn) {
    must(driver.cuMemcpyAsync(found_.at(ints_ * static_cast<std::size_t>(turn)), recv_.at(0), ints_ * sizeof(int),
                              stream),
         "copy");
    fill(send_, 0xEEEEEEEEu, ints_, stream, 0);
    fill(recv_, 0xDDDDDDDDu, ints_, stream, 0);
  }
  void turn(Handle stream, int turn) {
    make(stream, turn);
    check(enqueue(stream) == MPI_SUCCESS, "an enqueued call");
    keep(stream, turn);
  }
  // When the streams are done.
  void look(const char* what) const {
    for (int turn = 0; turn < turns_; ++turn) {
      const int* const found = found_.data() + ints_ * static_cast<std::size_t>(turn);
      for (std::size_t i = 0; i < ints_; ++i, ++looked) {
        const int from = static_cast<int>(i / pitch_);
        const unsigned expected = i % pitch_ < block_ ? value(from, rank, turn) : untouched;
        check(static_cast<unsigned>(found[i]) == expected, what);
      }
    }
  }
  Ints& sent() { return send_; }
  Ints& got() { return recv_; }
  std::size_t block() const { return block_; }

 private:
  static void fill(const Ints& ints, unsigned word, std::size_t count, Handle stream, std::size_t at) {
    must(driver.cuMemsetD32Async(ints.at(at), word, count, stream), "memset");
  }
  MPI_Comm comm_;
  Form form_;
  std::size_t block_, pitch_;
  int turns_;
  std::size_t ints_;
  Ints send_, recv_, found_;
};

constexpr Form forms[] = {Form::uniform, Form::vector, Form::typed};
constexpr std::size_t blocks[] = {1, 1000, 30'000};

void check_streams(MPI_Comm comm) {
  const Handle legacy = quadrille::standin::legacy_stream, of_thread = quadrille::standin::per_thread_stream;
  for (const Handle stream : {new_stream(1), new_stream(0), Handle{nullptr}, legacy, of_thread}) {
    for (const Form form : forms) {
      for (const std::size_t block : blocks) {
        Exchange exchange(comm, form, block, 4);
        for (int turn = 0; turn < 4; ++turn) exchange.turn(stream, turn);
        wait(stream);
        exchange.look("a call in a stream");
      }
    }
  }
}

// A stream is kept before the call, so nothing of it can be done when it returns.
void check_kept_stream(MPI_Comm comm) {
  Ints word(1, true);
  auto* const gate = new (word.data()) std::atomic<std::uint32_t>(0);
  Exchange exchange(comm, Form::vector, 1000, 2);
  const Handle stream = new_stream(1);
  must(driver.cuStreamWaitValue32_v2(stream, word.at(0), 1, 0), "a wait for a value");
  exchange.turn(stream, 0);
  exchange.turn(stream, 1);
  check(driver.cuStreamQuery(stream) == quadrille::standin::not_ready,
        "the call was not made in the order of the stream");
  // The others have returned as well.
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  gate->store(1);
  wait(stream);
  exchange.look("a stream that was kept");
}

// In different orders on the ranks.
void check_opposite_orders() {
  MPI_Comm comms[2];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const Handle streams[] = {new_stream(1), new_stream(1)};
  std::unique_ptr<Exchange> exchanges[] = {std::make_unique<Exchange>(comms[0], Form::uniform, 5000, 6),
                                           std::make_unique<Exchange>(comms[1], Form::vector, 5000, 6)};
  for (int i = 0; i < 2; ++i) {  // the first calls wait for the other ranks
    exchanges[i]->turn(streams[i], 0);
    wait(streams[i]);
  }
  for (int turn = 1; turn < 6; ++turn) {
    for (const int i : {rank % 2, 1 - rank % 2}) exchanges[i]->turn(streams[i], turn);
  }
  for (int i = 0; i < 2; ++i) {
    if (i == 1) MPI_Comm_free(&comms[1]);  // with work pending, perhaps
    wait(streams[i]);
    exchanges[i]->look("opposite orders");
  }
  check(Quadrille_Enqueue_status(comms[0]) == MPI_SUCCESS, "status");
  MPI_Comm_free(&comms[0]);
}

void check_persistent(MPI_Comm comm, std::size_t block) {
  constexpr int turns = 8;
  Exchange exchange(comm, Form::uniform, block, turns);
  const Handle streams[] = {new_stream(1), new_stream(1)};
  const int count = static_cast<int>(block);
  Quadrille_Request request;
  check(Quadrille_Alltoall_init(exchange.sent().data(), count, MPI_INT, exchange.got().data(), count, MPI_INT, comm,
                                MPI_INFO_NULL, &request) == MPI_SUCCESS,
        "init");
  for (int turn = 0; turn < turns; ++turn) {
    const Handle stream = streams[turn / 4];
    exchange.make(stream, turn);
    if (turn == 4) {  // on the host, in between
      wait(stream);
      check(Quadrille_Start(&request) == MPI_SUCCESS && Quadrille_Wait(&request) == MPI_SUCCESS, "a start on the host");
    } else {
      check(Quadrille_Start_enqueue(&request, stream) == MPI_SUCCESS, "a start in a stream");
    }
    exchange.keep(stream, turn);
    if (turn == 3) wait(stream);
  }
  wait(streams[1]);
  exchange.look("a persistent call");
  check(Quadrille_Request_free(&request) == MPI_SUCCESS, "free");
}

std::vector<unsigned> look_at(const Ints& ints, std::size_t count) {
  std::vector<unsigned> found(count);
  must(driver.cuMemcpyDtoH_v2(found.data(), ints.at(0), count * sizeof(int)), "cuMemcpyDtoH");
  return found;
}

// Memory is freed, and what comes back from the driver is, often, the same addresses: once for a call of Quadrille,
// once for a message of the MPI, if it takes such memory. Both may keep other processes' memory open that is gone.
void check_freed_memory(MPI_Comm comm) {
  const bool sends = std::getenv("QUADRILLE_TEST_MPI_TAKES_DEVICE") != nullptr;
  const auto ranks = static_cast<std::size_t>(size);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int turn = 0; turn < 24; ++turn) {
    const std::size_t block = std::size_t{1} << (8 + turn % 4 * 3), all = block * ranks;
    const int count = static_cast<int>(block);
    {
      const Ints send(all, false), recv(all, false);
      for (std::size_t to = 0; to < ranks; ++to)
        must(driver.cuMemsetD32Async(send.at(to * block), value(rank, static_cast<int>(to), turn), block, nullptr),
             "memset");
      check(Quadrille_Alltoall(send.data(), count, MPI_INT, recv.data(), count, MPI_INT, comm) == MPI_SUCCESS,
            "alltoall");
      const std::vector<unsigned> found = look_at(recv, all);
      for (std::size_t i = 0; i < all; ++i, ++looked)
        check(found[i] == value(static_cast<int>(i / block), rank, turn), "a call with new memory");
      MPI_Barrier(MPI_COMM_WORLD);
    }
    if (!sends) continue;
    const Ints send(all, false), recv(all, false);
    must(driver.cuMemsetD32Async(send.at(0), value(rank, next, turn), all, nullptr), "memset");
    wait(nullptr);
    const int words = static_cast<int>(all);
    MPI_Sendrecv(send.data(), words, MPI_INT, next, 3, recv.data(), words, MPI_INT, before, 3, comm, MPI_STATUS_IGNORE);
    const std::vector<unsigned> found = look_at(recv, all);
    for (std::size_t i = 0; i < all; ++i, ++looked)
      check(found[i] == value(before, rank, turn), "a message of new memory");
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  const bool has_threads = begin_with_threads(&argc, &argv, MPI_THREAD_MULTIPLE) == MPI_THREAD_MULTIPLE;
  if (argc != 2 || !has_threads) must(1, "usage: any_driver_check LIBRARY, with an MPI of threads");
  load_driver(argv[1]);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  check_freed_memory(comm);
  check_streams(comm);
  check_kept_stream(comm);
  check_opposite_orders();
  for (const std::size_t block : blocks) check_persistent(comm, block);
  check(Quadrille_Enqueue_status(comm) == MPI_SUCCESS, "status");
  MPI_Comm_free(&comm);
  check(looked > 0, "nothing was looked at");
  MPI_Finalize();
  return say_verdict();
}

}  // namespace any_driver_check
