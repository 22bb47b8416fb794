// What is being done, while it takes long.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace quadrille::tools {

// A line on the terminal that is overwritten by the next. Without a terminal nothing, or with show_progress_always() a
// line on stderr every three seconds. Open MPI's launcher gives a rank no terminal as stderr, but leaves it that of the
// session; Hydra gives it none at all.
class Progress {
 public:
  explicit Progress(bool wanted);
  void show(const std::string& text);
  void clear();

 private:
  std::FILE* terminal_ = nullptr;
  bool wanted_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// For this process: what the option --progress asks for.
void show_progress_always();

}  // namespace quadrille::tools
