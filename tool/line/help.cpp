#include "tool/line/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

namespace quadrille::tools {
namespace {

// Where descriptions begin; behind a longer name on the next line.
constexpr std::size_t column = 34;

std::string entry(const std::string& name, std::string_view description) {
  std::string text = fmt::format("  {:<{}}", name, column - 2);
  if (description.empty()) return text + "\n";
  if (name.size() + 2 >= column) text += fmt::format("\n{:{}}", "", column);
  for (const char c : description) {
    text += c;
    if (c == '\n') text += std::string(column, ' ');
  }
  return text + "\n";
}

// "Needs: --a --b", by their names: the set is one of addresses.
std::string others(const char* title, const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  names.reserve(options.size());
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  std::sort(names.begin(), names.end());
  std::string text = names.empty() ? "" : fmt::format(" {}:", title);
  for (const std::string& name : names) text += " " + name;
  return text;
}

// "-h,--help". Of several long names the first: the others are older ones.
std::string names_of(const CLI::Option& option) {
  std::string names;
  for (const std::string& letter : option.get_snames()) names += "-" + letter + ",";
  return names + option.get_name();
}

std::string entry_of(const CLI::Option& option) {
  std::string name = option.get_positional() ? option.get_name(true, false) : names_of(option);
  if (option.get_type_size() != 0) {
    if (!option.get_type_name().empty()) name += " " + option.get_type_name();
    if (!option.get_default_str().empty()) name += "=" + option.get_default_str();
    if (option.get_expected_max() >= CLI::detail::expected_max_vector_size) name += " ...";
    if (option.get_required()) name += " REQUIRED";
  }
  name += others("Needs", option.get_needs()) + others("Excludes", option.get_excludes());
  return entry(name, option.get_description());
}

std::string block(const char* title, const std::vector<const CLI::Option*>& options) {
  std::string text = options.empty() ? "" : fmt::format("\n{}:\n", title);
  for (const CLI::Option* option : options) text += entry_of(*option);
  return text;
}

}  // namespace

void show_first(CLI::App& command, std::initializer_list<std::string_view> names) {
  command.set_help_all_flag("--help-all", "Print all options and exit");
  for (CLI::Option* option : command.get_options()) {
    const bool is_first = option->get_positional() || option == command.get_help_ptr() ||
                          option == command.get_help_all_ptr() ||
                          std::find(names.begin(), names.end(), option->get_name()) != names.end();
    if (!is_first && !option->get_group().empty()) option->group(more_options);
  }
}

std::string help_text(const CLI::App* app, std::string name, CLI::AppFormatMode mode) {
  const auto shown = [&](bool positional) {
    // Those without a group are for our own processes.
    return app->get_options([&](const CLI::Option* one) {
      const bool is_hidden =
          one->get_group().empty() || (mode != CLI::AppFormatMode::All && one->get_group() == more_options);
      return !is_hidden && one->get_positional() == positional;
    });
  };
  const std::vector<const CLI::Option*> positionals = shown(true);
  const std::vector<const CLI::App*> commands = app->get_subcommands([](const CLI::App*) { return true; });
  std::string text = fmt::format("{}\nUsage: {} [OPTIONS]", app->get_description(), name);
  for (const CLI::Option* one : positionals) {
    const std::string word = one->get_name(true, false);
    text += one->get_required() ? " " + word : fmt::format(" [{}]", word);
  }
  text += commands.empty() ? "\n" : " SUBCOMMAND\n";
  text += block("Positionals", positionals) + block("Options", shown(false));
  if (!commands.empty()) text += "\nSubcommands:\n";
  for (const CLI::App* command : commands) text += entry(command->get_name(), command->get_description());
  return text + app->get_footer();
}

}  // namespace quadrille::tools
