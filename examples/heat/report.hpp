// What a run found, as text and as JSON.
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
  // Each the largest of the ranks.
  double total_seconds = 0, communication_seconds = 0;
  std::string check;  // empty: not asked for; "passed", or what is wrong
};

std::string as_text(const Report& report);
std::string as_json(const Report& report);

// The share of one point in the checksum, which is the sum over all points: it depends on every bit
// and on the place, but not on how the field is cut.
std::uint64_t checksum_of(std::uint64_t place, double value);

// Where two fields first differ in a bit, in words, or nothing.
std::string difference(const Field& found, const Field& expected, int dimensions);

}  // namespace heat
