#include "tool/line/line.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <string_view>

#include "text/text.hpp"
#include "tool/bench/status.hpp"
#include "tool/launch/launcher.hpp"
#include "tool/line/progress.hpp"
#include "tool/plans/show.hpp"

namespace quadrille::tools {
namespace {

constexpr const char* lab = "quadrille-lab";
// Options and subcommands that only quadrille-lab has.
constexpr std::string_view words_of_lab[] = {
    "simulate",        "judge",           "bench --figure",   "bench --copy-phase",
    "bench --results", "bench --runs",    "bench --panel",    "bench --shrink",
    "bench --orders",  "bench --domains", "bench --threads",  "bench --staggered",
    "show --svg",      "show --map",      "show --map-ranks", "show --map-sizes",
    "show --map-json", "show --model",    "show --measured"};

// A hint for users who give `quadrille` a subcommand, or a subcommand and an option, of quadrille-lab; else empty.
std::string hint_at_lab(const CLI::App& app, const std::string& words) {
  const bool known = std::find(std::begin(words_of_lab), std::end(words_of_lab), words) != std::end(words_of_lab);
  return !known || app.get_name() == lab ? "" : fmt::format(" (available in {})", lab);
}

// "--sise 8": " (did you mean --sizes?)"
std::string guess_option(const CLI::App& app, const std::vector<std::string>& words) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const auto shown =
      command.get_options([](const CLI::Option* one) { return !one->get_group().empty() && !one->get_positional(); });
  std::vector<std::string> names;
  names.reserve(shown.size());
  for (const CLI::Option* option : shown) names.push_back(option->get_name());
  for (const std::string& word : words) {
    if (!word.starts_with("--")) continue;
    const std::string option = word.substr(0, word.find('='));
    if (std::string hint = hint_at_lab(app, command.get_name() + " " + option); !hint.empty()) return hint;
    const std::string_view guess = text::nearest(option, names);
    if (!guess.empty()) return fmt::format(" (did you mean {}?)", guess);
  }
  return "";
}

// What stands between `before` and `end`; empty if they are missing.
std::string between(const std::string& text, std::string_view before, std::string_view end) {
  const std::size_t at = text.find(before);
  const std::size_t to = at == std::string::npos ? at : text.find(end, at + before.size());
  return to == std::string::npos ? "" : text.substr(at + before.size(), to - at - before.size());
}

// "a,b" as "a, b".
std::string with_blanks(const std::string& names) {
  std::string text;
  for (const char letter : names) text += letter == ',' ? std::string(", ") : std::string(1, letter);
  return text;
}

// "0.100000" as "0.1".
std::string short_number(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// CLI11's messages about values as "--seed=x: expected a number"; other messages stay.
std::string as_expected(const CLI::App& command, const std::string& text) {
  if (const std::string name = between(text, "Could not convert: ", " = "); !name.empty()) {
    const CLI::Option* option = command.get_option_no_throw(name);
    const bool real = option != nullptr && option->get_type_name().starts_with("FLOAT");
    return fmt::format("{}={}: expected a {}number", name, text.substr(text.find(" = ") + 3), real ? "" : "whole ");
  }
  const std::string name = text.substr(0, text.find(": "));
  if (const std::string value = between(text, ": Value ", " not in range"); !value.empty()) {
    // "[1 - 9]" or "1 to 9", depending on the version of CLI11.
    std::string range = between(text, "not in range [", "]");
    const std::string_view middle = range.empty() ? " to " : " - ";
    if (range.empty()) range = text.substr(text.find("not in range ") + std::string_view("not in range ").size());
    const std::size_t at = range.find(middle);
    if (at == std::string::npos) return text;
    return fmt::format("{}={}: expected {} to {}", name, value, short_number(range.substr(0, at)),
                       short_number(range.substr(at + middle.size())));
  }
  if (const std::string names = between(text, " not in {", "}"); !names.empty()) {
    return fmt::format("{}={}: expected one of {}", name, between(text, ": ", " not in {"), with_blanks(names));
  }
  return text;
}

// CLI11's messages, as one line that also says where to read on.
std::string one_line(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  const std::string where = app.get_name() + (chosen.empty() ? "" : " " + chosen.front()->get_name()) + " --help";
  std::string text = as_expected(chosen.empty() ? app : *chosen.front(), error.what());
  for (char& letter : text) {
    if (letter == '\n') letter = ' ';
  }
  const std::string guess = guess_option(app, app.remaining(true));
  // What is missing may stand there with a slip of the pen.
  const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr ||
                          dynamic_cast<const CLI::RequiresError*>(&error) != nullptr;
  if ((is_missing && !guess.empty()) || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    std::string words;
    for (const std::string& word : app.remaining(true)) words += (words.empty() ? "" : " ") + word;
    text = "unknown option or argument: " + words + guess;
  }
  while (text.ends_with(' ') || text.ends_with('.')) text.pop_back();
  return text + "; see '" + where + "'";
}

// Empty if `name` is a subcommand.
std::string why_unknown(CLI::App& app, const std::string& name) {
  std::string known;
  for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    if (command->get_name() == name) return "";
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  return fmt::format("unknown subcommand '{}'{}; known are {}", name, hint_at_lab(app, name), known);
}

}  // namespace

CLI::App* add_command(Line& line, const char* name, const char* what, const char* examples) {
  CLI::App* command = line.app.add_subcommand(name, what);
  command->footer(examples);
  return command;
}

void add_progress(CLI::App& command) {
  command.add_flag_callback("--progress", show_progress_always,
                            "Print progress to stderr every three seconds, also without a terminal");
}

void add_schedule_options(CLI::App& command, ShowOptions& options) {
  command.add_option("--collective", options.collective, "Collective")->default_str("alltoall");
  command.add_option("--algorithms,--algorithm", options.algorithm, "One algorithm, optionally with parameters")
      ->default_str("zero-rotation-bruck; allgather: bruck; neighbour collectives: torus");
  command.add_option("--ranks", options.ranks, "Number of ranks")->check(CLI::Range(1, 1 << 20))->default_str("8");
  add_node_options(command, options.layout);
  command.add_option("--neighborhood", options.neighborhood, "Neighbour collectives: as in bench")
      ->default_str("moore:2,1");
  command
      .add_option("--grid", options.grid,
                  "Neighbour collectives: extents, as 4x3; 4mx3: the first dimension is not periodic")
      ->default_str("an even torus of --ranks");
  command.parse_complete_callback([&options] {
    options.layout.ranks = options.ranks;
    if (const std::string problem = understand_nodes(options.layout, options.nodes); !problem.empty()) {
      throw CLI::ParseError(problem, CLI::ExitCodes::ValidationError);
    }
  });
}

int read_line(Line& line, std::vector<std::string> words) {
  const bool only_read = !words.empty() && words[0] == "--parse-only";
  if (only_read) words.erase(words.begin());
  if (words.empty()) {
    std::string examples = line.app.get_footer();
    while (examples.ends_with('\n')) examples.pop_back();
    complain_once(fmt::format("a subcommand is required; see '{} --help'{}", line.app.get_name(), examples));
    return bad_options;
  }
  if (!words[0].starts_with('-')) {
    if (const std::string problem = why_unknown(line.app, words[0]); !problem.empty()) {
      complain_once(problem);
      return bad_options;
    }
  }
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the end
  try {
    line.app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return line.app.exit(error);  // --help, --version
    complain_once(one_line(line.app, error));
    return bad_options;
  }
  return only_read ? 0 : line.action();
}

}  // namespace quadrille::tools
