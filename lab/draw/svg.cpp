#include "lab/draw/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace quadrille::plan {
namespace {

constexpr int margin = 40;
constexpr double golden = 0.381966;  // of a turn: hues that follow each other are far apart

std::string color_of(int rank) {
  const double turns = golden * rank;
  return fmt::format("hsl({},65%,45%)", static_cast<int>(360 * (turns - static_cast<int>(turns))));
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '<') {
      out += "&lt;";
    } else if (letter == '>') {
      out += "&gt;";
    } else if (letter == '&') {
      out += "&amp;";
    } else {
      out += letter;
    }
  }
  return out;
}

std::string span_text(const Span& span, int me) {
  return fmt::format("{}[{}]{}", name_of(span.buffer), span.block,
                     span.owner == me ? "" : fmt::format(" of {}", span.owner));
}

// The page of a picture.
class Svg {
 public:
  Svg(int width, int height, const std::string& title) {
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"sans-serif\" font-size=\"11\">\n<title>{2}</title>\n<rect width=\"{0}\" height=\"{1}\" "
        "fill=\"white\"/>\n",
        width, height, escaped(title));
    text(margin, 18, title);
  }
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> form, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), form, std::forward<Arguments>(arguments)...);
  }
  void text(double x, double y, const std::string& words) {
    add("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, y, escaped(words));
  }
  std::string take() { return std::move(out_) + "</svg>\n"; }

 private:
  std::string out_;
};

// ---- Messages ----

constexpr int lane_width = 60, band_head = 16, step_height = 14, least_band = 40;

struct Band {
  int top = 0, height = 0;
};

const Round* round_at(const Schedule& schedule, std::size_t round) {
  return round < schedule.rounds.size() ? &schedule.rounds[round] : nullptr;
}

std::vector<Band> bands_of(std::span<const Schedule> schedules) {
  std::size_t rounds = 0;
  for (const Schedule& schedule : schedules) rounds = std::max(rounds, schedule.rounds.size());
  std::vector<Band> bands(rounds);
  int top = margin + 20;
  for (std::size_t r = 0; r < rounds; ++r) {
    std::uint32_t most = 0;
    for (const Schedule& schedule : schedules) {
      if (const Round* round = round_at(schedule, r)) most = std::max(most, round->sends.count);
    }
    bands[r] = {top, std::max(least_band, band_head + step_height * (static_cast<int>(most) + 1))};
    top += bands[r].height;
  }
  return bands;
}

double lane(int rank) { return margin + lane_width * (rank + 0.8); }

void add_copies(Svg& svg, const Schedule& schedule, const Range& copies, int me, std::size_t round, double y) {
  if (copies.count == 0) return;
  std::string words;
  for (std::uint32_t i = 0; i < copies.count; ++i) {
    const Copy& copy = schedule.copies[copies.first + i];
    words += (i == 0 ? "" : ", ") + span_text(copy.from, me) + " to " + span_text(copy.to, me);
  }
  svg.add(
      "<circle class=\"copies\" data-rank=\"{}\" data-round=\"{}\" data-count=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" "
      "r=\"3\" "
      "fill=\"{}\"><title>rank {}, round {}: {}</title></circle>\n",
      me, round, copies.count, lane(me), y, color_of(me), me, round, words);
}

void add_sends(Svg& svg, const Schedule& schedule, const Round& round, int me, std::size_t number, const Band& band) {
  for (std::uint32_t i = 0; i < round.sends.count; ++i) {
    const Message& message = schedule.messages[round.sends.first + i];
    if (is_none(message)) continue;
    std::string spans;
    for (std::uint32_t s = 0; s < message.spans.count; ++s) {
      spans += (s == 0 ? "" : " ") + span_text(schedule.spans[message.spans.first + s], me);
    }
    const double y = band.top + band_head + step_height * static_cast<double>(i);
    svg.add(
        "<line class=\"message\" data-from=\"{}\" data-to=\"{}\" data-round=\"{}\" data-blocks=\"{}\" "
        "data-spans=\"{}\" "
        "x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" marker-end=\"url(#end)\"><title>round "
        "{}: {} "
        "to {}: {}</title></line>\n",
        me, message.peer, number, message.spans.count, spans, lane(me), y, lane(message.peer), y + step_height,
        color_of(me), number, me, message.peer, spans);
  }
}

// ---- Copies ----

constexpr int most_square = 640;

struct Cell {
  int source, destination;
};

// What a rank copies from a send buffer to a receive buffer, in order.
std::vector<Cell> cells_of(const Schedule& schedule) {
  std::vector<Cell> cells;
  for (const Copy& copy : schedule.copies) {
    if (copy.from.buffer == Buffer::send && copy.to.buffer == Buffer::recv)
      cells.push_back({copy.from.owner, copy.to.owner});
  }
  return cells;
}

}  // namespace

std::string svg_of_messages(std::span<const Schedule> schedules, const std::string& title) {
  const int ranks = static_cast<int>(schedules.size());
  const std::vector<Band> bands = bands_of(schedules);
  const int bottom = bands.empty() ? margin + 40 : bands.back().top + bands.back().height;
  Svg svg(2 * margin + lane_width * (ranks + 1), bottom + margin, title);
  svg.add(
      "<defs><marker id=\"end\" viewBox=\"0 0 6 6\" refX=\"6\" refY=\"3\" markerWidth=\"6\" markerHeight=\"6\" "
      "orient=\"auto\"><path d=\"M0,0 L6,3 L0,6 z\" fill=\"context-stroke\"/></marker></defs>\n");
  for (std::size_t r = 0; r < bands.size(); ++r) {
    svg.add("<rect class=\"round\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", margin / 2,
            bands[r].top, lane_width * (ranks + 1) + margin, bands[r].height, r % 2 == 0 ? "#f3f3f3" : "#ffffff");
    svg.text(margin / 2.0 + 4, bands[r].top + 12, fmt::format("round {}", r));
  }
  for (int me = 0; me < ranks; ++me) {
    svg.add("<line class=\"rank\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#999\"/>\n", lane(me),
            margin + 14, bottom);
    svg.text(lane(me) - 4, margin + 8, fmt::format("{}", me));
  }
  for (int me = 0; me < ranks; ++me) {
    const Schedule& schedule = schedules[static_cast<std::size_t>(me)];
    for (std::size_t r = 0; r < schedule.rounds.size(); ++r) {
      const Round& round = schedule.rounds[r];
      add_copies(svg, schedule, round.before, me, r, bands[r].top + 6);
      add_sends(svg, schedule, round, me, r, bands[r]);
      add_copies(svg, schedule, round.after, me, r, bands[r].top + bands[r].height - 4);
    }
  }
  return svg.take();
}

std::string svg_of_copies(std::span<const Schedule> schedules, const std::string& title) {
  const int ranks = static_cast<int>(schedules.size());
  const double side = std::clamp(most_square / std::max(ranks, 1), 6, 48);
  const double left = margin, top = margin + 20;
  Svg svg(static_cast<int>(2 * margin + side * ranks), static_cast<int>(2 * margin + 20 + side * ranks), title);
  svg.text(left, margin + 6, "down: source; across: destination; colour: who copies");
  for (int me = 0; me < ranks; ++me) {
    const std::vector<Cell> cells = cells_of(schedules[static_cast<std::size_t>(me)]);
    std::string points;
    for (std::size_t step = 0; step < cells.size(); ++step) {
      const auto& [source, destination] = cells[step];
      svg.add(
          "<rect class=\"copy\" data-rank=\"{0}\" data-step=\"{1}\" data-source=\"{2}\" data-destination=\"{3}\" "
          "x=\"{4:.1f}\" y=\"{5:.1f}\" width=\"{6:.1f}\" height=\"{6:.1f}\" fill=\"{7}\" fill-opacity=\"0.35\" "
          "stroke=\"#ccc\"><title>rank {0}, copy {1}: {2} to {3}</title></rect>\n",
          me, step, source, destination, left + side * destination, top + side * source, side, color_of(me));
      points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", left + side * (destination + 0.5),
                            top + side * (source + 0.5));
    }
    svg.add(
        "<polyline class=\"order\" data-rank=\"{}\" points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n",
        me, points, color_of(me));
  }
  return svg.take();
}

std::string svg_of_ways(std::span<const Way> ways, const std::string& title) {
  constexpr double step = 60;
  int reach = 1;
  for (const Way& way : ways) {
    for (const auto& [x, y] : way.points) reach = std::max({reach, std::abs(x), std::abs(y)});
  }
  const double middle = margin + 20 + step * (reach + 0.5);
  const int size = static_cast<int>(2 * middle);
  Svg svg(size, size, title);
  for (int x = -reach; x <= reach; ++x) {
    for (int y = -reach; y <= reach; ++y) {
      svg.add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\" fill=\"#bbb\"/>\n", middle + step * x, middle + step * y);
    }
  }
  for (const Way& way : ways) {
    // Beside each other, where several ways go along the same hop.
    const double aside = (way.block % 7 - 3) * 2.5;
    std::string points, hops;
    for (const auto& [x, y] : way.points) {
      points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", middle + step * x + aside,
                            middle + step * y + aside);
      hops += fmt::format("{}{},{}", hops.empty() ? "" : " ", x, y);
    }
    const auto& [x, y] = way.points.back();
    svg.add(
        "<polyline class=\"way\" data-block=\"{0}\" data-hops=\"{1}\" points=\"{2}\" fill=\"none\" stroke=\"{3}\" "
        "stroke-width=\"1.5\"><title>block {0}: {1}</title></polyline>\n<circle cx=\"{4:.1f}\" cy=\"{5:.1f}\" r=\"4\" "
        "fill=\"{3}\"/>\n",
        way.block, hops, points, color_of(way.block), middle + step * x + aside, middle + step * y + aside);
  }
  return svg.take();
}

}  // namespace quadrille::plan
