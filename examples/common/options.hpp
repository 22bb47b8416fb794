// The options of a program of several ranks.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>

#include "common/world.hpp"

namespace examples {

// Reads them; all ranks are given the same. Nothing: the program goes on. Else its exit status: it was asked for help,
// or an option is wrong. Rank 0 says so.
inline std::optional<int> read_options(CLI::App& app, int argc, char** argv, const World& world) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return world.rank == 0 ? app.exit(help) : 0;
  } catch (const CLI::ParseError& error) {
    if (world.rank == 0) std::fprintf(stderr, "%s: %s (try --help)\n", app.get_name().c_str(), error.what());
    return 2;
  }
  return std::nullopt;
}

}  // namespace examples
