// How many calls of the driver move the blocks of a call by ipc-pull: one kernel, which reads them where the peers have
// them; else a graph, if they are made again, a batch, or a copy each.
//   device_gather LIBRARY HOW    HOW: kernel; batch, where there is no kernel; wrong, where it does nothing;
//   no-launch,
//                                      where it is refused; no-graph, where there is none of these but batches; copies,
//                                      where there is nothing else; devices, where every second rank has another one
#include <memory>

#include "device_buffers.hpp"
#include "quadrille.h"

namespace device_gather_check {

using namespace quadrille::test;

// Of calls of the driver that move blocks of calls.
struct Counts {
  unsigned long launched = launches(), graphed = graphs(), batched = count("cuMemcpyBatchAsync_v2"),
                copied = count(is_cuda ? "cuMemcpyAsync" : "hipMemcpyAsync");
  // Since then there were so many, of one kind. What was refused was tried before.
  void expect(const std::string& how, unsigned long n, unsigned long blocks, const char* what) const {
    const Counts now;
    const unsigned long by_kernel = now.launched - launched, by_graph = now.graphed - graphed,
                        by_batch = now.batched - batched, one_by_one = now.copied - copied;
    if (!leads()) return check(by_kernel + by_graph + by_batch + one_by_one == 0, "who is led copies");
    if (how == "copies") return check(one_by_one == n * blocks, what);
    check(one_by_one == 0, "copies one by one");
    if (how == "batch") return check(by_batch == n, what);
    check(by_batch == 0, "a batch");
    check((how == "kernel" ? by_kernel : by_graph) == n && by_kernel + by_graph == n, what);
  }
};

// Does nothing at all.
void lazy_kernel(const quadrille::standin::Launch*, void**) {}

// What moves the blocks of a call, and those of a persistent request.
struct Ways {
  std::string once, again;
};

// Blocks of so many ints.
void check_calls_of(const On& on, int n, const Ways& ways) {
  const auto ranks = static_cast<unsigned long>(on.ranks);
  const unsigned long blocks = is_led ? ranks * ranks : ranks;
  const std::string& how = ways.once;
  for (const Form form : forms) {
    Buffers buffers({form, n}, on);
    buffers.check_calls(1, "the first");
    const Counts counts;
    buffers.check_calls(3, "a call");
    counts.expect(how, 3, blocks, "calls");
  }
  // What is sent in place is brought to other memory before, by each rank.
  if (how == "kernel" && !is_led) {
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
  counts.expect(ways.again, 3, blocks, "starts");
  free(&request);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 3) return 2;
  const std::string how = argv[2];
  begin_pulling(argv[1], how == "devices" ? "devices" : "plain");
  if (how == "wrong") {
    auto* const twin =
        reinterpret_cast<quadrille_standin_kernel_t*>(dlsym(dlopen(argv[1], RTLD_NOW), "quadrille_standin_kernel"));
    twin("quadrille_copy_pieces", lazy_kernel);
  }
  const std::string driver_way = !is_cuda || how == "copies" ? "copies" : "batch";
  const std::string again = how == "copies" || how == "no-graph" ? driver_way : "graph";
  // A graph is made where no kernel is to be launched; whether that is refused is found when it is. Few copies are
  // faster by a graph.
  const On world(MPI_COMM_WORLD);
  // Over a bus large blocks are no kernel's.
  if (how == "devices") {
    check_calls_of(world, 1000, {"kernel", "kernel"});
    check_calls_of(world, 50'000, {"batch", "graph"});
    end_pulling();
    return say_verdict();
  }
  const bool few = (is_led ? size * size : size) < 7;
  const std::string starts = how == "kernel" && !few ? how : how == "no-launch" && !few ? driver_way : again;
  const Ways ways{how == "kernel" ? how : driver_way, starts};
  for (const int n : {1, 7, 1000, 5000}) check_calls_of(world, n, ways);
  end_pulling();
  return say_verdict();
}

}  // namespace device_gather_check
