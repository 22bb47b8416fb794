// `quadrille run`: starts an MPI program with Quadrille's preload library.
#pragma once

#include <string>
#include <vector>

#include "tools/launch/abi.hpp"

namespace quadrille::tools {

struct RunOptions {
  Abi abi = Abi::none;  // none: find out
  bool explain = false;
  std::vector<std::string> command;  // launcher, its options, program, its arguments
};

// Splits the words after `quadrille run` into our own options (at the front) and the command, which
// begins after `--` or at the first word that is no option. `own` gets the former.
void split_run_words(const std::vector<std::string>& words, std::vector<std::string>& own,
                     std::vector<std::string>& command);

// Becomes the command; returns only if that fails: 2 for a command that cannot be served, 127 for
// one that is not there.
int run_command(const RunOptions& options);

}  // namespace quadrille::tools
