// `quadrille run`: starts an MPI program with Quadrille's preload library.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tool/launch/abi.hpp"
#include "tool/launch/command.hpp"

namespace quadrille::tools {

struct RunOptions {
  Abi abi = Abi::none;  // none: find out
  bool explain = false;
  std::vector<std::string> command;  // launcher, its options, program, its arguments
};

// Splits the words after `quadrille run` into our own options (at the front) and the command, which
// begins after `--` or at the first word that is no option. `own` gets the former. For `doctor` and `report` as well.
void split_run_words(const std::vector<std::string>& words, std::vector<std::string>& own,
                     std::vector<std::string>& command);

// What is known of a command before it is started.
struct Prepared {
  Command command;
  Abi abi = Abi::none;           // that is served
  Abi launcher_abi = Abi::none;  // none: a batch system's, or there is no launcher
  std::string preload;           // the library for it
  std::string added;             // and those for names that not every MPI has: ":path:path"
  int status = 0;                // with which `run` would end at once; 0: none
  std::string problem;           // why, in one line
};
Prepared prepare_run(const RunOptions& options);

// One line if ranks may not be served: Open MPI's mpirun inside a script forwards no LD_PRELOAD to other hosts. Else
// empty.
std::string not_forwarded(const Prepared& prepared);

// Of the environment: QUADRILLE, QUADRILLE_..., in the order of the alphabet.
std::vector<std::string> quadrille_variables();

// How Open MPI gives variables to remote nodes. By the list of the environment, if there is one: then `names` are added
// to it.
Exports choose_exports(std::span<const std::string> names);

// Becomes the command; returns only if that fails: 2 for a command that cannot be served, 127 for
// one that is not there.
int run_command(const RunOptions& options);

}  // namespace quadrille::tools
