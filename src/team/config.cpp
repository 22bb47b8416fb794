#include "team/config.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstring>

#include "sys/sys.hpp"
#include "text/edits.hpp"
#include "text/hash.hpp"

namespace quadrille::team {

std::optional<bool> switch_of(std::string_view text) {
  if (text == "1" || text == "on" || text == "yes" || text == "true") return true;
  if (text == "0" || text == "off" || text == "no" || text == "false") return false;
  return std::nullopt;
}

Config read_config(std::string (*get)(const char*)) {
  Config c;
  for (const Setting& setting : settings()) {
    const std::string text = setting.read != nullptr ? get(setting.name) : "";
    if (text.empty()) continue;
    const std::string expected = setting.read(text, c);
    if (!expected.empty()) c.warnings.push_back(fmt::format("{}={}: {}; ignored", setting.name, text, expected));
  }
  return c;
}

std::uint64_t fingerprint(const Config& c) {
  text::Hash hash;
  for (const Setting& setting : settings()) hash.add(setting.agreed(c));
  return hash.value();
}

std::string guess_variable(const std::string& name) {
  std::vector<std::string_view> known;
  for (const Setting& setting : settings()) {
    if (setting.name != std::string_view("QUADRILLE")) known.emplace_back(setting.name);
  }
  return name.starts_with("QUADRILLE_") ? std::string(text::nearest(name, known)) : "";
}

Config& config() {
  static auto* read = [] {
    auto* made = new Config(read_config(sys::environment));  // outlives all destructors
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string name(*entry, std::strcspn(*entry, "="));
      const std::string guess = guess_variable(name);
      if (!guess.empty()) made->warnings.push_back(fmt::format("unknown variable {}; did you mean {}?", name, guess));
    }
    return made;
  }();
  return *read;
}

void print_warnings(Config& c, int rank) {
  if (rank == 0) {
    for (const std::string& line : c.warnings) say(line);
  }
  c.warnings.clear();
}

void say(const std::string& line) {
  const std::string text = "quadrille: " + line + "\n";
  // One write, so that the lines of several ranks do not mix. Nothing can be done about an error.
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace quadrille::team
