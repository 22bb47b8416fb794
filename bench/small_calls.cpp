// Calls in which the way through Quadrille's door is what counts. Prints one line: nanoseconds a call (the least batch
// of rank 0), CPU microseconds and context switches a call over all ranks.
//
//   graph      make a graph of neighbours, call once, free it
//   cart       the same with a Cartesian communicator
//   self       MPI_Alltoall on MPI_COMM_SELF
//   selfv      MPI_Alltoallv on it
//   pass       MPI_Alltoall on MPI_COMM_WORLD; with QUADRILLE_ALGORITHM=alltoall=mpi it is forwarded
//   ialltoall  MPI_Ialltoall and MPI_Wait on it
//   barrier    MPI_Barrier
//   BYTES      MPI_Alltoall with blocks of so many bytes, in buffers at the start of a page
//   A,B,C      the same of A bytes, of B, of C, and so on in turn
//   ask        no call: CUDA's driver is asked where two buffers are, as Quadrille asks it in a call
//
// small_calls CALL [BATCHES [CALLS [DRIVER]]]: with a driver of CUDA loaded first, or a stand-in of it (tests/device).
//
// small_calls.py runs it natively and under Quadrille by turns.
#include <dlfcn.h>
#include <mpi.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

int me = 0, ranks = 1;

char* at_page(std::size_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 4096, std::max<std::size_t>(bytes, 4096)) != 0) std::abort();
  std::fill_n(static_cast<char*>(memory), bytes, 'x');
  return static_cast<char*>(memory);
}

void call_and_free(MPI_Comm comm, int neighbors) {
  const std::vector<double> sent(static_cast<std::size_t>(neighbors), 1.0);
  std::vector<double> got(sent.size());
  MPI_Neighbor_alltoall(sent.data(), 1, MPI_DOUBLE, got.data(), 1, MPI_DOUBLE, comm);
  MPI_Comm_free(&comm);
}

void graph() {
  const int around[] = {(me + ranks - 1) % ranks, (me + 1) % ranks};
  const int count = ranks > 2 ? 2 : 1;
  MPI_Comm comm;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, count, around, MPI_UNWEIGHTED, count, around, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &comm);
  call_and_free(comm, count);
}

void cart() {
  const int periodic = 1;
  MPI_Comm comm;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &comm);
  call_and_free(comm, 2);
}

void* driver = nullptr;

template <class Function>
Function* of_driver(const char* name) {
  auto* const function = driver == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(driver, name));
  if (function == nullptr) {
    std::fprintf(stderr, "no driver, or it has no %s\n", name);
    std::abort();
  }
  return function;
}

// With the primary context as the current one, as CUDA's runtime has it.
void load_driver(const char* path) {
  driver = dlopen(path, RTLD_NOW);
  void* context = nullptr;
  const bool good = of_driver<int(unsigned)>("cuInit")(0) == 0 &&
                    of_driver<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0) == 0 &&
                    of_driver<int(void*)>("cuCtxSetCurrent")(context) == 0;
  if (!good) std::abort();
}

std::function<void()> ask(const char* one, const char* other) {
  auto* const ask_one = of_driver<int(unsigned, int*, void**, std::uintptr_t)>("cuPointerGetAttributes");
  return [=] {
    for (const char* address : {one, other}) {
      unsigned type = 0;
      void* context = nullptr;
      int device = -1, attributes[] = {2, 1, 9};
      void* results[] = {&type, &context, &device};
      ask_one(3, attributes, results, reinterpret_cast<std::uintptr_t>(address));
    }
  };
}

std::function<void()> call_named(const std::string& name) {
  if (name == "graph") return graph;
  if (name == "cart") return cart;
  if (name == "barrier") return [] { MPI_Barrier(MPI_COMM_WORLD); };
  std::vector<int> sizes;
  for (std::stringstream list(name); list.good();) {
    std::string size;
    std::getline(list, size, ',');
    sizes.push_back(std::max(std::atoi(size.c_str()), 8));
  }
  const auto bytes = static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end()));
  char* const sent = at_page(bytes * static_cast<std::size_t>(ranks));
  char* const got = at_page(bytes * static_cast<std::size_t>(ranks));
  if (name == "ask") return ask(sent, got);
  if (name == "self") return [=] { MPI_Alltoall(sent, 8, MPI_BYTE, got, 8, MPI_BYTE, MPI_COMM_SELF); };
  if (name == "selfv") {
    return [=] {
      const int counts = 8, displacements = 0;
      MPI_Alltoallv(sent, &counts, &displacements, MPI_BYTE, got, &counts, &displacements, MPI_BYTE, MPI_COMM_SELF);
    };
  }
  if (name == "ialltoall") {
    return [=] {
      MPI_Request request;
      MPI_Ialltoall(sent, 8, MPI_BYTE, got, 8, MPI_BYTE, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    };
  }
  return [=, turn = std::size_t{0}]() mutable {
    const int count = sizes[turn++ % sizes.size()];
    MPI_Alltoall(sent, count, MPI_BYTE, got, count, MPI_BYTE, MPI_COMM_WORLD);
  };
}

struct Cost {
  double cpu, switches;
};

Cost spent() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto microseconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  };
  return {microseconds(used.ru_utime) + microseconds(used.ru_stime),
          static_cast<double>(used.ru_nvcsw + used.ru_nivcsw)};
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 4) load_driver(argv[4]);
  const std::function<void()> call = call_named(argc > 1 ? argv[1] : "pass");
  const int batches = argc > 2 ? std::atoi(argv[2]) : 50, calls = argc > 3 ? std::atoi(argv[3]) : 1000;
  for (int i = 0; i < calls; ++i) call();
  MPI_Barrier(MPI_COMM_WORLD);
  const Cost before = spent();
  double least = 1e9;
  for (int b = 0; b < batches; ++b) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; ++i) call();
    least = std::min(least, MPI_Wtime() - begin);
  }
  const Cost after = spent();
  const double mine[] = {after.cpu - before.cpu, after.switches - before.switches};
  double all[2] = {};
  MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  const double total = static_cast<double>(batches) * calls;
  if (me == 0) std::printf("%.1f %.4f %.4f\n", least / calls * 1e9, all[0] / total, all[1] / total);
  MPI_Finalize();
}
