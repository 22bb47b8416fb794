// The words for a neighbourhood and a grid on the command line.
#pragma once

#include <string>
#include <string_view>

#include "collective/collective.hpp"
#include "plan/neighborhood.hpp"

namespace quadrille::tools {

// "moore:D,R": all offsets of D dimensions with coordinates -R..R but zero; "von-neumann:D": the
// nearest two in each dimension. "offsets:1,0/0,1" and "file:PATH": as own_offsets.hpp says. Returns an empty string,
// or one line that says what is wrong.
std::string parse_neighborhood(std::string_view text, plan::Neighborhood& neighborhood);

// "4x3": extents of a torus; "4x3m": with an 'm' behind an extent that dimension is not periodic.
// Returns an empty string, or one line that says what is wrong.
std::string parse_grid(std::string_view text, plan::Grid& grid);
std::string to_text(const plan::Grid& grid);
// The same of a grid that must have the dimensions of a neighbourhood, which was written as `neighborhood_text`.
std::string parse_grid_of(std::string_view text, const plan::Neighborhood& neighborhood,
                          std::string_view neighborhood_text, plan::Grid& grid);

// Why the options --neighborhood and --grid, or the one of them that is given, are nothing for that collective. Same
// return rule.
std::string why_no_neighbors(Collective collective, bool has_neighborhood, bool has_grid);

// A torus of `ranks` whose extents differ as little as possible, the largest first.
plan::Grid even_torus(int ranks, int dimensions);

}  // namespace quadrille::tools
