// Text forms of collectives and choices: "zero-rotation-bruck:radix=4", "alltoall=pairwise;allgather=bruck".
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "choose/registry.hpp"
#include "text/text.hpp"

namespace quadrille::choose {
namespace {

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// Cuts the part before the next `separator` off the front of `text`, trimmed.
std::string_view next_part(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view part = trim(text.substr(0, at));
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return part;
}

std::string join(const std::vector<std::string_view>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

// "; did you mean "x"?", or nothing if no name is near. Very long words are not compared.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& names) {
  if (word.size() >= 64) return {};
  const std::string_view nearest = text::nearest(word, names, std::max<std::size_t>(2, word.size() / 3));
  return nearest.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", nearest);
}

// An unknown word may come from anywhere: it is shown short, and without control characters.
std::string shown(std::string_view word) {
  std::string text(word.substr(0, 60));
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return word.size() > 60 ? text + "..." : text;
}

std::string unknown(std::string_view what, std::string_view word, std::string_view where,
                    const std::vector<std::string_view>& names) {
  return fmt::format("unknown {} \"{}\"{}{}; known: {}", what, shown(word), where, did_you_mean(word, names),
                     join(names));
}

std::string unknown_algorithm(Collective collective, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : algorithms()) {
    if (serves(algorithm, collective)) names.push_back(algorithm.name);
  }
  return unknown("algorithm", name, fmt::format(" for {}", name_of(collective)), names);
}

std::string unknown_parameter(const Algorithm& algorithm, std::string_view name) {
  if (algorithm.parameters.empty()) {
    return fmt::format("{} has no parameters, but \"{}\" was given", algorithm.name, shown(name));
  }
  std::vector<std::string_view> names;
  for (const ParameterRange& range : algorithm.parameters) names.push_back(range.name);
  return unknown("parameter", name, fmt::format(" of {}", algorithm.name), names);
}

std::string parse_value(const Algorithm& algorithm, const ParameterRange& range, std::string_view text,
                        plan::Parameter& parameter) {
  if (!range.names.empty()) {
    const auto found = std::ranges::find(range.names, text);
    if (found == range.names.end())
      return unknown(range.name, text, fmt::format(" of {}", algorithm.name), {range.names.begin(), range.names.end()});
    parameter = parameter_of(range, found - range.names.begin());
    return {};
  }
  std::int64_t& value = parameter.value;
  const bool is_number = text::read_number(text, value);
  const bool in_range = (value >= range.least && value <= range.most) || (value == 0 && range.automatic);
  if (!is_number || !in_range) {
    return fmt::format("{}: {} must be {}a number from {} to {}, not \"{}\"", algorithm.name, range.name,
                       range.automatic ? "0 or " : "", range.least, range.most, shown(text));
  }
  return {};
}

// As the values of "copy-to-cpu" have them.
std::string_view name_of(HostBuffers buffers) {
  return find(Collective::alltoall, "copy-to-cpu")->parameters[0].names[static_cast<std::size_t>(buffers) - 1];
}

// An algorithm around another one: its last parameter names that.
bool has_inner(const Algorithm& algorithm) {
  return algorithm.engine == Engine::staged || algorithm.engine == Engine::pipeline;
}

// Reads "parameter=value,..." into the parameters, which have their standard values. Around another algorithm
// ("buffers=fresh,inner=waitany-stride,stride=3") it fills `inner` with the text of that: what is not a parameter of
// the algorithm itself is one of the inner algorithm, which may be written with a colon, too.
std::string parse_parameters(const Algorithm& algorithm, std::string_view list, plan::Parameters& parameters,
                             std::string& inner) {
  const bool around = has_inner(algorithm);
  std::vector<bool> given(parameters.size(), false);
  std::string of_inner;
  for (bool more = !around || !trim(list).empty(); more; more = !(around ? trim(list) : list).empty()) {
    const std::string_view part = next_part(list, ',');
    std::string_view value = part;
    const bool has_value = value.find('=') != std::string_view::npos;
    const std::string_view name = next_part(value, '=');
    std::size_t at = 0;
    while (at < given.size() && algorithm.parameters[at].name != name) ++at;
    if (at == given.size()) {
      if (!around) return unknown_parameter(algorithm, name);
      of_inner += (of_inner.empty() ? "" : ",") + std::string(part);
      continue;
    }
    const ParameterRange& range = algorithm.parameters[at];
    const bool is_inner = around && at + 1 == given.size();
    value = trim(value);
    if (!has_value || (is_inner && value.empty())) {
      return fmt::format("{}: parameter {} has no value; write {}:{}={}", algorithm.name, name, algorithm.name, name,
                         is_inner ? "pairwise" : value_text(range, range.standard));
    }
    if (given[at]) return fmt::format("{}: parameter {} is given twice", algorithm.name, name);
    given[at] = true;
    if (is_inner) {
      inner = value;
    } else if (std::string error = parse_value(algorithm, range, value, parameters[at]); !error.empty()) {
      return error;
    }
  }
  if (inner.empty() && !of_inner.empty()) return unknown_parameter(algorithm, of_inner.substr(0, of_inner.find('=')));
  if (around && inner.empty()) inner = "mpi";
  if (!of_inner.empty()) inner += (inner.find(':') == std::string::npos ? ":" : ",") + of_inner;
  return {};
}

// Makes the algorithm called `text` the inner one of the choice.
std::string set_inner(Choice& choice, Collective collective, std::string_view text) {
  const Algorithm* const of_host = find(collective, text.substr(0, text.find(':')));
  if (of_host != nullptr && !is_of_the_host(*of_host)) {
    return fmt::format("{}: its inner algorithm is one of the host, not {}", choice.algorithm->name, of_host->name);
  }
  Choice inner;
  if (std::string error = parse_choice(collective, text, inner); !error.empty()) return error;
  if (choice.algorithm->engine == Engine::staged) {
    inner.buffers = static_cast<HostBuffers>(choice.parameters[0].value + 1);
    choice = std::move(inner);
  } else if (!is_of_the_mpi(*inner.algorithm)) {
    choice.inner = std::make_shared<const Choice>(std::move(inner));
  }
  return {};
}

// "stride=5,radix=2", each with what is to stand before it.
std::string parameters_text(const Choice& choice, char separator) {
  std::string text;
  for (std::size_t i = 0; i < choice.parameters.size(); ++i) {
    const plan::Parameter& parameter = choice.parameters[i];
    const ParameterRange& range = choice.algorithm->parameters[i];
    if (!range.is_told_if_standard && parameter.value == range.standard) continue;
    text += fmt::format("{}{}={}", separator, parameter.name, value_text(range, parameter.value));
    separator = ',';
  }
  return text;
}

}  // namespace

std::string collective_names(bool (*wanted)(Collective)) {
  std::vector<std::string_view> names;
  for (const Collective one : those(wanted)) names.push_back(name_of(one));
  return join(names);
}

bool collective_from_name(std::string_view name, Collective& collective) {
  const auto found = std::ranges::find(collectives, name, &CollectiveRow::name);
  if (found == collectives.end()) return false;
  collective = found->collective;
  return true;
}

std::string value_text(const ParameterRange& range, std::int64_t value) {
  return range.names.empty() ? std::to_string(value) : std::string(range.names[static_cast<std::size_t>(value)]);
}

plan::Parameter parameter_of(const ParameterRange& range, std::int64_t value) {
  return {std::string(range.name), value,
          range.builds.empty() ? nullptr : range.builds[static_cast<std::size_t>(value)]};
}

plan::Parameters standard_parameters(const Algorithm& algorithm) {
  plan::Parameters parameters;
  for (const ParameterRange& range : algorithm.parameters) parameters.push_back(parameter_of(range, range.standard));
  return parameters;
}

std::string to_string(const Choice& choice) {
  if (choice.algorithm == nullptr) return {};
  std::string text(choice.algorithm->name);
  char separator = ':';
  if (choice.buffers != HostBuffers::as_suits) {
    text = fmt::format("copy-to-cpu:buffers={},inner={}", name_of(choice.buffers), choice.algorithm->name);
    separator = ',';
  }
  text += parameters_text(choice, separator);
  if (choice.inner == nullptr) return text;
  // The last one is "inner=mpi".
  text.resize(text.rfind('=') + 1);
  return text + std::string(choice.inner->algorithm->name) + parameters_text(*choice.inner, ',');
}

Choice inner_of(Collective collective, const Choice& choice) {
  if (choice.inner != nullptr) return *choice.inner;
  if (choice.algorithm->engine == Engine::pipeline) return {find(collective, "mpi"), {}};
  const plan::Build build = plan::build_of(choice.parameters, "exchange", nullptr);
  const auto is_it = [&](const Algorithm& row) {
    return row.engine == Engine::schedule && row.build == build && serves(row, collective);
  };
  const auto found = std::find_if(algorithms().begin(), algorithms().end(), is_it);
  if (build == nullptr || found == algorithms().end()) return {};
  Choice inner{&*found, standard_parameters(*found)};
  for (plan::Parameter& one : inner.parameters) one.value = plan::value_of(choice.parameters, one.name, one.value);
  return inner;
}

std::string parse_choice(Collective collective, std::string_view text, Choice& choice) {
  const std::size_t colon = text.find(':');
  const std::string_view name = trim(text.substr(0, colon));
  const Algorithm* const named = find(collective, name);
  if (named == nullptr) return unknown_algorithm(collective, name);
  Choice result{named, standard_parameters(*named)};
  std::string inner, error;
  if (colon != std::string_view::npos || has_inner(*named)) {
    const std::string_view list = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
    error = parse_parameters(*named, list, result.parameters, inner);
  }
  if (error.empty() && !inner.empty()) error = set_inner(result, collective, inner);
  if (error.empty()) choice = std::move(result);
  return error;
}

Choice plain(Collective collective, std::string_view name) {
  Choice choice;
  parse_choice(collective, name, choice);
  return choice;
}

std::string parse_forced(std::string_view text, Forced& forced) {
  Forced result;
  while (!text.empty()) {
    std::string_view choice_text = next_part(text, ';');
    if (choice_text.empty()) continue;  // a trailing semicolon is no mistake
    const bool has_choice = choice_text.find('=') != std::string_view::npos;
    const std::string_view name = next_part(choice_text, '=');
    Collective collective;
    if (!collective_from_name(name, collective)) {
      std::vector<std::string_view> names;
      names.reserve(std::size(collectives));
      for (const CollectiveRow& row : collectives) names.push_back(row.name);
      return unknown("collective", name, "", names);
    }
    if (!has_choice) {
      return fmt::format("{} has no algorithm; write for example {}=mpi", name, name);
    }
    Choice& choice = result.by_collective[static_cast<std::size_t>(collective)];
    if (choice.algorithm != nullptr) return fmt::format("{} is given twice", name);
    if (std::string error = parse_choice(collective, choice_text, choice); !error.empty()) {
      return error;
    }
  }
  forced = std::move(result);
  return {};
}

}  // namespace quadrille::choose
