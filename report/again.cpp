#include "report/again.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "report/advice.hpp"
#include "report/cases.hpp"
#include "report/child.hpp"
#include "tool/launch/process.hpp"
#include "tool/launch/signals.hpp"
#include "tool/line/progress.hpp"

namespace quadrille::tools {
namespace {

// What is started again may take so many times as long as its calls are to: setting up, and calls that take seconds.
constexpr int patience = 5, least_seconds = 600;

std::string last_line(const std::string& path) {
  std::string text;
  read_whole(path, text);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// Where the launcher is inside a script, the calls would be made again by one rank.
std::string why_one_rank(const Command& command, int ranks) {
  if (command.launcher >= 0 || ranks == 1) return "";
  return fmt::format(
      "the program had {0} ranks, but the command names no known launcher; "
      "give the launcher itself, as in 'quadrille report -- mpirun -n {0} ./app'",
      ranks);
}

// Makes them in a world of as many ranks as the program had; `problem` says why that could not be.
ReportData times_of(const RunOptions& run, const std::string& folder, int ranks,
                    const std::vector<ReplayedCalls>& replayed, double seconds, std::string& problem) {
  const std::string cases = folder + "/cases.json", times = folder + "/times.json", output = folder + "/output";
  ReportData work = {{"seconds", seconds}, {"ranks", ranks}, {"cases", ReportData::array()}};
  for (const ReplayedCalls& one : replayed) {
    if (!one.work.is_null()) work["cases"].push_back(one.work);
  }
  if (work["cases"].empty()) return {{"cases", ReportData::array()}};
  std::ofstream(cases) << work.dump();
  const Prepared prepared = prepare_run(run);
  if (prepared.status != 0) {
    problem = prepared.problem;
    return nullptr;
  }
  const std::string program = prepared.command.programs.empty() ? "" : prepared.command.programs.front().path;
  const auto words =
      words_in_place(run.command, prepared.command,
                     {own_program(), "report", "--mpi", std::string(name_of(prepared.abi)), "--replay-cases", cases,
                      "--replay-times", times, "--replay-program", std::filesystem::absolute(program).string()});
  if (words.empty()) {
    problem = "cannot find the program in the command";
    return nullptr;
  }
  Progress progress(true);
  const auto show = [&](int passed) {
    progress.show(fmt::format("replaying the calls, {} s: {}", passed, last_line(output)));
  };
  const int most = std::max(least_seconds, static_cast<int>(patience * seconds));
  const int status = run_quietly(with_settings(words, prepared.launcher_abi), output, most, show);
  progress.clear();
  std::string text;
  if (status == 0 && read_whole(times, text).empty()) {
    ReportData told = ReportData::parse(text, nullptr, false);
    if (told.is_object()) {
      problem = told.value("problem", "");
      return told;
    }
  }
  problem = Signals::received() != 0 ? "it was interrupted"
            : status < 0             ? "it took too long, or could not be started"
                                     : fmt::format("it ended with status {}: {}", status, last_line(output));
  return nullptr;
}

}  // namespace

std::vector<std::string> words_in_place(const std::vector<std::string>& words, const Command& command,
                                        const std::vector<std::string>& instead) {
  std::vector<std::string> changed;
  if (command.programs.empty() || command.programs.size() != command.contexts.size()) return changed;
  auto at = words.begin();
  for (const CommandProgram& program : command.programs) {
    const auto word = words.begin() + program.word;
    changed.insert(changed.end(), at, word);
    changed.insert(changed.end(), instead.begin(), instead.end());
    at = &program == &command.programs.back() ? words.end() : std::find(word, words.end(), ":");
  }
  return changed;
}

std::vector<std::string> with_settings(const std::vector<std::string>& words, Abi launcher) {
  const Command command = read_command(words, resolve_executable);
  const std::vector<std::string> names = quadrille_variables();
  const Exports exports = launcher == Abi::openmpi ? choose_exports(names) : Exports::none;
  return with_exports(words, command, exports, "", names);
}

std::string words_before_program(const std::vector<std::string>& words, const Command& command) {
  if (command.programs.size() != 1) return "";
  return as_line({words.begin(), words.begin() + command.programs.front().word});
}

void add_replay(const RunOptions& run, const std::string& folder, double seconds, ReportData& data) {
  const Command command = read_command(run.command, resolve_executable);
  const std::vector<ReplayedCalls> replayed = calls_to_replay(data);
  std::string problem = why_one_rank(command, data["ranks"]);
  const ReportData times =
      problem.empty() ? times_of(run, folder, data["ranks"], replayed, seconds, problem) : ReportData();
  if (!problem.empty()) {
    complain("the calls were not replayed: " + problem);
    data["replay"] = {{"problem", problem}};
    return;
  }
  data["replay"] = replay_of(data, replayed, times);
  data["advice"] = advice_from(data, words_before_program(run.command, command), run.abi);
}

}  // namespace quadrille::tools
