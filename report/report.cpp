#include "report/report.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "abi/abi.hpp"
#include "report/again.hpp"
#include "report/child.hpp"
#include "report/page.hpp"
#include "report/read.hpp"
#include "report/replay.hpp"
#include "tool/bench/status.hpp"
#include "tool/launch/process.hpp"
#include "tool/launch/signals.hpp"
#include "tool/machine/quiet.hpp"

namespace quadrille::tools {
namespace {

constexpr int format_of_data = 2;
constexpr int failed = 1;

std::string now_as_text() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return date;
}

// Asked before a program runs for hours. Leaves no file that was not there.
std::string why_not_writable(const std::string& file) {
  std::error_code error;
  const bool was_there = std::filesystem::exists(file, error);
  if (std::filesystem::is_directory(file, error)) return fmt::format("cannot write '{}': it is a folder", file);
  const bool can = static_cast<bool>(std::ofstream(file, std::ios::app));
  if (can && !was_there) std::filesystem::remove(file, error);
  if (can) return "";
  return fmt::format("cannot write '{}'; give a file in a folder that exists, with --output or --data", file);
}

std::string write_text(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.close();
  return out ? "" : fmt::format("cannot write '{}'", file);
}

std::string version() { return abi::version_text(); }

// With `problem` on stderr.
int complain_with(int status, const std::string& problem) {
  complain(problem);
  return status;
}

int write_all(const ReportOptions& options, const ReportData& data, bool keeps_data) {
  std::string problem = write_text(options.output, page_of(data));
  // Arguments, and names that the program gives, may be in any code.
  if (problem.empty() && keeps_data) {
    problem = write_text(options.data, data.dump(1, ' ', false, ReportData::error_handler_t::replace) + "\n");
  }
  if (!problem.empty()) return complain_with(failed, problem);
  complain(fmt::format("the report is in '{}'", options.output));
  return 0;
}

int report_stored(const ReportOptions& options) {
  std::string text;
  if (const std::string problem = read_whole(options.data, text); !problem.empty()) {
    return complain_with(bad_options, fmt::format("cannot read '{}': {}", options.data, problem));
  }
  const ReportData data = ReportData::parse(text, nullptr, false);
  if (!data.is_object() || !data.contains("format") || data["format"] != format_of_data) {
    return complain_with(
        bad_options,
        fmt::format("--data={}: expected a file of this version's 'quadrille report --data'", options.data));
  }
  const std::string problem = why_not_writable(options.output);
  if (!problem.empty()) return complain_with(bad_options, problem);
  return write_all(options, data, false);
}

// Why the program left nothing behind.
std::string why_nothing(int status, const std::string& folder) {
  if (has_records_of_another_version(folder)) {
    return fmt::format(
        "nothing recorded that can be read: the program ran with a Quadrille of another version than "
        "this tool ({}); let both be of one installation",
        version());
  }
  if (status != 0) {
    return fmt::format("nothing recorded: the command ended with status {} before any call of the all-to-all family",
                       status);
  }
  return "nothing recorded: the program made no call of the all-to-all family (MPI_Alltoall, MPI_Allgather, their v, w "
         "and neighbour forms) that reached Quadrille; 'quadrille doctor' says whether a command would be served";
}

// As "QUADRILLE=off": what Quadrille reads.
std::vector<std::string> settings() {
  std::vector<std::string> all;
  for (const std::string& name : quadrille_variables()) {
    const char* const value = std::getenv(name.c_str());
    if (value != nullptr) all.push_back(fmt::format("{}={}", name, value));
  }
  return all;
}

int report_run(const ReportOptions& options) {
  for (const std::string& file : {options.output, options.data}) {
    const std::string problem = file.empty() ? "" : why_not_writable(file);
    if (!problem.empty()) return complain_with(bad_options, problem);
  }
  const OwnFolder folder(options.output);
  if (folder.path().empty()) {
    return complain_with(bad_options, fmt::format("cannot make a folder beside '{}'", options.output));
  }
  const std::vector<std::string> set = settings();
  const Quietness quiet = check_quiet_here();
  const Signals signals;
  setenv("QUADRILLE_RECORD", folder.path().c_str(), 1);
  const int status = wait_for([&] { return run_command(options.run); });
  unsetenv("QUADRILLE_RECORD");
  if (status < 0) return complain_with(failed, "cannot start a process, or learn how it has ended");
  ReportData data = read_recorded(folder.path());
  if (data.is_null()) return complain_with(status != 0 ? status : failed, why_nothing(status, folder.path()));
  ReportData head = {{"format", format_of_data},       {"version", version()}, {"date", now_as_text()},
                     {"command", options.run.command}, {"settings", set},      {"status", status},
                     {"quiet", to_json(quiet)}};
  head.update(data);
  if (!options.no_replay && status == 0 && Signals::received() == 0) {
    add_replay(options.run, folder.path(), options.replay_seconds, head);
  }
  const int written = write_all(options, head, !options.data.empty());
  return status != 0 ? status : written;
}

}  // namespace

int report_command(const ReportOptions& options) {
  if (!options.replay_cases.empty())
    return replay_command(options.replay_cases, options.replay_times, options.replay_program, options.run.abi);
  if (options.run.command.empty() && !options.data.empty()) return report_stored(options);
  if (options.run.command.empty()) {
    return complain_with(bad_options,
                         "no program is given; write your command behind it, for example: quadrille report -- mpirun "
                         "-n 8 ./app");
  }
  const Prepared prepared = prepare_run(options.run);
  if (prepared.status != 0) return complain_with(prepared.status, prepared.problem);
  return report_run(options);
}

}  // namespace quadrille::tools
