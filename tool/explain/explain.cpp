// Idea    The schedules of the algorithms are counted on the map of nodes (choose/model.hpp), for all their
//         likely parameters, and the model's constants make times of that. The ranking says what each time is made of,
//         and what the first saves beside the MPI's own, or the second.
// Cost    Seconds for 32,768 ranks: schedules of some ranks are built, which stand for all.
#include "tool/explain/explain.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "choose/model.hpp"
#include "choose/select.hpp"
#include "choose/tuning.hpp"
#include "memory/control_memory.hpp"
#include "sys/sys.hpp"
#include "tool/bench/distribution.hpp"
#include "tool/bench/options.hpp"
#include "tool/explain/assumed.hpp"
#include "tool/line/progress.hpp"

namespace quadrille::tools {
namespace {

// Of a distribution so many rows are looked at.
constexpr int most_rows = 64, all_rows_up_to = 512;
constexpr std::uint64_t seed = 1;

struct Question {
  Collective collective{};
  plan::NodeMap map;
  std::string map_text;
  std::size_t size = 0;
  choose::Load load;
  std::string load_text;
  choose::Model model;
  std::string model_text;
  std::string reservation;  // what to keep in mind; may be empty
};

// ---- The question ----

// The blocks of all ranks, or of some where there are many.
choose::Load load_of(const Traffic& traffic, const Question& question) {
  const int ranks = question.map.ranks();
  const int rows = ranks <= all_rows_up_to ? ranks : most_rows;
  choose::Load load{0, 0, 0};
  std::vector<double> of_node(static_cast<std::size_t>(question.map.nodes)), count(of_node.size());
  for (int i = 0; i < rows; ++i) {
    const int source = static_cast<int>(std::int64_t{i} * (ranks - 1) / std::max(rows - 1, 1));
    double sum = 0;
    for (int d = 0; d < ranks; ++d) {
      const auto bytes = static_cast<double>(is_allgather(question.collective)
                                                 ? gathered_size(traffic, seed, question.size, ranks, source)
                                                 : block_size(traffic, seed, question.size, ranks, source, d));
      load.largest = std::max(load.largest, bytes);
      sum += bytes;
    }
    load.mean = std::max(load.mean, sum / ranks);
    const auto node = static_cast<std::size_t>(question.map.node_of[static_cast<std::size_t>(source)]);
    of_node[node] += sum / ranks;
    count[node] += 1;
  }
  double all = 0;
  for (std::size_t n = 0; n < of_node.size(); ++n) {
    all += of_node[n];
    if (count[n] > 0) load.node = std::max(load.node, of_node[n] / count[n]);
  }
  // Of few rows on a node one may be the busiest by chance.
  if (rows < ranks) load.node = std::min(load.node, std::max(all / rows, load.mean / 2));
  if (is_allgather(question.collective)) load.mean = load.node = all / rows;
  return load;
}

std::string read_load(const ExplainOptions& options, Question& question) {
  const auto size = static_cast<double>(question.size);
  Traffic traffic;
  if (std::string problem = parse_traffic(options.distribution, traffic); !problem.empty()) {
    return "--distribution: " + problem;
  }
  const bool uneven = traffic.kind != Distribution::equal || options.skew != 1;
  if (uneven && (question.collective == Collective::alltoall || question.collective == Collective::allgather)) {
    return fmt::format("blocks of {} have one size; --skew and --distribution are for its v and w forms",
                       name_of(question.collective));
  }
  if (traffic.kind == Distribution::stencil) return "--distribution: a stencil is for neighbour collectives";
  if (options.skew < 1) return "--skew must be 1 at least";
  if (traffic.kind == Distribution::equal) {
    question.load = {size * options.skew, size * options.skew, size};
    question.load_text = options.skew == 1 ? fmt::format("blocks of {} bytes", question.size)
                                           : fmt::format(
                                                 "blocks of {} bytes in the mean, {:g} times as large on the "
                                                 "busiest rank",
                                                 question.size, options.skew);
    if (is_allgather(question.collective)) question.load.mean = size;
    return {};
  }
  if (options.skew != 1) return "--skew is for equal blocks on each rank; a --distribution has its own";
  if (traffic.kind == Distribution::file) {
    if (is_allgather(question.collective)) return "--distribution: a matrix is for all-to-all";
    auto matrix = std::make_shared<TrafficMatrix>();
    if (std::string problem = read_matrix(traffic.path, question.map.ranks(), *matrix); !problem.empty()) {
      return "--distribution: " + problem;
    }
    traffic.matrix = matrix;
  }
  question.load = load_of(traffic, question);
  question.load_text = fmt::format("sizes '{}' of {} bytes: {:.0f} in the mean on the busiest rank, at most {:.0f}",
                                   options.distribution, question.size, question.load.mean, question.load.largest);
  return {};
}

// Of a table the model of as many ranks a node, else of the nearest; of these with processors for all if there is one;
// of these of the nearest number of ranks.
const choose::ModelEntry* nearest_of(const choose::TuningTable& table, int ranks, int per_node) {
  const auto distance = [](int a, int b) { return static_cast<double>(std::max(a, b)) / std::min(a, b); };
  const auto far = [&](const choose::ModelEntry& e) {
    return std::tuple(distance(e.ranks_on_node, per_node), e.crowded, distance(e.ranks, ranks));
  };
  const auto found = std::min_element(table.models.begin(), table.models.end(),
                                      [&](const auto& a, const auto& b) { return far(a) < far(b); });
  return found == table.models.end() ? nullptr : &*found;
}

std::string read_model(const ExplainOptions& options, Question& question) {
  question.model = options.model == "aries" ? aries() : aries_nodes();
  question.model_text = options.model == "aries" ? "assumed constants of a Cray Aries, one class of messages"
                                                 : "assumed constants of a Cray Aries and its nodes";
  if (options.model != "aries" && options.model != "aries-nodes") {
    const bool own = options.model.empty();
    const std::string path = own ? choose::tuning_path(sys::environment) : options.model;
    choose::TuningTable table;
    std::string why;
    const choose::FileState state =
        path.empty() ? choose::FileState::absent : choose::read_tuning_file(path, table, why);
    if (state == choose::FileState::bad) return fmt::format("'{}': {}", path, why);
    const int per_node = question.map.ranks_on_fullest_node();
    if (const auto* entry = nearest_of(table, question.map.ranks(), per_node); entry != nullptr) {
      question.model = entry->model;
      question.model_text = fmt::format("fitted with {} ranks, {} a node, on {}", entry->ranks, entry->ranks_on_node,
                                        table.machine.processor);
      if (entry->ranks_on_node != per_node) {
        question.reservation = fmt::format("the table has no model of {} ranks a node", per_node);
      } else if (entry->ranks < question.map.ranks()) {
        question.reservation = "this is more ranks than the model was fitted with";
      }
      if (entry->crowded)
        question.reservation += question.reservation.empty() ? "ranks shared processors when it was fitted"
                                                             : "; ranks shared processors when it was fitted";
    } else if (!own) {
      return state == choose::FileState::absent
                 ? fmt::format("there is no '{}'; --model takes 'aries', 'aries-nodes' or a tuning table", path)
                 : fmt::format("'{}' has no model; run quadrille tune --model", path);
    }
  }
  if (options.processors > 0) question.model.processors = options.processors;
  return {};
}

std::string understand(const ExplainOptions& options, Question& question) {
  if (!choose::collective_from_name(options.collective, question.collective) || !is_dense(question.collective)) {
    return fmt::format("'{}' is not among {}", options.collective, choose::collective_names(is_dense));
  }
  std::string problem = understand_layout(options.layout, question.map, question.map_text);
  if (problem.empty() && question.map.ranks() < 2) problem = "there must be two ranks at least";
  if (problem.empty()) problem = read_load(options, question);
  if (problem.empty()) problem = read_model(options, question);
  return problem;
}

// What the library would know of such a machine.
choose::GlobalKey key_of(const ExplainOptions& options, const Question& question) {
  choose::GlobalKey key{question.collective, question.map.ranks(), question.map.nodes, 0, false, 0, 0};
  key.bytes = is_sized(question.collective) ? question.size : 0;
  key.ranks_on_node = question.map.ranks_on_fullest_node();
  key.slot_limit = memory::inbox_layout(key.ranks_on_node).capacity();
  key.inbox = key.nodes == 1 && key.slot_limit > 0;
  key.inbox_limit = key.slot_limit;
  key.direct = true;
  key.load_store = !options.no_load_store;
  return key;
}

// ---- The answer ----

struct Refused {
  std::string algorithm, why;
};
struct Answer {
  std::vector<choose::Priced> ranking;
  std::vector<Refused> refused;
  std::size_t looked_at = 0;
};

double microseconds(double seconds) { return seconds * 1e6; }

struct Share {
  const plan::TermRow* row;
  double seconds, amount;
};
std::vector<Share> shares_of(const choose::Priced& priced, const choose::Model& model) {
  std::vector<Share> shares;
  for (const plan::TermRow& row : plan::term_rows) {
    const double ours = of(priced.ours, row.term), mpis = of(priced.mpis, row.term);
    shares.push_back({&row, ours * model.quadrille.*row.constant + mpis * model.mpi.*row.constant, ours + mpis});
  }
  return shares;
}

Why why_not_ranked(const choose::Choice& choice, const choose::GlobalKey& key) {
  Why why = why_not(choice, key);
  return why.reason == Reason::none ? Why{choose::why_no_cost(*choice.algorithm)} : why;
}

std::string answer(const ExplainOptions& options, const Question& question, Answer& result) {
  // A rank less to look at where a schedule is long.
  const int ranks = question.map.ranks();
  const plan::SampleLimits limits = ranks <= 512    ? plan::SampleLimits{1 << 20, 1 << 20}
                                    : ranks <= 8192 ? plan::SampleLimits{4, 8}
                                                    : plan::SampleLimits{2, 8};
  choose::Costs costs(question.collective, question.map, {question.model.processors, limits});
  for (const plan::SampledNode& node : plan::sample_ranks(question.map, limits)) result.looked_at += node.size();
  const choose::GlobalKey key = key_of(options, question);
  Progress progress(true);
  auto show = [&, looked = 0](std::string_view name) mutable {
    progress.show(fmt::format("explain: {} ranks, algorithm {}: {}", ranks, ++looked, name));
  };
  if (!options.algorithms.empty()) {
    for (const std::string& text : options.algorithms) {
      choose::Choice choice;
      if (std::string problem = parse_choice(question.collective, text, choice); !problem.empty()) {
        progress.clear();
        return problem;
      }
      show(text);
      if (const Why why = why_not_ranked(choice, key); why.reason == Reason::none) {
        result.ranking.push_back(price(choice, question.load, question.model, costs));
      } else {
        result.refused.push_back({to_string(choice), text::words_of(why)});
      }
    }
  } else {
    for (const choose::Algorithm& algorithm : choose::algorithms()) {
      if (!serves(algorithm, question.collective)) continue;
      show(algorithm.name);
      if (const Why why = why_not_ranked({&algorithm, {}}, key); why.reason == Reason::none) {
        result.ranking.push_back(best_of(algorithm, question.load, question.model, costs));
      } else {
        result.refused.push_back({std::string(algorithm.name), text::words_of(why)});
      }
    }
  }
  progress.clear();
  std::stable_sort(result.ranking.begin(), result.ranking.end(),
                   [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  return {};
}

// What the first saves most beside the MPI's own, or beside the second, and what it pays for that.
std::string why_first(const Answer& result, const Question& question) {
  if (result.ranking.size() < 2) return {};
  const choose::Priced& first = result.ranking[0];
  const choose::Priced* other = &result.ranking[1];
  for (const choose::Priced& one : result.ranking) {
    if (is_of_the_mpi(*one.choice.algorithm) && &one != &first) other = &one;
  }
  const auto a = shares_of(first, question.model), b = shares_of(*other, question.model);
  std::size_t saved = 0, paid = 0;
  for (std::size_t t = 1; t < a.size(); ++t) {
    const auto gain = [&](std::size_t i) { return b[i].seconds - a[i].seconds; };
    if (gain(t) > gain(saved)) saved = t;
    if (gain(t) < gain(paid)) paid = t;
  }
  if (b[saved].seconds - a[saved].seconds <= 0) return {};
  std::string text = fmt::format(
      "{} is first: beside {} it saves {:.1f} us of {} ({:.6g} instead of {:.6g})", first.choice.algorithm->name,
      is_of_the_mpi(*other->choice.algorithm) ? "the MPI's own" : other->choice.algorithm->name,
      microseconds(b[saved].seconds - a[saved].seconds), a[saved].row->what, a[saved].amount, b[saved].amount);
  if (a[paid].seconds > b[paid].seconds) {
    text +=
        fmt::format(", and pays {:.1f} us of {}", microseconds(a[paid].seconds - b[paid].seconds), a[paid].row->what);
  }
  return text + ".";
}

std::string made_of(const choose::Priced& priced, const choose::Model& model) {
  std::vector<Share> shares = shares_of(priced, model);
  std::stable_sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) { return a.seconds > b.seconds; });
  std::string text;
  for (const Share& share : shares) {
    if (share.seconds < 0.02 * priced.seconds) break;
    text += fmt::format("{}{} {:.1f}", text.empty() ? "" : " + ", share.row->name, microseconds(share.seconds));
  }
  return text;
}

std::string looked_at(const Answer& result, const Question& question) {
  const auto ranks = static_cast<std::size_t>(question.map.ranks());
  return result.looked_at == ranks ? "all ranks were looked at"
                                   : fmt::format("{} ranks stand for all {}", result.looked_at, ranks);
}

void print_text(const Answer& result, const Question& question) {
  fmt::print("{}, {} ranks on {} nodes, at most {} on one ({}), {}\n", name_of(question.collective),
             question.map.ranks(), question.map.nodes, question.map.ranks_on_fullest_node(), question.map_text,
             question.load_text);
  fmt::print("by our model, {}; {}\n", question.model_text, looked_at(result, question));
  if (!question.reservation.empty()) fmt::print("note: {}\n", question.reservation);
  fmt::print("{:>12}  {}\n", "us", "algorithm: what its time is made of");
  for (const choose::Priced& one : result.ranking) {
    std::string name = to_string(one.choice);
    if (!one.stands_in.empty()) name += fmt::format(" (taken for {})", one.stands_in);
    fmt::print("{:>12.1f}  {}: {}\n", microseconds(one.seconds), name, made_of(one, question.model));
  }
  for (const Refused& one : result.refused) fmt::print("{:>12}  {}: {}\n", "-", one.algorithm, one.why);
  if (const std::string why = why_first(result, question); !why.empty()) fmt::print("{}\n", why);
}

using nlohmann::ordered_json;

ordered_json json_of(const Answer& result, const Question& question) {
  ordered_json ranking = ordered_json::array(), refused = ordered_json::array();
  for (const choose::Priced& one : result.ranking) {
    ordered_json made = ordered_json::object(), amounts = ordered_json::object();
    for (const Share& share : shares_of(one, question.model)) {
      if (share.amount == 0) continue;
      made[std::string(share.row->name)] = microseconds(share.seconds);
      amounts[std::string(share.row->name)] = share.amount;
    }
    ranking.push_back({{"algorithm", to_string(one.choice)},
                       {"us", microseconds(one.seconds)},
                       {"made_of", made},
                       {"amounts", amounts}});
    if (!one.stands_in.empty()) ranking.back()["taken_for"] = one.stands_in;
  }
  for (const Refused& one : result.refused) refused.push_back({{"algorithm", one.algorithm}, {"why", one.why}});
  return {{"collective", name_of(question.collective)},
          {"ranks", question.map.ranks()},
          {"nodes", question.map.nodes},
          {"per_node", question.map.ranks_on_fullest_node()},
          {"map", question.map_text},
          {"bytes", question.size},
          {"load", {{"mean", question.load.mean}, {"largest", question.load.largest}, {"node", question.load.node}}},
          {"model", question.model_text},
          {"keep_in_mind", question.reservation},
          {"ranks_looked_at", result.looked_at},
          {"ranking", ranking},
          {"cannot", refused},
          {"why", why_first(result, question)}};
}

}  // namespace

int explain_command(const ExplainOptions& options) {
  std::vector<std::size_t> sizes;
  std::string problem = parse_sizes(options.sizes, sizes);
  if (!problem.empty()) problem = "--sizes: " + problem;
  ordered_json all = ordered_json::array();
  for (std::size_t s = 0; s < sizes.size() && problem.empty(); ++s) {
    Question question;
    Answer result;
    question.size = sizes[s];
    problem = understand(options, question);
    if (problem.empty()) problem = answer(options, question, result);
    if (!problem.empty()) break;
    if (options.json) {
      all.push_back(json_of(result, question));
    } else {
      if (s > 0) fmt::print("\n");
      print_text(result, question);
    }
  }
  if (!problem.empty()) {
    fmt::print(stderr, "quadrille explain: {}\n", problem);
    return 2;
  }
  if (options.json) fmt::print("{}\n", (all.size() == 1 ? all[0] : all).dump(2));
  std::fflush(stdout);
  return 0;
}

}  // namespace quadrille::tools
