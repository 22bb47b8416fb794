// What the cases of trial_check.cpp share with those of checks that come later, and of requests (trial_later.cpp).
#pragma once

#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

#include "abi/native.hpp"
#include "choose/select.hpp"
#include "collective/collective.hpp"
#include "mpi/mpi.hpp"
#include "team/team.hpp"

namespace trial_check {

namespace abi = quadrille::abi;
namespace choose = quadrille::choose;
namespace team = quadrille::team;
using quadrille::Collective;
using quadrille::Mpi;
using quadrille::mpi;
using quadrille::MpiComm;
using quadrille::MpiOp;
using quadrille::MpiRequest;
using quadrille::MpiRequests;
using quadrille::MpiStatus;
using quadrille::MpiType;

constexpr int calls = 150, most_block = 3000;  // all is tried in fewer

inline bool everywhere = false;  // not on rank 1 alone, which may not send
inline Mpi real;                 // the MPI's functions as they are
inline int real_rank = 0;

// The clock advances between two looks by what a call of ours takes, and by what slow functions add.
inline bool is_skewed = false;
inline double shown = 0, ours = 0.1e-3;
inline double of_ours() { return is_skewed && real_rank == 1 ? 1.5e-3 : ours; }
void show_time();

// A call of the MPI's own takes 1 ms, whatever a call of ours takes.
template <auto Function>
struct Shown;
template <class... Arguments, int (*Mpi::*Function)(Arguments...)>
struct Shown<Function> {
  static int call(Arguments... arguments) {
    shown += 1e-3 - of_ours();
    return (real.*Function)(arguments...);
  }
};
template <auto... Functions>
void show_time_of() {
  ((const_cast<Mpi&>(mpi()).*Functions = Shown<Functions>::call), ...);
}

// The MPI's own calls, or ours, become slow, as the name of the case says.
void slow_down(const std::string& name);

struct World {
  int rank = 0, ranks = 1;
};

inline int failures = 0;

template <class... Arguments>
void fail(const char* format, Arguments... arguments) {
  ++failures;
  std::fprintf(stderr, format, arguments...);
}

struct Case {
  Collective collective;
  int block;
  bool in_place = false;
  bool in_heap = false;
};

inline char byte_of(int from, int to, int call) { return static_cast<char>(from * 31 + to * 7 + call); }

// A call, whose data is checked.
void exchange(const World& w, const Case& c, int call, MPI_Comm comm = MPI_COMM_WORLD);

inline const std::vector<Collective> all_collectives = quadrille::those(quadrille::is_dense);

// What the last call selected.
const choose::Selection& selection(Collective collective, MPI_Comm comm = MPI_COMM_WORLD);
const team::CachedSelection& last_of(Collective collective, MPI_Comm comm = MPI_COMM_WORLD);

// Do the first calls on a communicator of these ranks try? Ends as many calls later, or when all is tried.
bool tries_on(const World& w, const std::vector<int>& ranks, Collective collective, int most_calls = calls);

void expect(bool good, const char* what, Collective collective);

// Cases of trial_later.cpp.
void check_what_was_kept(const World& w);
void change_later(const World& w);
void change_later_inside(const World& w);
void request_what_was_decided(const World& w);

}  // namespace trial_check
