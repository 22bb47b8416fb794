// What `quadrille doctor` has to say: one line each, with what to do about it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace quadrille::tools {

enum class Level : std::uint8_t {
  good,
  note,  // it works, and could be faster or safer
  bad,   // nothing would be served, or the command would not start
};

struct Finding {
  Level level = Level::good;
  std::string of;      // "launcher"
  std::string what;    // what was found
  std::string advice;  // what to do; empty if nothing
  // What was measured, for --json: members that the finding has beside those above. Null if there are none.
  nlohmann::ordered_json measured = nullptr;
};
using Findings = std::vector<Finding>;

}  // namespace quadrille::tools
