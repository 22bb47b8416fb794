// The settings: one table, with a row for each variable of the environment.
//
// A new setting is one row in settings.cpp, a member of Config, and its use. Without `agreed` the row does not compile;
// tests/run/config_test.cpp asks for values of it. Reading, the comparison of the ranks' settings, the guess at a
// misspelt name, `quadrille list --settings`, the manual pages and the rows of docs/tuning.md (`make docs`) follow the
// table.
#pragma once

#include <span>
#include <string>

namespace quadrille::team {

struct Config;

struct Setting {
  const char* name = nullptr;
  const char* values = nullptr;  // what may be written, for people
  const char* unset = nullptr;   // what holds without the variable, for people
  const char* help = nullptr;    // one line; 'quoted' words are code
  const char* module = nullptr;  // who reads a variable that has no `read`
  // Reads a value that is not empty. Returns an empty string, or what is wrong.
  std::string (*read)(const std::string& text, Config& config) = nullptr;
  // The value that holds, for settings that all ranks must agree on, since they steer the choice of all: equal texts
  // mean equal settings. `may_differ` for the others.
  std::string (&agreed)(const Config& config);
};

std::string may_differ(const Config& config);

std::span<const Setting> settings();

}  // namespace quadrille::team
