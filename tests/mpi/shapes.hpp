// Calls of many shapes, by one algorithm, on all communicators.
#pragma once

#include <vector>

#include "choices.hpp"
#include "exchange.hpp"

namespace quadrille::test {

// How many shapes of a forced algorithm are checked with one or two ranks, how many at least, and
// how many at most on a communicator of one rank.
struct Samples {
  int forced, least, self;
};

// Forces the algorithm on each communicator in turn and checks a sample of the shapes there; all of
// them if the choice is Quadrille's own.
void check_shapes(const Forced& forced, const std::vector<Shape>& shapes, const Samples& samples);

}  // namespace quadrille::test
