#include "tool/launch/process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tool/launch/signals.hpp"

namespace quadrille::tools {
namespace {

bool executable(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

// What the child of output_of() does. Only calls that are safe after fork. `mask`: of blocked signals, as it was.
[[noreturn]] void start(char* const argv[], int output, const sigset_t& mask) {
  setpgid(0, 0);
  put_signals_back();
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execvp(argv[0], argv);
  _exit(127);
}

// What is kept of an output: its beginning up to a limit, and if there is a sign, all lines with it and the end.
class Kept {
 public:
  explicit Kept(std::string_view sign) : sign_(sign) {}

  void add(std::string_view more) {
    line_ += more;
    for (std::size_t end; (end = line_.find('\n')) != std::string::npos;) end_line(end + 1);
    if (line_.size() > limit) end_line(line_.size());
  }

  std::string text() {
    end_line(line_.size());
    if (!end_.empty()) text_ += "\n" + end_;
    return std::move(text_);
  }

 private:
  static constexpr std::size_t limit = std::size_t{64} * 1024, limit_of_end = std::size_t{8} * 1024;

  void end_line(std::size_t size) {
    const std::string_view line = std::string_view(line_).substr(0, size);
    const bool has_sign = !sign_.empty() && contains(line, sign_);
    const std::size_t fits = has_sign ? size : std::min(size, limit - std::min(limit, text_.size()));
    text_ += line.substr(0, fits);
    if (!sign_.empty()) end_ += line.substr(fits);
    if (end_.size() > 2 * limit_of_end) end_.erase(0, end_.size() - limit_of_end);
    line_.erase(0, size);
  }

  std::string_view sign_;
  std::string text_, end_, line_;
};

// True when the output has ended; false when the time is over, or if the last signal is not `signal` any more.
bool read_for(int file, std::chrono::seconds patience, int signal, const std::function<void(int)>& while_waiting,
              Kept& kept) {
  using std::chrono::milliseconds;
  constexpr milliseconds between_signs{1000};
  const auto start = std::chrono::steady_clock::now();
  while (Signals::received() == signal) {
    const auto passed = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - start);
    const milliseconds left = patience - passed;
    if (while_waiting) while_waiting(static_cast<int>(passed.count() / 1000));
    const milliseconds wait = while_waiting ? std::min(left, between_signs) : left;
    pollfd poll_file = {file, POLLIN, 0};
    const int ready = wait.count() > 0 ? poll(&poll_file, 1, static_cast<int>(wait.count())) : 0;
    if ((ready < 0 && errno == EINTR) || (ready == 0 && wait < left)) continue;
    if (ready <= 0) return false;
    char buffer[4096];
    const ssize_t got = read(file, buffer, sizeof buffer);
    if (got <= 0) return true;
    kept.add({buffer, static_cast<std::size_t>(got)});
  }
  return false;
}

// A launcher ends its ranks when it is asked to, also those on other hosts. A signal that came has asked most of them
// already; srun only tells how its ranks are at a first SIGINT.
void end_group(pid_t child, int output, int signal) {
  constexpr std::chrono::seconds patience{10}, after_signal{2};
  Kept nothing("");
  const int last = Signals::received();
  if (last != signal && read_for(output, after_signal, last, nullptr, nothing)) return;
  kill(-child, SIGTERM);
  read_for(output, patience, Signals::received(), nullptr, nothing);
}

}  // namespace

std::string resolve_executable(std::string_view word, std::string_view directory) {
  if (word.empty()) return "";
  if (word.find('/') != std::string_view::npos) {
    std::string path(word);
    if (word[0] != '/' && !directory.empty()) path = fmt::format("{}/{}", directory, word);
    return executable(path) ? path : "";
  }
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable != nullptr ? variable : "/usr/bin:/bin";
  while (true) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string_view part = rest.substr(0, end);
    std::string path = fmt::format("{}/{}", part.empty() ? "." : part, word);
    if (executable(path)) return path;
    if (end == rest.size()) return "";
    rest.remove_prefix(end + 1);
  }
}

std::string output_of(const std::vector<std::string>& words, int seconds, const std::function<void(int)>& while_waiting,
                      std::string_view sign) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  // The child must not load what our user preloads; the variable is put back below.
  const char* preload = std::getenv("LD_PRELOAD");
  const std::string saved = preload != nullptr ? preload : "";
  unsetenv("LD_PRELOAD");
  const int signal = Signals::received();
  // A signal that comes between the fork and pass_signals_to() must not be lost.
  sigset_t all, mask;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &mask);
  const pid_t child = fork();
  if (child == 0) start(argv.data(), ends[1], mask);
  if (!saved.empty()) setenv("LD_PRELOAD", saved.c_str(), 1);
  close(ends[1]);
  Kept kept(sign);
  if (child > 0) {
    setpgid(child, child);
    pass_signals_to(-child);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    if (!read_for(ends[0], std::chrono::seconds(seconds), signal, while_waiting, kept)) {
      end_group(child, ends[0], signal);
    }
    pass_signals_to(0);
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  close(ends[0]);
  return kept.text();
}

std::string own_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::string own_directory() {
  const std::string path = own_program();
  return path.empty() ? "." : std::filesystem::path(path).parent_path().string();
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

void complain(std::string_view line) {
  std::fprintf(stderr, "quadrille: %.*s\n", static_cast<int>(line.size()), line.data());
}

std::string read_whole(const std::string& path, std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return std::strerror(errno);
  text.clear();
  char part[4096];
  while (const std::size_t got = std::fread(part, 1, sizeof part, file)) text.append(part, got);
  std::string problem = std::ferror(file) == 0 ? "" : std::strerror(errno);
  std::fclose(file);
  return problem;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace quadrille::tools
