// The reference for the distributed analysis: sequential, with a worklist of states, one global store, sets
// and maps, without tuples or flows. It shares only the program and the form of the results. Without MPI.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "facts.hpp"

namespace kcfa::reference {

using Contour = std::vector<int>;            // call sites, the latest first; at most k
using Environment = std::map<int, Contour>;  // of variables

struct State {
  int call;
  Contour contour;
  Environment environment;
  auto operator<=>(const State&) const = default;
};

struct Value {
  Atom::Kind kind;  // lambda or constant
  int id;
  Environment environment;
  auto operator<=>(const Value&) const = default;
};

using Place = std::pair<int, Contour>;  // of the store: a variable in the contour of its binding

struct Result {
  std::set<State> states;
  std::map<Place, std::set<Value>> store;
};

Result analyse(const Program& program, int k);

Summary summarise(const Machine& machine, const Result& result);

}  // namespace kcfa::reference
