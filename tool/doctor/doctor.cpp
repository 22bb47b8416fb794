#include "tool/doctor/doctor.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "sys/sys.hpp"
#include "team/config.hpp"
#include "tool/doctor/finding.hpp"
#include "tool/doctor/limits.hpp"
#include "tool/doctor/measure.hpp"
#include "tool/doctor/program.hpp"
#include "tool/doctor/trial.hpp"
#include "tool/launch/added_doors.hpp"
#include "tool/launch/elf.hpp"
#include "tool/launch/launcher.hpp"
#include "tool/launch/libraries.hpp"
#include "tool/launch/process.hpp"
#include "tool/launch/program_mpi.hpp"
#include "tool/launch/signals.hpp"
#include "tool/line/progress.hpp"
#include "tool/machine/info_node.hpp"
#include "tool/machine/quiet.hpp"

namespace quadrille::tools {
namespace {

constexpr int seconds_of_trial = 120, seconds_of_version = 10;

std::string_view word_of(Level level) { return level == Level::good ? "ok" : level == Level::note ? "note" : "BAD"; }

std::string line_of(const Finding& one) {
  std::string line = fmt::format("  {:<5} {:<14} {}\n", word_of(one.level), one.of, one.what);
  if (!one.advice.empty()) line += fmt::format("  {:<5} {:<14} -> {}\n", "", "", one.advice);
  return line;
}

// Prints as it finds, so that who waits sees where it is.
class Report {
 public:
  explicit Report(bool json) : json_(json) {}
  void add(const Findings& more) {
    for (const Finding& one : more) {
      findings_.push_back(one);
      if (!json_) fmt::print("{}", line_of(one));
    }
    std::fflush(stdout);
  }
  void say(const std::string& text) const {
    if (json_) return;
    fmt::print("{}", text);
    std::fflush(stdout);
  }
  bool has(Level level) const {
    return std::any_of(findings_.begin(), findings_.end(), [&](const Finding& one) { return one.level == level; });
  }
  nlohmann::ordered_json json() const {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Finding& one : findings_) {
      nlohmann::ordered_json json = {
          {"level", std::string(word_of(one.level))}, {"of", one.of}, {"what", one.what}, {"advice", one.advice}};
      if (!one.measured.is_null()) json.update(one.measured);
      all.push_back(std::move(json));
    }
    return all;
  }

 private:
  bool json_;
  Findings findings_;
};

// The MPI that a program loads by itself cannot be known: it takes one of these.
std::string in_reach(const std::vector<std::string>& files) {
  return files.empty() ? std::string("no library of it found") : fmt::format("in reach: {}", fmt::join(files, ", "));
}

Finding judge_mpi(const std::string& word, const CommandProgram& program, const Prepared& prepared) {
  const LoaderPaths paths = loader_paths();
  const MpiUse use = mpi_use(program.path, paths);
  if (!use.library.empty()) {
    const std::string file = mpi_of_program(program.path, paths).file;
    const std::string what = fmt::format("{} uses {} ({})", word, use.library, title_of(use.abi));
    if (!file.empty()) return {Level::good, "program", fmt::format("{}: {}", what, file), ""};
    return {Level::note, "program", what + ", which is not found here",
            "run doctor where the ranks run, with the same modules"};
  }
  std::vector<std::string> files =
      libraries_in_reach(prepared.command.launcher_path, program.path, prepared.abi, paths);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return {Level::good, "program",
          fmt::format("{} loads its MPI itself; assuming that of the launcher: {}; {}", word, title_of(prepared.abi),
                      in_reach(files)),
          ""};
}

// Of the first program, as seen from here; empty if the program does not say.
std::string expected_library(const Prepared& prepared) {
  if (prepared.command.programs.empty()) return "";
  return mpi_of_program(prepared.command.programs.front().path, loader_paths()).file;
}

// With it Quadrille serves less. Releases before Open MPI 5 ignore what asks for it.
Findings judge_fault_tolerance(const std::vector<std::string>& words, const Prepared& prepared) {
  if (prepared.abi != Abi::openmpi) return {};
  const std::string library = expected_library(prepared);
  if (!library.empty() && !defines_function(MappedFile(library).bytes(), "MPIX_Comm_shrink")) return {};
  const std::string by = fault_tolerance_requested(words, prepared.command, sys::environment);
  if (by.empty()) return {};
  return {{Level::note, "fault tolerance",
           fmt::format("{}: Open MPI runs with fault tolerance; blocking calls are served, except by orders of copies; "
                       "other calls are forwarded to it",
                       by),
           "remove it if the program does not recover from failed ranks"}};
}

void append(Findings& findings, Findings more) {
  findings.insert(findings.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

Findings judge_command(const std::vector<std::string>& words, const Prepared& prepared) {
  Findings findings;
  const Command& command = prepared.command;
  if (!command.launcher_path.empty()) {
    const std::string version = version_in(output_of({command.launcher_path, "--version"}, seconds_of_version));
    findings.push_back({Level::good, "launcher",
                        fmt::format("{}{}{}", command.launcher_path, version.empty() ? "" : ", ", version), ""});
  }
  if (prepared.status != 0) {
    findings.push_back({Level::bad, "command", prepared.problem, ""});
    return findings;
  }
  if (command.launcher < 0) {
    findings.push_back(
        {Level::note, "launcher", "none: the program is started alone, as one rank", "mpirun -n 4 ..., or srun"});
  }
  const LoaderPaths paths = loader_paths();
  for (const CommandProgram& program : command.programs)
    findings.push_back(judge_mpi(words[static_cast<std::size_t>(program.word)], program, prepared));
  append(findings, judge_tools(words, command, sys::environment, paths));
  append(findings, judge_lookups(command, paths));
  append(findings, judge_fault_tolerance(words, prepared));
  findings.push_back({Level::good, "library", prepared.preload, ""});
  return findings;
}

Findings try_command(const RunOptions& run, const Prepared& prepared, const Report& report) {
  if (!judge_fault_tolerance(run.command, prepared).empty())
    return {
        {Level::note, "trial", "skipped: with fault tolerance the calls of doctor's own ranks would be forwarded", ""}};
  const std::vector<std::string> words = trial_words(run.command, prepared.command, prepared.abi, own_program());
  if (words.empty()) return {{Level::note, "trial", "skipped: cannot find the program in the command", ""}};
  report.say(fmt::format("\nTrying, for some seconds: {}\n", fmt::join(words, " ")));
  Progress progress(true);
  const auto show = [&](int passed) {
    progress.show(fmt::format("trying the launcher: {} s of at most {}", passed, seconds_of_trial));
  };
  std::string output;
  {
    const Signals signals;
    output = output_of(words, seconds_of_trial, show, sign_of_trial);
  }
  progress.clear();
  if (Signals::received() != 0) {
    std::fflush(nullptr);
    raise(Signals::received());
  }
  std::string text;
  Findings findings = judge_trial(output, expected_library(prepared), text);
  report.say(text + "\n");
  return findings;
}

void say_end(const Report& report, const RunOptions& run) {
  if (report.has(Level::bad)) {
    report.say("\nProblems found; see the lines with BAD.\n");
  } else if (run.command.empty()) {
    report.say("\nNo problems found on this machine. With your command: quadrille doctor -- mpirun -n 4 ./app\n");
  } else {
    const std::string mpi = run.abi == Abi::none ? "" : fmt::format("--mpi {} ", name_of(run.abi));
    report.say(fmt::format(
        "\nNo problems found. Run your program:\n\n    quadrille run {}-- {}\n\nWith --explain it prints what "
        "serves its calls.\n",
        mpi, fmt::join(run.command, " ")));
  }
}

System this_system() {
  return {first_line, [](const std::string& path) { return access(path.c_str(), F_OK) == 0; }, sys::environment};
}

}  // namespace

int doctor_command(const DoctorOptions& options) {
  if (!options.measure_for.empty()) return measure_for(options.measure_for, options.run.abi);
  Report report(options.json);
  const team::Config config = team::read_config(sys::environment);
  const Limits limits = read_limits(this_system());
  // The ways are tried first: that starts processes, as this one has no threads yet.
  const Findings ways = judge_ways(ways_of_node(config.ways), limits);
  Prepared prepared;
  if (!options.run.command.empty()) {
    prepared = prepare_run(options.run);
    report.add(judge_command(options.run.command, prepared));
  }
  report.add(judge_settings(quadrille_variables(), team::guess_variable, config.warnings, config.off));
  report.add(judge_limits(limits));
  report.add(ways);
  const bool tries = !options.run.command.empty() && prepared.status == 0 && !options.no_trial;
  // The ranks look themselves.
  if (!tries) report.add({judge_quiet(check_quiet_here())});
  if (tries) report.add(try_command(options.run, prepared, report));
  if (options.json) fmt::print("{}\n", report.json().dump(2));
  say_end(report, options.run);
  return report.has(Level::bad) ? 1 : 0;
}

}  // namespace quadrille::tools
