// Starts the user's command with the calls in the place of the program.
#pragma once

#include <string>
#include <vector>

#include "report/read.hpp"
#include "tool/launch/run.hpp"

namespace quadrille::tools {

// "mpirun -n 4 --bind-to core tool report --replay-cases ..." for "mpirun -n 4 --bind-to core ./app in.txt", and so for
// each part of a command with several. Empty if the command does not say where its programs stand.
std::vector<std::string> words_in_place(const std::vector<std::string>& words, const Command& command,
                                        const std::vector<std::string>& instead);

// The words with the settings that remote nodes need, as `quadrille run` gives them.
std::vector<std::string> with_settings(const std::vector<std::string>& words, Abi launcher);

// "mpirun -n 4" of "mpirun -n 4 ./app", for a shell. Empty for a command of several programs: no such words start all
// its ranks.
std::string words_before_program(const std::vector<std::string>& words, const Command& command);

// Has the calls made again, and adds "replay" and "advice" to the data: times, or what was in the way.
// `seconds`: for all calls together.
void add_replay(const RunOptions& run, const std::string& folder, double seconds, ReportData& data);

}  // namespace quadrille::tools
