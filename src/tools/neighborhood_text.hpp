// The words for a neighbourhood on the command line.
#pragma once

#include <string>
#include <string_view>

#include "plan/neighborhood.hpp"

namespace quadrille::tools {

// "moore:D,R": all offsets of D dimensions with coordinates -R..R but zero; "von-neumann:D": the nearest two in
// each dimension. Returns an empty string, or one line that says what is wrong.
std::string parse_neighborhood(std::string_view text, plan::Neighborhood& neighborhood);

}  // namespace quadrille::tools
