#include "lab/figure/same.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "choose/registry.hpp"
#include "plan/problem.hpp"
#include "tool/bench/neighborhood_text.hpp"
#include "tool/plans/show_neighbors.hpp"
#include "tool/plans/verify_cases.hpp"

namespace quadrille::tools {
namespace {

using Schedules = std::vector<plan::Schedule>;  // of each rank; none: nobody knows

Schedules dense_schedules(const choose::Choice& choice, int ranks, std::span<const int> domains) {
  const plan::NodeMap nodes = plan::one_node(ranks);
  const bool looks = look_at_domains(row_of(choice.algorithm->engine).plans);
  Schedules all;
  for (int me = 0; me < ranks; ++me) {
    all.push_back(
        choice.algorithm->build({ranks, me, &nodes, choice.parameters, looks ? domains : std::span<const int>{}}));
  }
  return all;
}

Schedules neighbor_schedules(const Plot& plot, const choose::Choice& choice, int ranks, std::span<const int> domains) {
  plan::Neighborhood around;
  if (!parse_neighborhood(plot.neighborhood, around).empty()) return {};
  plan::Grid grid = even_torus(ranks, around.dimensions);
  if (!plot.grid.empty() && !parse_grid(plot.grid, grid).empty()) return {};
  const bool looks = choice.algorithm->build_edges != nullptr;
  Schedules all;
  for (int me = 0; me < ranks; ++me) {
    all.push_back(
        neighbor_schedule(plot.collective, choice, grid, around, looks ? domains : std::span<const int>{}, me));
  }
  return all;
}

Schedules schedules_of(const Plot& plot, const Variant& variant, int ranks, std::span<const int> domains) {
  choose::Choice choice;
  if (variant.algorithm == "default" || !choose::parse_choice(plot.collective, variant.algorithm, choice).empty()) {
    return {};
  }
  if (!has_schedule(*choice.algorithm)) return {};
  return is_for_neighbors(*choice.algorithm) ? neighbor_schedules(plot, choice, ranks, domains)
                                             : dense_schedules(choice, ranks, domains);
}

// The same of all schedules that differ in the sequence of copies alone.
plan::Schedule without_sequence(plan::Schedule schedule) {
  const auto key = [](const plan::Copy& c) {
    return std::tuple(c.from.owner, c.from.buffer, c.from.block, c.to.owner, c.to.buffer, c.to.block);
  };
  std::sort(schedule.copies.begin(), schedule.copies.end(),
            [&](const plan::Copy& a, const plan::Copy& b) { return key(a) < key(b); });
  return schedule;
}

enum class Likeness : std::uint8_t { none, copies, all };

Likeness likeness_of(const Schedules& a, const Schedules& b) {
  if (a.empty() || b.empty()) return Likeness::none;
  if (a == b) return Likeness::all;
  const auto same_copies = [](const plan::Schedule& one, const plan::Schedule& other) {
    return without_sequence(one) == without_sequence(other);
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_copies) ? Likeness::copies : Likeness::none;
}

// How many bytes of a block go through the caches; none: what Quadrille takes by itself.
std::optional<std::size_t> cached_part(const Variant& variant, std::size_t bytes, int ranks) {
  if (!variant.copying) return std::nullopt;
  const bool streams = bytes * static_cast<std::size_t>(ranks) >= variant.copying->stream_from;
  return streams ? std::min(bytes, variant.copying->temporal_bytes) : bytes;
}

// Messages that are packed, and such that are not, have one schedule.
std::int64_t packed_up_to(const Plot& plot, const Variant& variant) {
  choose::Choice choice;
  if (!choose::parse_choice(plot.collective, variant.algorithm, choice).empty()) return 0;
  return plan::value_of(choice.parameters, "pack", 0);
}

}  // namespace

std::vector<SameLine> same_lines(const Plot& plot, int ranks, std::span<const int> domains) {
  std::vector<Schedules> schedules;
  for (const Variant& variant : plot.variants) schedules.push_back(schedules_of(plot, variant, ranks, domains));
  std::vector<std::vector<Likeness>> likeness(schedules.size());
  for (std::size_t line = 0; line < schedules.size(); ++line) {
    for (std::size_t other = 0; other < line; ++other) {
      likeness[line].push_back(likeness_of(schedules[line], schedules[other]));
    }
  }
  std::vector<std::size_t> sizes;
  parse_sizes(plot.sizes, sizes);
  std::vector<SameLine> same;
  for (std::size_t line = 1; line < plot.variants.size(); ++line) {
    for (const std::size_t bytes : sizes) {
      for (std::size_t other = 0; other < line; ++other) {
        const Variant &a = plot.variants[line], &b = plot.variants[other];
        if (likeness[line][other] == Likeness::none) continue;
        if (cached_part(a, bytes, ranks) != cached_part(b, bytes, ranks)) continue;
        if (packed_up_to(plot, a) != packed_up_to(plot, b)) continue;
        same.push_back({bytes, a.label, b.label, likeness[line][other] == Likeness::all});
        break;
      }
    }
  }
  return same;
}

void mark_same(const Figure& figure, const FigureRun& run, std::vector<PlotRows>& plots) {
  if (run.hosts > 1 && !figure.no_node) return;
  for (std::size_t p = 0; p < plots.size(); ++p) {
    const int ranks = ranks_of(figure.plots[p], run.ranks);
    std::span<const int> domains = run.facts.domains;
    plots[p].same =
        same_lines(figure.plots[p], ranks, domains.first(std::min(domains.size(), static_cast<std::size_t>(ranks))));
  }
}

const SameLine* find_same(const std::vector<SameLine>& same, std::size_t bytes, const std::string& line) {
  const auto found = std::find_if(same.begin(), same.end(),
                                  [&](const SameLine& one) { return one.bytes == bytes && one.line == line; });
  return found == same.end() ? nullptr : &*found;
}

std::string first_like(const PlotRows& measured, std::size_t bytes, const std::string& line) {
  const SameLine* same = find_same(measured.same, bytes, line);
  return same == nullptr ? line : same->as;
}

std::string same_text(const std::vector<SameLine>& same, bool in_sequence) {
  std::map<std::pair<std::string, std::string>, std::pair<std::size_t, std::size_t>> ranges;
  for (const SameLine& one : same) {
    if (one.in_sequence != in_sequence) continue;
    auto [place, is_new] = ranges.try_emplace({one.line, one.as}, one.bytes, one.bytes);
    if (is_new) continue;
    place->second = {std::min(place->second.first, one.bytes), std::max(place->second.second, one.bytes)};
  }
  std::vector<std::string> words;
  for (const auto& [lines, sizes] : ranges) {
    words.push_back(fmt::format("{} is {} ({} to {} bytes)", lines.first, lines.second, sizes.first, sizes.second));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace quadrille::tools
