#include "tools/doctor/trial.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "tools/launch/process.hpp"

namespace quadrille::tools {
namespace {

constexpr std::size_t lines_of_failure = 8;

// What launchers say, and what helps.
struct KnownFailure {
  std::string_view says;
  std::string_view means;
  std::string_view advice;
};
constexpr KnownFailure known_failures[] = {
    {"not enough slots", "Open MPI has fewer slots than ranks",
     "give it more hosts or fewer ranks, or allow it: mpirun --map-by :OVERSUBSCRIBE"},
    {"as root", "Open MPI does not start programs of root",
     "run as another user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
    {"more processes than available", "there are fewer processors than ranks to bind", "mpirun --bind-to none, or fewer ranks"},
    {"binding more processes", "there are fewer processors than ranks to bind", "mpirun --bind-to none, or fewer ranks"},
    {"Unable to allocate resources", "the batch system gives no resources", "ask for a job first: salloc, sbatch"},
    {"Could not resolve hostname", "a host of the command is not known", "look at the list of hosts"},
    {"Permission denied", "a host does not let this user in", "ssh to the hosts must work without a password"},
    {"error while loading shared libraries", "a library is missing where the ranks run",
     "install Quadrille in a folder that all hosts see"},
    {"No such file or directory", "the tool is not there where the ranks run", "install Quadrille in a folder that all hosts see"},
    {"pmi", "the launcher and the MPI do not understand each other", "srun --mpi=list shows what it has; try --mpi=pmix or pmi2"},
};

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// "#   alltoall, 4 ranks, ..." begins the table of `bench`; a row begins with blanks and a number.
bool is_row(const std::string& line) {
  const std::size_t at = line.find_first_not_of(' ');
  return at != std::string::npos && at > 0 && line[at] >= '0' && line[at] <= '9' && has(line, "default");
}

Finding failed(const std::string& output, std::string what) {
  for (const KnownFailure& one : known_failures) {
    if (has(output, one.says)) return {Level::bad, "trial", std::string(one.means), std::string(one.advice)};
  }
  return {Level::bad, "trial", std::move(what), "make 'mpirun -n 2 hostname' work first, with the same options"};
}

// What was passed on, or which way is missing, in the words of QUADRILLE_EXPLAIN.
void add_ways(const std::vector<std::string>& lines, Findings& findings) {
  for (const std::string& line : lines) {
    if (line.starts_with("quadrille: ") && has(line, "a way is not to be had") && !has(line, "xpmem")) {
      findings.push_back({Level::note, "trial", line.substr(11), ""});
    }
    if (line.starts_with("quadrille: ") && has(line, "not used")) {
      findings.push_back({Level::bad, "trial", line.substr(11), ""});
    }
  }
}

}  // namespace

std::vector<std::string> trial_words(const std::vector<std::string>& words, const Command& command, const std::string& tool) {
  std::vector<std::string> trial;
  if (command.launcher >= 0 && (command.programs.empty() || command.programs.front().word < 0)) return trial;
  const int program = command.programs.empty() ? 0 : command.programs.front().word;
  // What stands between, such as numactl, stays.
  trial.assign(words.begin(), words.begin() + program);
  // Each rank says the same whatever the launcher passes on.
  for (const char* word : {"env", "QUADRILLE_EXPLAIN=1"}) trial.emplace_back(word);
  trial.push_back(tool);
  for (const char* word : {"bench", "alltoall", "--sizes", "1K,64K", "--iterations", "200", "--warmup", "20"}) trial.emplace_back(word);
  return trial;
}

std::string tool_for(Abi abi) {
  const std::string own = own_directory();
  if (abi == own_abi()) return own + "/" + std::filesystem::read_symlink("/proc/self/exe").filename().string();
  const std::string name(name_of(abi));
  for (const std::string& path : {fmt::format("{}/quadrille-{}", own, name), fmt::format("{}/../../{}/bin/quadrille", own, name)}) {
    if (!resolve_executable(path, "").empty()) return path;
  }
  return "";
}

Findings judge_trial(const std::string& output, std::string& text) {
  Findings findings;
  const std::vector<std::string> lines = lines_of(output);
  const auto rows = std::count_if(lines.begin(), lines.end(), is_row);
  text.clear();
  if (rows == 0) {
    findings.push_back(failed(output, output.empty() ? "the launcher said nothing for two minutes, or could not be started"
                                                     : "the launcher did not start it"));
    for (std::size_t i = lines.size() > lines_of_failure ? lines.size() - lines_of_failure : 0; i < lines.size(); ++i) {
      text += lines[i] + "\n";
    }
    return findings;
  }
  for (const std::string& line : lines) {
    if (line.starts_with("#") || line.starts_with("     bytes") || is_row(line) || line.starts_with("quadrille: ")) text += line + "\n";
  }
  findings.push_back({Level::good, "trial", "the launcher starts ranks, and all data came right", ""});
  add_ways(lines, findings);
  if (has(output, " 1 rank,") || has(output, "alltoall, 1 ranks")) {
    findings.push_back({Level::bad, "trial", "each rank believes to be alone",
                        "use the launcher of the program's MPI; srun needs --mpi=pmix or pmi2"});
  }
  return findings;
}

}  // namespace quadrille::tools
