// `quadrille verify`: proves the registered algorithms, without MPI.
#pragma once

#include <string>

#include "tool/plans/verify_cases.hpp"

namespace quadrille::tools {

struct VerifyOptions {
  int least_ranks = 1;
  int most_ranks = 64;
  std::string algorithms;  // names; empty: all
  std::string collective;  // empty: all
  int threads = 0;         // 0: one a processor
  int orders = 3;          // random orders a case
  bool quiet = false;      // only failures; no progress
};

// Reads "1:64" or "17" into the options. Returns an empty string, or one line that says what is
// wrong.
std::string parse_ranks(const std::string& text, VerifyOptions& options);

// Proves every algorithm that the options select, for all numbers of ranks, parameters at and
// around the interesting values, and node maps of all kinds. Prints a line an algorithm; progress
// goes to stderr if that is a terminal. Returns 0 if all is proved, 1 if not, 2 if the options are
// wrong. A test proves by another function.
int verify_command(const VerifyOptions& options, decltype(&prove) by = prove);

}  // namespace quadrille::tools
