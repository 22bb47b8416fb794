// A short measurement with the user's own launcher and its options, in the place of the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tool/doctor/finding.hpp"
#include "tool/launch/run.hpp"
#include "tool/machine/quiet.hpp"

namespace quadrille::tools {

// Ranks write their results for doctor on lines of their own: this, then JSON. Launchers may put something before it.
inline constexpr std::string_view sign_of_trial = "quadrille-trial ";
// The two kinds of such lines: { "mpi", "library", "ranks", "memory": "shared" or "private", "quiet": {...} } or
// { "problem": "..." }, and of each size and memory { "bytes", "memory": "heap" or "private", "mpi_us", "quadrille_us",
// "ratio", "step_ratio", "errors" }.

// "mpirun -n 4 --bind-to core ./app in.txt" with `tool doctor --mpi ABI --measure-for ./app` in the place of "./app
// in.txt". Of a command with several parts the first one. Empty if the command does not say where its program stands.
std::vector<std::string> trial_words(const std::vector<std::string>& words, const Command& command, Abi abi,
                                     const std::string& tool);

Finding judge_quiet(const Quietness& quietness);

// What the output of the trial says. `expected` is the MPI library of the program as seen from here; empty: unknown.
// `text` becomes what is worth showing.
Findings judge_trial(const std::string& output, const std::string& expected, std::string& text);

}  // namespace quadrille::tools
