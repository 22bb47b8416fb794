// The keys of an MPI info that are meant for Quadrille.
#pragma once

#include <string>
#include <vector>

#include "mpi/words.hpp"

namespace quadrille::team {

struct Hints {
  bool check = false;                 // quadrille_check
  bool iso_sizes = false;             // quadrille_iso_sizes
  bool others = false;                // there are keys that do not begin with quadrille_
  std::vector<std::string> problems;  // one line each: keys of ours that nobody knows, and values that mean nothing
};

// A null info has none. Not collective.
Hints read_hints(MpiInfo info);

// What is wrong with them, for a user who wants to know.
void say_problems(const Hints& hints, const std::string& where);

}  // namespace quadrille::team
