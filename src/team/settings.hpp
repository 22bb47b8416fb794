// The settings: one table, with a row for each variable of the environment.
//
// A new setting is one row in settings.cpp, a member of Config, its use, and a row in docs/tuning.md, which a test
// compares. Reading, the comparison of the ranks' settings and the guess at a misspelt name follow the table.
#pragma once

#include <span>
#include <string>

namespace quadrille::team {

struct Config;

struct Setting {
  const char* name = nullptr;
  const char* values = nullptr;  // what may be written, for people
  const char* unset = nullptr;   // what holds without the variable, for people
  const char* help = nullptr;    // one line
  const char* module = nullptr;  // who reads a variable that has no `read`
  // Reads a value that is not empty. Returns an empty string, or what is wrong.
  std::string (*read)(const std::string& text, Config& config) = nullptr;
  // The value that holds, for settings that all ranks must agree on, since they steer the choice of all: equal texts
  // mean equal settings. Null where ranks may differ.
  std::string (*value)(const Config& config) = nullptr;
};

std::span<const Setting> settings();

}  // namespace quadrille::team
