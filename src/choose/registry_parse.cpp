// Text forms of choices: "zero-rotation-bruck:radix=4", "alltoall=pairwise;allgather=bruck".
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "choose/registry.hpp"
#include "text/edits.hpp"

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

std::string join(const std::vector<std::string_view>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

// "; did you mean "x"?", or nothing if no name is near. Very long words are not compared.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& names) {
  std::string_view nearest;
  std::size_t best = word.size() < 64 ? std::max<std::size_t>(2, word.size() / 3) + 1 : 0;
  for (const std::string_view name : names) {
    const std::size_t away = best > 0 ? text::edits(word, name) : 0;
    if (away < best) {
      best = away;
      nearest = name;
    }
  }
  return nearest.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", nearest);
}

// An unknown word may come from anywhere: it is shown short, and without control characters.
std::string shown(std::string_view word) {
  std::string text(word.substr(0, 60));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return word.size() > 60 ? text + "..." : text;
}

std::string unknown(std::string_view what, std::string_view word, std::string_view where,
                    const std::vector<std::string_view>& names) {
  return fmt::format("unknown {} \"{}\"{}{}; known: {}", what, shown(word), where,
                     did_you_mean(word, names), join(names));
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

std::string parse_name(const Algorithm& algorithm, const ParameterRange& range, std::string_view text,
                       std::int64_t& value) {
  const auto found = std::find(range.names.begin(), range.names.end(), text);
  value = found - range.names.begin();
  if (found != range.names.end()) return {};
  return unknown(range.name, text, fmt::format(" of {}", algorithm.name), {range.names.begin(), range.names.end()});
}

std::string parse_value(const Algorithm& algorithm, const ParameterRange& range,
                        std::string_view text, std::int64_t& value) {
  if (!range.names.empty()) return parse_name(algorithm, range, text, value);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end || value < range.least ||
      value > range.most) {
    return fmt::format("{}: {} must be a number from {} to {}, not \"{}\"", algorithm.name,
                       range.name, range.least, range.most, shown(text));
  }
  return {};
}

// Reads "parameter=value,..." into the choice, whose parameters have their standard values.
std::string parse_parameters(std::string_view list, Choice& choice) {
  const Algorithm& algorithm = *choice.algorithm;
  std::vector<bool> given(algorithm.parameters.size(), false);
  do {
    std::string_view value_text = next_part(list, ',');
    const bool has_value = value_text.find('=') != std::string_view::npos;
    const std::string_view name = next_part(value_text, '=');
    std::size_t at = 0;
    while (at < given.size() && algorithm.parameters[at].name != name) ++at;
    if (at == given.size()) return unknown_parameter(algorithm, name);
    if (!has_value) {
      return fmt::format("{}: parameter {} has no value; write {}:{}={}", algorithm.name, name,
                         algorithm.name, name, algorithm.parameters[at].standard);
    }
    if (given[at]) return fmt::format("{}: parameter {} is given twice", algorithm.name, name);
    given[at] = true;
    std::string error = parse_value(algorithm, algorithm.parameters[at], trim(value_text),
                                    choice.parameters[at].value);
    if (!error.empty()) return error;
  } while (!list.empty());
  return {};
}

// Those of "copy-to-cpu", in its order.
constexpr HostBuffers buffers_named[] = {HostBuffers::kept, HostBuffers::fresh, HostBuffers::pageable};

std::string_view name_of(HostBuffers buffers) {
  return find(Collective::alltoall, "copy-to-cpu")->parameters[0].names[static_cast<std::size_t>(buffers) - 1];
}

// "buffers=fresh,inner=waitany-stride,stride=3": what is not a parameter of copy-to-cpu is one of the inner algorithm,
// which may be written with a colon, too.
std::string parse_staged(const Algorithm& staged, Collective collective, std::string_view list, Choice& choice) {
  const ParameterRange& buffers = staged.parameters[0];
  std::string inner;
  std::string of_inner;
  std::int64_t over = -1;
  while (!trim(list).empty()) {
    const std::string_view part = next_part(list, ',');
    std::string_view value = part;
    const std::string_view name = next_part(value, '=');
    if (name == buffers.name) {
      if (over >= 0) return fmt::format("{}: parameter {} is given twice", staged.name, name);
      if (std::string error = parse_value(staged, buffers, trim(value), over); !error.empty()) return error;
    } else if (name == staged.parameters[1].name) {
      if (!inner.empty()) return fmt::format("{}: parameter {} is given twice", staged.name, name);
      inner = trim(value);
      if (inner.empty()) return fmt::format("{}: parameter {} has no value; write {}:{}=pairwise", staged.name, name, staged.name, name);
    } else {
      of_inner += (of_inner.empty() ? "" : ",") + std::string(part);
    }
  }
  if (inner.empty() && !of_inner.empty()) return unknown_parameter(staged, of_inner.substr(0, of_inner.find('=')));
  if (inner.empty()) inner = "mpi";
  if (!of_inner.empty()) inner += (inner.find(':') == std::string::npos ? ":" : ",") + of_inner;
  Choice result;
  const Algorithm* const of_host = find(collective, std::string_view(inner).substr(0, inner.find(':')));
  const bool is_of_devices = of_host != nullptr && (of_host->engine == Engine::staged || of_host->engine == Engine::pull ||
                                                    of_host->engine == Engine::pipeline ||
                                                    of_host->needs.device_mpi);
  if (is_of_devices) {
    return fmt::format("{}: its inner algorithm is one of the host, not {}", staged.name, of_host->name);
  }
  if (std::string error = parse_choice(collective, inner, result); !error.empty()) return error;
  result.buffers = buffers_named[std::max<std::int64_t>(over, 0)];
  choice = std::move(result);
  return {};
}

}  // namespace

std::string value_text(const ParameterRange& range, std::int64_t value) {
  return range.names.empty() ? std::to_string(value) : std::string(range.names[static_cast<std::size_t>(value)]);
}

std::string exchange_of(const Choice& choice) {
  if (row_of(choice.algorithm->engine).plans != Plans::node_copies) return {};
  std::string exchange;
  for (std::size_t i = 0; i < choice.parameters.size(); ++i) {
    const ParameterRange& range = choice.algorithm->parameters[i];
    const std::string value = value_text(range, choice.parameters[i].value);
    if (range.name == "exchange") exchange = value;
    if (range.name == "stride" && exchange.ends_with("-stride")) exchange += ":stride=" + value;
    if (range.name == "radix" && exchange == "bruck") {
      exchange = (serves(*choice.algorithm, Collective::alltoall) ? "zero-rotation-bruck:radix=" : "bruck:radix=") + value;
    }
    const bool has_sizes = exchange.starts_with("two-phase-bruck");
    if (range.name == "radix" && has_sizes) exchange += ":radix=" + value;
    if (range.name == "eager" && has_sizes) exchange += ",eager=" + value;
  }
  return exchange;
}

std::string to_string(const Choice& choice) {
  if (choice.algorithm == nullptr) return {};
  std::string text(choice.algorithm->name);
  char separator = ':';
  if (choice.buffers != HostBuffers::as_suits) {
    text = fmt::format("copy-to-cpu:buffers={},inner={}", name_of(choice.buffers), choice.algorithm->name);
    separator = ',';
  }
  for (std::size_t i = 0; i < choice.parameters.size(); ++i) {
    const plan::Parameter& parameter = choice.parameters[i];
    const ParameterRange& range = choice.algorithm->parameters[i];
    text += fmt::format("{}{}={}", separator, parameter.name, value_text(range, parameter.value));
    separator = ',';
  }
  return text;
}

std::string parse_choice(Collective collective, std::string_view text, Choice& choice) {
  const std::size_t colon = text.find(':');
  const std::string_view name = trim(text.substr(0, colon));
  const Algorithm* const named = find(collective, name);
  if (named != nullptr && named->engine == Engine::staged) {
    return parse_staged(*named, collective, colon == std::string_view::npos ? "" : text.substr(colon + 1), choice);
  }
  Choice result;
  result.algorithm = find(collective, name);
  if (result.algorithm == nullptr) return unknown_algorithm(collective, name);
  for (const ParameterRange& range : result.algorithm->parameters) {
    result.parameters.push_back({std::string(range.name), range.standard});
  }
  if (colon != std::string_view::npos) {
    std::string error = parse_parameters(text.substr(colon + 1), result);
    if (!error.empty()) return error;
  }
  choice = std::move(result);
  return {};
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
