#include "tool/doctor/trial.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "text/reason.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t lines_of_failure = 8;

// What launchers say, and what helps.
struct KnownFailure {
  std::string_view says;
  std::string_view means;
  std::string_view advice;
};
constexpr std::string_view two_pmis = "the launcher and the MPI use different PMI versions";
constexpr std::string_view other_pmi = "srun --mpi=list shows what it has; try --mpi=pmix or pmi2";
constexpr KnownFailure known_failures[] = {
    {"not enough slots", "Open MPI has fewer slots than ranks",
     "give it more hosts or fewer ranks, or allow it: mpirun --map-by :OVERSUBSCRIBE"},
    {"as root", "Open MPI does not start programs as root",
     "run as another user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
    {"more processes than available", "there are fewer processors than ranks to bind",
     "mpirun --bind-to none, or fewer ranks"},
    {"binding more processes", "there are fewer processors than ranks to bind",
     "mpirun --bind-to none, or fewer ranks"},
    {"Unable to allocate resources", "the batch system gives no resources", "ask for a job first: salloc, sbatch"},
    {"Could not resolve hostname", "a host of the command is not known", "look at the list of hosts"},
    {"Permission denied", "a host refused this user", "ssh to the hosts must work without a password"},
    {"error while loading shared libraries", "a library is missing where the ranks run",
     "install Quadrille in a folder that all hosts see"},
    {"No such file or directory", "the tool is missing where the ranks run",
     "install Quadrille in a folder that all hosts see"},
    // Not "pmi" alone, which names of files have: hydra_pmi_proxy, pmix.
    {"PMI support", two_pmis, other_pmi},
    {"PMI_Init", two_pmis, other_pmi},
    {"pmi_init", two_pmis, other_pmi},
    {" mpi/pmi", two_pmis, other_pmi},
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// What the ranks wrote: lines about the run, and about each size.
struct Told {
  std::vector<Json> runs, rows;
  std::string problem;
};

Told told_in(const std::vector<std::string>& lines) {
  Told told;
  for (const std::string& line : lines) {
    const std::size_t at = line.find(sign_of_trial);
    if (at == std::string::npos) continue;
    // A launcher may cut lines of several ranks into each other.
    const Json json = Json::parse(line.substr(at + sign_of_trial.size()), nullptr, false);
    if (!json.is_object()) continue;
    if (json.contains("problem")) told.problem = json.value("problem", "");
    if (json.contains("ranks")) told.runs.push_back(json);
    if (json.contains("bytes")) told.rows.push_back(json);
  }
  return told;
}

std::string table_of(const std::vector<Json>& rows) {
  std::string text = fmt::format("{:>10} {:>8} {:>10} {:>10} {:>7} {:>11}\n", "bytes", "memory", "mpi us", "quadr. us",
                                 "ratio", "step ratio");
  for (const Json& row : rows) {
    text += fmt::format("{:>10} {:>8} {:>10.2f} {:>10.2f} {:>7.2f} {:>11.2f}\n", row.value("bytes", std::size_t{0}),
                        row.value("memory", ""), row.value("mpi_us", 0.0), row.value("quadrille_us", 0.0),
                        row.value("ratio", 0.0), row.value("step_ratio", 0.0));
  }
  return text;
}

Finding measured(const Told& told) {
  const Json& run = told.runs.front();
  const bool shared = run.value("memory", "") == "shared";
  const int ranks = run.value("ranks", 0);
  return {Level::good,
          "measured",
          fmt::format("Alltoall on {} rank{} with {}, {}; buffers in {}; a step also writes and reads them", ranks,
                      ranks == 1 ? "" : "s", run.value("mpi", "?"), run.value("library", "?"),
                      shared ? "the shared heap, where malloc puts blocks from 16 KiB on, and in private memory"
                             : "private memory, without the shared heap"),
          "",
          {{"measured", run}, {"rows", told.rows}}};
}

Finding judge_data(const std::vector<Json>& rows) {
  const bool wrong = std::any_of(rows.begin(), rows.end(), [](const Json& row) { return row.value("errors", 0) != 0; });
  if (wrong)
    return {Level::bad, "trial", "wrong bytes were delivered",
            "run 'quadrille bench alltoall' with this launcher, and report it"};
  return {Level::good, "trial", "the launcher starts ranks, and all data were correct", ""};
}

bool is_another(const std::string& measured, const std::string& expected) {
  std::error_code error;
  return !expected.empty() && measured != expected && !std::filesystem::equivalent(measured, expected, error);
}

Finding failed(const std::string& output, const std::string& told) {
  constexpr std::string_view advice = "make 'mpirun -n 2 hostname' work first, with the same options";
  if (!told.empty()) return {Level::bad, "trial", told, std::string(advice)};
  for (const KnownFailure& one : known_failures) {
    if (contains(output, one.says)) return {Level::bad, "trial", std::string(one.means), std::string(one.advice)};
  }
  const std::string_view what = output.empty() ? "the launcher printed nothing for two minutes, or could not be started"
                                               : "the launcher did not start it";
  return {Level::bad, "trial", std::string(what), std::string(advice)};
}

// Few machines have xpmem.
bool is_missing(Reason reason) {
  return reason == Reason::no_heap || reason == Reason::no_cma_read || reason == Reason::no_cma_write ||
         reason == Reason::no_ring;
}

// By the codes of the lines that QUADRILLE_EXPLAIN prints.
void add_ways(const std::vector<std::string>& lines, Findings& findings) {
  constexpr std::string_view ours = "quadrille: ";
  for (const std::string& line : lines) {
    if (!line.starts_with(ours)) continue;
    const Reason reason = text::reason_of(line);
    if (!is_missing(reason) && reason != Reason::not_used) continue;
    findings.push_back({is_missing(reason) ? Level::note : Level::bad, "trial",
                        std::string(text::without_code(line).substr(ours.size())), ""});
  }
}

}  // namespace

std::vector<std::string> trial_words(const std::vector<std::string>& words, const Command& command, Abi abi,
                                     const std::string& tool) {
  if (command.programs.empty()) return {};
  const CommandProgram& program = command.programs.front();
  // What stands between, such as numactl, stays.
  std::vector<std::string> trial(words.begin(), words.begin() + program.word);
  const std::string path = std::filesystem::absolute(program.path).lexically_normal().string();
  // Each rank prints the same, whatever environment the launcher forwards.
  for (const std::string& word :
       {std::string("env"), std::string("QUADRILLE_EXPLAIN=1"), tool, std::string("doctor"), std::string("--mpi"),
        std::string(name_of(abi)), std::string("--measure-for"), path}) {
    trial.push_back(word);
  }
  return trial;
}

Finding judge_quiet(const Quietness& quietness) {
  return {quietness.quiet ? Level::good : Level::note,
          "quiet",
          quiet_line(quietness),
          quietness.quiet ? "" : "measure again when nothing else runs, with a processor for each rank",
          {{"quiet", to_json(quietness)}}};
}

Findings judge_trial(const std::string& output, const std::string& expected, std::string& text) {
  Findings findings;
  const std::vector<std::string> lines = lines_of(output);
  const Told told = told_in(lines);
  text.clear();
  if (told.rows.empty() || told.runs.empty()) {
    findings.push_back(failed(output, told.problem));
    for (std::size_t i = lines.size() > lines_of_failure ? lines.size() - lines_of_failure : 0; i < lines.size(); ++i) {
      text += lines[i] + "\n";
    }
    return findings;
  }
  const Json& run = told.runs.front();
  text = table_of(told.rows);
  for (const std::string& line : lines) {
    if (line.starts_with("quadrille: ")) text += line + "\n";
  }
  findings.push_back(judge_data(told.rows));
  findings.push_back(measured(told));
  if (const std::string library = run.value("library", ""); is_another(library, expected)) {
    findings.push_back({Level::note, "measured",
                        fmt::format("with another library than the program has here, {}", expected),
                        "run doctor where the ranks run, with the same modules"});
  }
  findings.push_back(judge_quiet(quietness_from(run.value("quiet", Json()))));
  add_ways(lines, findings);
  if (told.runs.size() > 1) {
    findings.push_back({Level::bad, "trial", "each rank runs alone",
                        "use the launcher of the program's MPI; srun needs --mpi=pmix or pmi2"});
  } else if (run.value("ranks", 0) == 1) {
    findings.push_back({Level::note, "trial", "a single rank has no peers", "mpirun -n 4 ..., or srun -n 4 ..."});
  }
  return findings;
}

}  // namespace quadrille::tools
