#include "plan/draw.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace quadrille::plan {
namespace {

// Consecutive blocks of one buffer, upwards or downwards.
struct Run {
  Span first;
  int count = 1;
  int step = 0;  // 1 or -1 once there are two blocks

  bool take(const Span& span) {
    const int by = count > 1 ? step : span.block - first.block;
    const bool continues = (by == 1 || by == -1) && span == Span{first.owner, first.block + by * count, first.buffer};
    if (!continues) return false;
    step = by;
    ++count;
    return true;
  }
};

class Drawing {
 public:
  Drawing(const Schedule& schedule, int me) : schedule_(schedule), me_(me) {}

  std::string text() {
    constexpr std::string_view travel[] = {"", "; sizes travel before the data", "; sizes travel with the data"};
    line("scratch {} block{}{}", schedule_.scratch_blocks, schedule_.scratch_blocks == 1 ? "" : "s",
         travel[static_cast<std::size_t>(schedule_.sizes)]);
    for (std::size_t r = 0; r < schedule_.rounds.size(); ++r) {
      const Round& round = schedule_.rounds[r];
      line("round {}{}{}", r, window(round), round.beside ? ", in flight from the start" : "");
      copies(round.before);
      for (const Message& send : schedule_.messages_of(round.sends)) message("send  to", send);
      for (const Message& receive : schedule_.messages_of(round.receives)) message("recv  from", receive);
      copies(round.after);
      if (round.node_fence) line("  fence of the node");
    }
    return std::move(text_);
  }

 private:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }

  static std::string window(const Round& round) {
    if (round.window.pairs == 0) return {};
    constexpr std::string_view waits[] = {"waited for together", "refilled as each completes", "refilled by polling"};
    return fmt::format(" ({} pair{} in flight, {})", round.window.pairs, round.window.pairs == 1 ? "" : "s",
                       waits[static_cast<std::size_t>(round.window.wait)]);
  }

  std::string name(const Run& run) const {
    std::string text(name_of(run.first.buffer));
    text += run.count == 1 ? fmt::format("[{}]", run.first.block)
                           : fmt::format("[{}..{}]", run.first.block, run.first.block + run.step * (run.count - 1));
    if (run.first.owner != me_) text += fmt::format(" of {}", run.first.owner);
    return text;
  }

  void copies(Range range) {
    const std::span<const Copy> all = schedule_.copies_of(range);
    for (std::size_t i = 0; i < all.size();) {
      Run from{all[i].from}, to{all[i].to};
      for (++i; i < all.size(); ++i) {
        Run longer_from = from, longer_to = to;
        if (!longer_from.take(all[i].from) || !longer_to.take(all[i].to)) break;
        from = longer_from;
        to = longer_to;
      }
      line("  copy  {} -> {}", name(from), name(to));
    }
  }

  void message(std::string_view what, const Message& message) {
    if (is_none(message)) return;
    std::string list;
    const std::span<const Span> spans = schedule_.spans_of(message);
    for (std::size_t i = 0; i < spans.size();) {
      Run run{spans[i]};
      for (++i; i < spans.size(); ++i) {
        if (!run.take(spans[i])) break;
      }
      if (!list.empty()) list += ", ";
      list += name(run);
    }
    line("  {} {}: {}", what, message.peer, list);
  }

  const Schedule& schedule_;
  const int me_;
  std::string text_;
};

}  // namespace

std::string draw(const Schedule& schedule, int me) { return Drawing(schedule, me).text(); }

}  // namespace quadrille::plan
