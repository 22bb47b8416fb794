// The page of `quadrille report`: one file that needs no other. It holds the data (read.hpp) as JSON, and draws them
// itself.
#pragma once

#include <string>

#include "report/read.hpp"

namespace quadrille::tools {

std::string page_of(const ReportData& data);

}  // namespace quadrille::tools
