#include "tool/doctor/program.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "tool/launch/elf.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

std::string lower(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(), [](unsigned char c) { return std::tolower(c); });
  return made;
}

void add_entries(std::string_view list, std::vector<std::string>& entries) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(": "), list.size());
    if (end > 0) entries.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

// "LD_PRELOAD=a:b", "--export=ALL,LD_PRELOAD=a"; empty if the word sets no such variable.
std::string_view assigned_in(std::string_view word, std::string_view assignment) {
  const std::size_t at = word.find(assignment);
  if (at == std::string_view::npos) return {};
  if (at == 0) return word.substr(assignment.size());
  if (word[at - 1] != ',' && word[at - 1] != '=') return {};
  const std::string_view rest = word.substr(at + assignment.size());
  return rest.substr(0, rest.find(','));
}

bool is_in_family(std::string_view name) {
  return name.starts_with("MPI_") && (contains(name, "lltoall") || contains(name, "llgather"));
}

std::string short_list(const std::vector<std::string>& names) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (text.empty() ? "" : ", ") + names[i];
  return names.size() <= most ? text : text + fmt::format(" and {} more", names.size() - most);
}

// A word of LD_PRELOAD is a path, or a name that the loader looks for.
std::string path_of(const std::string& entry, const LoaderPaths& paths) {
  return contains(entry, "/") ? entry : find_library(entry, paths);
}

bool is_quadrille(const std::string& file) { return std::string_view(base_name(file)).starts_with("libquadrille_mpi"); }

// A program's own functions come before those of any library.
Finding judge_own_tool(const std::string& program, const std::vector<std::string>& functions) {
  return {
      Level::good, "tool",
      fmt::format("{} defines {} itself: Quadrille serves the calls that it forwards", program, short_list(functions)),
      ""};
}

// As Open MPI reads its parameters.
bool is_on(std::string_view value) {
  constexpr std::string_view off[] = {"", "0", "false", "f", "no", "n", "off", "disabled", "none"};
  return std::find(std::begin(off), std::end(off), lower(value)) == std::end(off);
}

}  // namespace

std::vector<std::string> preloaded_by_user(const std::vector<std::string>& words, const Command& command,
                                           const Environment& environment) {
  std::vector<std::string> entries;
  add_entries(environment("LD_PRELOAD"), entries);
  const std::vector<std::string> before = words_before_programs(words, command);
  for (std::size_t i = 0; i < before.size(); ++i) {
    add_entries(assigned_in(before[i], "LD_PRELOAD="), entries);
    const bool is_pair = before[i] == "LD_PRELOAD" && i > 0 && (before[i - 1] == "-env" || before[i - 1] == "-genv");
    if (is_pair && i + 1 < before.size()) add_entries(before[i + 1], entries);
  }
  return entries;
}

std::vector<std::string> functions_in_front(const std::string& file) {
  const MappedFile mapped(file);
  std::vector<std::string> names = defined_functions(mapped.bytes(), is_in_family);
  std::sort(names.begin(), names.end());
  return names;
}

Findings judge_tools(const std::vector<std::string>& words, const Command& command, const Environment& environment,
                     const LoaderPaths& paths) {
  Findings findings;
  std::vector<std::string> known;
  const auto look = [&](const std::string& file, std::string_view how) {
    if (file.empty() || is_quadrille(file) || std::find(known.begin(), known.end(), file) != known.end()) return;
    known.push_back(file);
    const std::vector<std::string> names = functions_in_front(file);
    if (names.empty()) return;
    findings.push_back({Level::note, "tool",
                        fmt::format("{}, {}, defines {}: it does not see the calls that Quadrille serves", file, how,
                                    short_list(names)),
                        "QUADRILLE=off for a run in which the tool sees all calls"});
  };
  for (const std::string& entry : preloaded_by_user(words, command, environment))
    look(path_of(entry, paths), "preloaded");
  for (const CommandProgram& program : command.programs) {
    const std::vector<std::string> own = functions_in_front(program.path);
    if (!own.empty()) findings.push_back(judge_own_tool(program.path, own));
    for (const std::string& file : mpi_use(program.path, paths).others) look(file, "linked to the program");
  }
  return findings;
}

Findings judge_lookups(const Command& command, const LoaderPaths& paths) {
  constexpr std::string_view names[] = {"dlvsym"};
  Findings findings;
  for (const CommandProgram& program : command.programs) {
    std::vector<std::string> files = mpi_use(program.path, paths).others;
    std::erase_if(files, is_system_library);
    files.insert(files.begin(), program.path);
    const auto calls_it = [&](const std::string& file) { return needs_any_function(MappedFile(file).bytes(), names); };
    const auto file = std::find_if(files.begin(), files.end(), calls_it);
    if (file == files.end()) continue;
    findings.push_back(
        {Level::note, "lookup",
         fmt::format("{} calls dlvsym: calls of functions that dlvsym finds in the MPI go straight to the MPI", *file),
         "look up MPI functions by dlsym"});
  }
  return findings;
}

std::string fault_tolerance_requested(const std::vector<std::string>& words, const Command& command,
                                      const Environment& environment) {
  constexpr std::string_view variable = "OMPI_MCA_mpi_ft_enable";
  if (const std::string value = environment(variable.data()); is_on(value))
    return fmt::format("{}={}", variable, value);
  const std::vector<std::string> before = words_before_programs(words, command);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::string& word = before[i];
    const std::size_t equals = word.find('=');
    const bool is_joined = equals != std::string::npos;
    const std::string key = word.substr(0, equals);
    const std::string value = is_joined ? word.substr(equals + 1) : i + 1 < before.size() ? before[i + 1] : "";
    const bool is_option = (key == "--with-ft" || key == "-with-ft") && is_on(value);
    const bool is_parameter = word == "mpi_ft_enable" && is_on(value);
    const bool is_file =
        (key == "--tune" || key == "-tune" || key == "--am" || key == "-am") && contains(value, "ft-mpi");
    if (is_option || is_parameter || is_file) return is_joined ? word : fmt::format("{} {}", word, value);
    if (is_on(assigned_in(word, fmt::format("{}=", variable)))) return word;
  }
  return "";
}

}  // namespace quadrille::tools
