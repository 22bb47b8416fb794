// Calls with a device's memory on some ranks, on an MPI that takes such memory, whatever MPI that is: its functions are
// given the memory behind the stand-in's. The ranks must notice such calls, try what may serve them, keep what shows
// the least time, and go back to what serves the host when the memory is that. One case a run:
//   slow       the MPI's own collectives show ten times the time of ours, and its messages from a device a fifth of
//   that fast       ours do messages   the MPI's collectives may see no device's memory (QUADRILLE_MPI_DEVICE=messages)
//   pull       the MPI may see none at all (QUADRILLE_MPI_DEVICE=0); the ranks' copies from each other show the least
//   time piped      likewise, and calls in chunks show less rounds     likewise, between nodes model      likewise
//   `messages`, each rank on a node; nothing is tried, but the tuning table has models by which the way
//              over the host is dear
// With QUADRILLE_TEST_LEARNED a tuning table has it all, and nothing may be tried.
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "../device/standin.hpp"
#include "abi/native.hpp"
#include "choose/tuning.hpp"
#include "device_memory.hpp"
#include "forms.hpp"
#include "mpi/mpi.hpp"
#include "ring.hpp"
#include "team/neighbors.hpp"
#include "team/switch_points.hpp"
#include "team/team.hpp"
#include "tool/explain/assumed.hpp"

namespace {

namespace abi = quadrille::abi;
namespace choose = quadrille::choose;
namespace team = quadrille::team;
using quadrille::Collective;
using quadrille::Mpi;
using quadrille::mpi;
using quadrille::test::allocate;
using quadrille::test::begin_call;
using quadrille::test::CallForm;
using quadrille::test::complete_call;
using quadrille::test::MemoryKind;

constexpr int enough = 400;
int block = 600;  // bytes

std::string name;
int rank = 0, ranks = 1, failures = 0;
bool is_piped() { return name == "piped" || name == "rounds"; }
bool takes_none() { return name == "pull" || is_piped(); }

Mpi real;  // the MPI's functions as they are

template <class... Arguments>
void fail(const char* format, Arguments... arguments) {
  ++failures;
  std::fprintf(stderr, format, arguments...);
}

// ---- An MPI that takes a device's memory ----

quadrille_standin_host_t* behind = nullptr;
bool in_collective = false;

bool from_device = false;  // a message went from or to a device

const void* seen(const void* buffer) {
  if (buffer == nullptr || buffer == MPI_IN_PLACE) return buffer;
  const void* const host = behind(reinterpret_cast<quadrille::standin::Address>(buffer), 1);
  if (host != nullptr && host != buffer && !in_collective) from_device = true;
  const bool is_none_of_its = takes_none() || ((name == "messages" || name == "model") && in_collective);
  if (host != nullptr && host != buffer && is_none_of_its) fail("the MPI was given a device's memory\n");
  return host != nullptr ? host : buffer;
}
void* seen(void* buffer) { return const_cast<void*>(seen(const_cast<const void*>(buffer))); }
template <class Argument>
Argument seen(Argument argument) {
  return argument;
}

// Between two looks at the clock passes what a call of ours takes; the MPI's own put right what is missing, or too
// much.
double shown = 0;
int shown_by_mpi = 0;
double of_ours() { return name == "slow" ? 1e-4 : 1e-3; }
double of_the_mpi() { return name == "slow" || name == "rounds" ? 1e-3 : 1e-4; }
// Of those that submit their copies to a device at once, a tenth; of those whose messages go from there, a fifth.
unsigned long submitted = 0, marked = 0;
double show() {
  // Calls in chunks mark what they have put into streams.
  const unsigned long marks = quadrille::test::count_calls("cuEventRecord", nullptr);
  const unsigned long now = quadrille::test::count_calls("cuMemcpyBatchAsync_v2", nullptr);
  const double straight = std::exchange(from_device, false) ? of_ours() / 5 : of_ours();
  const bool at_once = std::exchange(submitted, now) != now;
  if (std::exchange(marked, marks) != marks) return shown += is_piped() ? of_ours() / 20 : of_ours();
  return shown += at_once ? of_ours() / 10 : straight;
}

template <auto Function>
struct Seeing;
template <class... Arguments, int (*Mpi::*Function)(Arguments...)>
struct Seeing<Function> {
  static int message(Arguments... arguments) { return (real.*Function)(seen(arguments)...); }
  static int collective(Arguments... arguments) {
    shown += of_the_mpi() - of_ours();
    in_collective = true;
    ++shown_by_mpi;
    const int error = (real.*Function)(seen(arguments)...);
    in_collective = false;
    return error;
  }
};
template <auto... Functions>
void see_messages() {
  ((const_cast<Mpi&>(mpi()).*Functions = Seeing<Functions>::message), ...);
}
template <auto... Functions>
void see_collectives() {
  ((const_cast<Mpi&>(mpi()).*Functions = Seeing<Functions>::collective), ...);
}

void take_devices() {
  real = mpi();
  void* const driver = dlopen(std::getenv("QUADRILLE_TEST_DRIVER"), RTLD_NOW);
  behind = reinterpret_cast<quadrille_standin_host_t*>(dlsym(driver, "quadrille_standin_host"));
  if (behind == nullptr) std::abort();
  see_messages<&Mpi::Isend, &Mpi::Irecv>();
  see_collectives<&Mpi::Alltoall, &Mpi::Alltoallv, &Mpi::Alltoallw, &Mpi::Allgather, &Mpi::Allgatherv>();
  see_collectives<&Mpi::Ialltoall, &Mpi::Ialltoallv, &Mpi::Ialltoallw, &Mpi::Iallgather, &Mpi::Iallgatherv>();
  see_collectives<&Mpi::Neighbor_alltoall, &Mpi::Neighbor_alltoallv, &Mpi::Neighbor_alltoallw, &Mpi::Neighbor_allgather,
                  &Mpi::Neighbor_allgatherv>();
  see_collectives<&Mpi::Ineighbor_alltoall, &Mpi::Ineighbor_alltoallv, &Mpi::Ineighbor_alltoallw,
                  &Mpi::Ineighbor_allgather, &Mpi::Ineighbor_allgatherv>();
  const_cast<Mpi&>(mpi()).Wtime = show;
}

// ---- Calls ----

CallForm how = CallForm::blocking;

// Neighbours stand in a ring; the first of both blocks is that of the rank before.
int blocks_of(Collective collective) { return is_neighbor(collective) ? 2 : ranks; }

void call_it(Collective collective, void* send, void* recv, MPI_Comm comm) {
  const auto n = static_cast<std::size_t>(blocks_of(collective));
  const std::vector<int> counts(n, block);
  std::vector<int> places;
  for (std::size_t b = 0; b < n; ++b) places.push_back(static_cast<int>(b) * block);
  const std::vector<MPI_Aint> far(places.begin(), places.end());
  const std::vector<MPI_Datatype> types(n, MPI_CHAR);
  const auto side = [&](void* buffer) -> quadrille::test::CallSide {
    return {buffer, block, MPI_CHAR, counts.data(), places.data(), places.data(), far.data(), types.data()};
  };
  Quadrille_Request request = QUADRILLE_REQUEST_NULL;
  const int begun = begin_call(how, collective, side(send), side(recv), comm, &request);
  complete_call(how, begun, &request);
}

bool is_gather(Collective collective) {
  return is_allgather(collective) || collective == Collective::neighbor_allgather ||
         collective == Collective::neighbor_allgatherv;
}

// What a rank sends in its block `to`; all ranks get the same in an allgather.
unsigned char byte_of(int from, int to, int call) { return static_cast<unsigned char>(from * 31 + to * 7 + call); }
unsigned char sent_byte(Collective collective, int to, int call) {
  return byte_of(rank, is_gather(collective) ? 0 : to, call);
}
unsigned char received_byte(Collective collective, int b, int call) {
  if (!is_neighbor(collective)) return byte_of(b, is_gather(collective) ? 0 : rank, call);
  const int from = (rank + (b == 0 ? ranks - 1 : 1)) % ranks;
  return byte_of(from, is_gather(collective) ? 0 : 1 - b, call);
}

// As many calls; with a device's memory on every second rank, if there is any.
void exchange(Collective collective, bool on_devices, int calls, MPI_Comm comm) {
  const auto bytes = static_cast<std::size_t>(blocks_of(collective) * block), room = std::max<std::size_t>(bytes, 1);
  const MemoryKind kind = on_devices && (rank % 2 == 0 || takes_none()) ? MemoryKind::device : MemoryKind::host;
  const auto send = allocate(kind, room), recv = allocate(kind, room);
  std::vector<unsigned char> sent(room), came(room);
  for (int call = 0; call < calls; ++call) {
    for (std::size_t i = 0; i < bytes; ++i) sent[i] = sent_byte(collective, static_cast<int>(i) / block, call);
    send->put(sent.data());
    call_it(collective, send->address(), recv->address(), comm);
    recv->get(came.data());
    for (std::size_t i = 0; i < bytes; ++i) {
      if (came[i] == received_byte(collective, static_cast<int>(i) / block, call)) continue;
      return fail("rank %d, %s: wrong data in call %d\n", rank, std::string(name_of(collective)).c_str(), call);
    }
  }
}

// ---- What is chosen ----

const team::CachedSelection& selection(Collective collective, MPI_Comm comm) {
  return *team::team_of(abi::comm(comm))->chosen.selections[static_cast<std::size_t>(collective)].last();
}

// Of neighbours in a graph explicit calls leave nothing to the MPI.
bool may_be_the_mpis(Collective collective, MPI_Comm comm) {
  return !is_neighbor(collective) || !team::neighbors_of(*team::team_of(abi::comm(comm)))->doubtful;
}

// Those whose messages go straight show the least time, but for an MPI that is fast itself.
bool is_best(Collective collective, const choose::Choice& choice, MPI_Comm comm) {
  const std::string chosen = choose::to_string(choice);
  if (name == "pull") return chosen == "ipc-pull:leader=0";
  if (is_piped()) return choice.algorithm->name == "pipelined-copy-to-cpu";
  const bool by_the_mpi = name == "fast" && may_be_the_mpis(collective, comm);
  return by_the_mpi ? chosen == "cuda-aware-mpi" : choice.algorithm->from_device;
}

void expect_choice(Collective collective, bool on_devices, MPI_Comm comm) {
  const team::CachedSelection& of = selection(collective, comm);
  const std::string chosen = choose::to_string(of.selection.choice), called(name_of(collective));
  const bool is_good = !on_devices || is_best(collective, of.selection.choice, comm);
  if ((of.load == team::on_devices) == on_devices && team::is_decided(of) && is_good) return;
  fail("rank %d, %s, %s: %s%s, by %s\n", rank, name.c_str(), called.c_str(), chosen.c_str(),
       of.load == team::on_devices ? " for devices" : "", quadrille::text::words_of(of.selection.why).c_str());
}

void expect_tried(Collective collective, MPI_Comm comm) {
  const team::CachedSelection& of = selection(collective, comm);
  const auto is_tried = [&](const char* one) {
    const auto is_it = [&](const choose::Choice& choice) { return choice.algorithm->name == one; };
    const auto& rivals = of.selection.rivals;
    return is_it(of.trial->trial.candidates[0]) || std::any_of(rivals.begin(), rivals.end(), is_it);
  };
  if (of.trial == nullptr) return fail("rank %d: nothing was tried\n", rank);
  const bool expects_the_mpis = name != "messages" && !takes_none() && may_be_the_mpis(collective, comm);
  if (is_tried("cuda-aware-mpi") != expects_the_mpis) fail("rank %d: the MPI's own\n", rank);
  if (!takes_none() && is_neighbor(collective)) {
    if (!is_tried("direct") || is_tried("straightforward")) fail("rank %d: not tried straight\n", rank);
    return;
  }
  if (is_tried("ipc-pull") != (team::team_of(abi::comm(comm))->nodes.nodes == 1))
    fail("rank %d: no copies were tried\n", rank);
  if (takes_none()) return;
  if (!is_tried("spread-out") || of.selection.rivals.size() < 2) fail("rank %d: not tried straight\n", rank);
}

// By the table, from the first call on.
void expect_learned(Collective collective, MPI_Comm comm) {
  const team::CachedSelection& of = selection(collective, comm);
  const quadrille::Why& why = of.trial == nullptr ? of.selection.why : of.trial->why;
  if (why.reason != quadrille::Reason::measured && why.reason != quadrille::Reason::measured_on_devices)
    fail("rank %d, %s: %s\n", rank, std::string(name_of(collective)).c_str(), quadrille::text::words_of(why).c_str());
}

void check(Collective collective, MPI_Comm comm) {
  static const bool learned = std::getenv("QUADRILLE_TEST_LEARNED") != nullptr;
  exchange(collective, true, learned ? 1 : enough, comm);
  learned ? expect_learned(collective, comm) : expect_tried(collective, comm);
  expect_choice(collective, true, comm);
  const std::string before = choose::to_string(selection(collective, comm).selection.choice);
  exchange(collective, false, enough, comm);
  expect_choice(collective, false, comm);
  exchange(collective, true, enough, comm);
  expect_choice(collective, true, comm);
  if (choose::to_string(selection(collective, comm).selection.choice) != before)
    fail("rank %d: another choice\n", rank);
}

// ---- Requests ----

// What carries out a request by a choice for devices.
std::string carrier_of(Collective collective, const choose::Choice& choice) {
  if (choice.algorithm->from_device) return "messages";
  // Between nodes by what exchanges the rounds; nothing persistent is the MPI's.
  const bool by_the_mpi = name == "rounds" && is_of_the_mpi(*choose::inner_of(collective, choice).algorithm);
  if (name == "rounds") return by_the_mpi && how == CallForm::nonblocking ? "mpi" : "messages";
  if (!choose::is_of_the_mpi(*choice.algorithm)) return "";
  if (how == CallForm::nonblocking) return "mpi";
  return is_neighbor(collective) ? "messages" : "";  // nothing persistent is the MPI's
}

void expect_request(Collective collective, MPI_Comm comm, const std::string& carrier) {
  const std::string by = quadrille::run::to_string(team::team_of(abi::comm(comm))->request_by);
  if (carrier.empty() ? by != "messages" && by != "mpi" : by == carrier) return;
  fail("rank %d, %s, request %d: by %s, not %s\n", rank, std::string(name_of(collective)).c_str(),
       static_cast<int>(how), by.c_str(), carrier.c_str());
}

// They go by what calls that wait have found out. A persistent one asks for itself, whatever those have last seen; a
// nonblocking one goes by what they have.
void check_requests(Collective collective, const choose::Choice& best, MPI_Comm comm) {
  const bool in_node = team::team_of(abi::comm(comm))->nodes.nodes == 1;
  for (const CallForm one : {CallForm::nonblocking, CallForm::persistent}) {
    how = one;
    exchange(collective, true, 3, comm);
    expect_request(collective, comm, carrier_of(collective, best));
    if (how == CallForm::nonblocking) continue;
    exchange(collective, false, 3, comm);
    if (in_node) expect_request(collective, comm, "");
  }
  how = CallForm::blocking;
}

// ---- Neighbours ----

MPI_Comm graph_of_ranks() {
  MPI_Comm ring;
  const int around[] = {(rank + ranks - 1) % ranks, (rank + 1) % ranks};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, around, MPI_UNWEIGHTED, 2, around, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &ring);
  return ring;
}

void check_neighbors(MPI_Comm comm) {
  for (const Collective collective :
       {Collective::neighbor_alltoall, Collective::neighbor_alltoallv, Collective::neighbor_alltoallw,
        Collective::neighbor_allgather, Collective::neighbor_allgatherv}) {
    exchange(collective, true, enough, comm);
    if (takes_none()) {  // there is no choice among neighbours, and nobody asks
      if (selection(collective, comm).load == team::on_devices) fail("rank %d: a choice for devices\n", rank);
      continue;
    }
    // Between nodes a graph's messages are what serves the host.
    if (selection(collective, comm).trial != nullptr || may_be_the_mpis(collective, comm))
      expect_tried(collective, comm);
    expect_choice(collective, true, comm);
    check_requests(collective, selection(collective, comm).selection.choice, comm);
    exchange(collective, false, enough, comm);
    expect_choice(collective, false, comm);
  }
}

// Blocks of no bytes are tried by what all ranks move, others by their size. Both are of class 0 here, and each has a
// trial of its own.
void check_trials_of_no_bytes(MPI_Comm comm) {
  const Collective collective = Collective::neighbor_alltoall;
  exchange(collective, true, enough, comm);
  const auto trial_with = [&](int bytes) {
    const int before = std::exchange(block, bytes);
    exchange(collective, true, 1, comm);
    block = before;
    const team::CachedSelection& of = selection(collective, comm);
    if (of.load != team::on_devices || of.trial == nullptr) fail("rank %d: no trial with %d bytes\n", rank, bytes);
    return of.trial;
  };
  const team::Try* const of_none = trial_with(0);
  if (of_none == trial_with(1)) fail("rank %d: one trial of loads and sizes\n", rank);
}

// ---- By models ----

// Each rank makes the table for itself; that of rank 0 counts.
std::string write_models() {
  const std::string path = "/tmp/quadrille-device-model-" + std::to_string(getpid()) + ".json";
  const auto with_models = [](choose::TuningTable& table) {
    const choose::Model network = quadrille::tools::aries();
    put(table.models, {4, 1, false, network});
    put(table.models, {4, 1, true, network});
    for (const bool crowded : {false, true})
      put(table.models, {4, 1, crowded, {network.quadrille, {}}, true, {1e-6, 1e-3}});
  };
  const std::string problem = choose::update_tuning_file(path, team::this_machine(), with_models);
  if (!problem.empty()) fail("%s\n", problem.c_str());
  setenv("QUADRILLE_TUNING", path.c_str(), 1);
  return path;
}

void check_models() {
  for (const Collective collective : {Collective::alltoall, Collective::allgather}) {
    from_device = false;
    exchange(collective, true, 3, MPI_COMM_WORLD);
    const choose::Selection& chosen = selection(collective, MPI_COMM_WORLD).selection;
    const bool straight = chosen.choice.algorithm->from_device;
    const bool is_on_device = rank % 2 == 0;
    if (!straight || chosen.why.reason != quadrille::Reason::modelled_on_devices || from_device != is_on_device) {
      fail("rank %d: %s, as %s\n", rank, choose::to_string(chosen.choice).c_str(),
           quadrille::text::words_of(chosen.why).c_str());
    }
    exchange(collective, false, 70, MPI_COMM_WORLD);
    expect_choice(collective, false, MPI_COMM_WORLD);
  }
}

}  // namespace

int main(int argc, char** argv) {
  name = argc > 1 ? argv[1] : "";
  const std::string models = name == "model" ? write_models() : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  take_devices();
  if (!models.empty()) {
    check_models();
    unlink(models.c_str());
    unlink((models + ".lock").c_str());
    MPI_Finalize();
    return failures == 0 ? 0 : 1;
  }
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (const Collective collective : quadrille::those(quadrille::is_dense)) {
    check(collective, MPI_COMM_WORLD);
    const bool has_requests = !takes_none() || name == "rounds";
    if (has_requests)
      check_requests(collective, selection(collective, MPI_COMM_WORLD).selection.choice, MPI_COMM_WORLD);
    // What was found holds there, too.
    exchange(collective, true, 1, other);
    expect_choice(collective, true, other);
    // The MPI's own by the user's wish.
    Quadrille_Set_algorithm(other, std::string(name_of(collective)).c_str(), "mpi");
    exchange(collective, true, 3, other);
    if (shown_by_mpi == 0) fail("rank %d: the MPI's own was not called\n", rank);
    shown_by_mpi = 0;
  }
  MPI_Comm_free(&other);
  if (std::getenv("QUADRILLE_TEST_LEARNED") == nullptr) {
    for (MPI_Comm ring : {quadrille::test::ring_of_world(), graph_of_ranks()}) {
      check_neighbors(ring);
      if (!takes_none() && may_be_the_mpis(Collective::neighbor_alltoall, ring)) check_trials_of_no_bytes(ring);
      MPI_Comm_free(&ring);
    }
  }
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
