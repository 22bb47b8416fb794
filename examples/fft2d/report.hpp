// The results of a run, and their output.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fft2d {

// Relative to the absolute value of the expected numbers, which is the same for all numbers.
struct Errors {
  double max = 0;
  double rms = 0;
};

struct Report {
  int ranks = 0;
  int mesh = 0;
  std::string scaling;  // "weak", "strong", or "mesh": as the user said
  std::string collective;
  std::string device;       // "host", "cuda", "hip"
  std::string device_name;  // of rank 0
  std::string fft;
  std::string exchanged_by;
  std::size_t block_bytes[2] = {0, 0};           // the smallest and the largest
  std::vector<double> total_seconds;             // per repetition, maximum over the ranks
  std::vector<double> alltoall_seconds;          // per repetition, maximum over the ranks
  std::vector<double> alltoall_seconds_of_rank;  // per rank, median over the repetitions
  Errors spectrum;                               // the largest of all checks
  Errors round_trip;
};

// True if every error is below `limit`; false for NaN.
bool within(const Report& report, double limit);

std::string as_text(const Report& report);
std::string as_json(const Report& report);  // one line

}  // namespace fft2d
