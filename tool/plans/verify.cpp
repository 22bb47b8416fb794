#include "tool/plans/verify.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tool/bench/options.hpp"
#include "tool/line/progress.hpp"

namespace quadrille::tools {
namespace {

using Clock = std::chrono::steady_clock;

// An algorithm for one collective, and how far its proof has come.
struct Subject {
  const choose::Algorithm* algorithm;
  Collective collective;
  long cases = 0;
  double seconds = 0;
  std::vector<std::pair<int, std::string>> failures;  // ranks, what
};

struct Item {
  std::size_t subject;
  int ranks;
};

bool read_int(const std::string& text, int& number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && !text.empty();
}

// Fills `subjects` with what the options select. Returns an empty string or what is wrong.
std::string select(const VerifyOptions& options, std::vector<Subject>& subjects) {
  if (options.least_ranks < 1 || options.most_ranks < options.least_ranks) {
    return fmt::format("ranks {}:{}: give LEAST:MOST with 1 <= LEAST <= MOST", options.least_ranks, options.most_ranks);
  }
  Collective only{};
  if (!options.collective.empty() && !choose::collective_from_name(options.collective, only)) {
    return fmt::format("unknown collective \"{}\"", options.collective);
  }
  const std::vector<std::string> wanted = split_algorithms(options.algorithms);
  std::set<std::string> known;
  std::string names;
  for (const choose::Algorithm& algorithm : choose::algorithms()) {
    if (!has_schedule(algorithm)) continue;
    const std::string name(algorithm.name);
    if (known.insert(name).second) names += (names.empty() ? "" : ", ") + name;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
    for (const Collective collective : algorithm.collectives) {
      if (options.collective.empty() || collective == only) {
        subjects.push_back({&algorithm, collective, 0, 0, {}});
      }
    }
  }
  for (const std::string& name : wanted) {
    if (known.contains(name)) continue;
    if (name.find(':') != std::string::npos) {
      return fmt::format("verify tries all parameters of an algorithm: give its name alone, --algorithms {}",
                         name.substr(0, name.find(':')));
    }
    return fmt::format("no schedule to verify is called \"{}\"; known: {}", name, names);
  }
  if (subjects.empty()) {
    return fmt::format("{} does not serve {}", options.algorithms, options.collective);
  }
  return {};
}

// Shares the items out to threads. Large numbers of ranks come first, so that no thread is left
// alone with one at the end.
class Prover {
 public:
  Prover(const VerifyOptions& options, decltype(&prove) by, std::vector<Subject>& subjects)
      : options_(options), prove_(by), subjects_(subjects), progress_(!options.quiet) {
    for (int ranks = options.most_ranks; ranks >= options.least_ranks; --ranks) {
      for (std::size_t s = 0; s < subjects.size(); ++s) items_.push_back({s, ranks});
    }
  }

  void run() {
    int threads = options_.threads;
    if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back([this] { work(); });
    work();
    others.clear();
    progress_.clear();
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < items_.size(); i = next_++) {
      Subject& subject = subjects_[items_[i].subject];
      const auto start = Clock::now();
      long cases = 0;
      const plan::Report report =
          prove_(*subject.algorithm, subject.collective, items_[i].ranks, options_.orders, cases);
      const std::chrono::duration<double> elapsed = Clock::now() - start;

      const std::lock_guard lock(mutex_);
      subject.cases += cases;
      subject.seconds += elapsed.count();
      if (!report.ok) subject.failures.emplace_back(items_[i].ranks, report.what);
      ++finished_;
      progress_.show(fmt::format("verify: {} of {}", finished_, items_.size()));
    }
  }

  const VerifyOptions& options_;
  const decltype(&prove) prove_;
  std::vector<Subject>& subjects_;
  Progress progress_;
  std::vector<Item> items_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::size_t finished_ = 0;
};

}  // namespace

std::string parse_ranks(const std::string& text, VerifyOptions& options) {
  const std::size_t colon = text.find(':');
  int least = 0;
  int most = 0;
  const bool read = read_int(text.substr(0, colon), least) &&
                    read_int(colon == std::string::npos ? text : text.substr(colon + 1), most);
  if (!read || least < 1 || most < least) {
    return fmt::format("ranks \"{}\": give a number or LEAST:MOST, for example 1:64", text);
  }
  options.least_ranks = least;
  options.most_ranks = most;
  return {};
}

int verify_command(const VerifyOptions& options, decltype(&prove) by) {
  std::vector<Subject> subjects;
  if (const std::string error = select(options, subjects); !error.empty()) {
    fmt::print(stderr, "quadrille verify: {}\n", error);
    return 2;
  }
  const auto start = Clock::now();
  Prover(options, by, subjects).run();
  long cases = 0;
  bool ok = true;
  for (Subject& subject : subjects) {
    cases += subject.cases;
    if (!subject.failures.empty()) {
      ok = false;
      // The smallest failing case is the easiest to understand.
      const auto& least = *std::min_element(subject.failures.begin(), subject.failures.end());
      fmt::print("FAILED  {}\n", least.second);
    } else if (!options.quiet) {
      fmt::print("proved  {:<19} {:<20} {:>6} cases {:>7.2f} s\n", name_of(subject.collective), subject.algorithm->name,
                 subject.cases, subject.seconds);
    }
  }
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  if (ok && !options.quiet) {
    fmt::print("all proved: {} cases, {}:{} ranks, {:.1f} s\n", cases, options.least_ranks, options.most_ranks,
               elapsed.count());
  }
  std::fflush(stdout);
  return ok ? 0 : 1;
}

}  // namespace quadrille::tools
