#include "tool/plans/show_html.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "plan/neighborhood.hpp"
#include "tool/bench/neighborhood_text.hpp"
#include "tool/page_script.hpp"
#include "tool/plans/moves.hpp"
#include "tool/plans/schedules_page.hpp"
#include "tool/plans/show_neighbors.hpp"
#include "tool/plans/verify_cases.hpp"

namespace quadrille::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr int most_ranks = 16;         // more are not for looking at
constexpr std::size_t few_values = 4;  // of the parameters of an algorithm
constexpr int few_ranks = 4, many_ranks = 8;
constexpr int ranks_drawn[] = {2, 3, 4, 5, 7, 8, 12, 16};
constexpr int ranks_of_grids[] = {4, 6, 9, 12, 16};
constexpr const char* maps_drawn[] = {"blocked:2", "blocked:4", "roundrobin:2"};
constexpr const char* neighborhoods_drawn[] = {"moore:2,1", "von-neumann:2", "moore:1,2"};
constexpr std::string_view one_node_text = "one node";

template <class List, class Value>
void add_once(List& list, const Value& value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

// Values to look at beside the standard one. What an exchange inside an algorithm takes is left at its standard.
std::vector<std::int64_t> values_of(const choose::Algorithm& algorithm, const choose::ParameterRange& range) {
  std::vector<std::int64_t> values;
  if (!range.names.empty()) {
    for (std::int64_t v = range.least; v <= range.most; ++v) {
      // Of the two readings of a Hilbert curve the standard one is nearly always this.
      if (!range.names[static_cast<std::size_t>(v - range.least)].ends_with("send")) values.push_back(v);
    }
    return values;
  }
  const bool has_exchange = std::any_of(algorithm.parameters.begin(), algorithm.parameters.end(),
                                        [](const choose::ParameterRange& p) { return p.name == "exchange"; });
  if (range.name == "radix" && (!has_exchange || row_of(algorithm.engine).plans == choose::Plans::messages))
    return {2, 3, 4, 8};
  if (range.name == "stride" && !has_exchange) return {1, 2, 5};
  if (range.name == "leaders") return {1, 2};
  if (range.name == "ports") return {0, 1};
  if (range.name == "share") return {0, 1};
  return values;
}

// The standard ones, each with one value changed, and those that the user named.
std::vector<plan::Parameters> parameters_drawn(const choose::Algorithm& algorithm, const choose::Choice& named) {
  const plan::Parameters standard = standard_parameters(algorithm);
  std::vector<plan::Parameters> all = {standard};
  for (std::size_t p = 0; p < standard.size(); ++p) {
    for (const std::int64_t value : values_of(algorithm, algorithm.parameters[p])) {
      plan::Parameters changed = standard;
      changed[p] = choose::parameter_of(algorithm.parameters[p], value);
      add_once(all, changed);
    }
  }
  if (named.algorithm == &algorithm) add_once(all, named.parameters);
  return all;
}

// As `--algorithm` takes them. Of several those alone that are not standard.
std::string parameters_text(const choose::Algorithm& algorithm, const plan::Parameters& parameters) {
  std::vector<std::string> words;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const choose::ParameterRange& range = algorithm.parameters[p];
    if (parameters.size() > 1 && parameters[p].value == range.standard) continue;
    words.push_back(fmt::format("{}={}", range.name, value_text(range, parameters[p].value)));
  }
  return fmt::format("{}", fmt::join(words, ","));
}

// Where a play takes place: ranks on nodes, or on a torus.
struct Place {
  std::string text;
  plan::NodeMap nodes;
  plan::Grid grid;
  plan::Neighborhood around;
};

struct Blocks {
  int sends, receives;  // of a rank
};

Json play_of(const std::vector<plan::Step>& steps, const Blocks& blocks, int scratch) {
  const int stride = std::max({blocks.sends, blocks.receives, scratch, 1});
  const auto number = [&](const plan::Span& span) {
    return (span.owner * stride + span.block) * 3 + static_cast<int>(span.buffer);
  };
  Json all = Json::array();
  for (const plan::Step& step : steps) {
    Json moves = Json::array();
    for (const plan::Move& move : step) {
      Json moved = Json::array();
      for (const plan::Copy& block : move.blocks) {
        moved.push_back(number(block.from));
        moved.push_back(number(block.to));
      }
      moves.push_back({move.by, move.to, std::move(moved)});
    }
    all.push_back(std::move(moves));
  }
  return {{"sends", blocks.sends},
          {"receives", blocks.receives},
          {"scratch", scratch},
          {"stride", stride},
          {"steps", std::move(all)}};
}

class Page {
 public:
  Page(Collective collective, const choose::Choice& named, const ShowOptions& options)
      : collective_(collective), named_(named), options_(options) {}

  // Returns an empty string, or what is wrong.
  std::string add(Collective collective) {
    Json algorithms = Json::array();
    for (const choose::Algorithm& algorithm : choose::algorithms()) {
      if (!has_schedule(algorithm) || !serves(algorithm, collective)) continue;
      // Between padded blocks an algorithm moves them as it does blocks of one size.
      if (algorithm.engine == choose::Engine::padded && &algorithm != named_.algorithm) continue;
      // `direct` on any graph has a plan without a builder of its own.
      const choose::Plans plans = row_of(algorithm.engine).plans;
      const bool copies = plans == choose::Plans::node_copies || plans == choose::Plans::neighbor_copies;
      Json cases = Json::array();
      if (std::string problem = add_cases(collective, algorithm, copies, cases); !problem.empty()) return problem;
      algorithms.push_back({{"name", algorithm.name},
                            {"line", algorithm.line},
                            {"source", algorithm.source},
                            {"copies", copies},
                            {"between_nodes", plans == choose::Plans::between_nodes},
                            {"cases", std::move(cases)}});
    }
    collectives_.push_back({{"name", name_of(collective)},
                            {"gather", is_allgather(collective)},
                            {"neighbors", is_neighbor(collective)},
                            {"algorithms", std::move(algorithms)}});
    return "";
  }

  // `place`: as the user named it.
  Json take(const std::string& place) {
    return {{"start",
             {{"collective", name_of(collective_)},
              {"algorithm", named_.algorithm->name},
              {"parameters", parameters_text(*named_.algorithm, named_.parameters)},
              {"ranks", options_.ranks},
              {"place", place}}},
            {"collectives", std::move(collectives_)},
            {"places", std::move(places_)},
            {"plays", std::move(plays_)}};
  }

 private:
  std::string node_maps(Collective collective, bool one_node, std::vector<Place>& places) const {
    std::vector<int> counts(std::begin(ranks_drawn), std::end(ranks_drawn));
    if (collective == collective_) add_once(counts, options_.ranks);
    for (const int ranks : counts) {
      std::vector<std::string> texts(std::begin(maps_drawn), std::end(maps_drawn));
      if (!options_.nodes.empty() && ranks == options_.ranks) add_once(texts, options_.nodes);
      places.push_back({std::string(one_node_text), plan::one_node(ranks), {}, {}});
      for (const std::string& text : texts) {
        plan::NodeMap map;
        if (std::string problem = plan::parse_node_map(text, ranks, map); !problem.empty()) return problem;
        if (one_node || (map.nodes == 1 && text != options_.nodes)) continue;
        places.push_back({text, std::move(map), {}, {}});
      }
    }
    return "";
  }

  std::string tori(Collective collective, std::vector<Place>& places) const {
    std::vector<std::string> texts(std::begin(neighborhoods_drawn), std::end(neighborhoods_drawn));
    const std::size_t usual = texts.size();
    if (collective == collective_) add_once(texts, options_.neighborhood);
    std::vector<int> counts(std::begin(ranks_of_grids), std::end(ranks_of_grids));
    if (collective == collective_) add_once(counts, options_.ranks);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (i == usual) counts = {options_.ranks};  // it may be large
      const std::string& text = texts[i];
      plan::Neighborhood around;
      if (std::string problem = parse_neighborhood(text, around); !problem.empty()) return problem;
      for (const int ranks : counts)
        places.push_back({text, plan::one_node(ranks), even_torus(ranks, around.dimensions), around});
    }
    return "";
  }

  std::string add_cases(Collective collective, const choose::Algorithm& algorithm, bool copies, Json& cases) {
    std::vector<Place> places;
    std::string wrong =
        is_neighbor(collective) ? tori(collective, places) : node_maps(collective, algorithm.needs.one_node, places);
    if (!wrong.empty()) return wrong;
    const std::vector<plan::Parameters> all = parameters_drawn(algorithm, named_);
    for (const plan::Parameters& parameters : all) {
      const choose::Choice choice{&algorithm, parameters};
      for (const Place& place : places) {
        // Of an algorithm with many values, and of Hilbert curves, large pictures are drawn of the standard ones alone,
        // and of transposed curves small ones: the page is to stay small.
        const bool is_named = named_.algorithm == &algorithm && parameters == named_.parameters;
        const bool is_one_of_many = all.size() > few_values || plan::value_of(parameters, "rows", -1) >= 0;
        const int most = plan::value_of(parameters, "rows", 0) != 0 ? few_ranks : many_ranks;
        if (is_one_of_many && place.nodes.ranks() > most && parameters != all.front() && !is_named) continue;
        std::vector<plan::Step> steps;
        const std::vector<plan::Schedule> schedules = build(collective, choice, place);
        if (std::string problem = plan::play(schedules, place.nodes, steps); !problem.empty()) {
          return fmt::format("{}, {} ranks, {}: {}", choose::to_string(choice), place.nodes.ranks(), place.text,
                             problem);
        }
        if (copies) steps = plan::copy_by_copy(std::move(steps));
        // There are thousands; what most have in common the page adds.
        Json one = {{"ranks", place.nodes.ranks()},
                    {"play", number_of(steps, blocks_of(collective, place), schedules)}};
        if (std::string text = parameters_text(algorithm, parameters); !text.empty())
          one["parameters"] = std::move(text);
        if (place.text != "one node") one["place"] = place.text;
        cases.push_back(std::move(one));
        remember(place);
      }
    }
    return "";
  }

  std::vector<plan::Schedule> build(Collective collective, const choose::Choice& choice, const Place& place) const {
    std::vector<plan::Schedule> schedules;
    const int ranks = place.nodes.ranks();
    const std::vector<int> in_turn = domains_in_turn(options_.unit_domains, ranks);
    for (int me = 0; me < ranks; ++me) {
      if (is_neighbor(collective)) {
        schedules.push_back(neighbor_schedule(collective, choice, place.grid, place.around,
                                              choice.algorithm->build_edges != nullptr ? in_turn : std::vector<int>{},
                                              me));
        continue;
      }
      const std::vector<int> domains =
          look_at_domains(row_of(choice.algorithm->engine).plans) ? in_turn : std::vector<int>{};
      schedules.push_back(choice.algorithm->build({ranks, me, &place.nodes, choice.parameters, domains}));
    }
    return schedules;
  }

  static Blocks blocks_of(Collective collective, const Place& place) {
    const int all = is_neighbor(collective) ? place.around.size() : place.nodes.ranks();
    return {is_allgather(collective) ? 1 : all, all};
  }

  // Cases that move alike share a play.
  std::size_t number_of(const std::vector<plan::Step>& steps, const Blocks& blocks,
                        const std::vector<plan::Schedule>& schedules) {
    std::uint32_t scratch = 0;
    for (const plan::Schedule& schedule : schedules) scratch = std::max(scratch, schedule.scratch_blocks);
    Json play = play_of(steps, blocks, static_cast<int>(scratch));
    const auto [at, is_new] = numbers_.try_emplace(play.dump(), plays_.size());
    if (is_new) plays_.push_back(std::move(play));
    return at->second;
  }

  void remember(const Place& place) {
    Json& told = places_[fmt::format("{} {}", place.nodes.ranks(), place.text)];
    if (!told.is_null()) return;
    told = {{"node_of", place.nodes.node_of}};
    if (place.around.dimensions == 0) return;
    told["extents"] = place.grid.extents;
    told["offsets"] = Json::array();
    for (int i = 0; i < place.around.size(); ++i) {
      const auto offset = place.around.offset(i);
      told["offsets"].push_back(std::vector<int>(offset.begin(), offset.end()));
    }
  }

  const Collective collective_;  // this, the next and their like: what the user named
  const choose::Choice& named_;
  const ShowOptions& options_;
  std::map<std::string, std::size_t> numbers_;  // of plays, by what they are
  Json collectives_ = Json::array(), places_ = Json::object(), plays_ = Json::array();
};

}  // namespace

std::string write_page(Collective collective, const choose::Choice& choice, const ShowOptions& options) {
  if (options.ranks > most_ranks)
    return fmt::format("a page of {} ranks is not for looking at: at most {}", options.ranks, most_ranks);
  if (!options.grid.empty()) return "--html draws neighbours on even tori: leave --grid out";
  // One of each kind.
  std::vector<Collective> collectives = {collective};
  for (const Collective other :
       {Collective::alltoall, Collective::allgather, Collective::neighbor_alltoall, Collective::neighbor_allgather}) {
    if (regular_of(collective) != other) add_once(collectives, other);
  }
  Page page(collective, choice, options);
  for (const Collective each : collectives) {
    if (std::string problem = page.add(each); !problem.empty()) return problem;
  }
  std::string text(schedules_page);
  constexpr std::string_view mark = "%SCHEDULES%";
  const std::string place = is_neighbor(collective) ? options.neighborhood
                            : options.nodes.empty() ? std::string(one_node_text)
                                                    : options.nodes;
  text.replace(text.find(mark), mark.size(), for_script(page.take(place).dump()));
  std::ofstream out(options.html);
  out << text;
  out.close();
  return out ? "" : fmt::format("cannot write '{}'", options.html);
}

}  // namespace quadrille::tools
