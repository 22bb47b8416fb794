#include "report/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "tool/launch/signals.hpp"

namespace quadrille::tools {
namespace {

int status_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

OwnFolder::OwnFolder(const std::string& beside) {
  std::error_code error;
  const auto folder = std::filesystem::absolute(beside, error).parent_path();
  std::string name = (folder / ".quadrille-report-XXXXXX").string();
  if (!error && mkdtemp(name.data()) != nullptr) path_ = name;
}

OwnFolder::~OwnFolder() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

int wait_for(const std::function<int()>& work) {
  sigset_t all, old;
  sigfillset(&all);
  // A signal that comes between the fork and the next line must not be lost.
  sigprocmask(SIG_BLOCK, &all, &old);
  const pid_t made = fork();
  if (made == 0) {
    put_signals_back();
    sigprocmask(SIG_SETMASK, &old, nullptr);
    _exit(work());
  }
  pass_signals_to(made > 0 ? made : 0);
  sigprocmask(SIG_SETMASK, &old, nullptr);
  if (made < 0) return -1;
  int status = 0;
  pid_t done = 0;
  while ((done = waitpid(made, &status, 0)) < 0 && errno == EINTR) {
  }
  pass_signals_to(0);
  return done == made ? status_of(status) : -1;
}

int run_quietly(const std::vector<std::string>& words, const std::string& output, int seconds,
                const std::function<void(int)>& watch) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t made = fork();
  if (made < 0) return -1;
  if (made == 0) {
    setpgid(0, 0);
    put_signals_back();
    const int nothing = open("/dev/null", O_RDONLY), file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    if (file >= 0) dup2(file, STDOUT_FILENO), dup2(file, STDERR_FILENO);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  setpgid(made, made);
  pass_signals_to(-made);
  const auto begin = std::chrono::steady_clock::now();
  int status = 0;
  pid_t done = 0;
  int told = 0;
  while ((done = waitpid(made, &status, WNOHANG)) == 0 || (done < 0 && errno == EINTR)) {
    const auto since = std::chrono::steady_clock::now() - begin;
    const auto passed = static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(since).count());
    if (passed > seconds || Signals::received() != 0) break;
    if (passed > told) watch(told = passed);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (done == 0) {
    // A launcher ends its ranks when it is asked to, also those on other hosts.
    kill(-made, SIGTERM);
    for (int tries = 0; tries < 250 && waitpid(made, &status, WNOHANG) == 0; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  kill(-made, SIGKILL);
  if (done == 0) {
    while (waitpid(made, &status, 0) < 0 && errno == EINTR) {
    }
  }
  pass_signals_to(0);
  return done > 0 ? status_of(status) : -1;
}

}  // namespace quadrille::tools
