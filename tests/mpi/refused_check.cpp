// One rank makes a call that the MPI refuses, handles the error, and makes the call again without the mistake; or all
// ranks do. The other ranks know nothing of the refused call, so it must leave no trace. If it is counted among the
// calls of a communicator, later ones are served on some ranks and forwarded on others, and hang. Each mistake is made
// before each of the first calls of each form, on the world and on new communicators.
//   first   the first 25 calls on a communicator; `first 4`: with each collective every fourth of them
//   trials  Alltoallv and Alltoallw between nodes, long after the communicator is ready; also by error handlers that
//           throw, or free the communicator
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "door.hpp"
#include "named_functions.hpp"
#include "ring.hpp"
#if defined(QUADRILLE_TEST_API)
#include "quadrille.h"
#endif

namespace refused_check {

using quadrille::call_with;
using quadrille::Collective;
using quadrille::is_allgather;
using quadrille::is_neighbor;
using quadrille::is_regular;
using quadrille::row_of;

int rank = 0, ranks = 1;
char now[160];

void tell_and_end(int) {
  static_cast<void>(!write(STDERR_FILENO, now, std::strlen(now)));
  _exit(3);
}

void fail(const char* what) {
  std::fprintf(stderr, "rank %d: %s: %s\n", rank, now, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

enum class Form { blocking, nonblocking, persistent };
constexpr const char* form_names[] = {"blocking", "nonblocking", "persistent"};
constexpr Form forms[] = {Form::blocking, Form::nonblocking, Form::persistent};

// ---- The doors ----

#if defined(QUADRILLE_TEST_API)
using Request = Quadrille_Request;
constexpr Request no_request = QUADRILLE_REQUEST_NULL;
int wait(Request* request) { return Quadrille_Wait(request); }
int start(Request* request) { return Quadrille_Start(request); }
int release(Request* request) { return Quadrille_Request_free(request); }
bool has_persistent() { return true; }
#define QUADRILLE_NAMED(Name) Quadrille_##Name
#define QUADRILLE_NAMED_INIT(Name) Quadrille_##Name##_init
#define QUADRILLE_NAMED_I(collective) Quadrille_I##collective
#else
using Request = MPI_Request;
const Request no_request = MPI_REQUEST_NULL;
int wait(Request* request) { return MPI_Wait(request, MPI_STATUS_IGNORE); }
int start(Request* request) { return MPI_Start(request); }
int release(Request* request) { return MPI_Request_free(request); }
bool has_persistent() { return quadrille::test::alltoall_init() != nullptr; }
#define QUADRILLE_NAMED(Name) MPI_##Name
#define QUADRILLE_NAMED_INIT(Name) (quadrille::test::function_named<Init>("MPI_" #Name "_init", "MPIX_" #Name "_init"))
#define QUADRILLE_NAMED_I(collective) MPI_I##collective
#endif

// ---- A call ----

using Side = quadrille::test::CallSide;

// Of a nonblocking call or a persistent one that is started at once.
#define QUADRILLE_BEGIN(lower, Name, FORM, Displacement)                                                   \
  int begin_one(quadrille::Of<Collective::lower>, Form form, const Side& s, const Side& r, MPI_Comm comm,  \
                Request* request) {                                                                        \
    using Init [[maybe_unused]] = int(QUADRILLE_PARAMETERS_##FORM(int, Displacement), MPI_Info, Request*); \
    constexpr Collective of = Collective::lower;                                                           \
    if (form == Form::blocking) return call_with<of>(&QUADRILLE_NAMED(Name), s, r, comm);                  \
    if (form == Form::nonblocking) return call_with<of>(&QUADRILLE_NAMED_I(lower), s, r, comm, request);   \
    return call_with<of>(QUADRILLE_NAMED_INIT(Name), s, r, comm, MPI_INFO_NULL, request);                  \
  }
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_BEGIN)
#undef QUADRILLE_BEGIN
int begin_one(quadrille::Of<Collective::neighbor_allgatherw>, Form, const Side&, const Side&, MPI_Comm, Request*) {
  return MPI_ERR_OTHER;
}

int begin(Collective collective, Form form, const Side& s, const Side& r, MPI_Comm comm, Request* request) {
  const auto begin_it = [&](auto one) { return begin_one(one, form, s, r, comm, request); };
  return quadrille::do_as(collective, begin_it, MPI_ERR_OTHER);
}

// ---- Mistakes ----

enum class Mistake {
  none,
  negative_send_count,
  negative_receive_count,
  null_send_type,
  null_receive_type,
  uncommitted_send_type,
  receive_in_place,
  no_counts,
  no_places,
  uneven,
  null_buffer,
  same_buffers,
};
constexpr Mistake mistakes[] = {Mistake::negative_send_count,
                                Mistake::negative_receive_count,
                                Mistake::null_send_type,
                                Mistake::null_receive_type,
                                Mistake::uncommitted_send_type,
                                Mistake::receive_in_place,
                                Mistake::no_counts,
                                Mistake::no_places,
                                Mistake::uneven,
                                Mistake::null_buffer,
                                Mistake::same_buffers};

#if defined(OPEN_MPI)
constexpr bool open_mpi = true;
#else
constexpr bool open_mpi = false;
#endif

// Does this MPI return from it, in each form?
bool is_returned(Mistake mistake, Collective collective) {
  const bool arrays = !is_regular(collective) && !is_allgather(collective);
  switch (mistake) {
    case Mistake::negative_receive_count:
      return !(open_mpi && is_allgather(collective) && !is_regular(collective));
    case Mistake::receive_in_place:
      return open_mpi || !is_neighbor(collective);
    case Mistake::no_counts:
    case Mistake::no_places:
      return open_mpi && arrays;
    case Mistake::uneven:
      return open_mpi && !is_allgather(collective) && (is_regular(collective) || !is_neighbor(collective));
    case Mistake::null_buffer:
      return !open_mpi;
    case Mistake::same_buffers:
      return !open_mpi && !is_neighbor(collective) && !is_allgather(collective);
    default:
      return true;
  }
}

bool is_served(Mistake mistake) { return mistake == Mistake::uneven || mistake == Mistake::same_buffers; }

MPI_Datatype uncommitted() {
  static const MPI_Datatype type = [] {
    MPI_Datatype made;
    MPI_Type_contiguous(1, MPI_INT, &made);
    return made;
  }();
  return type;
}

// Blocks of one int, or of none to and from all but the rank itself.
struct Call {
  Collective collective;
  MPI_Comm comm;
  int blocks;
  std::vector<int> sent, got, counts, receive_counts, places, byte_places;
  std::vector<MPI_Aint> far_places;
  std::vector<MPI_Datatype> types, receive_types;

  Call(Collective which, MPI_Comm on, int turn) : collective(which), comm(on), blocks(is_neighbor(which) ? 2 : ranks) {
    const auto size = static_cast<std::size_t>(blocks);
    counts.assign(size, 1), receive_counts.assign(size, 1);
    types.assign(size, MPI_INT), receive_types.assign(size, MPI_INT);
    got.assign(size, -1);
    for (int b = 0; b < blocks; ++b) {
      sent.push_back(value(rank, is_allgather(which) ? 0 : b, turn));
      places.push_back(b);
      byte_places.push_back(4 * b);
      far_places.push_back(4 * b);
    }
  }

  static int value(int from, int block, int turn) { return (from * 16 + block) * 1000 + turn; }

  int begin(Form form, Mistake mistake, Request* request) {
    Side s{sent.data(), 1, MPI_INT, counts.data(), places.data(), byte_places.data(), far_places.data(), types.data()};
    Side r{got.data(),          1, MPI_INT, receive_counts.data(), places.data(), byte_places.data(), far_places.data(),
           receive_types.data()};
    std::vector<int> bad_counts = counts;
    std::vector<MPI_Datatype> bad_types = types;
    const auto wrong_type = [&](Side& side, MPI_Datatype type) {
      bad_types[static_cast<std::size_t>(is_neighbor(collective) ? 0 : rank)] = side.type = type;
      side.types = bad_types.data();
    };
    const auto wrong_count = [&](Side& side, int count) {
      bad_counts[static_cast<std::size_t>(is_neighbor(collective) ? 0 : rank)] = side.count = count;
      side.counts = bad_counts.data();
    };
    switch (mistake) {
      case Mistake::none:
        break;
      case Mistake::negative_send_count:
        wrong_count(s, -1);
        break;
      case Mistake::negative_receive_count:
        wrong_count(r, -1);
        break;
      case Mistake::null_send_type:
        wrong_type(s, MPI_DATATYPE_NULL);
        break;
      case Mistake::null_receive_type:
        wrong_type(r, MPI_DATATYPE_NULL);
        break;
      case Mistake::uncommitted_send_type:
        wrong_type(s, uncommitted());
        break;
      case Mistake::receive_in_place:
        r.buffer = MPI_IN_PLACE;
        break;
      case Mistake::no_counts:
        r.counts = nullptr;
        break;
      case Mistake::no_places:
        s.displacements = s.bytes = nullptr, s.addresses = nullptr;
        break;
      case Mistake::uneven:
        wrong_count(s, 0);
        break;
      case Mistake::null_buffer:
        r.buffer = nullptr;
        break;
      case Mistake::same_buffers:
        r = s;
        break;
    }
    return refused_check::begin(collective, form, s, r, comm, request);
  }

  void complete(Form form, Request* request) {
    if (form == Form::persistent && start(request) != MPI_SUCCESS) fail("it does not start");
    if (form != Form::blocking && wait(request) != MPI_SUCCESS) fail("the wait fails");
    if (form == Form::persistent) release(request);
  }

  void verify(int turn) const {
    for (int b = 0; b < blocks; ++b) {
      const bool ring = is_neighbor(collective);
      const int from = ring ? (rank + (b == 0 ? ranks - 1 : 1)) % ranks : b;
      const int block = is_allgather(collective) ? 0 : ring ? 1 - b : rank;
      if (got[static_cast<std::size_t>(b)] != value(from, block, turn)) fail("wrong data");
    }
  }
};

bool is_wrong_here(int turn, bool everybody) { return everybody || rank == turn % ranks; }

// All mistakes, each refused. What Quadrille serves and the MPI refuses is made where the call is forwarded.
void make_mistakes(Collective collective, Form form, MPI_Comm comm, int turn, bool forwarded) {
  for (const Mistake mistake : mistakes) {
    if (!is_returned(mistake, collective) || (is_served(mistake) && !forwarded)) continue;
    std::snprintf(now, sizeof now, "%s %s, turn %d, mistake %d\n", form_names[static_cast<int>(form)],
                  row_of(collective).name.data(), turn, static_cast<int>(mistake));
    Request request = no_request;
    Call call(collective, comm, turn);
    if (call.begin(form, mistake, &request) == MPI_SUCCESS) fail("no error");
  }
}

void make(Collective collective, Form form, MPI_Comm comm, int turn) {
  std::snprintf(now, sizeof now, "%s %s, turn %d\n", form_names[static_cast<int>(form)], row_of(collective).name.data(),
                turn);
  Request request = no_request;
  Call call(collective, comm, turn);
  if (call.begin(form, Mistake::none, &request) != MPI_SUCCESS) fail("an error");
  call.complete(form, &request);
  call.verify(turn);
}

MPI_Comm a_ring() {
  MPI_Comm comm = quadrille::test::ring_of_world();
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

constexpr int first_calls = 25;
// So many calls of a new communicator are forwarded in any case, if nothing else is set.
constexpr int early_calls = 3;

#if defined(QUADRILLE_TEST_API)
constexpr bool forwards_early = false;
#else
constexpr bool forwards_early = true;
#endif

// As many calls as show what a count that is off by one does, with the mistakes before the one of number `wrong`.
void make_calls(Collective collective, Form form, int wrong, bool everybody) {
  MPI_Comm comm = a_ring();
  for (int turn = 0; turn < std::max(wrong, early_calls) + 4; ++turn) {
    const bool forwarded = forwards_early && turn < early_calls && form != Form::persistent;
    if (turn == wrong && is_wrong_here(turn, everybody)) make_mistakes(collective, form, comm, turn, forwarded);
    make(collective, form, comm, turn);
  }
  MPI_Comm_free(&comm);
}

Collective in_turn(int turn) {
  static const std::vector<Collective> all = quadrille::those([](Collective one) { return row_of(one).of_mpi; });
  return all[static_cast<std::size_t>(turn) % all.size()];
}

// Calls of all kinds and forms in turn; the mistakes are of another kind than the call that follows.
void mix_calls(int wrong, bool everybody) {
  MPI_Comm comm = a_ring();
  const int kinds = has_persistent() ? 3 : 2;
  for (int turn = 0; turn < std::max(wrong, early_calls) + 4; ++turn) {
    if (turn == wrong && is_wrong_here(turn, everybody)) {
      for (int other = 0; other < 10; ++other)
        make_mistakes(in_turn(other), forms[(turn + other) % kinds], comm, turn, false);
    }
    make(in_turn(turn + wrong), forms[(turn / 3 + wrong) % kinds], comm, turn);
  }
  MPI_Comm_free(&comm);
}

void on_the_world(Form form) {
  for (int turn = 0; turn < first_calls; ++turn) {
    for (const Collective collective : quadrille::those(quadrille::is_dense)) {
      if (is_wrong_here(turn, false)) make_mistakes(collective, form, MPI_COMM_WORLD, turn, false);
      make(collective, form, MPI_COMM_WORLD, turn);
    }
  }
}

// Each call once more after the mistakes, so often that trials begin, end and are asked about.
void during_trials(Collective collective) {
  constexpr int calls = 150;
  for (int begin = 0; begin < 4; ++begin) {
    MPI_Comm comm = a_ring();
    for (int turn = 0; turn < calls; ++turn) {
      const bool is_wrong = turn % 5 == begin && turn >= 4 * begin;
      if (is_wrong && is_wrong_here(turn / 5, false)) make_mistakes(collective, Form::blocking, comm, turn, false);
      make(collective, Form::blocking, comm, turn);
    }
    MPI_Comm_free(&comm);
  }
}

struct Refused {};
MPI_Comm to_free = MPI_COMM_NULL;
bool frees = false;
void throw_or_free(MPI_Comm*, int*, ...) {
  if (!frees) throw Refused{};
  MPI_Comm_free(&to_free);
}
void no_error(MPI_Comm*, int*, ...) { fail("an error on a communicator that is gone"); }

int handled = 0;
void handle(MPI_Comm*, int*, ...) { ++handled; }

// MPICH returns success after a handler of the program.
bool is_refused(Call& call, Mistake mistake) {
  Request request = no_request;
  const int before = handled;
  try {
    return call.begin(Form::blocking, mistake, &request) != MPI_SUCCESS || handled > before;
  } catch (const Refused&) {
    return true;
  }
}

// One rank makes in each call a mistake that only the MPI refuses, so also in those in which trials begin and are
// decided. Where Quadrille serves it, that is the call.
void where_forwarded(Collective collective, int who, MPI_Errhandler handler) {
  constexpr int calls = 150;
  MPI_Comm comm = a_ring();
  if (who > 0) MPI_Comm_set_errhandler(comm, handler);
  for (int turn = 0; turn < calls; ++turn) {
    std::snprintf(now, sizeof now, "%s where it is forwarded, wrong on %d, turn %d\n", row_of(collective).name.data(),
                  who, turn);
    Call wrong(collective, comm, turn), call(collective, comm, turn);
    if (rank == who && !is_refused(wrong, open_mpi ? Mistake::uneven : Mistake::same_buffers)) continue;
    Request request = no_request;
    if (call.begin(Form::blocking, Mistake::none, &request) != MPI_SUCCESS) fail("an error");
    if (open_mpi) call.verify(turn);  // else the wrong call may overwrite what it sends
  }
  MPI_Comm_free(&comm);
}

// All ranks free the communicator in the handler.
void where_freed(Collective collective, int calls, MPI_Errhandler handler) {
  MPI_Errhandler strict;
  MPI_Comm_create_errhandler(no_error, &strict);
  to_free = a_ring();
  const MPI_Comm comm = to_free;
  MPI_Comm_set_errhandler(comm, handler);
  for (int turn = 0; turn < calls; ++turn) make(collective, Form::blocking, comm, turn);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, strict);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, strict);
  frees = true;
  Call call(collective, comm, 0);
  is_refused(call, Mistake::negative_send_count);
  if (to_free != MPI_COMM_NULL) fail("no error");
  frees = false;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&strict);
}

void by_handlers() {
  MPI_Errhandler handler, returning;
  MPI_Comm_create_errhandler(throw_or_free, &handler);
  MPI_Comm_create_errhandler(handle, &returning);
  for (const Collective collective : {Collective::alltoallv, Collective::alltoallw}) {
    for (int who = 0; who < 4; ++who) where_forwarded(collective, who, who == 3 ? returning : handler);
    for (const int calls : {early_calls + 1, 60}) where_freed(collective, calls, handler);
  }
  MPI_Errhandler_free(&returning);
  MPI_Errhandler_free(&handler);
}

int main(int argc, char** argv) {
  std::signal(SIGALRM, tell_and_end);
  MPI_Init(&argc, &argv);
  alarm(200);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const bool trials = argc > 1 && std::strcmp(argv[1], "trials") == 0;
  const int step = argc > 2 ? std::atoi(argv[2]) : 1;
  for (const Form form : forms) {
    if (trials || (form == Form::persistent && !has_persistent())) continue;
    on_the_world(form);
    for (int c = 0; c < 10; ++c) {
      for (int wrong = c % step; wrong < first_calls; wrong += step)
        make_calls(in_turn(c), form, wrong, (wrong + c) % 5 == 4);
    }
  }
  for (int wrong = 0; wrong < first_calls && !trials; ++wrong) mix_calls(wrong, wrong % 5 == 4);
  if (trials) {
    for (const Collective collective : quadrille::those(quadrille::is_dense)) during_trials(collective);
    by_handlers();
  }
  MPI_Finalize();
  return 0;
}

}  // namespace refused_check
