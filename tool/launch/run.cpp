#include "tool/launch/run.hpp"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sys/sys.hpp"
#include "tool/launch/added_doors.hpp"
#include "tool/launch/command.hpp"
#include "tool/launch/launcher.hpp"
#include "tool/launch/libraries.hpp"
#include "tool/launch/process.hpp"

extern char** environ;

namespace quadrille::tools {
namespace {

constexpr int bad_command = 2;
constexpr int not_found = 127;

// What is known of the command before it is started.
struct Verdict {
  Abi abi = Abi::none;  // of the programs; `none` if only the launcher can tell
  std::string problem;  // one line; empty if all is well
};

std::string how_to_force(Abi abi = Abi::none) {
  return fmt::format("say 'quadrille run --mpi {} -- ...'",
                     abi == Abi::none ? std::string_view("openmpi|mpich|standard") : name_of(abi));
}

std::string not_served(const std::string& program, const std::string& library) {
  return fmt::format(
      "{} uses {}, {} that is not served; link it to Open MPI 3 or newer "
      "(libmpi.so.40), to MPICH or an MPI with its ABI (libmpi.so.12), or to the MPI standard ABI (libmpi_abi.so.1)",
      program, library, contains(library, "_abi.so") ? "a version of the MPI standard ABI" : "an MPI");
}

// Whether the library of the MPI standard's ABI that the command's programs load is Open MPI's. If no program reveals
// its library, the launcher's counts: scripts and programs of other hosts do not reveal theirs.
bool is_of_openmpi(const Command& command, Abi launcher) {
  const LoaderPaths paths = loader_paths();
  bool is_revealed = false;
  for (const CommandProgram& program : command.programs) {
    const MpiUse use = mpi_use(program.path, paths);
    if (use.abi != Abi::standard || use.files.empty()) continue;
    if (use.of_openmpi) return true;
    is_revealed = true;
  }
  return !is_revealed && launcher == Abi::openmpi && !standard_library_of_openmpi(command.launcher_path).empty();
}

// What the MPI of such programs may call its launcher: "mpirun.openmpi".
std::string_view launcher_of(Abi abi, bool of_openmpi) {
  return name_of(abi != Abi::standard ? abi : of_openmpi ? Abi::openmpi : Abi::mpich);
}

std::string clash(const std::string& one, Abi one_abi, const std::string& other, Abi other_abi) {
  return fmt::format("{} uses {}, but {} uses {}; link all of the program to one MPI", one, title_of(one_abi), other,
                     title_of(other_abi));
}

// Finds the MPI of one program.
Verdict judge_program(const std::string& path, const LoaderPaths& paths) {
  const MpiUse use = mpi_use(path, paths);
  Verdict verdict;
  if (use.kind == FileKind::script) return verdict;
  if (use.kind == FileKind::fixed) {
    verdict.problem = fmt::format(
        "{} is a static or 32-bit program; link it dynamically, because a static program can load "
        "nothing",
        path);
    return verdict;
  }
  verdict.abi = use.abi;
  if (use.abi == Abi::other) {
    verdict.problem = not_served(path, use.library);
  } else if (use.also != Abi::none) {
    verdict.problem = clash(fmt::format("{}: {}", path, use.library), use.abi, use.also_library, use.also);
  } else if (use.abi == Abi::none && !use.loads_later && !is_interpreter_name(base_name(path))) {
    std::error_code error;
    const auto real = std::filesystem::canonical(path, error);
    // python3 may be a link to a file of another name, and the other way round.
    if (error || !is_interpreter_name(base_name(real.string()))) {
      verdict.problem = fmt::format(
          "{} is not an MPI program (it needs no libmpi, and loads none by dlopen); give an MPI program, or {} if it "
          "has an MPI all the same",
          path, how_to_force());
    }
  }
  return verdict;
}

// All programs of the command must use one MPI.
Verdict judge_programs(const Command& command) {
  const LoaderPaths paths = loader_paths();
  Verdict all;
  std::string first;
  for (const CommandProgram& program : command.programs) {
    Verdict verdict = judge_program(program.path, paths);
    if (!verdict.problem.empty()) return verdict;
    if (verdict.abi == Abi::none) continue;
    if (all.abi == Abi::none) {
      all.abi = verdict.abi;
      first = program.path;
    } else if (all.abi != verdict.abi) {
      all.problem = clash(first, all.abi, program.path, verdict.abi);
      return all;
    }
  }
  return all;
}

// Finds the ABI to serve. Returns an exit status, 0 if `abi` is known; else `problem` says why.
int decide(const RunOptions& options, const Command& command, Abi& abi, Abi& launcher_abi, std::string& problem) {
  const std::vector<std::string>& words = options.command;
  if (command.launcher >= 0 && command.launcher_path.empty()) {
    const std::string& name = words[command.launcher];
    problem = fmt::format(
        "launcher '{}' is not found; install an MPI (on Debian: apt-get install "
        "openmpi-bin), add it to PATH or give its full path",
        name);
    return not_found;
  }
  abi = options.abi;
  if (abi == Abi::none) {
    if (!command.problem.empty()) {
      problem = command.launcher < 0 && !options.command.empty() && options.command[0].find('/') == std::string::npos
                    ? fmt::format(
                          "cannot find '{}', neither as a launcher nor as a program; install it, add it to PATH or "
                          "give its full path",
                          options.command[0])
                    : fmt::format(
                          "cannot find the MPI program: {}; give its path, or {} if it is only on "
                          "other hosts",
                          command.problem, how_to_force());
      return command.launcher < 0 ? not_found : bad_command;
    }
    const Verdict verdict = judge_programs(command);
    if (!verdict.problem.empty()) {
      problem = verdict.problem;
      return bad_command;
    }
    abi = verdict.abi;
  }
  launcher_abi = command.launcher >= 0 ? abi_of_launcher(command.launcher_path) : Abi::none;
  if (abi == Abi::none) abi = launcher_abi;
  if (abi == Abi::none) {
    problem = fmt::format("cannot find out which MPI this command uses; {}", how_to_force());
    return bad_command;
  }
  const bool of_openmpi = abi == Abi::standard && is_of_openmpi(command, launcher_abi);
  const bool fits = starts(launcher_abi, abi, of_openmpi);
  if (!fits && options.abi != Abi::none) {
    problem = fmt::format(
        "--mpi says {}, but the launcher '{}' belongs to {}; leave --mpi out, or use the launcher "
        "of that MPI, for example mpirun.{}",
        name_of(abi), words[command.launcher], title_of(launcher_abi), launcher_of(abi, of_openmpi));
    return bad_command;
  }
  if (!fits) {
    const std::string what =
        command.programs.empty() ? std::string("the program") : words[command.programs.front().word];
    problem = fmt::format(
        "{} uses {}, but the launcher '{}' belongs to {}; use the launcher of the "
        "program's MPI, for example mpirun.{}",
        what, title_of(abi), words[command.launcher], title_of(launcher_abi), launcher_of(abi, of_openmpi));
    return bad_command;
  }
  return 0;
}

}  // namespace

std::vector<std::string> quadrille_variables() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("QUADRILLE_") || text.starts_with("QUADRILLE="))
      names.emplace_back(text.substr(0, text.find('=')));
  }
  std::sort(names.begin(), names.end());
  return names;
}

void split_run_words(const std::vector<std::string>& words, std::vector<std::string>& own,
                     std::vector<std::string>& command) {
  // Of `run`, `doctor` and `report`.
  constexpr std::string_view with_value[] = {"--mpi",          "--output",       "--data",           "--replay-seconds",
                                             "--replay-cases", "--replay-times", "--replay-program", "--measure-for"};
  std::size_t at = 0;
  for (; at < words.size() && words[at].starts_with('-'); ++at) {
    if (words[at] == "--") {
      ++at;
      break;
    }
    own.push_back(words[at]);
    const bool has_value = std::find(std::begin(with_value), std::end(with_value), words[at]) != std::end(with_value);
    if (has_value && at + 1 < words.size()) own.push_back(words[++at]);
  }
  command.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
}

Prepared prepare_run(const RunOptions& options) {
  Prepared prepared;
  const auto refuse = [&](int status, std::string problem) {
    prepared.status = status;
    prepared.problem = std::move(problem);
    return prepared;
  };
  if (options.command.empty()) {
    return refuse(bad_command,
                  "nothing to run; write your command behind it, for example: quadrille run -- mpirun -n 4 ./app "
                  "(or, to see whether it would work: quadrille doctor -- mpirun -n 4 ./app)");
  }
  prepared.command = read_command(options.command, resolve_executable);
  std::string problem;
  if (const int status = decide(options, prepared.command, prepared.abi, prepared.launcher_abi, problem); status != 0)
    return refuse(status, problem);
  if (!knows(prepared.abi)) {
    return refuse(bad_command, fmt::format("this Quadrille was built without an mpi.h of {}; build it again with that "
                                           "MPI installed",
                                           title_of(prepared.abi)));
  }
  prepared.preload = find_preload();
  if (prepared.preload.empty()) {
    return refuse(bad_command, fmt::format("libquadrille_mpi.so is not found near {}; name its directory in "
                                           "QUADRILLE_LIB_DIR",
                                           own_directory()));
  }
  if (prepared.preload.find_first_of(": ") != std::string::npos) {
    return refuse(bad_command, fmt::format("'{}' cannot be preloaded, because LD_PRELOAD has no way to write a blank "
                                           "or a colon; move Quadrille to another directory",
                                           prepared.preload));
  }
  for (const std::string& doors : added_doors(prepared.command, prepared.abi, prepared.preload, loader_paths()))
    prepared.added += ":" + doors;
  return prepared;
}

std::string not_forwarded(const Prepared& prepared) {
  const std::vector<CommandProgram>& programs = prepared.command.programs;
  if (prepared.abi != Abi::openmpi || prepared.command.launcher >= 0) return "";
  // Here the ranks have been started. Slurm's variables stand in batch scripts, too.
  if (!environment("OMPI_COMM_WORLD_RANK").empty() || !environment("PMIX_RANK").empty()) return "";
  if (!programs.empty() && mpi_use(programs.front().path, loader_paths()).abi != Abi::none) return "";
  return fmt::format(
      "an mpirun that {} starts does not forward LD_PRELOAD to other hosts; write 'quadrille run --' before that "
      "mpirun, or give it -x LD_PRELOAD",
      programs.empty() ? std::string("the program") : programs.front().path);
}

Exports choose_exports(std::span<const std::string> names) {
  const std::string variable = fmt::format("OMPI_MCA_{}", env_list);
  const char* const list = std::getenv(variable.c_str());
  if (list == nullptr || *list == '\0') return Exports::by_options;
  setenv(variable.c_str(), with_names(list, names).c_str(), 1);
  return Exports::by_environment;
}

namespace {

// A file of its own for the launcher, which goes with its last descriptor. Empty if there is no room for it.
std::string file_with(const std::string& text) {
  const int file = memfd_create("quadrille-app", 0);
  if (file < 0) return {};
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written <= 0) return {};
    done += static_cast<std::size_t>(written);
  }
  return fmt::format("/proc/self/fd/{}", file);
}

// Replaces the files of --app by ones whose lines export `names`. False if that fails. A file that cannot be read is
// the launcher's to report.
bool export_in_app_files(const Command& command, std::string_view preload, std::span<const std::string> names,
                         std::vector<std::string>& words) {
  for (const FileWord& at : command.app_files) {
    std::string& word = words[at.word];
    std::ifstream file(word.substr(at.from));
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) continue;
    const std::string copy = file_with(with_exports_in_lines(text.str(), resolve_executable, preload, names));
    if (copy.empty()) return false;
    word.replace(at.from, std::string::npos, copy);
  }
  return true;
}

}  // namespace

int run_command(const RunOptions& options) {
  const Prepared prepared = prepare_run(options);
  if (prepared.status != 0) {
    complain(prepared.problem);
    return prepared.status;
  }
  if (const std::string line = not_forwarded(prepared); !line.empty() && sys::launched_as_first()) complain(line);
  const std::string preload = prepared.preload + prepared.added;
  const char* before = std::getenv("LD_PRELOAD");
  const std::string value = before != nullptr && *before != '\0' ? fmt::format("{}:{}", preload, before) : preload;
  setenv("LD_PRELOAD", value.c_str(), 1);
  if (options.explain) setenv("QUADRILLE_EXPLAIN", "1", 1);

  std::vector<std::string> names = {"LD_PRELOAD"};
  for (const std::string& name : quadrille_variables()) names.push_back(name);
  const Exports exports = prepared.launcher_abi == Abi::openmpi ? choose_exports(names) : Exports::none;
  std::vector<std::string> given = options.command;
  if (exports == Exports::by_options && !gives_env_list(given, prepared.command) &&
      !export_in_app_files(prepared.command, preload, names, given)) {
    complain(
        fmt::format("no memory for a copy of the file of --app with Quadrille's variables ({}); write the programs "
                    "on the command line",
                    std::strerror(errno)));
    return bad_command;
  }
  const std::vector<std::string> words = with_exports(given, prepared.command, exports, preload, names);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  complain(fmt::format("cannot start '{}': {}", words[0], std::strerror(errno)));
  return not_found;
}

}  // namespace quadrille::tools
