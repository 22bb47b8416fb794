// Requests whose data lie in devices' memory on all ranks of a node, by ipc-pull: nonblocking and persistent calls,
// several at a time, started in different orders.
//   device_pull_requests LIBRARY CASE    as device_pull, but for `chosen`
#include <cstdlib>
#include <deque>
#include <memory>

#include "device_buffers.hpp"
#include "quadrille.h"

namespace device_pull_requests_check {

using namespace quadrille::test;

// ---- The doors ----

// By MPI's names; persistent calls by those that this MPI has, or ours.
template <class Request, class... Arguments>
using Starts = int(Arguments..., Request*);
template <class Request, class... Arguments>
using Makes = int(Arguments..., MPI_Info, Request*);

void* find(const std::string& function) { return dlsym(RTLD_DEFAULT, function.c_str()); }

bool has_mpi_names() { return find("MPI_Alltoall_init") != nullptr || find("MPIX_Alltoall_init") != nullptr; }

enum class By { mpi, ours };

template <class Request, class... Arguments>
int open(const std::string& prefix, const char* function, bool persistent, Request* request, Arguments... arguments) {
  if (persistent) {
    void* symbol = find(prefix + function + "_init");
    if (symbol == nullptr) symbol = find("MPIX_" + std::string(function) + "_init");
    must(symbol != nullptr, function);
    return reinterpret_cast<Makes<Request, Arguments...>*>(symbol)(arguments..., MPI_INFO_NULL, request);
  }
  std::string small = function;
  small[0] = static_cast<char>(small[0] - 'A' + 'a');
  void* const symbol = find(prefix + "I" + small);
  must(symbol != nullptr, function);
  return reinterpret_cast<Starts<Request, Arguments...>*>(symbol)(arguments..., request);
}

template <class Request>
int open(const Buffers& b, const std::string& prefix, bool persistent, Request* request) {
  const void* const from = b.shape.in_place ? MPI_IN_PLACE : static_cast<const void*>(b.send.data);
  void* const to = b.recv.data;
  const Layout &out = b.out, &in = b.in;
  const int *counts = out.counts.data(), *places = out.places.data(), *in_counts = in.counts.data(),
            *in_places = in.places.data();
  const MPI_Datatype *types = out.types.data(), *in_types = in.types.data();
  const auto with = [&](const char* function, auto... arguments) {
    return open(prefix, function, persistent, request, arguments...);
  };
  switch (b.shape.form) {
    case Form::alltoall:
      return with("Alltoall", from, counts[0], types[0], to, in_counts[0], in_types[0], b.on.comm);
    case Form::alltoallv:
      return with("Alltoallv", from, counts, places, types[0], to, in_counts, in_places, in_types[0], b.on.comm);
    case Form::alltoallw:
      return with("Alltoallw", from, counts, places, types, to, in_counts, in_places, in_types, b.on.comm);
    case Form::allgather:
      return with("Allgather", from, counts[0], types[0], to, in_counts[0], in_types[0], b.on.comm);
    default:
      return with("Allgatherv", from, counts[0], types[0], to, in_counts, in_places, in_types[0], b.on.comm);
  }
}

template <class Function>
Function* ours(const char* function, Function*) {
  return reinterpret_cast<Function*>(find(function));
}
#define QUADRILLE_OURS(name) (*ours(#name, static_cast<decltype(&name)>(nullptr)))

// A request for calls with these buffers.
class Request {
 public:
  Request(Buffers& buffers, bool persistent, By by) : buffers_(buffers), persistent_(persistent), by_(by) {
    if (persistent) must(make() == MPI_SUCCESS, "a persistent request");
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request() { free(); }
  void free() {
    if (mpi_ != MPI_REQUEST_NULL) MPI_Request_free(&mpi_);
    if (ours_ != nullptr) QUADRILLE_OURS(Quadrille_Request_free)(&ours_);
  }
  // With new data.
  void start(int turn) {
    buffers_.tell();
    buffers_.fill(turn);
    start_as_it_is(turn);
  }
  void start_as_it_is(int turn) {
    turn_ = turn;
    error_ = !persistent_ ? make() : by_ == By::mpi ? MPI_Start(&mpi_) : QUADRILLE_OURS(Quadrille_Start)(&ours_);
  }
  bool test() {
    int there = 0;
    const int error =
        by_ == By::mpi ? MPI_Test(&mpi_, &there, MPI_STATUS_IGNORE) : QUADRILLE_OURS(Quadrille_Test)(&ours_, &there);
    if (there != 0 && error_ == MPI_SUCCESS) error_ = error;
    return there != 0;
  }
  // Returns the error. What was sent is overwritten at once.
  int wait() {
    if (error_ != MPI_SUCCESS) return error_;
    const int error = by_ == By::mpi ? MPI_Wait(&mpi_, MPI_STATUS_IGNORE) : QUADRILLE_OURS(Quadrille_Wait)(&ours_);
    buffers_.send.fill(-11);
    return error;
  }
  void wait_and_look(const char* what) {
    buffers_.tell();
    check(wait() == MPI_SUCCESS, "an error");
    buffers_.look(turn_, what);
  }
  Buffers& buffers() { return buffers_; }

 private:
  int make() {
    return by_ == By::mpi ? open(buffers_, "MPI_", persistent_, &mpi_)
                          : open(buffers_, "Quadrille_", persistent_, &ours_);
  }
  Buffers& buffers_;
  const bool persistent_;
  const By by_;
  int turn_ = 0, error_ = MPI_SUCCESS;
  MPI_Request mpi_ = MPI_REQUEST_NULL;
  Quadrille_Request ours_ = nullptr;
};

std::vector<By> doors(bool persistent) {
  if (persistent && !has_mpi_names()) return {By::ours};
  return {By::mpi, By::ours};
}

// What a start may not do again.
struct Taken {
  unsigned long opened = opens(), allocations = count("allocations"),
                pinned = count(is_cuda ? "cuMemAllocHost_v2" : "hipHostMalloc"),
                handles = count(is_cuda ? "cuIpcGetMemHandle" : "hipIpcGetMemHandle"),
                streams = count(is_cuda ? "cuStreamCreate" : "hipStreamCreateWithFlags"),
                events = count(is_cuda ? "cuEventCreate" : "hipEventCreateWithFlags");
  void expect_nothing(const char* what) const {
    const Taken now;
    check(now.opened == opened && now.allocations == allocations && now.pinned == pinned && now.handles == handles,
          what);
    check(now.streams == streams && now.events == events, what);
  }
};

// ---- What is checked ----

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const Form form : forms) {
    for (const int n : {1, 3000}) {
      for (const bool in_place : {false, true}) all.push_back({form, n, in_place});
    }
    if (!is_regular(form)) all.push_back({form, 40, false, true});
    if (!is_regular(form)) all.push_back({form, 40, true, true});
    all.push_back({form, 40, false, true, true});
  }
  all.push_back({Form::alltoall, 0});
  return all;
}

// The i-th of n in an order that is another one on each rank, and in each turn.
std::size_t turned(std::size_t i, std::size_t n, int turn) {
  const auto by = static_cast<std::size_t>(rank + turn);
  return rank % 2 == 0 ? (i + by) % n : (2 * n - 1 - i - by % n) % n;
}

// More at a time than there are lanes; completed in any order.
void check_nonblocking(const On& on, By by) {
  std::deque<Buffers> buffers;
  for (const Shape& shape : shapes()) buffers.emplace_back(shape, on);
  for (int turn = 0; turn < 3; ++turn) {
    const Pulled pulled;
    std::deque<Request> requests;
    for (Buffers& one : buffers) requests.emplace_back(one, false, by).start(turn);
    if (turn == 1) {
      for (bool all = false; !all;) {
        all = true;
        for (Request& one : requests) all = one.test() && all;
      }
    }
    for (std::size_t i = 0; i < requests.size(); ++i)
      requests[turned(i, requests.size(), turn)].wait_and_look("nonblocking");
    if (name == "plain" && is_cuda && leads()) check(batches() > pulled.before, "nobody pulled");
  }
}

void check_persistent(const On& on, By by) {
  std::deque<Buffers> buffers;
  std::deque<Request> requests;
  for (const Shape& shape : shapes()) requests.emplace_back(buffers.emplace_back(shape, on), true, by);
  const std::size_t n = requests.size();
  for (int turn = 0; turn < 4; ++turn) {
    if (turn == 1) MPI_Barrier(on.comm);
    const Taken before;
    const Pulled pulled;
    const unsigned long at_once = count("cuMemcpyBatchAsync_v2");  // kernels serve copies to the host, too
    for (std::size_t i = 0; i < n; ++i) requests[turned(i, n, turn)].start(turn);
    // A call that waits, beside them.
    if (turn % 2 == 1) {
      int sum = 0;
      MPI_Allreduce(&turn, &sum, 1, MPI_INT, MPI_SUM, on.comm);
    }
    for (std::size_t i = 0; i < n; ++i) requests[turned(i, n, turn + 1)].wait_and_look("persistent");
    if (name != "hidden") before.expect_nothing("a start takes something");
    if (name == "plain" && is_cuda && leads()) check(batches() > pulled.before, "no start pulled");
    if (name == "hidden") check(count("cuMemcpyBatchAsync_v2") == at_once, "what cannot be opened");
  }
  // All of a request is closed with it.
  const unsigned long opened = opens(), closed = closes();
  MPI_Barrier(on.comm);
  requests.clear();
  if (name == "plain" && leads()) check(closes() > closed, "a request that was freed closes what it had open");
  check(opens() == opened, "to free opens");
}

// Blocking calls beside both kinds.
void check_beside(const On& on, By by) {
  Buffers waits({Form::alltoallv, 200, false, true}, on), starts({Form::alltoall, 300}, on),
      again({Form::allgatherv, 100, true, true}, on);
  Request persistent(again, true, by);
  for (int turn = 0; turn < 4; ++turn) {
    Request request(starts, false, by);
    persistent.start(turn);
    request.start(turn);
    waits.check_calls(1, "a blocking call beside");
    persistent.wait_and_look("beside a blocking call");
    request.wait_and_look("beside a blocking call");
  }
}

// A start returns before any other rank has started: the next one starts when it is told that this one has.
void check_start_alone(const On& on, By by) {
  for (const bool persistent : {false, true}) {
    Buffers buffers({Form::alltoall, 500}, on);
    Request request(buffers, persistent, by);
    for (int turn = 0; turn < 3; ++turn) {
      int token = 0;
      if (on.me > 0) MPI_Recv(&token, 1, MPI_INT, on.me - 1, 7, on.comm, MPI_STATUS_IGNORE);
      request.start(turn);
      if (on.me + 1 < on.ranks) MPI_Send(&token, 1, MPI_INT, on.me + 1, 7, on.comm);
      request.wait_and_look("started one by one");
      MPI_Barrier(on.comm);
    }
  }
}

// What the program has put into the NULL stream before a start is done before; what it puts there later is not waited
// for. (Work on memory that is exported is done at once, so what is sent is in memory that cannot be.)
void check_null_stream(const On& on, By by, Where sent) {
  for (const bool persistent : {false, true}) {
    Buffers buffers({Form::alltoall, 100}, on, sent);
    Request request(buffers, persistent, by);
    // On each lane: to open memory and to close it may wait for the device.
    for (int turn = 0; turn < 8; ++turn) {
      request.start(turn);
      request.wait_and_look("before");
    }
    for (int turn = 0; turn < 2; ++turn) {
      set_bytes(buffers.send, 3 + turn);
      set_bytes(buffers.recv, 99);
      request.start_as_it_is(turn);
      check(request.wait() == MPI_SUCCESS, "an error");
      wait_for_null_stream();
      for (std::size_t i = 0; i < buffers.in.ints; ++i)
        check(buffers.recv.view[i] == (3 + turn) * 0x01010101, "work before the start");
    }
    if (!is_cuda || name == "hidden") continue;
    void* word = nullptr;
    must(driver.cuMemAllocHost_v2(&word, sizeof(std::uint32_t)) == 0, "a word");
    auto* const flag = static_cast<volatile std::uint32_t*>(word);
    *flag = 0;
    MPI_Barrier(on.comm);
    request.start(5);
    must(driver.cuStreamWaitValue32_v2(nullptr, reinterpret_cast<Address>(word), 1, 0) == 0, "a wait");
    request.wait_and_look("work after the start");  // waited for, it would never end
    *flag = 1;
    wait_for_null_stream();
    must(driver.cuMemFreeHost(word) == 0, "free");
  }
}

void check_kinds(const On& on, By by) {
  for (const bool persistent : {false, true}) {
    for (const Form form : {Form::alltoall, Form::alltoallw, Form::allgatherv}) {
      const Where some = on.me % 2 == 1 ? Where::pool : Where::device, host = on.me == 1 ? Where::host : Where::device;
      Buffers sent({form, 100}, on, some), received({form, 100}, on, Where::device, some),
          in_place({form, 100, true}, on, some, some);
      Buffers send_on_host({form, 100}, on, host), both_on_host({form, 100}, on, host, host);
      Buffers nobody({form, 100}, on, Where::host, Where::host);
      for (Buffers* one : {&sent, &received, &in_place, &send_on_host, &both_on_host, &nobody}) {
        Request request(*one, persistent, by);
        for (int turn = 0; turn < 3; ++turn) {
          request.start(turn);
          request.wait_and_look("kinds of memory");
        }
      }
      Request over_host(both_on_host, persistent, by);
      const Pulled pulled;
      over_host.start(9);
      over_host.wait_and_look("over the host");
      pulled.expect(false, 1, "over the host");
    }
  }
}

// A context goes, and all in it; the next one may be where it was.
void check_contexts(const On& on, By by) {
  if (!is_cuda) return;
  for (int turn = 0; turn < 6; ++turn) {
    quadrille::standin::Handle own = nullptr;
    must(driver.cuCtxCreate_v2(&own, 0, 0) == 0, "another context");
    {
      Buffers one({Form::alltoallv, 200, turn % 3 == 1}, on);
      Request request(one, turn % 2 == 1, by);
      for (int start = 0; start < 5; ++start) {
        request.start(start);
        request.wait_and_look("in another context");
      }
      MPI_Barrier(on.comm);
      if (turn % 4 == 1) request.free();
      one.send.gone = one.recv.gone = true;
      must(driver.cuCtxDestroy_v2(own) == 0, "destroy");
    }
    MPI_Barrier(on.comm);
    must(driver.cuCtxSetCurrent(driver.context) == 0, "current context");
  }
}

// A communicator that is freed while requests on it are there.
void check_communicators(By by) {
  for (const bool persistent : {false, true}) {
    for (int turn = 0; turn < 3; ++turn) {
      MPI_Comm comm;
      MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comm);
      Buffers warm({Form::alltoall, 50}, On(comm)), buffers({Form::alltoallv, 50, false, true}, On(comm));
      warm.check_calls(3, "on a communicator");
      Request request(buffers, persistent, by);
      request.start(turn);
      if (!persistent) MPI_Comm_free(&comm);
      request.wait_and_look("on a communicator");
      request.free();
      if (persistent) MPI_Comm_free(&comm);
    }
  }
}

// One rank cannot do something: all have their data, or an error; and the next starts are good.
void check_failures(const On& on, By by) {
  MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN);
  struct Case {
    const char *cuda, *hip;
    bool all_fail = false;
  };
  const Case cases[] = {
      {"cuIpcGetMemHandle:1+", "hipIpcGetMemHandle:1+"},
      {"cuIpcOpenMemHandle_v2:1+", "hipIpcOpenMemHandle:1+"},
      {"cuMemAlloc_v2:1+", "hipMalloc:1+"},
      {"cuMemAllocHost_v2:1+", "hipHostMalloc:1+"},
      {"cuStreamCreate:1+", "hipStreamCreateWithFlags:1+"},
      {"cuEventCreate:1+", "hipEventCreateWithFlags:1+"},
      {"cuEventRecord:1+", "hipEventRecord:1+"},
      {"cuEventQuery:1", "hipEventQuery:1"},
      {"cuStreamQuery:1", "hipStreamQuery:1"},
      {"cuStreamQuery:2", "hipStreamQuery:2"},
      {"cuLaunchKernel:1+", "hipGraphLaunch:1+,hipMemcpyAsync:1"},
      {"cuGraphInstantiateWithFlags:1+", "hipGraphInstantiateWithFlags:1+"},
      {"cuGraphLaunch:1+", "hipGraphLaunch:1+"},
      {"cuGraphAddMemcpyNode:2", "hipGraphAddMemcpyNode1D:2"},
      {"cuLaunchKernel:1+,cuMemcpyBatchAsync_v2:1+", "hipMemcpy2DAsync:1+"},
      {"cuGraphLaunch:1+,cuLaunchKernel:1+,cuMemcpyBatchAsync_v2:1+,cuMemcpyAsync:1",
       "hipGraphLaunch:1+,hipMemcpyAsync:1"},
      {"cuGraphLaunch:1+,cuLaunchKernel:1+,cuMemcpyBatchAsync_v2:1+,cuMemcpyAsync:2",
       "hipGraphLaunch:1+,hipMemcpyAsync:2"},
      {"cuGraphLaunch:1+,cuLaunchKernel:1+,cuMemcpyBatchAsync_v2:1+,cuMemcpyAsync:1+,cuMemcpy2DAsync_v2:1+",
       "hipGraphLaunch:1+,hipMemcpyAsync:1+,hipMemcpy2DAsync:1+", true},
  };
  for (const bool persistent : {false, true}) {
    for (const bool in_place : {false, true}) {
      for (const Case& one : cases) {
        Buffers buffers({Form::alltoallv, 70, in_place, true}, on);
        for (const bool at_init : {true, false}) {
          MPI_Barrier(on.comm);
          if (at_init) fail(on, is_cuda ? one.cuda : one.hip);
          Request request(buffers, persistent, by);
          if (!at_init) fail(on, is_cuda ? one.cuda : one.hip);
          request.start(1);
          const int error = request.wait();
          fail(on, "");
          doing += std::string(persistent ? ", persistent, " : ", ") + (is_cuda ? one.cuda : one.hip) +
                   (at_init ? " when it is made" : "");
          check((error != MPI_SUCCESS) == one.all_fail, "what becomes of a failure");
          if (error == MPI_SUCCESS) buffers.look(1, "after what one rank could not do");
          for (int turn = 2; turn < 4; ++turn) {
            Request other(buffers, false, by);
            // MPIs may free a persistent request that has failed.
            Request& next = persistent && (by == By::ours || error == MPI_SUCCESS) ? request : other;
            buffers.fill(turn);
            next.start_as_it_is(turn);
            check(next.wait() == MPI_SUCCESS, "an error afterwards");
            buffers.look(turn, "after failures");
          }
          MPI_Barrier(on.comm);
        }
      }
    }
  }
}

int main(int argc, char** argv) {
  const bool many = std::getenv("QUADRILLE_TEST_THREADS") != nullptr;
  int provided;
  MPI_Init_thread(&argc, &argv, many ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  if (argc < 3) return 2;
  begin_pulling(argv[1], argv[2]);
  const On world(MPI_COMM_WORLD);
  // From then on calls of the MPI's names may be ours.
  Buffers first({Form::alltoall, 10}, world);
  first.check_calls(2, "the first");
  for (const By by : doors(false)) check_nonblocking(world, by);
  for (const By by : doors(true)) {
    check_persistent(world, by);
    check_beside(world, by);
    check_start_alone(world, by);
    for (const Where sent : {Where::device, Where::pool}) check_null_stream(world, by, sent);
    check_kinds(world, by);
    check_contexts(world, by);
    check_communicators(by);
    if (name != "hidden") check_failures(world, by);
  }
  end_pulling();
  return say_verdict();
}

}  // namespace device_pull_requests_check
