// What to write into the job script, from what was measured.
#pragma once

#include <string>
#include <vector>

#include "report/read.hpp"
#include "tool/launch/abi.hpp"

namespace quadrille::tools {

// Words of a command as a shell reads them.
std::string as_line(const std::vector<std::string>& words);

// [ { "text": "...", "lines": [ "export ..." ] } ]; the data have the replay. `launcher`: the command up to the
// program; empty: not known. `mpi`: of --mpi.
ReportData advice_from(const ReportData& data, const std::string& launcher, Abi mpi = Abi::none);

}  // namespace quadrille::tools
