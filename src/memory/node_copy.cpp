#include "memory/node_copy.hpp"

#include <charconv>

#include "memory/copy_threshold.hpp"

namespace quadrille::memory {

std::string parse_stream(const std::string& text, StreamWish& wish) {
  using Mode = StreamWish::Mode;
  if (text == "auto" || text == "off" || text == "on") {
    wish = {text == "auto" ? Mode::choose : text == "off" ? Mode::off : Mode::on, 0};
    return {};
  }
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc() || end != text.data() + text.size()) {
    return "it must be auto, off, on or a number of bytes";
  }
  wish = {Mode::from, bytes};
  return {};
}

CopyPlan copy_plan(const StreamWish& wish, std::size_t l2_bytes, int ranks) {
  const std::size_t share = first_threshold(l2_bytes, ranks);
  switch (wish.mode) {
    case StreamWish::Mode::off:
      return {};
    case StreamWish::Mode::on:
      return {0, 0, {}};
    case StreamWish::Mode::from:
      return {wish.from, share, {}};
    case StreamWish::Mode::choose:
      break;
  }
  CopyPlan plan;
  plan.tuner.emplace(first_threshold(l2_bytes, 1), share);
  return plan;
}

}  // namespace quadrille::memory
