// A map of winners: a letter for each number of ranks and block size.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::tools {

struct MapCell {
  std::string algorithm;  // "two-phase-bruck:radix=4"
  double seconds = 0;
  double direct = 0;  // seconds of the best that sends each block straight to its place
};

// By N and P.
using MapGrid = std::map<std::pair<std::size_t, std::size_t>, MapCell>;

// Keeps the faster of what is there and `cell`.
void put_faster(MapGrid& grid, std::size_t bytes, std::size_t ranks, const MapCell& cell);

// "T4" for two-phase Bruck of radix 4, "P2" for padded Bruck, "S" for messages straight to their
// places, "A" for padded-alltoall, "L2" for SLOAV, "?" for others.
std::string mark_of(const std::string& algorithm);

// Rows are N, columns P; then a line that says what the marks mean.
std::string map_text(const MapGrid& grid);

struct Measured {
  std::string load;  // the kind of blocks: "uniform, byte"
  MapGrid grid;
};

// Adds the rows of a file that `quadrille bench alltoallv --json` wrote. Returns an empty string,
// or one line that says what is wrong; so also if its blocks are of another kind than those before.
std::string read_measured(const std::string& file, Measured& measured);

}  // namespace quadrille::tools
