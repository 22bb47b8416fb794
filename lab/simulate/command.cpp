#include "lab/simulate/command.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "lab/simulate/crowd.hpp"
#include "lab/simulate/network.hpp"
#include "lab/simulate/rivals.hpp"
#include "tool/bench/neighborhood_text.hpp"
#include "tool/bench/options.hpp"

namespace quadrille::simulate {
namespace {

using Clock = std::chrono::steady_clock;

int refuse(const std::string& what) {
  fmt::print(stderr, "quadrille-lab simulate: {}\n", what);
  return 2;
}

bool can_be_simulated(Collective collective) { return is_dense(collective) || is_neighbor(collective); }

std::string neighborhood_of(const SimulateOptions& options) {
  return options.neighborhood.empty() ? default_neighborhood : options.neighborhood;
}

// The grid has all ranks.
std::string understand_around(const SimulateOptions& options, int ranks, Around& around) {
  const std::string neighborhood = neighborhood_of(options);
  if (std::string wrong = tools::parse_neighborhood(neighborhood, around.neighborhood); !wrong.empty()) return wrong;
  around.grid = tools::even_torus(ranks, around.neighborhood.dimensions);
  if (options.grid.empty()) return {};
  if (std::string wrong = tools::parse_grid_of(options.grid, around.neighborhood, neighborhood, around.grid);
      !wrong.empty())
    return wrong;
  return around.grid.ranks() == ranks
             ? ""
             : fmt::format("the grid {} has {} ranks, and --ranks says {}", options.grid, around.grid.ranks(), ranks);
}

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// What is done, on one line of a terminal, else a line now and then; not in the first seconds.
class Progress {
 public:
  void show(const std::string& text) {
    const bool terminal = isatty(STDERR_FILENO) == 1;
    if (since(start_) < 3 || since(last_) < (terminal ? 0.2 : 10)) return;
    last_ = Clock::now();
    shown_ = terminal;
    fmt::print(stderr, "{}{}{}", terminal ? "\r\033[K" : "", text, terminal ? "" : "\n");
    std::fflush(stderr);
  }
  void clear() {
    if (shown_) fmt::print(stderr, "\r\033[K");
    shown_ = false;
    start_ = Clock::now();
  }

 private:
  Clock::time_point start_ = Clock::now(), last_{};
  bool shown_ = false;
};

// What is simulated: an algorithm of ours for all sizes, or a rival.
struct Line {
  std::string name;   // as written
  std::string rival;  // its name, or nothing
  choose::Choice choice;
};

struct Result {
  std::string why_not;
  std::string algorithm, says;  // of a rival: what it chooses
  Outcome outcome;
  Alike alike = Alike::not_known;
  bool one_node = false;
};

std::string_view name_of(Alike alike) {
  return alike == Alike::rotated ? "rotated" : alike == Alike::exclusive_or ? "exclusive or" : "not alike";
}

class Session {
 public:
  Session(const SimulateOptions& options, Collective collective, plan::NodeMap map, std::optional<Around> around,
          Network network)
      : options_(options),
        collective_(collective),
        map_(std::move(map)),
        around_(std::move(around)),
        network_(std::move(network)) {
    every_rank_ = options.every_rank || network_.one_machine > 0 || network_.group_nodes > 0;
  }

  Result simulate(const Line& line, double bytes) {
    Result result;
    choose::Choice choice = line.choice;
    if (!line.rival.empty()) {
      const RivalChoice of = rival_choice(line.rival, collective_, map_.ranks(), bytes);
      result.algorithm = of.algorithm;
      result.says = of.says;
      if (of.algorithm.empty() || !choose::parse_choice(collective_, of.algorithm, choice).empty()) {
        result.why_not = "it has nothing for this";
        return result;
      }
    } else {
      result.algorithm = choose::to_string(choice);
    }
    const Load load = load_of(bytes, choice);
    Run& run = prepared(choice, line.rival.empty() && options_.agree);
    result.why_not = run.why_not;
    if (!result.why_not.empty()) return result;
    result.why_not = why_no_room(choice, run, load);
    if (!result.why_not.empty()) return result;
    result.alike = run.crowd->alike;
    result.one_node = run.crowd->one_node;
    // A rival often chooses what another line has.
    const bool agrees = line.rival.empty() && options_.agree;
    const std::string key = fmt::format("{} {} {} {}", result.algorithm, load.mean, load.largest, agrees);
    if (const auto known = outcomes_.find(key); known != outcomes_.end()) {
      result.outcome = known->second;
      return result;
    }
    result.outcome = run.engine->run(network_, load, [&](const Outcome& soFar, std::size_t done, std::size_t all) {
      progress_.show(fmt::format("{}, {} bytes: {:.1f} million events, {} of {} ranks are done", result.algorithm,
                                 bytes, static_cast<double>(soFar.events) * 1e-6, done, all));
      return true;
    });
    progress_.clear();
    outcomes_.emplace(key, result.outcome);
    return result;
  }
  // Lines that come do not need what was prepared for this one.
  void forget() { runs_.clear(); }

 private:
  struct Run {
    std::string why_not;
    std::unique_ptr<Crowd> crowd;
    std::unique_ptr<Engine> engine;
  };

  Load load_of(double bytes, const choose::Choice& choice) const {
    Load load{options_.distribution == "uniform" ? bytes / 2 : bytes, bytes};
    if (pads(choice)) load.mean = load.largest;
    return load;
  }
  std::string why_no_room(const choose::Choice& choice, const Run& run, const Load& load) const {
    const Program& program = run.crowd->programs[0];
    const bool leads = choose::row_of(choice.algorithm->engine).plans == choose::Plans::leaders;
    if (leads && program.size_beside > 0 && load.largest > program.piece) {
      return fmt::format("blocks of more than {} bytes go straight to their ranks", program.piece);
    }
    if (leads && program.piece < 1) return "there is no room for a byte of each block";
    if (choice.algorithm->engine == choose::Engine::inbox && load.largest > most_of_inbox)
      return "blocks are too large for inboxes";
    return {};
  }
  Run& prepared(const choose::Choice& choice, bool agrees) {
    Run& run = runs_[choose::to_string(choice) + (agrees ? " agrees" : "")];
    if (run.crowd != nullptr || !run.why_not.empty()) return run;
    run.crowd = std::make_unique<Crowd>();
    const Asked asked{collective_, choice, map_, every_rank_, options_.gigabytes * 1e9, agrees, around_};
    run.why_not = gather(asked, *run.crowd, [&](int done, int all) {
      progress_.show(fmt::format("{}: schedules of {} of {} ranks", choice.algorithm->name, done, all));
      return true;
    });
    progress_.clear();
    if (!run.why_not.empty()) return run;
    run.engine = std::make_unique<Engine>(*run.crowd);
    run.why_not = run.engine->problem();
    return run;
  }

  const SimulateOptions& options_;
  const Collective collective_;
  const plan::NodeMap map_;
  const std::optional<Around> around_;
  const Network network_;
  bool every_rank_;
  Progress progress_;
  std::map<std::string, Run> runs_;
  std::map<std::string, Outcome> outcomes_;
};

// Each algorithm with standard parameters, and with each other value of one of them that is worth trying.
void add_all(Collective collective, const plan::NodeMap& map, std::vector<Line>& lines) {
  for (const choose::Algorithm& algorithm : choose::algorithms()) {
    if (!choose::serves(algorithm, collective) || !why_not({&algorithm, {}}, map).empty()) continue;
    const std::string name(algorithm.name);
    std::vector<std::string> texts = {name};
    for (const choose::ParameterRange& range : algorithm.parameters) {
      for (const std::int64_t value : range.tried.values) {
        const bool cuts_blocks = range.tried.up_to == choose::TriedUpTo::block;
        if (value == range.standard || cuts_blocks || value >= map.ranks()) continue;
        texts.push_back(fmt::format("{}:{}={}", name, range.name, choose::value_text(range, value)));
      }
      const int fullest = map.ranks_on_fullest_node();
      if (range.tried.up_to == choose::TriedUpTo::ranks_of_a_node && !range.tried.values.empty() && fullest > 1) {
        texts.push_back(fmt::format("{}:{}={}", name, range.name, fullest));
      }
    }
    for (const std::string& text : texts) {
      Line line{text, {}, {}};
      if (choose::parse_choice(collective, text, line.choice).empty()) lines.push_back(line);
    }
  }
}

std::string lines_of(const SimulateOptions& options, Collective collective, const plan::NodeMap& map,
                     std::vector<Line>& lines) {
  if (!options.no_rivals && is_dense(collective)) {
    for (const Rival& rival : rivals()) lines.push_back({std::string(rival.name), std::string(rival.name), {}});
  }
  for (const std::string& words : options.algorithms) {
    for (const std::string& text : tools::split_algorithms(words)) {
      if (text == "all") {
        add_all(collective, map, lines);
        continue;
      }
      Line line{text, {}, {}};
      if (std::string wrong = choose::parse_choice(collective, text, line.choice); !wrong.empty()) return wrong;
      if (const std::string reason = why_not(line.choice, map); !reason.empty())
        return fmt::format("{}: {}", text, reason);
      lines.push_back(line);
    }
  }
  return {};
}

nlohmann::json row_of(const Line& line, double bytes, const Result& result, double took) {
  nlohmann::json row = {{"name", line.name}, {"bytes", bytes}, {"algorithm", result.algorithm}};
  if (!line.rival.empty()) row["rival_says"] = result.says;
  if (!result.why_not.empty()) {
    row["why_not"] = result.why_not;
    return row;
  }
  const Outcome& outcome = result.outcome;
  row["us"] = outcome.seconds * 1e6;
  row["first_rank_us"] = outcome.first_seconds * 1e6;
  row["busiest_adapter_us"] = outcome.busiest_adapter * 1e6;
  row["simulated"] = result.one_node ? "one node for all" : "all ranks";
  row["nodes_are"] = name_of(result.alike);
  row["messages_between_nodes"] = outcome.messages;
  row["bytes_between_nodes"] = outcome.bytes;
  row["messages_inside_nodes"] = outcome.near_messages;
  row["bytes_inside_nodes"] = outcome.near_bytes;
  row["copied_bytes"] = outcome.copied_bytes;
  row["turns"] = outcome.turns;
  row["events"] = outcome.events;
  row["took_s"] = took;
  return row;
}

void list_networks() {
  for (const NamedNetwork& network : named_networks()) {
    fmt::print("{}: {}\n", network.name, network.what);
    for (const NamedConstant& one : network.constants) {
      const auto& fields = network_fields();
      const auto field =
          std::find_if(fields.begin(), fields.end(), [&](const NetworkField& f) { return f.name == one.field; });
      fmt::print("  {:<14} {:>8} ({} to {})  {}; {}\n", one.field, one.usual, one.least, one.most, field->what,
                 one.source);
    }
  }
}

std::string microseconds(double us) { return us < 100 ? fmt::format("{:.2f}", us) : fmt::format("{:.0f}", us); }

void print_table(const std::vector<std::size_t>& sizes, const nlohmann::json& rows) {
  std::map<std::string, std::map<double, const nlohmann::json*>> cells;
  std::vector<std::string> names;
  std::size_t widest = 10;
  for (const nlohmann::json& row : rows) {
    const std::string name = row["name"];
    if (cells.find(name) == cells.end()) names.push_back(name), widest = std::max(widest, name.size());
    cells[name][row["bytes"].get<double>()] = &row;
  }
  fmt::print("{:<{}}", "us", widest);
  for (const std::size_t size : sizes) fmt::print(" {:>10}", size);
  fmt::print("\n");
  for (const std::string& name : names) {
    fmt::print("{:<{}}", name, widest);
    for (const std::size_t size : sizes) {
      const nlohmann::json& row = *cells[name].at(static_cast<double>(size));
      fmt::print(" {:>10}", row.contains("us") ? microseconds(row["us"]) : "-");
    }
    fmt::print("\n");
  }
  std::string last;
  for (const nlohmann::json& row : rows) {
    if (!row.contains("why_not")) continue;
    const std::string text = fmt::format("{}: {}\n", row["name"].get<std::string>(), row["why_not"].get<std::string>());
    if (text != last) fmt::print("{}", text);
    last = text;
  }
  for (const nlohmann::json& row : rows) {
    if (!row.contains("rival_says") || row.contains("why_not")) continue;
    const std::string text = fmt::format("{} takes {}, as {}\n", row["name"].get<std::string>(),
                                         row["rival_says"].get<std::string>(), row["algorithm"].get<std::string>());
    if (text != last) fmt::print("{} bytes: {}", row["bytes"].get<double>(), text);
    last = text;
  }
}

}  // namespace

int simulate_command(const SimulateOptions& options) {
  if (options.list_networks) {
    list_networks();
    return 0;
  }
  Collective collective;
  if (!choose::collective_from_name(options.collective, collective) || !can_be_simulated(collective)) {
    return refuse(
        fmt::format("\"{}\" is not among {}", options.collective, choose::collective_names(can_be_simulated)));
  }
  if (options.distribution != "equal" && is_sized(collective)) return refuse("--distribution is for the v and w forms");
  plan::NodeMap map;
  std::string map_text;
  if (std::string wrong = tools::understand_layout(options.layout, map, map_text); !wrong.empty()) return refuse(wrong);
  std::optional<Around> around;
  if (std::string wrong = tools::why_no_neighbors(collective, !options.neighborhood.empty(), !options.grid.empty());
      !wrong.empty())
    return refuse(wrong);
  if (options.agree && is_neighbor(collective)) return refuse("--agree is for collectives among all ranks");
  if (is_neighbor(collective)) {
    if (std::string wrong = understand_around(options, map.ranks(), around.emplace()); !wrong.empty())
      return refuse(wrong);
  }
  std::vector<std::size_t> sizes;
  if (std::string wrong = tools::parse_sizes(options.sizes, sizes); !wrong.empty()) return refuse("--sizes: " + wrong);
  Network network;
  if (std::string wrong = read_network(options.network, network); !wrong.empty()) return refuse(wrong);
  std::vector<Line> lines;
  if (std::string wrong = lines_of(options, collective, map, lines); !wrong.empty()) return refuse(wrong);
  std::ofstream file;
  if (!options.json.empty()) {
    file.open(options.json);
    if (!file) return refuse(fmt::format("cannot write '{}'", options.json));
  }

  const int nodes = map.nodes, fullest = map.ranks_on_fullest_node();
  fmt::print("{}, {} ranks on {} nodes, at most {} on one; network {}; simulated\n", options.collective, map.ranks(),
             nodes, fullest, network.name);
  std::fflush(stdout);
  Session session(options, collective, map, around, network);
  nlohmann::json rows = nlohmann::json::array();
  std::string problem;
  for (const Line& line : lines) {
    for (const std::size_t size : sizes) {
      const auto start = Clock::now();
      const Result result = session.simulate(line, static_cast<double>(size));
      if (!result.outcome.problem.empty())
        problem = fmt::format("{}, {} bytes: {}", result.algorithm, size, result.outcome.problem);
      rows.push_back(row_of(line, static_cast<double>(size), result, since(start)));
    }
    session.forget();
  }
  print_table(sizes, rows);
  std::fflush(stdout);
  if (file.is_open()) {
    nlohmann::json all = {
        {"collective", options.collective}, {"ranks", map.ranks()}, {"nodes", nodes},
        {"ranks_on_fullest_node", fullest}, {"map", map_text},      {"distribution", options.distribution},
        {"network", to_json(network)},      {"rows", rows}};
    if (around) all["neighborhood"] = neighborhood_of(options), all["grid"] = tools::to_text(around->grid);
    file << all.dump(1) << "\n";
    if (!file.flush()) return refuse(fmt::format("cannot write '{}'", options.json));
  }
  if (problem.empty()) return 0;
  fmt::print(stderr, "quadrille-lab simulate: {}\n", problem);
  return 1;
}

}  // namespace quadrille::simulate
