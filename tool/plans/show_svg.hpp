// `quadrille show --svg`: a schedule as a picture.
#pragma once

#include <string>
#include <vector>

#include "choose/registry.hpp"
#include "plan/svg.hpp"
#include "tool/plans/show.hpp"
#include "tool/plans/verify_cases.hpp"

namespace quadrille::tools {

// The way of each block of an all-to-all between neighbours in one or two dimensions, hop by hop, from the schedule of
// a rank of a torus that is large enough for all ways to differ. Returns an empty string, or what is wrong.
std::string ways_of(Collective collective, const choose::Choice& choice, const std::string& neighborhood,
                    std::vector<plan::Way>& ways);

// Both write the picture to the file of the options. Same return rule.
std::string write_picture(Collective collective, const choose::Choice& choice, const Placement& placed,
                          const ShowOptions& options);
std::string write_picture_of_neighbors(Collective collective, const choose::Choice& choice, const ShowOptions& options);

}  // namespace quadrille::tools
