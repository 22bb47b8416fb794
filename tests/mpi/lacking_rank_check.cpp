// One rank has no memory, at each request of a call in turn: nobody waits for it for ever, all ranks get an error of
// one class or all get their data, and the next call on the communicator is right.
//
// Preloaded: lack_of_memory.c. Each case is run on new communicators, where only some requests are drawn, and on one
// that has made the call before, where it is every one. One case in six is drawn; QUADRILLE_TEST_ALL=1 runs all of
// them, and QUADRILLE_TEST_SEED is that of the draw (default 1).
//
// Large blocks with gaps through leaders are there in each draw, with every request of every rank in a first call, and
// there all requests after it fail as well: who gets no room when a call is made asks once more when it is started.
#include <dlfcn.h>
#include <mpi.h>
#include <quadrille.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "device_buffers.hpp"
#include "forms.hpp"
#include "ring.hpp"

namespace lacking_rank_check {

using Form = quadrille::test::CallForm;
using LackFrom = long (*)(long at, long count, std::size_t bytes);

int rank = 0, size = 1;
MPI_Comm control;  // the MPI's own, untouched by Quadrille
LackFrom lack_from = nullptr;
char now[200];  // what is being done, for who waits in vain

// Buffers are in the memory of a device, which a stand-in of a driver has.
bool on_devices = false;

struct Case {
  std::string name;
  std::string collective;
  std::string algorithm;  // empty: what is chosen
  Form form = Form::blocking;
  bool gaps = false, in_place = false;
  int ints = 1;        // of a block, the most where blocks differ
  bool alone = false;  // the rank alone may get the error, and the others their data
  bool graph = false;  // of neighbours: a graph instead of a grid
};

// Where every second int is a gap, and its extent: what is sent is not one piece.
MPI_Datatype gapped() {
  static MPI_Datatype type = [] {
    MPI_Datatype made;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &made);
    MPI_Type_commit(&made);
    return made;
  }();
  return type;
}

int value(int from, int to, int call, int i) { return ((from * 64 + to) * 64 + call % 64) * 4096 + i % 4096; }

// A call with its buffers. Blocks of v and w forms have ints + (from + to) % 3 ints, all others `ints`.
class Data {
 public:
  Data(const Case& what, MPI_Comm comm) : what_(what), comm_(comm) {
    if (is_neighbor()) {
      find_neighbors();
    } else {
      for (int r = 0; r < size; ++r) to_.push_back(r), from_.push_back(r);
    }
    step_ = what.gaps ? 2 : 1;
    type_ = what.gaps ? gapped() : MPI_INT;
    lay_out(to_, true, sent_, sent_at_);
    lay_out(from_, false, received_, received_at_);
    send_types_.assign(to_.size(), type_), recv_types_.assign(from_.size(), type_);
  }

  void fill(int call) {
    call_ = call;
    send_.assign(static_cast<std::size_t>(is_gather() ? sent_ints(0) : total(sent_)) * step() + 1, -1);
    recv_.assign(static_cast<std::size_t>(total(received_)) * step() + 1, -7);
    std::vector<int>& from = what_.in_place ? recv_ : send_;
    for (std::size_t b = 0; b < to_.size(); ++b) {
      if (is_gather() && (what_.in_place ? to_[b] != rank : b > 0)) continue;
      const int at = what_.in_place ? received_at_[b] : is_gather() ? 0 : sent_at_[b];
      for (int i = 0; i < sent_ints(b); ++i) {
        from[static_cast<std::size_t>(at + i) * step()] = value(rank, is_gather() ? 63 : to_[b], call, i);
      }
    }
  }

  // Makes the call, however it is made. Returns its error.
  int make() {
    if (!on_devices) return make_here();
    sent_there_.emplace(quadrille::test::Where::device, send_.size());
    received_there_.emplace(quadrille::test::Where::device, recv_.size());
    std::copy(send_.begin(), send_.end(), sent_there_->view);
    std::copy(recv_.begin(), recv_.end(), received_there_->view);
    const int error = make_here();
    std::copy_n(received_there_->view, recv_.size(), recv_.begin());
    return error;
  }

  int make_here() {
    Quadrille_Request request = QUADRILLE_REQUEST_NULL;
    const int begun = begin(&request);
    return quadrille::test::complete_call(what_.form, begun, &request);
  }

  // The arrays must outlive a request: no longer than the call that makes it.
  int begin(Quadrille_Request* request) {
    const std::vector<int> sent_bytes = in_bytes(sent_at_, step_), received_bytes = in_bytes(received_at_, step_);
    const std::vector<MPI_Aint> sent_far(sent_bytes.begin(), sent_bytes.end()),
        received_far(received_bytes.begin(), received_bytes.end());
    void* const from = on_devices ? sent_there_->data : send_.data();
    void* const to = on_devices ? received_there_->data : recv_.data();
    const int count = ints(rank, 0);  // where it is one for all
    using quadrille::test::CallSide;
    const CallSide send{what_.in_place ? MPI_IN_PLACE : from,
                        count,
                        type_,
                        sent_.data(),
                        sent_at_.data(),
                        sent_bytes.data(),
                        sent_far.data(),
                        send_types_.data()};
    const CallSide recv{to,
                        what_.ints,
                        type_,
                        received_.data(),
                        received_at_.data(),
                        received_bytes.data(),
                        received_far.data(),
                        recv_types_.data()};
    return quadrille::test::begin_call(what_.form, collective(), send, recv, comm_, request);
  }

  bool right() const {
    for (std::size_t b = 0; b < from_.size(); ++b) {
      for (int i = 0; i < received_[b]; ++i) {
        const int expected = value(from_[b], is_gather() ? 63 : rank, call_, i);
        if (recv_[static_cast<std::size_t>(received_at_[b] + i) * step()] != expected) return false;
        if (what_.gaps && recv_[static_cast<std::size_t>(received_at_[b] + i) * step() + 1] != -7) return false;
      }
    }
    return true;
  }

 private:
  bool is_neighbor() const { return what_.collective.starts_with("neighbor"); }
  bool is_gather() const { return what_.collective.find("gather") != std::string::npos; }
  bool is_even() const { return what_.collective.ends_with("alltoall") || what_.collective.ends_with("allgather"); }
  quadrille::Collective collective() const {
    return quadrille::those([&](quadrille::Collective one) { return name_of(one) == what_.collective; }).at(0);
  }
  std::size_t step() const { return static_cast<std::size_t>(step_); }

  int ints(int from, int to) const {
    if (is_even()) return what_.ints;
    if (is_gather()) return what_.ints + from % 3;
    return what_.ints + (from + to) % 3;
  }
  int sent_ints(std::size_t b) const { return is_gather() ? ints(rank, 0) : sent_[b]; }

  void find_neighbors() {
    int in = 0, out = 0, weighted = 0, topology = 0;
    MPI_Topo_test(comm_, &topology);
    if (topology == MPI_DIST_GRAPH) {
      MPI_Dist_graph_neighbors_count(comm_, &in, &out, &weighted);
      from_.resize(static_cast<std::size_t>(in)), to_.resize(static_cast<std::size_t>(out));
      MPI_Dist_graph_neighbors(comm_, in, from_.data(), MPI_UNWEIGHTED, out, to_.data(), MPI_UNWEIGHTED);
    } else {
      int below = 0, above = 0;
      MPI_Cart_shift(comm_, 0, 1, &below, &above);
      from_ = to_ = {below, above};
    }
  }

  void lay_out(const std::vector<int>& peers, bool sent, std::vector<int>& counts, std::vector<int>& at) const {
    int next = 0;
    for (const int peer : peers) {
      counts.push_back(sent ? ints(rank, peer) : ints(peer, rank));
      at.push_back(next);
      next += counts.back();
    }
  }
  static int total(const std::vector<int>& counts) {
    int all = 0;
    for (const int count : counts) all += count;
    return all;
  }

  static std::vector<int> in_bytes(const std::vector<int>& at, int step) {
    std::vector<int> bytes;
    for (const int one : at) bytes.push_back(one * step * static_cast<int>(sizeof(int)));
    return bytes;
  }

  const Case& what_;
  MPI_Comm comm_;
  int call_ = 0, step_ = 1;
  MPI_Datatype type_{};
  std::vector<int> to_, from_;                                // [block] the other rank
  std::vector<int> sent_, sent_at_, received_, received_at_;  // ints
  std::vector<MPI_Datatype> send_types_, recv_types_;
  std::vector<int> send_, recv_;
  std::optional<quadrille::test::Ints> sent_there_, received_there_;  // where data are on devices
};

MPI_Comm new_comm(const Case& what) {
  MPI_Comm made;
  if (!what.collective.starts_with("neighbor")) {
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
  } else if (what.graph) {
    std::vector<int> to, from;
    for (int step = 1; step < std::min(size, 4); ++step) {
      to.push_back((rank + step) % size), from.push_back((rank - step + size) % size);
    }
    const int degree = static_cast<int>(to.size());
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, from.data(), MPI_UNWEIGHTED, degree, to.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
  } else {
    made = quadrille::test::ring_of_world();
  }
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  if (!what.algorithm.empty()) Quadrille_Set_algorithm(made, what.collective.c_str(), what.algorithm.c_str());
  return made;
}

int class_of(int error) {
  int found = error;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &found);
  return found;
}

// What happened to all ranks: whether it may, and what to say if not.
std::string judge(const Case& what, int error, bool right) {
  const int mine[4] = {class_of(error), -class_of(error), error == MPI_SUCCESS && !right ? 1 : 0,
                       error == MPI_SUCCESS || class_of(error) == MPI_ERR_NO_MEM ? 0 : 1};
  int most[4];
  MPI_Allreduce(mine, most, 4, MPI_INT, MPI_MAX, control);
  if (most[2] != 0) return "wrong data without an error";
  if (most[3] != 0) return "an error of another class";
  return most[0] == -most[1] || what.alone ? "" : "an error on some ranks alone";
}

long of_rank(int one, long number) {
  MPI_Bcast(&number, 1, MPI_LONG, one, control);
  return number;
}

// May one rank alone lack memory, without any other knowing that it needs some? Large blocks alone need such memory.
bool is_local(const Case& what) {
  const bool neighbor = what.collective.starts_with("neighbor");
  const bool between_nodes = std::getenv("QUADRILLE_NODES") != nullptr && what.algorithm.empty();
  if (what.ints < 1000) return false;
  const bool passes_on =
      what.algorithm.ends_with("two-phase-bruck") || what.algorithm.find("two-phase-bruck,") != std::string::npos;
  if (between_nodes || (what.algorithm.starts_with("hint-network") && !passes_on)) return what.gaps || what.in_place;
  if (neighbor) return what.gaps && !what.algorithm.starts_with("torus");
  if (what.collective.ends_with("alltoall") || what.collective.find("gather") != std::string::npos) return false;
  const bool by_need = passes_on || what.algorithm == "sloav" || what.algorithm.starts_with("tuna");
  return by_need || what.in_place || what.gaps;
}

class Sweep {
 public:
  Sweep(const Case& what, std::mt19937& draw, std::size_t bytes) : what_(what), draw_(draw), bytes_(bytes) {}

  // Every request of a call that was made before on its communicator.
  void warm() {
    MPI_Comm comm = new_comm(what_);
    Data data(what_, comm);
    call(data, -2, 0);
    for (long at = 0; at >= 0; ++at) {
      if (!one(data, at, drawn_rank())) break;
    }
    MPI_Comm_free(&comm);
  }

  // Some requests of the first call on a communicator.
  void fresh(int times) {
    const long requests = requests_of_first(MPI_MIN);
    for (int i = 0; i < times && requests > 0; ++i) {
      first(static_cast<long>(draw_() % static_cast<unsigned long>(requests)), drawn_rank());
    }
  }

  // All of them, on each rank, each with all that follow.
  void every_fresh() {
    constexpr long all_that_follow = 1000;
    count_ = all_that_follow;
    const long requests = requests_of_first(MPI_MAX);
    if (requests == 0 && rank == 0) std::printf("%s: asks for no memory\n", what_.name.c_str());
    bad_ += requests == 0 ? 1 : 0;
    for (int poor = 0; poor < size && bad_ == 0; ++poor) {
      for (long at = 0; at < requests && bad_ == 0; ++at) first(at, poor);
    }
  }
  int bad() const { return bad_; }
  int runs() const { return runs_; }

 private:
  struct Outcome {
    int error;
    bool right;
    long requests;
  };
  // On `poor` request number `at` fails.
  Outcome call(Data& data, long at, int poor) {
    data.fill(++calls_);
    std::snprintf(now, sizeof now, "%s: request %ld of rank %d, call %d", what_.name.c_str(), at, poor, calls_);
    lack_from(at == -1 || rank == poor ? at : -2, count_, bytes_);
    const int error = data.make();
    const long requests = lack_from(-2, 1, 0);
    return {error, data.right(), requests};
  }

  int drawn_rank() { return static_cast<int>(draw_() % static_cast<unsigned>(size)); }

  // On the rank with the fewest or the most.
  long requests_of_first(MPI_Op of_all) {
    MPI_Comm comm = new_comm(what_);
    long requests = 0;
    {
      Data data(what_, comm);
      requests = call(data, -1, 0).requests;
    }
    MPI_Comm_free(&comm);
    MPI_Allreduce(MPI_IN_PLACE, &requests, 1, MPI_LONG, of_all, control);
    return requests;
  }

  void first(long at, int poor) {
    MPI_Comm comm = new_comm(what_);
    {
      Data data(what_, comm);
      one(data, at, poor);
    }
    MPI_Comm_free(&comm);
  }

  // False if there are not so many requests.
  bool one(Data& data, long at, int poor) {
    const Outcome lacking = call(data, at, poor);
    std::string wrong = judge(what_, lacking.error, lacking.right);
    for (int next = 0; next < 2 && wrong.empty(); ++next) {
      const Outcome after = call(data, -2, 0);
      int good = after.error == MPI_SUCCESS && after.right ? 1 : 0;
      MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, control);
      if (good == 0) wrong = "the next call is not right";
    }
    ++runs_;
    if (!wrong.empty()) {
      ++bad_;
      if (rank == poor) {
        std::printf("%s, request %ld of rank %d (at least %zu bytes): %s; error %d here\n", what_.name.c_str(), at,
                    poor, bytes_, wrong.c_str(), class_of(lacking.error));
        std::fflush(stdout);
      }
    }
    return of_rank(poor, lacking.requests) > at && bad_ < 5;
  }

  const Case& what_;
  std::mt19937& draw_;
  const std::size_t bytes_;  // requests of fewer bytes get their memory
  long count_ = 1;           // so many requests fail, one after the other
  int calls_ = 0, bad_ = 0, runs_ = 0;
};

std::vector<Case> dense_cases() {
  std::vector<Case> cases;
  const std::pair<const char*, const char*> by_messages[] = {{"alltoall", "pairwise"},
                                                             {"alltoall", "spread-out"},
                                                             {"alltoall", "basic-bruck"},
                                                             {"alltoall", "modified-bruck"},
                                                             {"alltoall", "zero-copy-bruck-dt"},
                                                             {"alltoall", "zero-rotation-bruck"},
                                                             {"alltoallv", "two-phase-bruck"},
                                                             {"alltoallv", "sloav"},
                                                             {"alltoallv", "two-phase-bruck:monolithic=1"},
                                                             {"alltoall", "tuna-hierarchical"},
                                                             {"alltoallv", "tuna-hierarchical"},
                                                             {"alltoallw", "tuna-hierarchical:exchange=staggered"},
                                                             {"alltoallv", "padded-bruck"},
                                                             {"alltoallv", "padded-alltoall"},
                                                             {"alltoallv", "spread-out"},
                                                             {"alltoallw", "two-phase-bruck"},
                                                             {"alltoallw", "padded-spread-out"},
                                                             {"alltoallw", "pairwise"},
                                                             {"allgather", "ring"},
                                                             {"allgather", "bruck"},
                                                             {"allgatherv", "ring"},
                                                             {"alltoall", ""},
                                                             {"alltoallv", ""},
                                                             {"alltoallw", ""},
                                                             {"allgather", ""},
                                                             {"allgatherv", ""}};
  for (const auto& [collective, algorithm] : by_messages) cases.push_back({"", collective, algorithm});
  return cases;
}

// On several nodes, by copies inside them and messages by way of other ranks.
std::vector<Case> network_cases() {
  std::vector<Case> cases;
  const std::pair<const char*, const char*> all[] = {{"alltoall", "hint-network:exchange=bruck"},
                                                     {"alltoall", "hint-network:exchange=bruck,radix=4"},
                                                     {"alltoall", "hint-network"},
                                                     {"alltoallv", "hint-network:exchange=two-phase-bruck"},
                                                     {"alltoallw", "hint-network:exchange=two-phase-bruck,radix=3"},
                                                     {"allgather", "hint-network:exchange=ring"},
                                                     {"allgatherv", "hint-network:exchange=bruck"}};
  for (const auto& [collective, algorithm] : all) cases.push_back({"", collective, algorithm});
  return cases;
}

// With data in a device's memory: inside a node in chunks, between nodes in rounds.
std::vector<Case> pipeline_cases() {
  std::vector<Case> cases;
  for (const char* collective : {"alltoall", "alltoallv", "alltoallw", "allgather", "allgatherv"}) {
    cases.push_back({"", collective, "pipelined-copy-to-cpu:chunk=4096"});
    cases.push_back({"", collective, "pipelined-copy-to-cpu:chunk=4096,leader=1"});
  }
  return cases;
}

// With data in a device's memory that no other rank can open: each call finds out, and goes over the host.
std::vector<Case> pull_cases() {
  std::vector<Case> cases;
  for (const char* collective : {"alltoall", "alltoallv", "alltoallw", "allgather", "allgatherv"}) {
    cases.push_back({"", collective, "ipc-pull"});
  }
  return cases;
}

std::vector<Case> leaders_cases() {
  std::vector<Case> cases;
  const std::pair<const char*, const char*> all[] = {
      {"alltoall", "leaders"},   {"alltoall", "leaders:leaders=2,exchange=zero-rotation-bruck"},
      {"alltoallv", "leaders"},  {"alltoallv", "leaders:leaders=2,exchange=pairwise"},
      {"alltoallw", "leaders"},  {"allgather", "leaders:leaders=2"},
      {"allgatherv", "leaders"}, {"allgatherv", "leaders:leaders=2,exchange=ring"}};
  for (const auto& [collective, algorithm] : all) cases.push_back({"", collective, algorithm});
  return cases;
}

std::vector<Case> neighbor_cases() {
  std::vector<Case> cases;
  for (const char* c :
       {"neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw", "neighbor_allgather", "neighbor_allgatherv"}) {
    for (const char* algorithm : {"", "direct", "torus", "torus-direct", "rings"}) {
      const bool combines = std::strncmp(algorithm, "torus", 5) == 0;
      const std::string name = c;
      if (combines && !name.ends_with("alltoall") && !name.ends_with("allgather")) continue;
      for (const bool graph : {false, true}) {
        if (graph && combines) continue;
        Case one{"", c, algorithm};
        one.graph = graph;
        cases.push_back(one);
      }
    }
  }
  return cases;
}

// In all forms, with and without gaps and in place.
std::vector<Case> all_forms(const std::vector<Case>& bases, int ints) {
  std::vector<Case> cases;
  for (const Case& base : bases) {
    const bool neighbor = base.collective.starts_with("neighbor");
    for (const Form form : {Form::blocking, Form::nonblocking, Form::persistent}) {
      for (int kind = 0; kind < (neighbor ? 2 : 4); ++kind) {
        Case one = base;
        one.form = form, one.gaps = kind % 2 == 1, one.in_place = kind >= 2, one.ints = ints;
        const char* forms[] = {"", "nonblocking ", "persistent "};
        one.name = forms[static_cast<int>(form)] + one.collective + (one.algorithm.empty() ? "" : " by ") +
                   one.algorithm + (one.graph ? ", graph" : "") + (one.gaps ? ", gaps" : "") +
                   (one.in_place ? ", in place" : "") + ", blocks of " + std::to_string(ints) + " ints";
        one.alone = is_local(one);
        cases.push_back(one);
      }
    }
  }
  return cases;
}

void wait_in_vain(int) {
  const auto written = write(2, now, std::strlen(now));
  static_cast<void>(written);
  const char text[] = ": it hangs\n";
  static_cast<void>(write(2, text, sizeof text - 1) + 0);
  _exit(3);
}

int run(const std::string& which, const char* only) {
  unsigned seed = 1;
  if (const char* said = std::getenv("QUADRILLE_TEST_SEED")) seed = static_cast<unsigned>(std::atol(said));
  MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, control);
  if (rank == 0) std::printf("QUADRILLE_TEST_SEED=%u\n", seed), std::fflush(stdout);
  std::mt19937 draw(seed);
  const char* given = std::getenv("QUADRILLE_TEST_PATIENCE");
  const unsigned patience = given != nullptr ? static_cast<unsigned>(std::atol(given)) : 120;  // seconds a case
  const std::vector<Case> bases = which == "dense"      ? dense_cases()
                                  : which == "leaders"  ? leaders_cases()
                                  : which == "network"  ? network_cases()
                                  : which == "pipeline" ? pipeline_cases()
                                  : which == "pull"     ? pull_cases()
                                                        : neighbor_cases();
  int bad = 0, runs = 0;
  // Small blocks, and large ones of which only the large requests get no memory.
  const bool all = only != nullptr || std::getenv("QUADRILLE_TEST_ALL") != nullptr;
  for (const int ints : {3, 18000}) {
    for (const Case& one : all_forms(bases, ints)) {
      if (only != nullptr && one.name.find(only) == std::string::npos) continue;
      const bool asks = which == "leaders" && ints > 1000 && one.gaps && !one.in_place &&
                        one.collective != "alltoallv" && one.collective != "alltoallw";
      if (!all && draw() % 6 != 0 && !asks) continue;
      alarm(patience);
      const double begin = MPI_Wtime();
      Sweep sweep(one, draw, ints == 3 ? 0 : 40000);
      sweep.warm();
      sweep.fresh(ints == 3 ? 3 : 2);
      if (asks) sweep.every_fresh();
      bad += sweep.bad(), runs += sweep.runs();
      if (rank == 0 && std::getenv("QUADRILLE_TEST_VERBOSE") != nullptr)
        std::printf("%s: %d runs, %.2f s\n", one.name.c_str(), sweep.runs(), MPI_Wtime() - begin), std::fflush(stdout);
    }
  }
  if (rank == 0) std::printf("%d requests without memory, %d not as they should be\n", runs, bad);
  return bad;
}

int main(int argc, char** argv) {
  lack_from = reinterpret_cast<LackFrom>(dlsym(RTLD_DEFAULT, "lack_from"));
  if (lack_from == nullptr) return std::printf("lack_of_memory is not preloaded\n"), 2;
  signal(SIGALRM, wait_in_vain);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &control);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  on_devices = argc > 2 && (std::strcmp(argv[1], "pipeline") == 0 || std::strcmp(argv[1], "pull") == 0);
  if (on_devices) quadrille::test::load_driver(argv[2]);
  const int first = on_devices ? 3 : 2;
  const int bad = run(argc > 1 ? argv[1] : "dense", argc > first ? argv[first] : nullptr);
  MPI_Comm_free(&control);
  MPI_Finalize();
  return bad == 0 ? 0 : 1;
}

}  // namespace lacking_rank_check
