// The data of a figure, as a file has them: so a page can be written anew from it, and a stored page that is not that
// of today's figure is found.
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

// `quadrille-lab pages FILE...`: writes the page of each file anew, beside it, and in the file what follows from the
// times: marks and claims. With `check` it writes nothing, and finds what is not what would be written. Returns the
// exit status.
int pages_command(const std::vector<std::string>& files, bool check);

}  // namespace quadrille::tools
