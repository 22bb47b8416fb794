#include "choices.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>

namespace quadrille::test {

namespace {

// The least, the standard and a few odd values of a parameter.
std::set<std::int64_t> values_of(const choose::ParameterRange& range) {
  std::set<std::int64_t> values;
  if (!range.names.empty()) {
    for (std::int64_t v = range.least; v <= range.most; ++v) values.insert(v);
    return values;
  }
  for (std::int64_t value : {range.least, range.standard, std::int64_t{3}, std::int64_t{16}}) {
    values.insert(std::clamp(value, range.least, range.most));
  }
  return values;
}

// "name", or "name:parameter=value" for each value of each parameter, one parameter at a time.
std::vector<std::string> texts_of(const choose::Algorithm& algorithm) {
  const std::string name(algorithm.name);
  if (algorithm.parameters.empty()) return {name};
  std::vector<std::string> texts;
  for (const choose::ParameterRange& range : algorithm.parameters) {
    for (std::int64_t value : values_of(range)) {
      texts.push_back(name + ":" + std::string(range.name) + "=" + value_text(range, value));
    }
  }
  return texts;
}

}  // namespace

std::vector<Forced> forced_choices(const std::vector<Collective>& collectives, bool force) {
  std::vector<Forced> all;
  for (Collective collective : collectives) {
    all.push_back({collective, ""});
    if (!force) continue;
    for (const choose::Algorithm& algorithm : choose::algorithms()) {
      if (!choose::serves(algorithm, collective)) continue;
      for (const std::string& text : texts_of(algorithm)) all.push_back({collective, text});
    }
  }
  return all;
}

bool surely_served(const Forced& forced) {
  const std::string name = forced.algorithm.substr(0, forced.algorithm.find(':'));
  const choose::Algorithm* const algorithm = choose::find(forced.collective, name);
  return algorithm != nullptr &&
         (algorithm->engine == choose::Engine::schedule || algorithm->engine == choose::Engine::padded);
}

std::string test_name(const Forced& forced) {
  std::string name(name_of(forced.collective));
  name += forced.algorithm.empty() ? "_default" : "_" + forced.algorithm;
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return name;
}

}  // namespace quadrille::test
