// A figure that is computed is the same on every machine: so what is stored is what comes out today, to the last
// number.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "lab/figure/computed.hpp"

namespace quadrille::tools {

// `folder` is below the folder of results. Empty if there is no such figure.
inline nlohmann::ordered_json expect_as_stored(const std::string& folder, const std::string& name) {
  const auto figure = computed_figure(name);
  if (!figure) {
    ADD_FAILURE() << "there is no figure " << name;
    return {};
  }
  const nlohmann::ordered_json json = figure->compute();
  std::ifstream file(std::string(QUADRILLE_RESULTS) + "/" + folder + "/" + name + ".json");
  EXPECT_EQ(json, nlohmann::ordered_json::parse(file, nullptr, false)) << name;
  return json;
}

}  // namespace quadrille::tools
