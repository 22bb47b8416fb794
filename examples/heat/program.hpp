// The common part of heat2d and heat3d, which differ in the input only.
//
// Exit status: 0 success, 1 the field differs from that of the sequential program, 2 wrong arguments or
// input.
#pragma once

#include <string>
#include <vector>

#include "decomposition.hpp"

namespace heat {

struct Options {
  std::string input = HEAT_SCAN;
  int slice = -1;  // -1: the middle one
  std::string size;
  std::string grid;
  int iterations = 100;
  int stencil = 0;
  std::string boundary = "periodic";
  std::string exchange = "alltoallw";
  std::string algorithm;
  std::string output;
  bool check = false;
  bool json = false;
};

struct Kind {
  const char* name;
  const char* title;
  int dimensions;
  std::vector<int> stencils;  // the first is the default
  const char* input;          // what --input names
  Field (*read)(const Options&);
};

// The body of main.
int main_of(const Kind& kind, int argc, char** argv);

}  // namespace heat
