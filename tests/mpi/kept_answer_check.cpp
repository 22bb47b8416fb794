// Calls of which no rank knows all sizes, left to the MPI between nodes: the ranks ask each other from time to time
// whether that still holds, and the calls in between keep the answer. All ranks must count those calls alike, whether a
// rank makes them by a thread that remembers or by one that looks, and whatever is wrong with a call on all ranks; or
// one would ask while the others do not, and hang. One case a run:
//   trials   by what the first calls took; messages of ours are slow, by a clock of this program
//   model    by the cost model of a tuning table, by which the MPI is faster with large blocks
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "abi/native.hpp"
#include "api/call_cache.hpp"
#include "choose/tuning.hpp"
#include "forms.hpp"
#include "mpi/mpi.hpp"
#include "program.hpp"
#include "same_on_all.hpp"
#include "team/switch_points.hpp"
#include "team/team.hpp"

namespace kept_answer_check {

namespace abi = quadrille::abi;
namespace choose = quadrille::choose;
namespace team = quadrille::team;
using quadrille::Collective;
using quadrille::MpiComm;
using quadrille::MpiRequest;
using quadrille::MpiType;
using namespace quadrille::test;

constexpr int small = 8, large = 20000, stride = large + 1;
constexpr int enough_calls = 400, mixed_calls = 140;

std::string write_table() {
  const std::string file = "/tmp/quadrille_kept_answer_check_" + std::to_string(getpid()) + ".json";
  choose::TuningTable table{team::this_machine(), {}};
  for (const bool crowded : {false, true}) {
    table.entries.push_back({2, crowded, choose::default_switch_points(crowded)});
    table.models.push_back({4, 1, crowded, {{1e-6, 1e-7, 0}, {1e-3, 1e-9, 0}}});
  }
  const std::string why = choose::write_tuning_file(file, table);
  if (!why.empty()) std::fprintf(stderr, "%s\n", why.c_str()), std::exit(2);
  return file;
}

// Only looks at the clock and messages of ours advance it.
double shown = 0;
double show() { return shown += 0.1e-3; }

int (*real_isend)(const void*, int, MpiType, int, int, MpiComm, MpiRequest*);
int slow_isend(const void* bytes, int count, MpiType type, int to, int tag, MpiComm comm, MpiRequest* request) {
  shown += 3e-3;
  return real_isend(bytes, count, type, to, tag, comm, request);
}

void slow_messages_down() {
  auto& functions = const_cast<quadrille::Mpi&>(quadrille::mpi());
  real_isend = functions.Isend;
  functions.Isend = slow_isend;
  functions.Wtime = show;
}

class Calls {
 public:
  Calls(Collective collective, MPI_Comm comm) : collective_(collective), comm_(comm) {
    for (int r = 0; r < size; ++r) places_.push_back(r * stride);
  }

  // Returns what the function does. `sound`: its types are.
  int make(int block, bool sound = true) {
    ++calls_;
    const std::vector<int> counts(places_.size(), block);
    const MPI_Datatype type = sound ? MPI_CHAR : MPI_DATATYPE_NULL;
    const std::vector<MPI_Datatype> types(places_.size(), type);
    std::vector<char> send(places_.size() * stride), recv(send.size(), 99);
    for (int to = 0; to < size; ++to) std::memset(&send[places_[to]], value(rank, to), static_cast<std::size_t>(block));
    const auto side = [&](std::vector<char>& buffer) -> CallSide {
      return {buffer.data(), block, type, counts.data(), places_.data(), places_.data(), nullptr, types.data()};
    };
    const int error = begin_call(CallForm::blocking, collective_, side(send), side(recv), comm_);
    for (int from = 0; sound && from < size; ++from) {
      const char* const got = &recv[places_[from]];
      check(got[0] == value(from, rank) && got[block - 1] == value(from, rank) && got[block] == 99, "wrong data",
            calls_);
    }
    return error;
  }

  team::Team& team() const { return *team::team_of(abi::comm(comm_)); }
  // How many more calls keep the answer; -1: each must look.
  int kept() const {
    const int* const unasked = team().asked.unasked_to_mpi[static_cast<std::size_t>(collective_)];
    return unasked == nullptr ? -1 : *unasked;
  }
  std::string choice() const {
    const auto c = static_cast<std::size_t>(collective_);
    return choose::to_string(team().chosen.selections[c].last()->selection.choice);
  }
  Collective collective() const { return collective_; }
  MPI_Comm comm() const { return comm_; }
  int calls() const { return calls_; }

 private:
  static char value(int from, int to) { return static_cast<char>(from * 16 + to + 1); }

  Collective collective_;
  MPI_Comm comm_;
  std::vector<int> places_;
  int calls_ = 0;
};

// Until many calls keep the answer.
void keep(Calls& calls) {
  for (int call = 0; call < enough_calls && calls.kept() < 20; ++call) {
    calls.make(large);
    check(is_same_on_all(calls.kept()), "the ranks count differently", calls.calls());
  }
  check(calls.kept() >= 20, "no answer is kept", calls.calls());
  check(calls.choice() == "mpi", "it does not go to the MPI", calls.calls());
}

// The short way is there, and counts.
void take_the_short_way(Calls& calls) {
  calls.make(large);
  const int before = calls.kept();
  check(quadrille::api::forwarded_by_cache(calls.collective(), abi::comm(calls.comm())),
        "it does not take the short way", calls.calls());
  check(calls.kept() == before - 1, "the short way does not count", calls.calls());
}

// Some ranks by this thread, the others by one that remembers nothing.
void mix(Calls& calls) {
  for (int call = 0; call < mixed_calls; ++call) {
    const bool sound = call % 3 != 0;
    int error = MPI_SUCCESS;
    const auto make = [&] { error = calls.make(large, sound); };
    if ((call / 2 + rank) % 2 == 0) {
      make();
    } else {
      std::thread(make).join();
    }
    check((error == MPI_SUCCESS) == sound, "another error", calls.calls());
    check(is_same_on_all(calls.kept()), "the ranks count differently", calls.calls());
  }
}

// The call that must ask is wrong on all ranks: so the next one asks, on all of them.
void ask_by_a_wrong_call(Calls& calls) {
  keep(calls);
  while (calls.kept() > 0) calls.make(large);
  for (int call = 0; call < 3; ++call) {
    check(calls.make(large, false) != MPI_SUCCESS, "a wrong call returns no error", calls.calls());
    check(is_same_on_all(calls.kept()) && calls.kept() == 0, "a wrong call asks", calls.calls());
  }
  calls.make(large);
  check(is_same_on_all(calls.kept()) && calls.kept() > 0, "the next call does not ask", calls.calls());
}

// Two communicators in turn: this thread remembers the last one alone.
void alternate(Calls& calls, Calls& others) {
  keep(calls);
  keep(others);
  for (int call = 0; call < mixed_calls; ++call) {
    (call % 3 == 0 ? others : calls).make(large, call % 4 != 0);
    check(is_same_on_all(calls.kept()) && is_same_on_all(others.kept()), "the ranks count differently", calls.calls());
  }
}

// One rank alone wants to know, and then remembers nothing.
void explain_on_one(Calls& calls) {
  keep(calls);
  calls.team().counted.explains = rank == 1;
  mix(calls);
  calls.team().counted.explains = false;
}

// Other loads are seen by all, and the choice is another one then.
void change(Calls& calls, bool by_model) {
  const auto c = static_cast<std::size_t>(calls.collective());
  const int before = calls.team().asked.load[c].now;
  for (int call = 0; call < mixed_calls; ++call) {
    calls.make(small);
    check(is_same_on_all(calls.kept()), "the ranks count differently", calls.calls());
  }
  if (by_model) {
    check(calls.choice() != "mpi", "small blocks go to the MPI", calls.calls());
  } else {
    check(calls.team().asked.load[c].now < before, "the ranks did not ask", calls.calls());
  }
}

// What is forced holds at once.
void force(Calls& calls) {
  keep(calls);
  const std::uint64_t before = calls.team().counted.counters.served;
  Quadrille_Set_algorithm(calls.comm(), calls.collective() == Collective::alltoallv ? "alltoallv" : "alltoallw",
                          "spread-out");
  calls.make(large);
  check(calls.kept() < 0, "the answer is still kept", calls.calls());
  check(calls.team().counted.counters.served == before + 1, "the call went to the MPI", calls.calls());
  Quadrille_Set_algorithm(calls.comm(), calls.collective() == Collective::alltoallv ? "alltoallv" : "alltoallw",
                          nullptr);
  calls.make(large);
}

MPI_Comm a_communicator() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

int main(int argc, char** argv) {
  alarm(120);  // it hangs
  const bool by_model = argc > 1 && std::string(argv[1]) == "model";
  const std::string file = by_model ? write_table() : "";
  if (by_model) setenv("QUADRILLE_TUNING", file.c_str(), 1);
  const int level = begin_with_threads(&argc, &argv, MPI_THREAD_SERIALIZED);
  if (level < MPI_THREAD_SERIALIZED) MPI_Abort(MPI_COMM_WORLD, 2);
  if (!by_model) slow_messages_down();
  // Twice: an MPI may give the handle of a communicator that was freed to another.
  for (const Collective collective : {Collective::alltoallv, Collective::alltoallv, Collective::alltoallw}) {
    MPI_Comm comm = a_communicator(), other = a_communicator();
    Calls calls(collective, comm), others(collective, other);
    keep(calls);
    take_the_short_way(calls);
    mix(calls);
    ask_by_a_wrong_call(calls);
    alternate(calls, others);
    explain_on_one(calls);
    keep(calls);
    change(calls, by_model);
    force(calls);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&other);
  }
  if (by_model) std::remove(file.c_str());
  MPI_Finalize();
  return say_verdict();
}

}  // namespace kept_answer_check
