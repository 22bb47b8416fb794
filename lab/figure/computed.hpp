// Figures and tables of the papers that follow from schedules alone, by counting or by simulation: they need no MPI and
// no launcher, and are the same wherever they are made.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/bench_options.hpp"

namespace quadrille::tools {

struct ComputedFigure {
  std::string name;
  std::function<nlohmann::ordered_json()> compute;
  // The claims of today, with what becomes of them by these data.
  std::function<nlohmann::ordered_json(const nlohmann::ordered_json&)> claims;
  // The page in Markdown, from the data alone.
  std::function<std::string(const nlohmann::ordered_json&)> page;
};
std::vector<ComputedFigure> computed_figures();
std::optional<ComputedFigure> computed_figure(std::string_view name);

// Returns the exit status.
int computed_figure_command(const LabOptions& options, const ComputedFigure& figure);

// ---- What their pages share ----

// A claim that here/paper is a number: the JSON of a claim, with its verdict. `here` < 0: `reason` says why there is
// none.
nlohmann::ordered_json claim_of_number(const std::string& text, const std::string& fast, const std::string& slow,
                                       const std::string& paper, double here, const std::string& reason = "");
// The same where the number was computed several times, the usual one first, on other assumptions: they agree or
// disagree if all do, else the networks differ.
nlohmann::ordered_json claim_of_numbers(const std::string& text, const std::string& fast, const std::string& slow,
                                        const std::string& paper, const std::vector<double>& here,
                                        const std::string& reason = "");
// The table of such claims.
std::string claims_table(const nlohmann::ordered_json& claims);

}  // namespace quadrille::tools
