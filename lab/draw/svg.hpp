// A schedule as a picture (SVG), for people. All shapes say what they mean in attributes named data-..., so that
// scripts and tests read them.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/schedule.hpp"

namespace quadrille::plan {

// Who sends what to whom in which round. A rank is a line from top to bottom, a round a band; each message is an arrow
// from its sender to its receiver, with its spans in the title: "send[1..2]". Copies of a rank are dots on its line.
// [rank]: the schedules of all ranks.
std::string svg_of_messages(std::span<const Schedule> schedules, const std::string& title);

// Copies inside a node: the square of all blocks, rows by source, columns by destination. A cell has the colour of the
// rank that copies it, and a line through the cells of a rank shows in which order.
std::string svg_of_copies(std::span<const Schedule> schedules, const std::string& title);

// A block's way through a neighbourhood of one or two dimensions: points from (0, 0) to where it goes.
struct Way {
  int block;
  std::vector<std::pair<int, int>> points;
};
std::string svg_of_ways(std::span<const Way> ways, const std::string& title);

}  // namespace quadrille::plan
