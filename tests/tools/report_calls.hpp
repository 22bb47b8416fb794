// Recorded calls, made up for the tests of `quadrille report`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/read.hpp"

namespace quadrille::tools {

inline ReportData communicator(const std::vector<int>& world_ranks) {
  return {{"name", ""}, {"ranks", world_ranks.size()}, {"made", 1}, {"inter", false}, {"world_ranks", world_ranks}};
}

inline ReportData call(const std::string& collective, int communicator, std::uint64_t block, double seconds = 1) {
  return {{"collective", collective},
          {"form", "blocking"},
          {"communicator", communicator},
          {"where", {{"object", "app"}, {"symbol", "main"}, {"line", ""}}},
          {"told", 2},
          {"calls", 100.0},
          {"bytes", block * 100 * 2 * 2},
          {"least", block},
          {"most", block},
          {"seconds", {seconds, seconds, seconds}},
          {"samples", ReportData::array()}};
}

inline ReportData four_ranks(const std::vector<ReportData>& communicators, const std::vector<ReportData>& calls) {
  return {
      {"ranks", 4}, {"command", {"mpirun", "-n", "4", "./app"}}, {"communicators", communicators}, {"calls", calls}};
}

}  // namespace quadrille::tools
