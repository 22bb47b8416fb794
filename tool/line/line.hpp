// The command line: what `quadrille` and `quadrille-lab` share while they read it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tool/line/help.hpp"

namespace quadrille::tools {

struct ShowOptions;

using Action = std::function<int()>;

// What the subcommands share while the command line is read.
struct Line {
  Line(const char* what, const char* program) : app(what, program) { app.formatter_fn(help_text); }
  CLI::App app;
  Action action;  // what the chosen subcommand does
};

CLI::App* add_command(Line& line, const char* name, const char* what, const char* examples);

// Adds --progress (progress.hpp).
void add_progress(CLI::App& command);

// Adds what says which schedule is shown: --collective, --algorithms, --ranks, --nodes, --node-map, --neighborhood,
// --grid.
void add_schedule_options(CLI::App& command, ShowOptions& options);

// Reads the words after the name of the program, and does what they say; nothing if --parse-only is the first. Returns
// the exit status; one line on stderr if they are wrong.
int read_line(Line& line, std::vector<std::string> words);

}  // namespace quadrille::tools
