// The command line: its subcommands, and those of them that `quadrille` and the laboratory both read.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tool/line/help.hpp"

namespace quadrille::tools {

struct BenchOptions;
struct MapOptions;
struct ShowOptions;

using Action = std::function<int()>;

// What the subcommands share while the command line is read.
struct Line {
  Line() { app.formatter_fn(help_text); }
  CLI::App app{"Fast all-to-all collectives on any MPI", "quadrille"};
  Action action;  // what the chosen subcommand does
};

CLI::App* add_command(Line& line, const char* name, const char* what, const char* examples);

// Adds --progress (progress.hpp).
void add_progress(CLI::App& command);

// `bench` and `show`. A part of what they do is done by the laboratory, so it reads them, too.
void add_bench(Line& line, BenchOptions& options, Action action);
void add_show(Line& line, ShowOptions& options, MapOptions& map, Action of_schedule, Action of_map);

// Reads the words after the name of the program, and does what they say. Returns the exit status; one line on stderr if
// they are wrong.
int read_line(Line& line, const std::vector<std::string>& words);

}  // namespace quadrille::tools
