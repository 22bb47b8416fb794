// Neighbourhoods of a user's own, offset by offset: on the command line, or in a file.
#pragma once

#include <string>
#include <string_view>

#include "plan/neighborhood.hpp"

namespace quadrille::tools {

inline constexpr int most_dimensions = 5;
inline constexpr int most_neighbors = 100000;

// "1,0/0,1/-1,-1": offsets behind each other, each with a coordinate in every dimension. An offset may
// come twice, and may be zero. Returns an empty string, or one line that says what is wrong.
std::string parse_offsets(std::string_view text, plan::Neighborhood& neighborhood);

// A file's text, which `name` stands for in errors: an offset a line, its coordinates separated by blanks
// or commas, '#' before comments. Returns an empty string, or one line with the line that is wrong.
std::string parse_offsets_file(std::string_view text, std::string_view name, plan::Neighborhood& neighborhood);

// The same of the file `path`.
std::string read_offsets(const std::string& path, plan::Neighborhood& neighborhood);

}  // namespace quadrille::tools
