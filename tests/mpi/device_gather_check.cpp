// How many calls of the driver move the blocks of a call by ipc-pull: small ones one kernel, which reads them where the peers
// have them; else a batch, or a copy each.
//   device_gather_check LIBRARY HOW    HOW: kernel; batch, where there is no kernel, or it is not trusted; copies, where there
//                                      is no batch either
#include <memory>

#include "device_buffers.hpp"
#include "quadrille.h"

using namespace quadrille::test;

namespace {

struct Counts {
  unsigned long launched = launches(), batched = count("cuMemcpyBatchAsync_v2"), copied = count("cuMemcpyAsync");
  // Since then: so many calls.
  void expect(const std::string& how, unsigned long n, unsigned long blocks, const char* what) const {
    const Counts now;
    // What was refused was tried.
    const unsigned long launched_now = now.launched - launched, batched_now = now.batched - batched;
    const bool good = how == "kernel"  ? launched_now == n && batched_now == 0
                      : how == "batch" ? batched_now == n
                                       : batched_now == n && now.copied - copied == n * blocks;
    if (leads()) {
      check(good, what);
      if (how != "copies") check(now.copied == copied, "copies one by one");
    } else {
      check(launched_now == 0 && batched_now == 0 && now.copied == copied, "who is led copies");
    }
  }
};

// Does nothing at all, or moves too much.
void lazy_kernel(const quadrille::standin::Launch*, void**) {}

// Blocks of so many ints; what is expected of those that are small, and of others.
void check_calls_of(const On& on, int n, const std::string& how, bool is_small) {
  const auto ranks = static_cast<unsigned long>(on.ranks);
  const unsigned long blocks = is_led ? ranks * ranks : ranks;
  const std::string other = how == "copies" ? how : "batch";
  for (const Form form : forms) {
    Buffers buffers({form, n}, on);
    buffers.check_calls(1, "the first");
    const Counts counts;
    buffers.check_calls(3, "a call");
    counts.expect(is_small ? how : other, 3, blocks, is_small ? "calls with small blocks" : "calls with large blocks");
  }
  // What is sent in place is brought to other memory before.
  if (how == "kernel" && is_small && on.ranks >= 4) {
    Buffers in_place({Form::alltoall, n, true}, on);
    in_place.check_calls(1, "the first");
    const Counts counts;
    in_place.check_calls(3, "a call");
    counts.expect(how, 6, blocks, "calls in place");
  }
  Buffers buffers({Form::alltoallv, n}, on);
  Quadrille_Request request = nullptr;
  const auto find = [](const char* function) { return dlsym(RTLD_DEFAULT, function); };
  const auto init = reinterpret_cast<decltype(&Quadrille_Alltoallv_init)>(find("Quadrille_Alltoallv_init"));
  const auto start = reinterpret_cast<decltype(&Quadrille_Start)>(find("Quadrille_Start"));
  const auto wait = reinterpret_cast<decltype(&Quadrille_Wait)>(find("Quadrille_Wait"));
  const auto free = reinterpret_cast<decltype(&Quadrille_Request_free)>(find("Quadrille_Request_free"));
  init(buffers.send.data, buffers.out.counts.data(), buffers.out.places.data(), MPI_INT, buffers.recv.data,
       buffers.in.counts.data(), buffers.in.places.data(), MPI_INT, on.comm, MPI_INFO_NULL, &request);
  const Counts counts;
  for (int turn = 0; turn < 3; ++turn) {
    buffers.fill(turn);
    start(&request);
    wait(&request);
    buffers.send.fill(-11);
    buffers.look(turn, "a start");
  }
  counts.expect(is_small ? how : other, 3, blocks, is_small ? "starts with small blocks" : "starts with large blocks");
  free(&request);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 3) return 2;
  begin_pulling(argv[1], "plain");
  std::string how = argv[2];
  if (how == "wrong") {
    auto* const twin = reinterpret_cast<quadrille_standin_kernel_t*>(dlsym(dlopen(argv[1], RTLD_NOW), "quadrille_standin_kernel"));
    twin("quadrille_copy_pieces", lazy_kernel);
    how = "batch";
  }
  const On world(MPI_COMM_WORLD);
  // What is less than four copies is no kernel's.
  const bool are_many = is_led ? size >= 2 : size >= 4;
  for (const int n : {1, 7, 1000}) check_calls_of(world, n, how, are_many);
  check_calls_of(world, 5000, how, false);
  MPI_Type_free(&with_gaps);
  MPI_Finalize();
  std::printf("rank %d: %s\n", rank, wrong == 0 ? "good" : "WRONG");
  return wrong == 0 ? 0 : 1;
}
