#include "memory/node_copy.hpp"

#include <algorithm>

#include "sys/sys.hpp"
#include "text/bytes.hpp"

namespace quadrille::memory {

std::string parse_stream(const std::string& text, StreamWish& wish) {
  using Mode = StreamWish::Mode;
  if (text == "auto" || text == "off" || text == "on") {
    wish = {text == "auto" ? Mode::choose : text == "off" ? Mode::off : Mode::on, 0};
    return {};
  }
  std::size_t bytes = 0;
  if (!text::read_number(text, bytes)) return "expected auto, off, on or a number of bytes";
  wish = {Mode::from, bytes};
  return {};
}

std::size_t first_threshold(std::size_t l2_bytes, int ranks) {
  if (l2_bytes == 0) l2_bytes = std::size_t{1} << 20;
  const std::size_t share = l2_bytes / static_cast<std::size_t>(std::max(ranks, 1));
  return std::max(share / sys::cache_line, std::size_t{1}) * sys::cache_line;
}

std::size_t least_streamed(const LastCaches& caches, std::size_t l2_bytes, int ranks) {
  constexpr std::size_t unknown = std::size_t{32} << 20;
  const std::size_t all = caches.all == 0 ? unknown : caches.all;
  const std::size_t share = all / static_cast<std::size_t>(std::max(ranks, 1));
  const std::size_t mine = caches.mine == 0 ? share : std::min(share, caches.mine);
  return std::max(mine, first_threshold(l2_bytes, 1));
}

CopyPlan copy_plan(const StreamWish& wish, std::size_t l2_bytes, const LastCaches& last, int ranks,
                   std::size_t measured) {
  const std::size_t share = first_threshold(l2_bytes, ranks), least = least_streamed(last, l2_bytes, ranks);
  using Mode = StreamWish::Mode;
  if (wish.mode == Mode::off) return {};
  if (wish.mode == Mode::on) return {0, 0, {}};
  if (wish.mode == Mode::from) return {wish.from, share, {}};
  if (measured != 0) return {std::max(measured, least), share, {}};
  CopyPlan plan;
  plan.tuner.emplace(least, share);
  return plan;
}

}  // namespace quadrille::memory
