#include "tool/line/progress.hpp"

#include <unistd.h>

namespace quadrille::tools {
namespace {

constexpr std::chrono::seconds between_lines{3};
bool always = false;

}  // namespace

void show_progress_always() { always = true; }

Progress::Progress(bool wanted) : wanted_(wanted) {
  if (!wanted) return;
  if (isatty(STDERR_FILENO) != 0) {
    terminal_ = stderr;
  } else if (isatty(STDOUT_FILENO) != 0) {
    terminal_ = std::fopen("/dev/tty", "we");  // open as long as the process: one a run
  }
}

void Progress::show(const std::string& text) {
  if (terminal_ != nullptr) {
    // Back to the start of the line, so that a row that the launcher forwards late overwrites it.
    std::fprintf(terminal_, "\r\033[K%s\r", text.c_str());
    std::fflush(terminal_);
  } else if (wanted_ && always) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < between_lines) return;
    last_ = now;
    std::fprintf(stderr, "%s\n", text.c_str());
    std::fflush(stderr);
  }
}

void Progress::clear() {
  if (terminal_ == nullptr) return;
  std::fputs("\r\033[K", terminal_);
  std::fflush(terminal_);
}

}  // namespace quadrille::tools
