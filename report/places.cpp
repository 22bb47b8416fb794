#include "report/places.hpp"

#include <fmt/core.h>

#include <map>
#include <set>
#include <sstream>

#include "text/text.hpp"
#include "tool/launch/command.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

constexpr int seconds_to_ask = 10;
constexpr std::size_t most_letters = 80;

struct Place {
  std::string symbol, line;
};

// What addr2line says of the instructions before these addresses of one file.
std::map<std::uint64_t, Place> ask_of(const std::string& object, const std::set<std::uint64_t>& addresses) {
  std::map<std::uint64_t, Place> places;
  std::vector<std::string> words = {"addr2line", "-f", "-C", "-e", object};
  for (const std::uint64_t address : addresses) words.push_back(fmt::format("{:#x}", address - 1));
  std::istringstream output(output_of(words, seconds_to_ask));
  for (const std::uint64_t address : addresses) {
    Place place;
    if (!std::getline(output, place.symbol) || !std::getline(output, place.line)) break;
    if (place.symbol.starts_with("??")) place.symbol.clear();
    if (place.symbol.size() > most_letters) {  // names of templates
      place.symbol = std::string(text::beginning_of(place.symbol, most_letters)) + "...";
    }
    const std::string line = place.line.substr(0, place.line.find(" ("));
    place.line = line.starts_with("??") ? "" : std::string(base_name(line));
    if (place.line.ends_with(":?") || place.line.ends_with(":0")) place.line.clear();
    places[address] = place;
  }
  return places;
}

}  // namespace

std::vector<ReportData> describe_places(const std::vector<CodeAddress>& addresses) {
  std::map<std::string, std::set<std::uint64_t>> of_objects;
  for (const CodeAddress& one : addresses) {
    if (!one.object.empty() && one.address > 0) of_objects[one.object].insert(one.address);
  }
  std::map<std::string, std::map<std::uint64_t, Place>> known;
  if (!resolve_executable("addr2line", "").empty()) {
    for (const auto& [object, those] : of_objects) known[object] = ask_of(object, those);
  }
  std::vector<ReportData> places;
  for (const CodeAddress& one : addresses) {
    Place place = known[one.object][one.address];
    if (one.line > 0) place = {one.symbol, fmt::format("{}:{}", base_name(one.object), one.line)};
    const std::string exported = one.symbol.empty() ? "" : fmt::format("{}+{:#x}", one.symbol, one.behind);
    const bool has_address_alone = exported.empty() && one.address != 0;
    if (place.symbol.empty()) place.symbol = has_address_alone ? fmt::format("{:#x}", one.address) : exported;
    places.push_back({{"object", base_name(one.object)}, {"symbol", place.symbol}, {"line", place.line}});
  }
  return places;
}

}  // namespace quadrille::tools
