#include "report/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

namespace quadrille::tools {
namespace {

constexpr int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::size_t count_of_passed_on = sizeof passed_on / sizeof *passed_on;

std::atomic<pid_t> child = 0;  // negative: a group of processes
std::atomic<int> last_signal = 0;
struct sigaction before[count_of_passed_on];
struct sigaction before_of_children;

void pass_on_signal(int number, siginfo_t* info, void*) {
  const int error = errno;
  last_signal = number;
  const pid_t to = child;
  // A terminal sends to the group of the foreground, in which a child is unless it has a group of its own.
  const bool has_it = info->si_code == SI_KERNEL && to > 0;
  if (to != 0 && !has_it) kill(to, number);
  errno = error;
}

int status_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

// As a program that is started finds them.
void put_signals_back() {
  sigaction(SIGCHLD, &before_of_children, nullptr);
  for (std::size_t s = 0; s < count_of_passed_on; ++s) sigaction(passed_on[s], &before[s], nullptr);
}

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

Signals::Signals() {
  // Where whoever started us ignores it, nobody would learn how a child has ended.
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &usual, &before_of_children);
  struct sigaction action {};
  action.sa_sigaction = pass_on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (std::size_t s = 0; s < count_of_passed_on; ++s) {
    sigaction(passed_on[s], nullptr, &before[s]);
    // What whoever started us does not want to end us, such as nohup, does not.
    if (before[s].sa_handler != SIG_IGN) sigaction(passed_on[s], &action, nullptr);
  }
}

Signals::~Signals() { put_signals_back(); }

int Signals::received() { return last_signal; }

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
  child = made > 0 ? made : 0;
  sigprocmask(SIG_SETMASK, &old, nullptr);
  if (made < 0) return -1;
  int status = 0;
  pid_t done = 0;
  while ((done = waitpid(made, &status, 0)) < 0 && errno == EINTR) {
  }
  child = 0;
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
  child = -made;
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
  child = 0;
  return done > 0 ? status_of(status) : -1;
}

}  // namespace quadrille::tools
