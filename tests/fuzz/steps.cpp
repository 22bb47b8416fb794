#include "steps.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <numeric>
#include <optional>
#include <thread>

#include "completion.hpp"
#include "traffic.hpp"
#include "watchdog.hpp"

namespace quadrille::fuzz {
namespace {

// A child that writes all over its copy of the buffers, and perhaps lives on for a while.
class Child {
 public:
  Child(Draw& draw, Call& call) {
    if (!draw.one_in(150)) return;
    const bool lives_on = draw.one_in(2);
    child_ = fork();
    if (child_ == 0) {
      call.scribble();
      if (lives_on) usleep(5000);
      _exit(0);
    }
    if (!lives_on) wait();
  }
  ~Child() { wait(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  void wait() {
    if (child_ > 0) waitpid(child_, nullptr, 0);
    child_ = -1;
  }
  pid_t child_ = -1;
};

void dawdle(Draw& draw) {
  if (draw.one_in(25)) usleep(static_cast<useconds_t>(draw.below(3000)));
}

// A program may wait in any function of MPI before it waits for what it has started.
void meet(Draw& draw, const Communicator& where) {
  if (!draw.one_in(4)) return;
  int one = 1, all = 0;
  if (where.inter || draw.one_in(2)) {
    MPI_Barrier(where.comm);
  } else {
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, where.comm);
  }
}

}  // namespace

void Steps::count(const CallPlan& plan) {
  ++counts_[static_cast<std::size_t>(plan.collective)][static_cast<std::size_t>(plan.form)];
}

void Steps::repeat_one(std::uint64_t seed, const Communicator& where, int thread) {
  Draw draw(seed);
  at("arguments", nullptr, thread);
  Call call(draw_call(draw.next(), where, wishes_, false), where, rank_);
  Draw own(seed_of({seed, 5, static_cast<std::uint64_t>(rank_)}));
  const std::uint64_t beside = draw.next();
  Draw of_all(seed_of({seed, 7}));
  std::optional<Traffic> traffic;
  if (draw.one_in(2)) traffic.emplace(beside, where, wishes_);
  try {
    for (int repeat = 0; repeat < call.plan().repeats; ++repeat) {
      call.fill(repeat);
      const bool with_traffic = traffic && repeat % 4 == 0;
      at("messages before", &call, thread);
      if (with_traffic) traffic->before();
      dawdle(own);
      std::optional<Child> child;
      if (thread == 0 && !wishes_.threads && !wishes_.skips.forks) child.emplace(own, call);
      at("the call", &call, thread);
      call.start();
      if (!is_blocking(call.plan().form)) {
        at("waiting for others before the call is complete", &call, thread);
        meet(of_all, where);
        at("the wait", &call, thread);
      }
      call.finish();
      if (!wishes_.mistake.empty() && !spoiled_ && rank_ == 0) spoiled_ = call.spoil(wishes_.mistake);
      at("messages after", &call, thread);
      if (with_traffic) traffic->after();
      call.verify();
      count(call.plan());
    }
  } catch (const Finding& finding) {
    throw Finding{finding.what + ": " + call.describe()};
  }
  at("between calls", nullptr, thread);
}

// Each by itself, in an order of this rank's own, or all together.
void Steps::complete_all(Draw& draw, const std::vector<std::unique_ptr<Call>>& calls,
                         const std::vector<std::size_t>& order, Call*& now) {
  if (draw.one_in(2)) {
    for (const std::size_t i : order) {
      now = calls[i].get();
      at("the wait", now);
      now->finish();
    }
    return;
  }
  std::vector<MPI_Request> requests;
  for (const std::size_t i : order) requests.push_back(calls[i]->request());
  now = calls[order[0]].get();
  at("the wait for all", now);
  bool without_testall = false;
  for (const auto& call : calls) without_testall = without_testall || call->plan().skips.testall;
  const Completed completed = complete(draw, requests, without_testall);
  for (std::size_t k = 0; k < order.size(); ++k) calls[order[k]]->request() = requests[k];
  succeed(completed.error, std::string(completed.by) + " of all");
}

// Several calls in flight at once: all are started in one order, and each rank completes them in its own order.
void Steps::overlap(std::uint64_t seed, const Communicator& where) {
  Draw draw(seed);
  Draw own(seed_of({seed, 6, static_cast<std::uint64_t>(rank_)}));
  std::vector<std::unique_ptr<Call>> calls;
  const std::size_t count_of_calls = draw.between(2, 5);
  for (std::size_t i = 0; i < count_of_calls; ++i) {
    at("arguments");
    calls.push_back(std::make_unique<Call>(draw_call(draw.next(), where, wishes_, false), where, rank_));
  }
  Call* now = nullptr;
  try {
    std::vector<std::size_t> order(calls.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    own.shuffle(order);
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (const auto& call : calls) {
        now = call.get();
        now->fill(repeat);
        dawdle(own);
        at("the start", now);
        now->start();
        count(now->plan());
      }
      complete_all(own, calls, order, now);
      for (const auto& call : calls) {
        now = call.get();
        now->verify();
      }
    }
  } catch (const Finding& finding) {
    throw Finding{finding.what + ": one of several, " + now->describe()};
  }
  at("between calls");
}

void Steps::two_threads(std::uint64_t seed, const Communicator& one, const Communicator& other) {
  std::optional<Finding> found;
  std::thread second([&] {
    const StackArea stack;
    try {
      for (std::uint64_t i = 0; i < 3 && other.comm != MPI_COMM_NULL; ++i)
        repeat_one(seed_of({seed, other.number, i}), other, 1);
    } catch (const Finding& finding) {
      // The other ranks are waiting for this thread: do not let this one wait for them.
      report("FINDING in the second thread: " + finding.what);
      _exit(87);
    }
  });
  try {
    for (std::uint64_t i = 0; i < 3 && one.comm != MPI_COMM_NULL; ++i)
      repeat_one(seed_of({seed, one.number, i}), one, 0);
  } catch (const Finding& finding) {
    report("FINDING " + finding.what);
    _exit(87);
  }
  second.join();
}

void Steps::run(std::uint64_t step) {
  at_step(step);
  at("communicators");
  Draw draw(seed_of({seed_, 2000, step}));
  const std::size_t slot = draw.one_in(3) ? 0 : draw.below(communicators_.slots());
  const bool threads = wishes_.threads && draw.one_in(3);
  const std::size_t beside = (slot + 1 + draw.below(communicators_.slots() - 1)) % communicators_.slots();
  const bool several = !wishes_.skips.overlap && draw.one_in(6);
  const Communicator& where = communicators_.at(step, slot);
  if (threads) {
    two_threads(draw.next(), where, communicators_.at(step, beside));
  } else if (where.comm != MPI_COMM_NULL) {
    const std::uint64_t seed = seed_of({draw.next(), where.number});
    const bool apart = wishes_.skips.topology_overlap && where.topology;
    several && !apart ? overlap(seed, where) : repeat_one(seed, where, 0);
  }
  if (const std::string wrong = not_dropped(); !wrong.empty() && !wishes_.skips.dropped) throw Finding{wrong};
}

}  // namespace quadrille::fuzz
