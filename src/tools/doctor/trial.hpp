// A short measurement with the user's own launcher and its options, in the place of the program.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/finding.hpp"
#include "tools/launch/run.hpp"

namespace quadrille::tools {

// "mpirun -n 4 --bind-to core ./app in.txt" with `tool bench ...` in the place of "./app in.txt". Of a command with several
// parts the first one. Empty if the command does not say where its program stands.
std::vector<std::string> trial_words(const std::vector<std::string>& words, const Command& command, const std::string& tool);

// The tool for programs of that ABI: this one, or the one that is installed or built beside it. Empty if there is none.
std::string tool_for(Abi abi);

// What the output of the trial says. `text` becomes what of it is worth showing.
Findings judge_trial(const std::string& output, std::string& text);

}  // namespace quadrille::tools
