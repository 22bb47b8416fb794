// `quadrille-lab show --svg`: a schedule as a picture.
#pragma once

#include <string>
#include <vector>

#include "choose/registry.hpp"
#include "lab/draw/svg.hpp"
#include "tool/plans/show.hpp"

namespace quadrille::tools {

// The way of each block of an all-to-all between neighbours in one or two dimensions, hop by hop, from the schedule of
// a rank of a torus that is large enough for all ways to differ. Returns an empty string, or what is wrong.
std::string ways_of(Collective collective, const choose::Choice& choice, const std::string& neighborhood,
                    std::vector<plan::Way>& ways);

// Writes the picture to the file. Returns 0, or 2 if the options are wrong (one line on stderr).
int show_svg_command(const ShowOptions& options, const std::string& file);

}  // namespace quadrille::tools
