// The results of a run, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "decomposition.hpp"

namespace heat {

struct Report {
  std::string program;
  int dimensions = 0;
  Extents extents{};
  Extents grid{};
  int ranks = 0;
  int stencil = 0;
  int iterations = 0;
  std::string boundary;
  std::string exchange;
  std::uint64_t checksum = 0;
  double min = 0, max = 0, mean = 0;
  // Maxima over the ranks.
  double total_seconds = 0, communication_seconds = 0;
  std::string check;  // empty: not requested; "passed", or the error
};

std::string as_text(const Report& report);
std::string as_json(const Report& report);

// The share of one point in the checksum, which is the sum over all points. It depends on every bit and
// on the position, but not on the division into blocks.
std::uint64_t checksum_of(std::uint64_t place, double value);

// The first difference of two fields in any bit, as text; empty if they are equal.
std::string difference(const Field& found, const Field& expected, int dimensions);

}  // namespace heat
