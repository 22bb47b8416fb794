// What all ranks of a communicator know of a call: the same numbers everywhere, from the seed and the step alone.
#pragma once

#include <string>

#include "collective/collective.hpp"
#include "communicators.hpp"
#include "draw.hpp"
#include "types.hpp"

namespace quadrille::fuzz {

enum class Form { blocking, blocking_c, nonblocking, nonblocking_c, persistent, persistent_c };
constexpr std::size_t forms = 6;

std::string name_of(Collective collective, Form form);
inline bool is_blocking(Form f) { return f == Form::blocking || f == Form::blocking_c; }
inline bool is_large(Form f) { return f == Form::blocking_c || f == Form::nonblocking_c || f == Form::persistent_c; }
inline bool is_persistent(Form f) { return f == Form::persistent || f == Form::persistent_c; }

enum class Pattern { even, random, zero_rows, zero_columns, zero, giant, sparse };

struct CallPlan {
  std::uint64_t seed = 0;  // of this call
  Collective collective = Collective::alltoall;
  Form form = Form::blocking;
  bool in_place = false;
  bool same_for_all = false;  // every message of a rank has the same content
  const Type* base = nullptr;
  std::size_t quantum = 1;  // elements of the base; each message is a multiple of it
  std::size_t most = 0;     // quanta of the largest message
  Pattern pattern = Pattern::even;
  int repeats = 1;  // with the same arguments, and other content
  Skips skips;      // what must not be in this call, because it may be the MPI that carries it out

  // Elements of the base in a message between two ranks of MPI_COMM_WORLD.
  std::size_t elements(int from, int to, int id) const;
  int id_of(const Edge& edge) const { return skips.pairs ? edge.alike : edge.id; }
  std::string describe() const;
};

// What a run is asked for, beside the seed.
struct Wishes {
  Skips skips;
  std::size_t most_bytes = std::size_t{4} << 20;  // of a side of a rank; now and then eight times as many
  bool threads = false;
  // Quadrille serves every blocking call of several ranks, so that what the MPI does wrong does not matter there.
  bool served = false, served_large = false;
  // And requests, if nothing is missing that they need.
  bool served_requests = false;
  int only_collective = -1;
  std::string mistake;  // made on purpose, to see that it is found: receive, guard, gap, send or hang
};

// Is it certain that Quadrille serves such a call?
bool is_served(Form form, const Communicator& c, const Wishes& wishes);

// Is there such a function in this MPI?
bool is_there(Collective collective, Form form);

CallPlan draw_call(std::uint64_t seed, const Communicator& c, const Wishes& wishes, bool blocking_only);

}  // namespace quadrille::fuzz
