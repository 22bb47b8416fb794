// The schedules of all ranks together, as blocks that move step by step, for pictures that move.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plan/problem.hpp"
#include "plan/schedule.hpp"

namespace quadrille::plan {

// Blocks that move together.
struct Move {
  int by;                    // the rank that sends or copies
  int to;                    // the rank that receives; -1: copies
  std::vector<Copy> blocks;  // in order
};

// Moves that happen at a time. One after the other they do what they do together.
using Step = std::vector<Move>;

// Plays all schedules in lock step: each rank goes on as soon as the messages of its round, or its fence, let it. A
// message moves when both its sides are posted, windows are kept, and a step in which nothing moves is left out.
// [rank]: the schedules. Returns an empty string, or why they do not come to an end.
std::string play(std::span<const Schedule> schedules, const NodeMap& nodes, std::vector<Step>& steps);

// Makes each step of copies alone as many steps as a rank has copies in it: in the k-th every rank does its k-th.
std::vector<Step> copy_by_copy(std::vector<Step> steps);

}  // namespace quadrille::plan
