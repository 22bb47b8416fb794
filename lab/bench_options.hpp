// Options of `quadrille-lab bench`: figures of the papers, and the copies of a collective alone.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "tool/bench/options.hpp"

namespace quadrille::tools {

struct LabOptions : BenchOptions {
  // For --figure.
  std::string figure;
  int runs = 1;                     // whole runs
  int panel = 0;                    // of a figure on GPUs: only this one, from 1 on; 0: all
  long shrink = 1;                  // sizes of a figure on GPUs are divided by that
  std::string results = "results";  // folder of its page and data
  // For --copy-phase.
  bool copy_phase = false, staggered = false;
  std::string orders;  // empty: the usual ones
  int domains = 1;
  int ranks = 64, threads = 0;
};

// Empty if every given option is in `meant`, or one line that says which has no effect `on` a figure.
std::string why_without_effect(const LabOptions& options, std::initializer_list<std::string_view> meant,
                               std::string_view on);

// Declares the options on the subcommand.
void add_lab_options(CLI::App& command, LabOptions& options);

}  // namespace quadrille::tools
