// Calls with a device's memory on some ranks, on an MPI that takes such memory, whatever MPI that is: its functions are given
// the memory behind the stand-in's. The ranks must notice such calls, try what may serve them, keep what shows the least
// time, and go back to what serves the host when the memory is that. One case a run:
//   slow       the MPI's own collectives show ten times the time of ours
//   fast       ours do
//   messages   the MPI's collectives may see no device's memory (QUADRILLE_MPI_DEVICE=messages)
//   pull       the MPI may see none at all (QUADRILLE_MPI_DEVICE=0); the ranks' copies from each other show the least time
// With QUADRILLE_TEST_LEARNED a tuning table has it all, and nothing may be tried.
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "../device/standin.hpp"
#include "device_memory.hpp"
#include "mpi/mpi.hpp"
#include "quadrille.h"
#include "team/team.hpp"

namespace {

namespace choose = quadrille::choose;
namespace team = quadrille::team;
using quadrille::Collective;
using quadrille::Mpi;
using quadrille::mpi;
using quadrille::test::allocate;
using quadrille::test::MemoryKind;

constexpr int enough = 400, block = 600;

std::string name;
int rank = 0, ranks = 1, failures = 0;
Mpi real;  // the MPI's functions as they are

template <class... Arguments>
void fail(const char* format, Arguments... arguments) {
  ++failures;
  std::fprintf(stderr, format, arguments...);
}

// ---- An MPI that takes a device's memory ----

quadrille_standin_host_t* behind = nullptr;
bool in_collective = false;

const void* seen(const void* buffer) {
  if (buffer == nullptr || buffer == MPI_IN_PLACE) return buffer;
  const void* const host = behind(reinterpret_cast<quadrille::standin::Address>(buffer), 1);
  const bool is_none_of_its = name == "pull" || (name == "messages" && in_collective);
  if (host != nullptr && host != buffer && is_none_of_its) fail("the MPI was given a device's memory\n");
  return host != nullptr ? host : buffer;
}
void* seen(void* buffer) { return const_cast<void*>(seen(const_cast<const void*>(buffer))); }
template <class Argument>
Argument seen(Argument argument) {
  return argument;
}

// Between two looks at the clock passes what a call of ours takes; the MPI's own put right what is missing, or too much.
double shown = 0;
int shown_by_mpi = 0;
double of_ours() { return name == "slow" ? 1e-4 : 1e-3; }
double of_the_mpi() { return name == "slow" ? 1e-3 : 1e-4; }
// Of those that submit their copies to a device at once, a tenth.
unsigned long submitted = 0;
double show() {
  const unsigned long now = quadrille::test::count_calls("cuMemcpyBatchAsync_v2", nullptr);
  return shown += std::exchange(submitted, now) == now ? of_ours() : of_ours() / 10;
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
  const_cast<Mpi&>(mpi()).Wtime = show;
}

// ---- Calls ----

unsigned char byte_of(int from, int to, int call) { return static_cast<unsigned char>(from * 31 + to * 7 + call); }

void call_it(Collective collective, void* send, void* recv, MPI_Comm comm) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<int> counts(n, block), places;
  std::vector<MPI_Datatype> types(n, MPI_CHAR);
  for (int r = 0; r < ranks; ++r) places.push_back(r * block);
  switch (collective) {
    case Collective::alltoall:
      Quadrille_Alltoall(send, block, MPI_CHAR, recv, block, MPI_CHAR, comm);
      return;
    case Collective::alltoallv:
      Quadrille_Alltoallv(send, counts.data(), places.data(), MPI_CHAR, recv, counts.data(), places.data(), MPI_CHAR, comm);
      return;
    case Collective::alltoallw:
      Quadrille_Alltoallw(send, counts.data(), places.data(), types.data(), recv, counts.data(), places.data(),
                          types.data(), comm);
      return;
    case Collective::allgather:
      Quadrille_Allgather(send, block, MPI_CHAR, recv, block, MPI_CHAR, comm);
      return;
    default:
      Quadrille_Allgatherv(send, block, MPI_CHAR, recv, counts.data(), places.data(), MPI_CHAR, comm);
  }
}

// As many calls; with a device's memory on every second rank, if there is any.
void exchange(Collective collective, bool on_devices, int calls, MPI_Comm comm) {
  const auto bytes = static_cast<std::size_t>(ranks) * block;
  const MemoryKind kind = on_devices && (rank % 2 == 0 || name == "pull") ? MemoryKind::device : MemoryKind::host;
  const auto send = allocate(kind, bytes), recv = allocate(kind, bytes);
  std::vector<unsigned char> sent(bytes), came(bytes);
  for (int call = 0; call < calls; ++call) {
    const bool gather = is_allgather(collective);
    for (std::size_t i = 0; i < bytes; ++i) sent[i] = byte_of(rank, gather ? 0 : static_cast<int>(i / block), call);
    send->put(sent.data());
    call_it(collective, send->address(), recv->address(), comm);
    recv->get(came.data());
    for (std::size_t i = 0; i < bytes; ++i) {
      if (came[i] == byte_of(static_cast<int>(i / block), gather ? 0 : rank, call)) continue;
      return fail("rank %d: wrong data in call %d\n", rank, call);
    }
  }
}

// ---- What is chosen ----

const team::CachedSelection& selection(Collective collective, MPI_Comm comm) {
  return *team::team_of(comm)->chosen.selections[static_cast<std::size_t>(collective)].last();
}

void expect_choice(Collective collective, bool on_devices, MPI_Comm comm) {
  const team::CachedSelection& of = selection(collective, comm);
  const std::string chosen = choose::to_string(of.selection.choice), called(name_of(collective));
  const bool is_expected = name == "pull" ? chosen == "ipc-pull:leader=0" : (chosen == "cuda-aware-mpi") == (name == "fast");
  const bool is_good = !on_devices || name == "messages" || is_expected;
  if ((of.load == team::on_devices) == on_devices && of.selection.rivals.empty() && is_good) return;
  fail("rank %d, %s, %s: %s%s, by %s\n", rank, name.c_str(), called.c_str(), chosen.c_str(),
       of.load == team::on_devices ? " for devices" : "", of.selection.why.c_str());
}

void expect_tried(Collective collective, MPI_Comm comm) {
  const team::CachedSelection& of = selection(collective, comm);
  const auto is_tried = [&](const char* one) {
    const auto& all = of.trial->candidates;
    return std::any_of(all.begin(), all.end(), [&](const auto& c) { return c.algorithm->name == one; });
  };
  if (of.trial == nullptr) return fail("rank %d: nothing was tried\n", rank);
  if (is_tried("cuda-aware-mpi") == (name == "messages" || name == "pull")) fail("rank %d: the MPI's own\n", rank);
  if (is_tried("ipc-pull") != (team::team_of(comm)->nodes.nodes == 1)) fail("rank %d: no copies were tried\n", rank);
  if (name == "pull") return;
  if (!is_tried("spread-out") || of.trial->candidates.size() < 3) fail("rank %d: not tried straight\n", rank);
}

// By the table, from the first call on.
void expect_learned(Collective collective, MPI_Comm comm) {
  const team::CachedSelection& of = selection(collective, comm);
  const std::string why = of.trial == nullptr ? of.selection.why : of.trial->why;
  if (why.find("says the tuning table") == std::string::npos) fail("rank %d, %s: %s\n", rank, std::string(name_of(collective)).c_str(), why.c_str());
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
  if (choose::to_string(selection(collective, comm).selection.choice) != before) fail("rank %d: another choice\n", rank);
}

}  // namespace

int main(int argc, char** argv) {
  name = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  take_devices();
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (const Collective collective : quadrille::those(quadrille::is_dense)) {
    check(collective, MPI_COMM_WORLD);
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
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
