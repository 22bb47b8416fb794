#include "report/advice.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quadrille::tools {
namespace {

// A ratio that counts, and one that does not, in every repeat.
constexpr double gain = 0.97, loss = 1.03;

std::string quoted(const std::string& word) {
  constexpr std::string_view plain = "@%+=:,./-_";
  const bool is_plain = !word.empty() && std::all_of(word.begin(), word.end(), [&](unsigned char c) {
    return std::isalnum(c) != 0 || plain.find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (is_plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string seconds_text(double seconds) {
  return seconds >= 1 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.3g} ms", seconds * 1e3);
}

// What was the fastest at which block size, of one collective.
using Winners = std::set<std::pair<std::uint64_t, std::string>>;

// Is there one of a size that is not that of another size?
bool differ_by_size(const Winners& winners) {
  return std::any_of(winners.begin(), winners.end(), [&](const auto& one) {
    return std::any_of(winners.begin(), winners.end(),
                       [&](const auto& other) { return one.first != other.first && one.second != other.second; });
  });
}

// One way to carry out all replayed calls.
struct Total {
  double before = 0, after = 0;  // seconds in the run
  int better = 0, worse = 0, cases = 0;
  // By the ratio: where a machine is slow for a while, it is for both of a round.
  void add(double calls, double was, const ReportData& ratio) {
    before += calls * was * 1e-6, after += calls * was * ratio[1].get<double>() * 1e-6;
    better += ratio[2].get<double>() < gain ? 1 : 0;
    worse += ratio[0].get<double>() > loss ? 1 : 0;
    ++cases;
  }
  bool gains() const { return better > 0 && after < gain * before; }
};

class Adviser {
 public:
  Adviser(const ReportData& data, const std::string& launcher, Abi mpi)
      : data_(data),
        launcher_(launcher),
        command_(as_line(data["command"].get<std::vector<std::string>>())),
        run_(mpi == Abi::none ? "quadrille run -- " : fmt::format("quadrille run --mpi {} -- ", name_of(mpi))) {
    for (const auto& one : data["replay"]["cases"]) {
      const auto& call = data["calls"][one["call"].get<std::size_t>()];
      if (call["form"] != "blocking") continue;
      ++cases_[call["collective"]];
      if (!one.contains("why")) add(one);
    }
  }

  ReportData advice() const {
    ReportData all = ReportData::array();
    if (quadrille_.cases == 0) return all;
    all.push_back(about_quadrille());
    if (const std::string forced = forced_algorithms(); !forced.empty()) {
      ReportData lines = with_quadrille();
      lines.insert(lines.end() - 1, fmt::format("export QUADRILLE_ALGORITHM='{}'", forced));
      const std::string saves = fmt::format(
          "Forced for these collectives, other algorithms were faster than what Quadrille chooses: about {} "
          "less of a rank's time in the replayed calls. The choice is for this number of ranks "
          "and these sizes.",
          seconds_text(saved_by_force()));
      all.push_back({{"text", saves}, {"lines", std::move(lines)}});
    }
    const bool differ =
        std::any_of(best_.begin(), best_.end(), [](const auto& one) { return differ_by_size(one.second); });
    if (differ && !launcher_.empty()) {
      all.push_back({{"text",
                      "At different block sizes different algorithms were the fastest. A tuning table of this "
                      "machine chooses by size; it is written once, with the launcher and ranks of the "
                      "program, and found by itself from then on."},
                     {"lines", {fmt::format("{} quadrille tune --algorithms --sizes {}", launcher_, sizes())}}});
    }
    return all;
  }

 private:
  void add(const ReportData& one) {
    const auto& times = one["times"];
    const auto& call = data_["calls"][one["call"].get<std::size_t>()];
    const std::string collective = call["collective"];
    const double calls = call["calls"], mpi = times[0]["microseconds"], ours = times[1]["microseconds"];
    quadrille_.add(calls, mpi, times[1]["to_mpi"]);
    const ReportData* best = nullptr;
    for (std::size_t i = 2; i < times.size(); ++i) {
      const auto& time = times[i];
      forced_[collective][time["name"]].add(calls, ours, time["to_default"]);
      if (time["to_default"][2].get<double>() >= gain) continue;
      if (best == nullptr || time["to_default"][1] < (*best)["to_default"][1]) best = &time;
    }
    // What a tuning table is for.
    const bool has_table = collective == "alltoall" || collective == "allgather";
    if (!has_table || call["least"] != call["most"] || call["most"] == 0) return;
    const auto size = call["most"].get<std::uint64_t>();
    sizes_.insert(size);
    if (best != nullptr) best_[collective].emplace(size, (*best)["name"].get<std::string>());
  }

  // The command with Quadrille as the calls were made again: without what was set in the run and would keep it from
  // choosing, as far as that was set outside the command.
  ReportData with_quadrille() const {
    const auto is_among = [](const ReportData& list, const std::string& setting) {
      return std::find(list.begin(), list.end(), setting) != list.end();
    };
    std::string names;
    const ReportData none = ReportData::array();
    for (const auto& one : data_["replay"].value("without", none)) {
      const std::string setting = one;
      const std::string name = setting.substr(0, setting.find('='));
      const bool steers = name == "QUADRILLE" || name == "QUADRILLE_ALGORITHM";
      if (steers && is_among(data_.value("settings", none), setting)) names += " " + name;
    }
    ReportData lines = ReportData::array();
    if (!names.empty()) lines.push_back("unset" + names);
    lines.push_back(run_ + command_);
    return lines;
  }

  ReportData about_quadrille() const {
    const std::string times = fmt::format(
        "The replayed blocking calls take {} of a rank in the run by the MPI alone, {} by "
        "Quadrille",
        seconds_text(quadrille_.before), seconds_text(quadrille_.after));
    if (quadrille_.gains()) {
      const std::string each = quadrille_.worse == 0 ? "." : "; not each of them is faster.";
      return {{"text", times + each}, {"lines", with_quadrille()}};
    }
    if (quadrille_.worse > 0 && quadrille_.after > loss * quadrille_.before) {
      return {{"text", times + ": without Quadrille this program is faster."}, {"lines", {command_}}};
    }
    return {{"text", times + ": no difference that counts."}, {"lines", ReportData::array()}};
  }

  // Where one was measured in all cases of its collective, and gains.
  std::map<std::string, std::pair<std::string, Total>> winners() const {
    std::map<std::string, std::pair<std::string, Total>> found;
    for (const auto& [collective, those] : forced_) {
      for (const auto& [name, total] : those) {
        if (total.cases != cases_.at(collective) || !total.gains() || total.worse > 0) continue;
        const auto [at, is_new] = found.try_emplace(collective, name, total);
        if (!is_new && total.after < at->second.second.after) at->second = {name, total};
      }
    }
    return found;
  }
  std::string forced_algorithms() const {
    std::string text;
    for (const auto& [collective, winner] : winners()) {
      text += (text.empty() ? "" : ";") + collective + "=" + winner.first;
    }
    return text;
  }
  double saved_by_force() const {
    double saved = 0;
    for (const auto& [collective, winner] : winners()) saved += winner.second.before - winner.second.after;
    return saved;
  }

  std::string sizes() const {
    std::string text;
    for (const std::uint64_t size : sizes_) text += (text.empty() ? "" : ",") + std::to_string(size);
    return text;
  }

  const ReportData& data_;
  const std::string launcher_, command_, run_;
  Total quadrille_;
  std::map<std::string, int> cases_;                            // by collective, also those without times
  std::map<std::string, std::map<std::string, Total>> forced_;  // by collective and algorithm
  std::map<std::string, Winners> best_;                         // by collective
  std::set<std::uint64_t> sizes_;
};

}  // namespace

std::string as_line(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + quoted(word);
  return text;
}

ReportData advice_from(const ReportData& data, const std::string& launcher, Abi mpi) {
  return Adviser(data, launcher, mpi).advice();
}

}  // namespace quadrille::tools
