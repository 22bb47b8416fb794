// What `--help` prints: in one form whatever the version of CLI11, as manual pages and completions are made of it
// (scripts/cli_help.py).
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <string_view>

namespace quadrille::tools {

// The group of options that only `--help-all` prints.
inline constexpr const char* more_options = "More options";

// Gives the command a `--help-all`; `--help` prints the options of these names alone.
void show_first(CLI::App& command, std::initializer_list<std::string_view> names);

// For CLI::App::formatter_fn, which hands it on to subcommands.
std::string help_text(const CLI::App* app, std::string name, CLI::AppFormatMode mode);

}  // namespace quadrille::tools
