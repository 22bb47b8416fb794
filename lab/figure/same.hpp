// Lines of a figure that are one and the same here: a comparison of them compares a thing with itself.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lab/figure/figure.hpp"

namespace quadrille::tools {

// Finds them by the schedules of all ranks, and by what is streamed of a block: not by names. A line without a schedule
// is like no other. `domains`: the NUMA domain of each rank; empty: one. Each line is named with the first that it is
// like.
std::vector<SameLine> same_lines(const Plot& plot, int ranks, std::span<const int> domains);

// Marks them in all panels; not where several hosts share the ranks, whose places nobody knows then.
void mark_same(const Figure& figure, const FigureRun& run, std::vector<PlotRows>& plots);

// What `line` is like at that size; null if it is like none before it.
const SameLine* find_same(const std::vector<SameLine>& same, std::size_t bytes, const std::string& line);

// The first line that it is like at that size; itself if it is like none. Equal for two lines that are one and the
// same.
std::string first_like(const PlotRows& measured, std::size_t bytes, const std::string& line);

// "SH-CO is SH-Naive (8 to 131072 bytes)", ...: those with the same sequence, or the others. Empty if there are none.
std::string same_text(const std::vector<SameLine>& same, bool in_sequence);

}  // namespace quadrille::tools
