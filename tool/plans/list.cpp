#include "tool/plans/list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "choose/registry.hpp"

namespace quadrille::tools {
namespace {

std::vector<std::string_view> collectives_of(const choose::Algorithm& algorithm) {
  std::vector<std::string_view> names;
  for (const Collective c : algorithm.collectives) names.push_back(name_of(c));
  return names;
}

nlohmann::ordered_json describe(const choose::Algorithm& algorithm) {
  nlohmann::ordered_json parameters = nlohmann::ordered_json::array();
  for (const choose::ParameterRange& p : algorithm.parameters) {
    parameters.push_back({{"name", p.name},
                          {"automatic", p.automatic},
                          {"least", p.least},
                          {"most", p.most},
                          {"standard", p.standard},
                          {"meaning", p.meaning}});
    if (!p.names.empty()) parameters.back()["names"] = std::vector<std::string_view>(p.names.begin(), p.names.end());
  }
  return {{"name", algorithm.name},
          {"collectives", collectives_of(algorithm)},
          {"engine", row_of(algorithm.engine).name},
          {"needs",
           {{"one_node", algorithm.needs.one_node},
            {"contiguous", algorithm.needs.contiguous},
            {"derived_types", algorithm.needs.derived_types},
            {"load_store", algorithm.needs.load_store},
            {"isomorphic", algorithm.needs.isomorphic},
            {"equal_sizes", algorithm.needs.equal_sizes},
            {"device_mpi", algorithm.needs.device_mpi}}},
          {"from_device", algorithm.from_device ? "straight" : "over_host"},
          {"parameters", parameters},
          {"line", algorithm.line},
          {"source", algorithm.source}};
}

void print_text(const choose::Algorithm& algorithm) {
  fmt::print("{}\n    {}\n    for {}\n", algorithm.name, algorithm.line, fmt::join(collectives_of(algorithm), ", "));
  for (const choose::ParameterRange& p : algorithm.parameters) {
    const std::string range = p.names.empty() ? fmt::format("{}{} to {}", p.automatic ? "0, or " : "", p.least, p.most)
                                              : fmt::format("{}", fmt::join(p.names, ", "));
    fmt::print("    {}={} ({}): {}\n", p.name, value_text(p, p.standard), range, p.meaning);
  }
  fmt::print("    source: {}\n", algorithm.source);
}

}  // namespace

int list_command(bool json) {
  if (json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const choose::Algorithm& algorithm : choose::algorithms()) {
      all.push_back(describe(algorithm));
    }
    fmt::print("{}\n", all.dump(2));
  } else {
    for (const choose::Algorithm& algorithm : choose::algorithms()) print_text(algorithm);
  }
  std::fflush(stdout);
  return 0;
}

}  // namespace quadrille::tools
