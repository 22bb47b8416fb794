// The first calls on several nodes try the MPI's own and the node's part: the faster one must stay, on all ranks, and
// all data must arrive. The clock is the program's own, so that the load of the machine decides nothing. One case a
// run; trial_later.cpp has the last four:
//   slow-mpi    the MPI's own takes long on one rank
//   slow-ours   messages of ours do, on all ranks
//   skewed      the MPI's own takes 1 ms everywhere, ours 1.5 ms on one rank and 0.1 ms on the others
//   unlike      v and w calls move so different amounts that they compare nothing
//   unlike-at-first  likewise, but later calls are alike, and are compared then
//   no-start    the MPI cannot start some reductions on one rank
//   no-answer   the MPI fails in a reduction: the call returns an error, and so does every later one on that
//               communicator
//   sums        calls of Allgatherv with the same largest block that move much more or less in all
//   off         nothing is tried
//   data        only that all data arrives
//   mixed       sizes in turn, in place, forced in between, communicators freed in the middle, a rank that expects
//               too little
//   orders      one node: orders of copies, with buffers in shared heaps and elsewhere
//   kept        what one communicator found holds on others of its shape, if all of their ranks have found the same
//   later       the MPI's own takes long, and after the trials messages of ours do: a check finds that
//   later-elsewhere  a check finds it on a communicator that took over what another had found
//   requests    requests go by what was decided last, on all ranks, whatever a rank has kept
//   later-inside  in one node, where cached ways serve what was found and count too; then ours becomes fast
#include "trial_check.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "abi/native.hpp"
#include "forms.hpp"
#include "mpi/mpi.hpp"
#include "sys/sys.hpp"
#include "team/switch_points.hpp"
#include "team/team.hpp"

namespace trial_check {

double show() { return shown += of_ours(); }
void show_time() {
  real.Comm_rank(real.comm_world, &real_rank);
  const_cast<Mpi&>(mpi()).Wtime = show;
}

template <auto Function>
struct Slow;
template <class... Arguments, int (*Mpi::*Function)(Arguments...)>
struct Slow<Function> {
  static int call(Arguments... arguments) {
    if (real_rank == 1 || everywhere) shown += 2e-3;
    return (real.*Function)(arguments...);
  }
};

template <auto Function>
void slow_down() {
  const_cast<Mpi&>(mpi()).*Function = Slow<Function>::call;
}

// Every third reduction cannot be started at first.
int starts = 0;
int seldom_started(const void* mine, void* all, int count, MpiType type, MpiOp op, MpiComm comm, MpiRequest* request) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1 && starts++ % 3 != 2) return MPI_ERR_NO_MEM;
  return real.Iallreduce(mine, all, count, type, op, comm, request);
}

// The reduction that was started last fails when it is complete.
MpiRequest doomed;
bool is_doomed = false;
int doom(const void* mine, void* all, int count, MpiType type, MpiOp op, MpiComm comm, MpiRequest* request) {
  const int error = real.Iallreduce(mine, all, count, type, op, comm, request);
  doomed = MpiRequests{request}[0], is_doomed = true;
  return error;
}
int fail_doomed(int count, MpiRequests requests, int* flag, MpiStatus* statuses) {
  const bool is_it = is_doomed && count == 1 && requests[0] == doomed;
  const int error = real.Testall(count, requests, flag, statuses);
  if (!is_it || *flag == 0) return error;
  is_doomed = false;
  return MPI_ERR_OTHER;
}

void slow_down(const std::string& name) {
  if (name != "slow-mpi" || real.Alltoall == nullptr) real = mpi();
  if (name == "no-start") const_cast<Mpi&>(mpi()).Iallreduce = seldom_started;
  if (name == "no-answer") const_cast<Mpi&>(mpi()).Iallreduce = doom, const_cast<Mpi&>(mpi()).Testall = fail_doomed;
  is_skewed = name == "skewed";
  if (name == "slow-mpi" || name == "slow-ours" || is_skewed) show_time();
  if (name == "slow-mpi") {
    slow_down<&Mpi::Alltoall>();
    slow_down<&Mpi::Alltoallv>();
    slow_down<&Mpi::Alltoallw>();
    slow_down<&Mpi::Allgather>();
    slow_down<&Mpi::Allgatherv>();
  }
  if (is_skewed) show_time_of<&Mpi::Alltoall, &Mpi::Alltoallv, &Mpi::Alltoallw, &Mpi::Allgather, &Mpi::Allgatherv>();
  everywhere = name == "slow-ours";
  if (name == "slow-ours") slow_down<&Mpi::Isend>();
}

// Memory of the program, or in its shared heap.
class Buffer {
 public:
  Buffer(std::size_t bytes, bool in_heap) : own_(in_heap ? 0 : bytes), base_(own_.data()) {
    if (in_heap) Quadrille_Alloc(static_cast<MPI_Aint>(bytes), &heap_);
    if (in_heap) base_ = static_cast<char*>(heap_);
  }
  ~Buffer() { Quadrille_Free(heap_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  char* data() { return base_; }

 private:
  std::vector<char> own_;
  void* heap_ = nullptr;
  char* base_;
};

void call_it(const Case& c, void* s, char* r, const std::vector<int>& counts, const std::vector<int>& places,
             MPI_Comm comm) {
  const std::vector<MPI_Datatype> types(counts.size(), MPI_CHAR);
  const auto side = [&](void* buffer) -> quadrille::test::CallSide {
    return {buffer, c.block, MPI_CHAR, counts.data(), places.data(), places.data(), nullptr, types.data()};
  };
  begin_call(quadrille::test::CallForm::blocking, c.collective, side(s), side(r), comm);
}

void exchange(const World& w, const Case& c, int call, MPI_Comm comm) {
  const auto n = static_cast<std::size_t>(w.ranks), block = static_cast<std::size_t>(c.block);
  Buffer send(n * block, c.in_heap), recv(n * block, c.in_heap);
  std::vector<int> counts(n, c.block), places(n);
  char* from_here = c.in_place ? recv.data() : send.data();
  std::memset(recv.data(), 99, n * block);
  for (int r = 0; r < w.ranks; ++r) {
    places[static_cast<std::size_t>(r)] = r * c.block;
    if (is_allgather(c.collective) && c.in_place && r != w.rank) continue;
    std::memset(from_here + static_cast<std::size_t>(r) * block,
                byte_of(w.rank, is_allgather(c.collective) ? 0 : r, call), block);
  }
  MPI_Barrier(comm);
  call_it(c, c.in_place ? MPI_IN_PLACE : send.data(), recv.data(), counts, places, comm);
  for (std::size_t i = 0; i < n * block; ++i) {
    const int from = static_cast<int>(i / block);
    if (recv.data()[i] == byte_of(from, is_allgather(c.collective) ? 0 : w.rank, call)) continue;
    return fail("rank %d: wrong data in call %d, blocks of %d bytes\n", w.rank, call, c.block);
  }
}

const team::CachedSelection& last_of(Collective collective, MPI_Comm comm) {
  return *team::team_of(abi::comm(comm))->chosen.selections[static_cast<std::size_t>(collective)].last();
}
const choose::Selection& selection(Collective collective, MPI_Comm comm) { return last_of(collective, comm).selection; }

// What does not wait for the slow rank of the MPI's own, whichever of them, or the MPI's own.
bool is_wanted(const std::string& chosen, const std::string& name, Collective collective) {
  const bool mpi_is_slow = name == "slow-mpi" || name == "no-start" || name == "skewed" || name == "unlike-at-first" ||
                           (name == "unlike" && is_sized(collective));
  return (chosen != "mpi") == mpi_is_slow;
}

// Calls that compared nothing are compared anew later.
int calls_of(const std::string& name, Collective collective) {
  if (name == "unlike-at-first") return 3 * calls;
  return name == "unlike" && !is_sized(collective) ? quadrille::tuner::Pause::if_nothing_was_found : calls;
}

void check_choices(const World& w, const std::string& name) {
  for (const Collective collective : all_collectives) {
    for (const int size : {50, most_block}) {
      if (!is_sized(collective) && size != most_block) continue;  // v and w calls are of one kind
      for (int call = 0; call < calls_of(name, collective); ++call) {
        const bool differs = name.starts_with("unlike") && call == 9 && !is_sized(collective);
        exchange(w, {collective, differs ? 10 * size : size}, call);
      }
      const std::string chosen = choose::to_string(selection(collective).choice);
      if (name == "data") continue;
      if (is_wanted(chosen, name, collective) && team::is_decided(last_of(collective))) continue;
      fail("rank %d, %s: %s was chosen: %s\n", w.rank, name.c_str(), chosen.c_str(),
           quadrille::text::words_of(selection(collective).why).c_str());
    }
  }
}

// A rank that expects less than comes is told, and the trial goes on.
void expect_too_little(const World& w) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int call = 0; call < calls; ++call) {
    if (call != choose::Trial::calls_in_turn + 1) {  // which is ours: what the MPI does then is its own affair
      exchange(w, {Collective::alltoallv, 64}, call, comm);
      continue;
    }
    std::vector<char> send(static_cast<std::size_t>(64 * w.ranks), 1), recv(send.size());
    std::vector<int> counts(static_cast<std::size_t>(w.ranks), 64), places(counts.size()), fewer = counts;
    for (int r = 0; r < w.ranks; ++r) places[static_cast<std::size_t>(r)] = 64 * r;
    if (w.rank == 1) fewer[0] = 10;
    const int error = Quadrille_Alltoallv(send.data(), counts.data(), places.data(), MPI_CHAR, recv.data(),
                                          fewer.data(), places.data(), MPI_CHAR, comm);
    int kind = MPI_SUCCESS;
    MPI_Error_class(error, &kind);
    if (kind != (w.rank == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS)) fail("rank %d: error class %d\n", w.rank, kind);
  }
  MPI_Comm_free(&comm);
}

void mix(const World& w) {
  for (const Collective c : all_collectives) {
    for (int call = 0; call < 2 * calls; ++call) {
      exchange(w, {c, call % 2 == 0 ? 50 : most_block, call % 5 == 3}, call);  // two classes
      exchange(w, {c, call % 3 == 0 ? 20000 : 20100, call % 4 == 1}, call);    // one class
    }
  }
  for (int round = 0; round < 8; ++round) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int call = 0; call < 5 + round; ++call) {
      for (const Collective c : all_collectives) exchange(w, {c, 700}, call, comm);
      if (call == 3) Quadrille_Set_algorithm(comm, "alltoall", "pairwise");
      if (call == 5) Quadrille_Set_algorithm(comm, "alltoall", nullptr);
    }
    MPI_Comm_free(&comm);
  }
  expect_too_little(w);
}

void have_no_answer(const World& w) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  std::vector<char> send(static_cast<std::size_t>(w.ranks)), recv(send.size());
  int first = -1;
  for (int call = 0; call < 2 * calls; ++call) {
    const int error = Quadrille_Alltoall(send.data(), 1, MPI_CHAR, recv.data(), 1, MPI_CHAR, comm);
    if (error == MPI_SUCCESS && first >= 0) fail("rank %d: call %d is served again\n", w.rank, call);
    if (error != MPI_SUCCESS && first < 0) first = call;
    if (first >= 0 && call > first && w.rank == 0) break;  // the others do not wait for it
  }
  if (first < 0) fail("rank %d: no call failed\n", w.rank);
  Quadrille_Request request;
  if (Quadrille_Ialltoall(send.data(), 1, MPI_CHAR, recv.data(), 1, MPI_CHAR, comm, &request) == MPI_SUCCESS) {
    fail("rank %d: a request is served\n", w.rank);
  }
  MPI_Comm_free(&comm);
}

void gather_different_sums(const World& w) {
  const auto n = static_cast<std::size_t>(w.ranks);
  std::vector<int> places(n);
  std::vector<char> send(most_block), recv(n * most_block);
  for (std::size_t r = 0; r < n; ++r) places[r] = static_cast<int>(r) * most_block;
  std::vector<int> loads;
  for (const int others : {most_block, 0}) {
    std::vector<int> counts(n, others);
    counts[0] = most_block;
    for (int call = 0; call < 2 * calls; ++call) {
      Quadrille_Allgatherv(send.data(), counts[static_cast<std::size_t>(w.rank)], MPI_CHAR, recv.data(), counts.data(),
                           places.data(), MPI_CHAR, MPI_COMM_WORLD);
    }
    const auto& selections = team::team_of(abi::comm(MPI_COMM_WORLD))->chosen.selections;
    const team::CachedSelection* last = selections[static_cast<std::size_t>(Collective::allgatherv)].last();
    loads.push_back(last->load);
    if (last->trial == nullptr || !last->trial->trial.contest.decided())
      fail("rank %d: the trial does not end\n", w.rank);
  }
  if (loads[0] == loads[1]) fail("rank %d: they share a trial\n", w.rank);
}

// Sizes of one class, of which one fits a slot and the next does not. `parts`: those up to the slot's size over this go
// through the inboxes untried.
void try_around_the_slot(const World& w, std::size_t parts) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  exchange(w, {Collective::alltoall, 50000}, 0, comm);
  team::Team& here = *team::team_of(abi::comm(comm));
  const int limit = static_cast<int>(here.group.reach().slot_limit);
  choose::SwitchPoints points = here.group.reach().points;
  points.inbox_limit.fill(here.group.reach().slot_limit / parts);
  team::use_switch_points(here, points);
  std::vector<const team::Try*> trials;
  for (const int block : {limit - 40, limit + 40}) {
    for (int call = 0; call < 2 * calls; ++call) exchange(w, {Collective::alltoall, block}, call, comm);
    trials.push_back(here.chosen.selections[static_cast<std::size_t>(Collective::alltoall)].last()->trial);
  }
  if (trials[0] == trials[1]) fail("rank %d: they share a trial\n", w.rank);
  MPI_Comm_free(&comm);
}

// Calls until all ranks have decided, and some after that.
void call_until_decided(const World& w, const Case& c) {
  constexpr int between_looks = 25;
  int most = 3 * calls, decided = 0;
  for (int call = 0; call < most; ++call) {
    exchange(w, {c.collective, c.block, call % 7 == 6, c.in_heap}, call);
    if (decided == 1 || call % between_looks != between_looks - 1) continue;
    const team::Try* const trial = last_of(c.collective).trial;
    const int mine = trial != nullptr && trial->trial.contest.decided() ? 1 : 0;
    MPI_Allreduce(&mine, &decided, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (decided == 1) most = call + between_looks;
  }
}

// What lies outside the heap must be copied for the orders: little of it is, much is not.
void try_orders(const World& w) {
  for (const Collective c : {Collective::alltoall, Collective::allgather}) {
    for (const auto& [block, in_heap] : {std::pair(20000, true), std::pair(10000, false), std::pair(150000, false),
                                         std::pair(8, false), std::pair(1000, true)}) {
      call_until_decided(w, {c, block, false, in_heap});
      if (!team::is_decided(last_of(c))) fail("rank %d: the trial does not end\n", w.rank);
      if (last_of(c).trial == nullptr) fail("rank %d: %d bytes are not tried\n", w.rank, block);
    }
  }
  for (const std::size_t parts : {1, 2}) try_around_the_slot(w, parts);
  const quadrille::run::Group& group = team::team_of(abi::comm(MPI_COMM_WORLD))->group;
  // In place the send blocks are copied, whatever serves the call; the others are not.
  if (group.scratch.packing.recv.size() > std::size_t{1} << 20)
    fail("rank %d: %zu bytes of copies\n", w.rank, group.scratch.packing.recv.size());
}

// ---- What is kept ----

// Some of the ranks of the world, or all of them again. Null on the others.
MPI_Comm comm_of(const World& w, const std::vector<int>& ranks) {
  const auto place = std::find(ranks.begin(), ranks.end(), w.rank);
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, place == ranks.end() ? MPI_UNDEFINED : 0, static_cast<int>(place - ranks.begin()),
                 &comm);
  return comm;
}

bool tries_on(const World& w, const std::vector<int>& ranks, Collective collective, int most_calls) {
  MPI_Comm comm = comm_of(w, ranks);
  bool tried = false;
  if (comm != MPI_COMM_NULL) {
    World here;
    MPI_Comm_rank(comm, &here.rank);
    MPI_Comm_size(comm, &here.ranks);
    exchange(here, {collective, 3000}, 0, comm);
    tried = !team::is_decided(last_of(collective, comm));
    if (!tried && choose::to_string(selection(collective, comm).choice) != "mpi" &&
        team::team_of(abi::comm(comm))->counted.counters.served != 1) {
      fail("rank %d: the call went to the MPI\n", w.rank);
    }
    for (int call = 1; tried && call < most_calls; ++call) exchange(here, {collective, 3000}, call, comm);
    MPI_Comm_free(&comm);
  }
  int mine = tried ? 1 : 0, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return all == 1;
}

void expect(bool good, const char* what, Collective collective) {
  if (!good) fail("%s: %s\n", std::string(name_of(collective)).c_str(), what);
}

// What this rank keeps becomes another choice.
void turn_around(Collective collective) {
  const auto all = team::all_verdicts();
  for (const auto& [of, verdict] : all) {
    if (of.collective != collective) continue;
    const bool is_mpi = choose::to_string(verdict.best) == "mpi";
    team::keep_verdict(of, {choose::plain(collective, is_mpi ? "single-copy" : "mpi"), {quadrille::Reason::measured}});
  }
}

void keep(const World& w) {
  slow_down("slow-mpi");
  for (const Collective c : all_collectives) {
    expect(tries_on(w, {0, 1, 2, 3}, c), "nothing is tried", c);
    expect(!tries_on(w, {0, 1, 2, 3}, c), "what was found is not kept", c);
    expect(!tries_on(w, {1, 0, 3, 2}, c), "nor in another order on the same nodes", c);
    expect(tries_on(w, {0, 1, 2}, c), "another number of ranks has another verdict", c);
    expect(tries_on(w, {0, 1, 3}, c), "rank 3 has none for three ranks", c);
    expect(!tries_on(w, {0, 1, 3}, c), "now it has", c);
    if (w.rank == 3) turn_around(c);
    expect(tries_on(w, {0, 1, 2, 3}, c), "rank 3 has found something else", c);
    expect(!tries_on(w, {0, 1, 2, 3}, c), "all have found the same again", c);
  }
  // Any histories, also of trials that did not end.
  unsigned draw = 12345;
  const auto below = [&](unsigned end) { return (draw = draw * 1103515245U + 12345U) / 65536U % end; };
  for (int round = 0; round < 150; ++round) {
    std::vector<int> ranks = {0, 1, 2, 3};
    for (unsigned i = 3; i > 0; --i) std::swap(ranks[i], ranks[below(i + 1)]);
    ranks.resize(2 + below(3));
    tries_on(w, ranks, all_collectives[below(static_cast<unsigned>(all_collectives.size()))],
             static_cast<int>(1 + below(45)));
    if (below(5) == 0 && w.rank == static_cast<int>(below(4))) turn_around(Collective::alltoall);
  }
}

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  World w;
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  const bool mpi_is_slow = name.starts_with("unlike") || name == "no-start";
  slow_down(name);
  if (mpi_is_slow) slow_down("slow-mpi");
  if (name == "mixed") {
    mix(w);
  } else if (name == "kept") {
    keep(w);
  } else if (name == "later") {
    change_later(w);
  } else if (name == "later-elsewhere") {
    check_what_was_kept(w);
  } else if (name == "later-inside") {
    change_later_inside(w);
  } else if (name == "requests") {
    request_what_was_decided(w);
  } else if (name == "no-answer") {
    have_no_answer(w);
  } else if (name == "sums") {
    gather_different_sums(w);
  } else if (name == "orders") {
    try_orders(w);
  } else {
    check_choices(w, name);
  }
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}

}  // namespace trial_check
