// What the machine, the batch system or the container sets limits to, and which of them Quadrille meets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tool/doctor/finding.hpp"
#include "tool/machine/machine.hpp"

namespace quadrille::tools {

inline constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

// Of the process that looks; ranks inherit them where the launcher starts them on this machine.
struct Limits {
  std::uint64_t address_space = no_limit, descriptors = no_limit, file_bytes = no_limit, memory = no_limit;
  std::string overcommit;  // of /proc/sys/vm/overcommit_memory
  std::string container;   // "Docker", ...; empty outside of any
};

// Where the limits of the system are read from, so that tests can say what is there.
struct System {
  std::function<std::string(const std::string& path)> first_line;  // empty if there is no such file
  std::function<bool(const std::string& path)> exists;
  std::function<std::string(const char* name)> environment;
};
Limits read_limits(const System& system);

// What of them is in the way. One good finding if nothing is.
Findings judge_limits(const Limits& limits);

// The ways that ranks of this machine have to each other's memory.
Findings judge_ways(const std::vector<Reach>& ways, const Limits& limits);

// The variables that Quadrille reads: `names` are those that are set, `guess` names the known one that was meant, and
// `warnings` are of values that mean nothing.
Findings judge_settings(const std::vector<std::string>& names,
                        const std::function<std::string(const std::string&)>& guess,
                        const std::vector<std::string>& warnings, bool is_off);

}  // namespace quadrille::tools
