// What `--help` prints: in one form whatever the version of CLI11, as manual pages and completions are made of it
// (scripts/cli_help.py).
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace quadrille::tools {

// For CLI::App::formatter_fn, which hands it on to subcommands.
std::string help_text(const CLI::App* app, std::string name, CLI::AppFormatMode mode);

}  // namespace quadrille::tools
