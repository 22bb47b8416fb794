// What all figures write, and where.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/bench_options.hpp"
#include "lab/figure/figure.hpp"

namespace quadrille::tools {

// The beginning of the data of a figure.
nlohmann::ordered_json head_json(const Figure& figure, const FigureRun& run);

// Each row of a list of rows in a line of its own.
std::string compact_text(const nlohmann::ordered_json& json);

// Four significant digits: as many as times of runs have in the data.
double four_digits(double number);

// The data, in the folder of the options. Returns the exit status.
int write_data(const LabOptions& options, const std::string& name, const nlohmann::ordered_json& json);
// And prints the page.
int write_results(const LabOptions& options, const Figure& figure, const nlohmann::ordered_json& json,
                  const std::string& page);

// Empty if the folder is there and can be written to, else one line. One level is made: of a mistyped path no more.
std::string make_local_folder(const std::string& folder);
// Collective. Rank 0 alone writes, so its host alone needs the folder.
bool make_folder(const std::string& folder);
// Over how many hosts all ranks are. Collective.
int count_hosts();
// Collective.
FigureRun make_run(const BenchHeader& header);
// The ranks of a launcher for another MPI would each measure alone.
std::string why_not_joined();
// How to start a figure that no launcher has started.
std::string why_no_launcher(const LabOptions& options);

}  // namespace quadrille::tools
