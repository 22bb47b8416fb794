#include "tool/launch/command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace quadrille::tools {
namespace {

struct OptionValues {
  std::string_view name;  // without its dashes
  int values;             // words that follow it
};

// Options of launchers that take values. Open MPI's orterun and prterun, hydra, Intel MPI's hydra,
// srun. Options that are not here take none. `s` is a switch in one and takes a value in another:
// it is left out, because a value that starts no program is passed over anyway.
constexpr OptionValues launcher_options[] = {
    {"n", 1},
    {"np", 1},
    {"c", 1},
    {"N", 1},
    {"npernode", 1},
    {"npersocket", 1},
    {"ppn", 1},
    {"ppr", 1},
    {"perhost", 1},
    {"ppnode", 1},
    {"pernuma", 1},
    {"H", 1},
    {"host", 1},
    {"hosts", 1},
    {"hostfile", 1},
    {"hostlist", 1},
    {"machinefile", 1},
    {"machine", 1},
    {"default-hostfile", 1},
    {"f", 1},
    {"rankfile", 1},
    {"rf", 1},
    {"hosts-group", 1},
    {"x", 1},
    {"with-ft", 1},
    {"mca", 2},
    {"gmca", 2},
    {"omca", 2},
    {"gomca", 2},
    {"pmca", 2},
    {"prtemca", 2},
    {"pmixmca", 2},
    {"am", 1},
    {"tune", 1},
    {"tm", 1},
    {"mca-base-env-list", 1},
    {"map-by", 1},
    {"bind-to", 1},
    {"rank-by", 1},
    {"cpu-set", 1},
    {"cpu-list", 1},
    {"slot-list", 1},
    {"cpus-per-proc", 1},
    {"cpus-per-rank", 1},
    {"max-restarts", 1},
    {"runtime-options", 1},
    {"wd", 1},
    {"wdir", 1},
    {"set-cwd-to-session-dir", 0},
    {"path", 1},
    {"prefix", 1},
    {"tmpdir", 1},
    {"stdin", 1},
    {"output-filename", 1},
    {"output", 1},
    {"timeout", 1},
    {"report-pid", 1},
    {"report-uri", 1},
    {"ompi-server", 1},
    {"dvm-uri", 1},
    {"preload-files", 1},
    {"preload-files-dest-dir", 1},
    {"personality", 1},
    {"xterm", 1},
    {"xml-file", 1},
    {"launch-agent", 1},
    {"debugger", 1},
    {"display", 1},
    {"pset", 1},
    {"app", 1},
    {"env", 2},
    {"genv", 2},
    {"envlist", 1},
    {"genvlist", 1},
    {"iface", 1},
    {"launcher", 1},
    {"launcher-exec", 1},
    {"bootstrap", 1},
    {"bootstrap-exec", 1},
    {"rmk", 1},
    {"configfile", 1},
    {"profile", 0},
    {"outfile-pattern", 1},
    {"errfile-pattern", 1},
    {"outfile", 1},
    {"errfile", 1},
    {"prepend-pattern", 1},
    {"usize", 1},
    {"topolib", 1},
    {"demux", 1},
    {"pmi-port", 0},
    {"order-nodes", 1},
    {"gpus-per-proc", 1},
    {"control-port", 1},
    {"ckpoint-interval", 1},
    {"ckpoint-prefix", 1},
    {"ckpoint-num", 1},
    {"ckpointlib", 1},
    {"nameserver", 1},
    {"arch", 1},
    {"gtool", 1},
    {"gtoolfile", 1},
    {"trace-pt2pt", 0},
    {"branch-count", 1},
    {"tmpdir-root", 1},
    {"soft", 1},
    {"localhost", 1},
    {"umask", 1},
    {"ntasks", 1},
    {"nodes", 1},
    {"ntasks-per-node", 1},
    {"cpus-per-task", 1},
    {"partition", 1},
    {"p", 1},
    {"A", 1},
    {"account", 1},
    {"t", 1},
    {"time", 1},
    {"J", 1},
    {"job-name", 1},
    {"w", 1},
    {"nodelist", 1},
    {"mpi", 1},
    {"mem", 1},
    {"m", 1},
    {"distribution", 1},
    {"D", 1},
    {"chdir", 1},
    {"o", 1},
    {"e", 1},
    {"error", 1},
    {"i", 1},
    {"input", 1},
    {"export", 1},
    {"q", 1},
    {"qos", 1},
    {"G", 1},
    {"gpus", 1},
    {"gres", 1},
    {"cpu-bind", 1},
    {"mem-bind", 1},
    {"jobid", 1},
};
// Switches in hydra and Open MPI that srun gives a value: only in a command of srun they take one.
constexpr std::string_view only_srun[] = {"p", "A", "t", "time", "J", "w", "mpi", "m",
                                          "D", "o", "e", "i",    "q", "G", "mem", "export"};

struct Wrapper {
  std::string_view name;
  int positional;           // own arguments before the program: `timeout 10`, `perf stat`
  std::string_view valued;  // its options that take the next word as value, between blanks
};
constexpr Wrapper wrappers[] = {
    {"env", 0, " -u --unset -C --chdir -S "},
    {"taskset", 1, ""},
    {"numactl", 0,
     " -i --interleave -p --preferred -m --membind -N --cpunodebind -C --physcpubind -P "
     "--preferred-many "},
    {"nice", 0, " -n --adjustment "},
    {"ionice", 0, " -c --class -n --classdata "},
    {"time", 0, " -f --format -o --output "},
    {"timeout", 1, " -k --kill-after -s --signal "},
    {"stdbuf", 0, " -i -o -e --input --output --error "},
    {"chrt", 1, " -T -P -D "},
    {"setarch", 1, ""},
    {"nohup", 0, ""},
    {"setsid", 0, ""},
    {"catchsegv", 0, ""},
    {"strace", 0, " -o -e -s -p -E -u -P -I -O -S -a -b "},
    {"ltrace", 0, " -o -e -s -p -u -l -n -a -A -D -F "},
    {"valgrind", 0, ""},
    {"gdb", 0, " -x -ex -iex -d --command "},
    {"perf", 1, " -e -o -F -g -c --event --output --call-graph "},
    {"nsys", 1,
     " -b --backtrace -c --capture-range --capture-range-end --command-file --cpuctxsw --cuda-event-trace "
     "--cuda-flush-interval --cuda-graph-trace --cuda-memory-usage --cuda-um-cpu-page-faults --cuda-um-gpu-page-faults "
     "--cudabacktrace -y --delay -d --duration -e --env-var --event-sample --export --flush-on-cudaprofilerstop -f "
     "--force-overwrite --ftrace --gpu-metrics-device --gpu-metrics-devices --gpu-metrics-frequency --gpu-metrics-set "
     "--gpuctxsw -n --inherit-environment --kill --mpi-impl --nic-metrics -p --nvtx-capture --nvtx-domain-exclude "
     "--nvtx-domain-include -o --output --process-scope --python-backtrace --python-sampling "
     "--python-sampling-frequency --resolve-symbols --run-as -s --sample --samples-per-backtrace --sampling-frequency "
     "--sampling-period --session --session-new -w --show-output --stats -x --stop-on-exit -t --trace "
     "--trace-fork-before-exec "
     "--wait "},
    {"ncu", 0,
     " --app-replay-buffer --app-replay-match --app-replay-mode --apply-rules --cache-control --call-stack-type "
     "--check-exit-code --clock-control --config-file --config-file-path --devices -o --export --filter-mode "
     "--graph-profiling -i --import --import-source -k --kernel-id --kernel-name --kernel-name-base --kill -c "
     "--launch-count -s --launch-skip --launch-skip-before-match --log-file --max-connections --metrics --mode "
     "--nvtx-exclude --nvtx-include --page --pm-sampling-buffer-size --pm-sampling-interval --pm-sampling-max-passes "
     "-p "
     "--port --print-details --print-summary --print-units --profile-from-start --range-filter --rename-kernels "
     "--replay-mode --rule --section --section-folder --section-folder-recursive --set "
     "--source-folders --target-processes --target-processes-filter --warp-sampling-buffer-size "
     "--warp-sampling-interval --warp-sampling-max-passes "},
    {"vtune", 0, " -collect -r -result-dir -knob "},
    {"hwloc-bind", 1, " --membind --mempolicy "},
    {"likwid-pin", 0, " -c -C -s "},
    {"likwid-perfctr", 0, " -c -C -g -s -o -t "},
    {"xterm", 0, " -T -title -geometry -fn "},
    {"prlimit", 0, ""},
    {"unshare", 0, ""},
    {"sudo", 0, " -u -g -C -D "},
};

const Wrapper* find_wrapper(std::string_view name) {
  const auto* found = std::find_if(std::begin(wrappers), std::end(wrappers),
                                   [&](const Wrapper& wrapper) { return wrapper.name == name; });
  return found == std::end(wrappers) ? nullptr : found;
}

bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == 0 || equals == std::string_view::npos) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

template <class List>
bool lists(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

// Words that follow a launcher's option as its values.
int values_of(std::string_view option, bool srun) {
  if (option.find('=') != std::string_view::npos) return 0;
  option.remove_prefix(option.starts_with("--") ? 2 : 1);
  if (!srun && lists(only_srun, option)) return 0;
  for (const OptionValues& known : launcher_options) {
    if (known.name == option) return known.values;
  }
  return 0;
}

class Reader {
 public:
  Reader(std::span<const std::string> words, const Resolve& resolve)
      : words_(words), resolve_(resolve), size_(static_cast<int>(words.size())) {}

  Command read() {
    int at = find_start();
    if (at < size_ && is_launcher_name(base_name(words_[at]))) {
      command_.launcher = at;
      command_.launcher_path = resolve_(words_[at], "");
      srun_ = base_name(words_[at]) == "srun";
      ++at;
      while (true) {
        command_.contexts.push_back(at);
        const int end = end_of_part(at);
        read_part(at, end);
        if (end >= size_) break;
        at = end + 1;
      }
    } else {
      // Started directly: a single rank.
      command_.contexts.push_back(at);
      find_program(at, size_, "", -1);
    }
    return std::move(command_);
  }

 private:
  // Passes wrappers that stand before the launcher.
  int find_start() {
    int at = 0;
    while (at < size_) {
      if (is_launcher_name(base_name(words_[at]))) return at;
      const Wrapper* wrapper = find_wrapper(base_name(words_[at]));
      if (wrapper == nullptr) return at;
      at = after_wrapper(*wrapper, at + 1, size_);
    }
    return 0;
  }

  // Index of the word that a wrapper starts; `at` is the word after the wrapper's name.
  int after_wrapper(const Wrapper& wrapper, int at, int end) const {
    int positional = wrapper.positional;
    for (; at < end; ++at) {
      const std::string& word = words_[at];
      if (word == "--") {
        if (positional == 0) return at + 1;
      } else if (is_option(word)) {
        if (wrapper.valued.find(" " + word + " ") != std::string_view::npos) ++at;
      } else if (wrapper.name == "env" && is_assignment(word)) {
        continue;
      } else if (positional > 0) {
        --positional;
      } else {
        return at;
      }
    }
    return end;
  }

  int end_of_part(int at) const {
    for (; at < size_; ++at) {
      if (words_[at] == ":") break;
    }
    return at;
  }

  // Passes the launcher's options, then finds the program.
  void read_part(int at, int end) {
    std::string directory;
    int skipped = -1;
    for (; at < end; ++at) {
      const std::string& word = words_[at];
      if (word == "--") {
        ++at;
        break;
      }
      if (!is_option(word)) {
        // Either the program, or the value of an option that is not known here.
        const bool after_option = at > 0 && is_option(words_[at - 1]);
        if (!after_option || !resolve_(word, directory).empty() || at + 1 >= end) break;
        if (skipped < 0) skipped = at;
        continue;
      }
      const std::string_view name = std::string_view(word).substr(word[1] == '-' ? 2 : 1);
      const std::string_view key = name.substr(0, name.find('='));
      const bool is_joined = key.size() < name.size();
      const FileWord value = is_joined ? FileWord{at, word.find('=') + 1} : FileWord{at + 1};
      if (key == "app" || key == "configfile") command_.from_file = true;
      if (key == "app" && value.word < end) command_.app_files.push_back(value);
      const bool is_directory = key == "wdir" || key == "wd" || (srun_ && (key == "D" || key == "chdir"));
      if (is_directory && value.word < end) directory = words_[value.word].substr(value.from);
      at += values_of(word, srun_);
    }
    find_program(at, end, directory, skipped);
  }

  // `at` is the program, or a wrapper before it. `skipped`: a word before, the program unless an option's value; or -1.
  void find_program(int at, int end, const std::string& directory, int skipped) {
    while (at < end) {
      const Wrapper* wrapper = find_wrapper(base_name(words_[at]));
      const std::string path = resolve_(words_[at], directory);
      if (wrapper == nullptr || path.empty()) {
        if (path.empty() && skipped >= 0) {
          command_.problem =
              fmt::format("neither '{}' nor '{}' is an executable file, here or in PATH", words_[skipped], words_[at]);
        } else if (path.empty()) {
          command_.problem = fmt::format("'{}' is not an executable file, here or in PATH", words_[at]);
        } else {
          command_.programs.push_back({at, path});
        }
        return;
      }
      at = after_wrapper(*wrapper, at + 1, end);
      skipped = -1;
    }
    if (!command_.from_file) command_.problem = "the command line names no program";
  }

  std::span<const std::string> words_;
  const Resolve& resolve_;
  int size_;
  bool srun_ = false;
  Command command_;
};

bool strip_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_launcher_name(std::string_view name) {
  for (std::string_view stem : {"mpirun", "mpiexec"}) {
    std::string_view rest = name;
    if (strip_prefix(rest, stem) && (rest.empty() || rest[0] == '.' || rest[0] == '-' || rest[0] == '_')) {
      return true;
    }
  }
  constexpr std::string_view names[] = {"orterun", "prterun", "prun", "srun", "aprun", "jsrun", "oshrun"};
  return lists(names, name);
}

bool is_interpreter_name(std::string_view name) {
  // Versions at the end do not matter: python3.11, lua5.4.
  while (!name.empty() &&
         (std::isdigit(static_cast<unsigned char>(name.back())) != 0 || name.back() == '.' || name.back() == '-')) {
    name.remove_suffix(1);
  }
  constexpr std::string_view names[] = {
      "python",  "pypy",       "bash",  "sh",    "dash", "zsh",     "ksh", "csh",    "tcsh",   "fish",
      "busybox", "perl",       "ruby",  "julia", "R",    "Rscript", "lua", "luajit", "java",   "node",
      "octave",  "octave-cli", "tclsh", "guile", "php",  "gawk",    "awk", "mawk",   "ipython"};
  return lists(names, name);
}

Command read_command(std::span<const std::string> words, const Resolve& resolve) {
  return Reader(words, resolve).read();
}

std::string with_names(std::string list, std::span<const std::string> names) {
  for (const std::string& name : names) list += (list.empty() ? "" : ";") + name;
  return list;
}

namespace {

// Of a part between ':' words: its first word, its program, and where the next part begins. The words behind the
// program are its own, whatever they look like.
struct Part {
  int begin = 0;
  int program = 0;
  int end = 0;
};

std::vector<Part> parts_of(std::span<const std::string> words, const Command& command) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < command.contexts.size(); ++i) {
    const int begin = command.contexts[i];
    const int end = i + 1 < command.contexts.size() ? command.contexts[i + 1] : static_cast<int>(words.size());
    const auto program = std::find_if(command.programs.begin(), command.programs.end(),
                                      [&](const CommandProgram& one) { return begin <= one.word && one.word < end; });
    parts.push_back({begin, program == command.programs.end() ? end : program->word, end});
  }
  return parts;
}

bool is_env_list(std::span<const std::string> words, int at) {
  return at > 0 && words[at - 1].ends_with("mca") && words[at] == env_list;
}

bool is_in_file(const Command& command, const Part& part) {
  return std::any_of(command.app_files.begin(), command.app_files.end(),
                     [&](const FileWord& file) { return part.begin <= file.word && file.word < part.end; });
}

// Adds to the values that the user gives in the words [from, to).
void add_to_values(std::span<const std::string> words, int from, int to, bool to_env_list, std::string_view preload,
                   std::span<const std::string> names, std::vector<std::string>& changed) {
  constexpr std::string_view assignment = "LD_PRELOAD=";
  for (int i = from; i < to; ++i) {
    std::string_view word = words[i];
    const bool after_env = i > 0 && (words[i - 1] == "-env" || words[i - 1] == "-genv");
    if (strip_prefix(word, assignment)) {
      changed[i] = fmt::format("{}{}:{}", assignment, preload, word);
    } else if (after_env && word == "LD_PRELOAD" && i + 1 < to) {
      changed[i + 1] = fmt::format("{}:{}", preload, words[i + 1]);
    } else if (to_env_list && is_env_list(words, i) && i + 1 < to) {
      changed[i + 1] = with_names(words[i + 1], names);
    }
  }
}

bool exports_itself(std::span<const std::string> words, const Part& part, std::string_view name) {
  for (int i = part.begin + 1; i < part.program; ++i) {
    const std::string_view word = words[i];
    if ((words[i - 1] == "-x" || words[i - 1] == "--x") && word.substr(0, word.find('=')) == name) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> words_before_programs(std::span<const std::string> words, const Command& command) {
  std::vector<std::string> before;
  int from = 0;
  for (const Part& part : parts_of(words, command)) {
    before.insert(before.end(), words.begin() + from, words.begin() + part.program);
    from = part.end - 1;  // of the next part also its ':'
  }
  return before;
}

bool gives_env_list(std::span<const std::string> words, const Command& command) {
  for (const Part& part : parts_of(words, command)) {
    for (int i = part.begin; i + 1 < part.program; ++i) {
      if (is_env_list(words, i)) return true;
    }
  }
  return false;
}

std::vector<std::string> with_exports(std::span<const std::string> words, const Command& command, Exports exports,
                                      std::string_view preload, std::span<const std::string> names) {
  std::vector<std::string> changed(words.begin(), words.end());
  const std::vector<Part> parts = parts_of(words, command);
  int from = 0;  // the words before the launcher are read with the first part
  for (const Part& part : parts) {
    add_to_values(words, from, part.program, exports != Exports::none, preload, names, changed);
    from = part.end;
  }
  if (exports != Exports::by_options || gives_env_list(words, command) || command.launcher < 0) return changed;
  for (std::size_t at = parts.size(); at-- > 0;) {
    if (is_in_file(command, parts[at])) continue;
    std::vector<std::string> options;
    for (const std::string& name : names) {
      if (!exports_itself(words, parts[at], name)) options.insert(options.end(), {"-x", name});
    }
    changed.insert(changed.begin() + parts[at].begin, options.begin(), options.end());
  }
  return changed;
}

namespace {

std::string with_exports_in_line(std::string_view line, const Resolve& resolve, std::string_view preload,
                                 std::span<const std::string> names) {
  const std::size_t end = std::min(line.find('#'), line.size());  // where a comment begins
  std::vector<std::string> words = {"mpirun"};
  for (std::size_t at = 0; at < end; ++at) {  // as Open MPI takes it apart: a word ends at a blank, whatever is quoted
    const std::size_t next = std::min(line.find(' ', at), end);
    if (next > at) words.emplace_back(line.substr(at, next - at));
    at = next;
  }
  const bool is_blank = line.substr(0, end).find_first_not_of(" \t\r") == std::string_view::npos;
  if (is_blank || words[1].starts_with("//")) return std::string(line);
  std::string changed;
  const Command command = read_command(words, resolve);
  const std::vector<std::string> all = with_exports(words, command, Exports::by_options, preload, names);
  for (std::size_t i = 1; i < all.size(); ++i) changed += all[i] + (i + 1 < all.size() ? " " : "");
  if (end < line.size()) changed += fmt::format(" {}", line.substr(end));
  return changed;
}

}  // namespace

std::string with_exports_in_lines(std::string_view text, const Resolve& resolve, std::string_view preload,
                                  std::span<const std::string> names) {
  std::string changed;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    changed += with_exports_in_line(text.substr(0, end), resolve, preload, names) + '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return changed;
}

}  // namespace quadrille::tools
