// The first v and w calls inside a node race the orders of copies: what is the fastest on all ranks must stay on all of
// them, whatever each rank sends, and all data must arrive. The clock is the program's own, so that the load of the
// machine decides nothing.
#include <mpi.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "abi/native.hpp"
#include "mpi/mpi.hpp"
#include "program.hpp"
#include "quadrille.h"
#include "same_on_all.hpp"
#include "team/team.hpp"
#include "text/hash.hpp"

namespace uneven_orders_check {

namespace abi = quadrille::abi;
namespace choose = quadrille::choose;
namespace team = quadrille::team;
using quadrille::Collective;
using namespace quadrille::test;

constexpr int calls_of_a_trial = 400, mixed_calls = 300;
constexpr int little = 100, large = 8000, larger = 30000;  // bytes of the largest block: each has a load of its own
constexpr char gap = 99;

// ---- The clock: each look at it takes long, but little while the favourite runs ----

team::Team* of_the_world = nullptr;
Collective collective_now{};
std::string favourite;
double shown = 0;

bool runs_the_favourite() {
  for (const auto& [place, one] : of_the_world->asked.trials) {
    const choose::Trial& trial = one.trial;
    if (one.of.collective != collective_now || trial.contest.decided() || trial.counted < 0) continue;
    return choose::to_string(trial.candidates[static_cast<std::size_t>(trial.counted)]) == favourite;
  }
  return false;
}
double show() { return shown += runs_the_favourite() ? 0.1e-3 : 1e-3; }

// ---- The calls ----

// How many bytes rank `from` sends to rank `to`: different numbers, of which many are zero; rank 2 sends nothing, and
// rank 3 expects nothing.
int count_of(int from, int to, int most) {
  if (from == 2 || to == 3 || (from + to) % 3 == 0) return 0;
  return most - (from * 7 + to * 3) * most / 100;
}
char byte_of(int from, int to, int call) { return static_cast<char>(from * 31 + to * 7 + call); }

// What comes from the next rank lies in every second byte, in a w call.
MPI_Datatype every_second = MPI_DATATYPE_NULL;

class Calls {
 public:
  // `large_counts`: by the function for those.
  Calls(Collective collective, int most, bool in_heap, bool large_counts = false)
      : collective_(collective), most_(most), in_heap_(in_heap), large_counts_(large_counts) {}
  ~Calls() { Quadrille_Free(heap_); }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  // `too_little`: rank 1 expects less than it gets.
  void make(bool too_little = false) {
    ++calls_;
    const auto n = static_cast<std::size_t>(size), stride = 2 * static_cast<std::size_t>(most_) + 8;
    std::vector<int> sent(n), received(n), places(n);
    std::vector<MPI_Datatype> chars(n, MPI_CHAR), types = chars;
    char* const send = memory(2 * n * stride);
    char* const recv = send + n * stride;
    std::fill(send, send + 2 * n * stride, gap);
    for (int r = 0; r < size; ++r) {
      const auto i = static_cast<std::size_t>(r);
      places[i] = static_cast<int>(i * stride);
      sent[i] = count_of(rank, r, most_), received[i] = count_of(r, rank, most_);
      std::fill(send + places[i], send + places[i] + sent[i], byte_of(rank, r, calls_));
    }
    types[static_cast<std::size_t>((rank + 1) % size)] = every_second;
    const bool is_wrong = too_little && rank == 1;
    if (is_wrong) --received[0];
    int error = MPI_SUCCESS, kind = MPI_SUCCESS;
    if (large_counts_) {
      const std::vector<MPI_Count> large_sent(sent.begin(), sent.end()),
          large_received(received.begin(), received.end());
      const std::vector<MPI_Aint> large_places(places.begin(), places.end());
      error = Quadrille_Alltoallv_c(send, large_sent.data(), large_places.data(), MPI_CHAR, recv, large_received.data(),
                                    large_places.data(), MPI_CHAR, MPI_COMM_WORLD);
    } else if (collective_ == Collective::alltoallv) {
      error = Quadrille_Alltoallv(send, sent.data(), places.data(), MPI_CHAR, recv, received.data(), places.data(),
                                  MPI_CHAR, MPI_COMM_WORLD);
    } else {
      error = Quadrille_Alltoallw(send, sent.data(), places.data(), chars.data(), recv, received.data(), places.data(),
                                  types.data(), MPI_COMM_WORLD);
    }
    MPI_Error_class(error, &kind);
    check(kind == (is_wrong ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "another error", calls_);
    if (is_wrong) return;
    for (int from = 0; from < size; ++from) {
      const bool has_gaps = collective_ == Collective::alltoallw && from == (rank + 1) % size;
      check_block(recv + places[static_cast<std::size_t>(from)], stride, from, has_gaps ? 2 : 1);
    }
  }

  std::string choice() const {
    return choose::to_string(of_the_world->chosen.selections[index()].last()->selection.choice);
  }
  bool is_tried() const { return !team::is_decided(*of_the_world->chosen.selections[index()].last()); }
  int unasked() const { return of_the_world->asked.load[index()].unasked; }
  // Do calls that this rank has cached keep the answer of the ranks?
  bool is_kept() const { return of_the_world->asked.unasked_by_pairs[index()] != nullptr; }
  int calls() const { return calls_; }

 private:
  std::size_t index() const { return static_cast<std::size_t>(collective_); }

  char* memory(std::size_t bytes) {
    if (in_heap_ && heap_ == nullptr) Quadrille_Alloc(static_cast<MPI_Aint>(bytes), &heap_);
    own_.resize(in_heap_ ? 0 : bytes);
    return in_heap_ ? static_cast<char*>(heap_) : own_.data();
  }

  void check_block(const char* got, std::size_t stride, int from, std::size_t apart) const {
    std::vector<char> expected(stride, gap);
    const auto count = static_cast<std::size_t>(count_of(from, rank, most_));
    for (std::size_t b = 0; b < count; ++b) expected[b * apart] = byte_of(from, rank, calls_);
    check(std::equal(expected.begin(), expected.end(), got), "wrong data", calls_);
  }

  Collective collective_;
  int most_;
  bool in_heap_, large_counts_;
  int calls_ = 0;
  void* heap_ = nullptr;
  std::vector<char> own_;
};

void expect_alike(const Calls& calls) {
  check(is_same_on_all(calls.unasked()), "the ranks count differently", calls.calls());
  const auto name = quadrille::text::Hash().add(calls.choice()).value();
  check(is_same_on_all(static_cast<int>(name % 1000003)), "the ranks choose differently", calls.calls());
}

// ---- The cases ----

// All candidates run, and the favourite stays.
void race(Collective collective, int most, bool in_heap, const std::string& fastest) {
  favourite = fastest;
  Calls calls(collective, most, in_heap);
  for (int call = 0; call < calls_of_a_trial; ++call) calls.make();
  expect_alike(calls);
  check(!calls.is_tried(), "the trial does not end", calls.calls());
  check(calls.choice() == fastest, ("chosen: " + calls.choice() + ", not " + fastest).c_str(), calls.calls());
}

// Small blocks are not raced, and most of their calls are served from the cache of a thread. Rank 1 caches nothing, as
// it explains, and others have threads that know nothing: all count alike, also where a call fails on a rank.
void make_small(Collective collective) {
  Calls calls(collective, little, false);
  for (int call = 0; call < mixed_calls; ++call) {
    const bool is_seen = call > choose::most_unasked_of_class;  // by all ranks: that the load is another
    const bool fails = is_seen && call % 50 == 49;
    if ((call / 2 + rank) % 3 == 0) {
      std::thread([&] { calls.make(fails); }).join();
    } else {
      calls.make(fails);
    }
    if (call % 10 == 0) expect_alike(calls);
    if (!is_seen || fails) continue;
    check(calls.choice() == "single-copy", "small blocks do not go by pairs", call);
    check(!calls.is_tried(), "small blocks are raced", call);
    check(calls.is_kept(), "each call looks", call);
  }
}

// What was found for large blocks holds when they come again, also outside of the heap.
void change_the_load(Collective collective, const std::string& order) {
  of_the_world->counted.explains = rank == 1;
  for (const bool in_heap : {true, false}) {
    make_small(collective);
    Calls calls(collective, large, in_heap);
    for (int call = -calls.unasked(); call < mixed_calls; ++call) {  // until the ranks ask, and then some
      calls.make();
      if (call % 10 == 0) expect_alike(calls);
    }
    check(calls.choice() == order, "what was found for large blocks is lost", mixed_calls);
  }
  of_the_world->counted.explains = false;
}

// Amounts that change from call to call compare nothing, but all ranks do the same.
void change_in_each_call(Collective collective) {
  for (int call = 0; call < mixed_calls; ++call) {
    Calls calls(collective, call % 2 == 0 ? 3 * larger : 4 * larger, call % 3 == 0);
    calls.make();
    if (call % 10 == 0) expect_alike(calls);
  }
}

// Small blocks after large ones, by a function that some MPIs lack: then no turn of theirs ends a trial.
void make_with_large_counts() {
  Calls large_ones(Collective::alltoallv, 16 * larger, false, true), calls(Collective::alltoallv, 8, false, true);
  do calls.make();
  while (calls.unasked() > 0);
  for (int call = 0; call < 5; ++call) large_ones.make();
  expect_alike(large_ones);
  for (int call = 0; call < calls_of_a_trial; ++call) {
    calls.make();
    if (call % 10 == 0) expect_alike(calls);
  }
  check(calls.choice() == "single-copy", "small blocks do not go by pairs", calls.calls());
  check(calls.is_kept(), "each call looks", calls.calls());
}

void check_orders(Collective collective, const std::string& order) {
  collective_now = collective;
  race(collective, larger, true, "mpi");
  race(collective, large, true, order);
  change_the_load(collective, order);
  change_in_each_call(collective);
}

int main(int argc, char** argv) {
  const int level = begin_with_threads(&argc, &argv, MPI_THREAD_SERIALIZED);
  if (level < MPI_THREAD_SERIALIZED) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Type_create_resized(MPI_CHAR, 0, 2, &every_second);
  MPI_Type_commit(&every_second);
  Calls(Collective::alltoallv, little, false).make();  // makes the communicator ready
  of_the_world = team::team_of(abi::comm(MPI_COMM_WORLD));
  const_cast<quadrille::Mpi&>(quadrille::mpi()).Wtime = show;
  check_orders(Collective::alltoallv, "sh-co");
  make_with_large_counts();
  check_orders(Collective::alltoallw, "hint-column");
  MPI_Type_free(&every_second);
  MPI_Finalize();
  return say_verdict();
}

}  // namespace uneven_orders_check
