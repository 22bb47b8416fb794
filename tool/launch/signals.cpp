#include "tool/launch/signals.hpp"

#include <signal.h>

#include <atomic>
#include <cerrno>

namespace quadrille::tools {
namespace {

constexpr int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::size_t count_of_passed_on = sizeof passed_on / sizeof *passed_on;

std::atomic<pid_t> child = 0;  // negative: a group of processes
std::atomic<int> last_signal = 0;
bool caught = false;
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

}  // namespace

Signals::Signals() {
  last_signal = 0;
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
  caught = true;
}

Signals::~Signals() {
  put_signals_back();
  caught = false;
}

int Signals::received() { return last_signal; }

void pass_signals_to(pid_t to) { child = to; }

void put_signals_back() {
  if (!caught) return;
  sigaction(SIGCHLD, &before_of_children, nullptr);
  for (std::size_t s = 0; s < count_of_passed_on; ++s) sigaction(passed_on[s], &before[s], nullptr);
}

}  // namespace quadrille::tools
