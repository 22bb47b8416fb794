// What the registry needs of hint-network: names of its parameters, and which exchanges fit.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "plan/algorithms.hpp"

namespace quadrille::plan {

// All-to-alls that forward blocks, without those that stay inside a node (between_nodes.cpp). The other exchanges that
// fit need no rounds of their own: schedules with a direct_window(), and allgathers in place (exchanges.hpp).
struct RoundsBetweenNodes {
  std::string_view name;
  Build among_all;
  Sizes sizes;
};
inline constexpr std::array<RoundsBetweenNodes, 2> rounds_between_nodes = {
    {{"bruck", zero_rotation_bruck, Sizes::known}, {"two-phase-bruck", two_phase_bruck, Sizes::carried}}};

std::span<const std::string_view> network_order_names();
inline constexpr std::array<std::string_view, 2> network_messages_names = {"after", "beside"};

}  // namespace quadrille::plan
