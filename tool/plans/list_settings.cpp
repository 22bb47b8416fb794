#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "team/config.hpp"
#include "tool/plans/list.hpp"

namespace quadrille::tools {
namespace {

bool must_agree(const team::Setting& setting) { return setting.agreed != team::may_differ; }

nlohmann::ordered_json describe(const team::Setting& setting) {
  return {{"name", setting.name},
          {"values", setting.values},
          {"default", setting.unset},
          {"help", setting.help},
          {"ranks_must_agree", must_agree(setting)}};
}

void print_text(const team::Setting& setting) {
  fmt::print("{}\n    {}\n    values: {}\n    default: {}\n    ranks {}\n", setting.name, setting.help, setting.values,
             setting.unset, must_agree(setting) ? "must agree" : "may differ");
}

}  // namespace

int list_settings(bool json) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const team::Setting& setting : team::settings()) {
    if (json) {
      all.push_back(describe(setting));
    } else {
      print_text(setting);
    }
  }
  if (json) fmt::print("{}\n", all.dump(2));
  std::fflush(stdout);
  return 0;
}

}  // namespace quadrille::tools
