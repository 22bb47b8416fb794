// A table of set-up times, as table 2 of the paper on isomorphic neighbourhoods: what it takes to make communicators
// of neighbours, and the first request on them.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lab/figure/figure.hpp"

namespace quadrille::tools {

constexpr std::size_t setup_count = 7;

// A function of the table; `algorithm` is what a request is made for.
struct SetupFunction {
  const char* name;
  const char* algorithm;               // "" for a function that makes a communicator
  double SetupCase::*paper = nullptr;  // its milliseconds; null: the paper has none
};
const std::array<SetupFunction, setup_count>& setup_functions();

struct SetupRow {
  SetupCase measured;
  int neighbors = 0;
  std::size_t repetitions = 0;
  std::array<double, setup_count> microseconds{};  // of each function: the median over the repetitions
};

// Collective. `iterations` repetitions; 0: as many as fit a fixed time, at most the paper's 400.
SetupRow measure_setups(MpiComm all, const SetupCase& one, long iterations);

nlohmann::ordered_json to_json(const SetupRow& row);
// What becomes of the paper's two sentences about the table, as in the data of the other figures.
nlohmann::ordered_json setup_claims(const Figure& figure, const FigureRun& run, const std::vector<SetupRow>& rows);
// The page in Markdown.
std::string setup_page(const Figure& figure, const FigureRun& run, const std::vector<SetupRow>& rows);

}  // namespace quadrille::tools
