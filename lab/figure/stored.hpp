// The data of a figure, as a file has them, and what becomes of the paper's claims by them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lab/figure/figure.hpp"
#include "lab/figure/setup_table.hpp"

namespace quadrille::tools {

struct StoredFigure {
  Figure figure;  // today's, of that name, for that number of ranks
  FigureRun run;
  std::vector<PlotRows> plots;
  std::vector<SetupRow> setups;
};

// Reads what figure_json() wrote. Returns an empty string, or one line that says what is wrong, also if a panel
// or its lines are none of the figure. Panels that the figure has got since are empty.
std::string read_stored(const nlohmann::ordered_json& json, StoredFigure& stored);
std::string page_of(const StoredFigure& stored);

// `quadrille-lab judge FILE...`: prints the page of each file, or as JSON its claims: {file: [claim]}. Returns the exit
// status.
int judge_command(const std::vector<std::string>& files, bool as_json);

}  // namespace quadrille::tools
