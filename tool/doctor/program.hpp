// What of a program, its libraries and its command may keep calls from Quadrille, as far as files tell without running
// it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/doctor/finding.hpp"
#include "tool/launch/command.hpp"
#include "tool/launch/libraries.hpp"

namespace quadrille::tools {

using Environment = std::function<std::string(const char* name)>;

// ---- Tools in front of the MPI ----

// What LD_PRELOAD names for the ranks: in the environment, and in the words before the programs.
std::vector<std::string> preloaded_by_user(const std::vector<std::string>& words, const Command& command,
                                           const Environment& environment);

// The functions of the all-to-all family that a file defines for others, by their names in C.
std::vector<std::string> functions_in_front(const std::string& file);

// Profiling tools and the like: preloaded, linked to a program, or in the program itself.
Findings judge_tools(const std::vector<std::string>& words, const Command& command, const Environment& environment,
                     const LoaderPaths& paths);

// ---- Lookups of functions ----

// Programs that call dlvsym(): Quadrille interposes dlsym() alone (src/api/handle_names.cpp).
Findings judge_lookups(const Command& command, const LoaderPaths& paths);

// ---- Fault tolerance ----

// What asks Open MPI for it, "--with-ft ulfm"; empty if nothing does.
std::string fault_tolerance_requested(const std::vector<std::string>& words, const Command& command,
                                      const Environment& environment);

}  // namespace quadrille::tools
