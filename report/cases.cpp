#include "report/cases.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "choose/registry.hpp"
#include "report/graph.hpp"

namespace quadrille::tools {
namespace {

constexpr std::size_t most_cases = 8;
constexpr double first_calls = 10;
constexpr double least_share = 0.01;  // of the time in all calls

// Do all of these ranks have a number in the program's MPI_COMM_WORLD? Not so where one program has started another.
bool are_of_the_world(const ReportData& data, const ReportData& world_ranks) {
  const int ranks = data["ranks"];
  return std::all_of(world_ranks.begin(), world_ranks.end(), [&](const auto& one) {
    const int rank = one.template get<int>();
    return rank >= 0 && rank < ranks;
  });
}

// Empty if the call can be made again.
std::string why_not_again(const ReportData& data, const ReportData& call) {
  const int number = call["communicator"];
  Collective collective{};
  if (!choose::collective_from_name(call["collective"].get<std::string>(), collective)) return "an unknown collective";
  if (collective == Collective::exchange) return "Quadrille's own sparse exchange, which no MPI has";
  if (call["form"] == "persistent") return "the making of a request; its starts are replayed";
  if (call["form"] == "enqueued") return "calls enqueued in a device's stream";
  if (number < 0) return "calls of several kinds, for which the record had no room";
  const ReportData& communicator = data["communicators"][static_cast<std::size_t>(number)];
  if (communicator["inter"].get<bool>()) return "an intercommunicator";
  if (communicator["world_ranks"].empty()) return "a communicator with too many ranks to be recorded";
  if (!are_of_the_world(data, communicator["world_ranks"])) return "a communicator with ranks of several programs";
  if (communicator["ranks"] == 1) return "a communicator of one rank";
  if (communicator["made"] > 1 && call["calls"].get<double>() <= first_calls * communicator["made"].get<double>()) {
    return "short-lived communicators: their first calls are forwarded to the MPI (QUADRILLE_SETUP_AFTER)";
  }
  if (is_neighbor(collective)) {
    if (std::string why = why_no_graph(communicator); !why.empty()) return why;
  }
  if (is_regular(collective)) return "";
  if (call["samples"].empty()) return "not all ranks have left the counts of one call";
  return is_neighbor(collective) ? why_not_such_bytes(communicator["neighbors"], call["samples"][0]["bytes"]) : "";
}

// Of the program's ranks.
bool are_apart(const ReportData& groups, const ReportData& group) {
  std::set<int> taken;
  for (const auto& one : groups) taken.insert(one.begin(), one.end());
  return std::none_of(group.begin(), group.end(),
                      [&](const auto& rank) { return taken.contains(rank.template get<int>()); });
}

bool is_between_neighbors(const ReportData& call) {
  Collective collective{};
  return choose::collective_from_name(call["collective"].get<std::string>(), collective) && is_neighbor(collective);
}

ReportData work_of(const ReportData& data, const ReportData& call) {
  const ReportData& communicator = data["communicators"][call["communicator"].get<std::size_t>()];
  ReportData work = {{"collective", call["collective"]}, {"groups", {communicator["world_ranks"]}}};
  // Of the rank that waited least.
  work["seconds_of_call"] = call["seconds"][0].get<double>() / std::max(call["calls"].get<double>(), 1.0);
  if (call["form"] != "blocking") work["form"] = call["form"] == "started" ? "persistent" : call["form"];
  const bool around = is_between_neighbors(call);
  if (!call["samples"].empty()) {
    work["bytes"] = call["samples"][0]["bytes"];
  } else {
    const double ranks = communicator["ranks"], calls = call["calls"].get<double>() * call["told"].get<double>();
    const double blocks = around ? static_cast<double>(edges_in(communicator["neighbors"])) / ranks : ranks;
    work["block"] =
        static_cast<std::uint64_t>(std::round(call["bytes"].get<double>() / std::max(calls * blocks, 1e-9)));
  }
  if (around) work["graphs"] = ReportData::array({communicator["neighbors"]});
  return work;
}

// Is it the same call of other ranks, such as those of the next row of a grid?
bool joins(const ReportData& data, const ReplayedCalls& to, const ReportData& call) {
  if (to.work.is_null() || !to.work.contains("block")) return false;
  const ReportData& first = data["calls"][to.calls[0]];
  const ReportData work = work_of(data, call);
  return first["where"] == call["where"] && first["collective"] == call["collective"] &&
         first["form"] == call["form"] && work.contains("block") && work["block"] == to.work["block"] &&
         work["groups"][0].size() == to.work["groups"][0].size() && are_apart(to.work["groups"], work["groups"][0]);
}

double seconds_in_run(const ReportData& data, const ReplayedCalls& one, double microseconds_less) {
  double most = 0;  // alike at the same time
  for (const std::size_t call : one.calls) most = std::max(most, data["calls"][call]["calls"].get<double>());
  return most * microseconds_less * 1e-6;
}

}  // namespace

std::vector<ReplayedCalls> calls_to_replay(const ReportData& data) {
  std::vector<ReplayedCalls> all;
  double sum = 0;
  for (const auto& call : data["calls"]) sum += call["seconds"][1].get<double>();
  for (std::size_t c = 0; c < data["calls"].size(); ++c) {
    const ReportData& call = data["calls"][c];
    const std::string why = why_not_again(data, call);
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const ReplayedCalls& one) { return why.empty() && joins(data, one, call); });
    if (same != all.end()) {
      same->calls.push_back(c);
      const ReportData work = work_of(data, call);
      same->work["groups"].push_back(work["groups"][0]);
      if (work.contains("graphs")) same->work["graphs"].push_back(work["graphs"][0]);
      continue;
    }
    if (all.size() == most_cases || (!all.empty() && call["seconds"][1].get<double>() < least_share * sum)) continue;
    all.push_back({{c}, why.empty() ? work_of(data, call) : ReportData(nullptr), why});
  }
  return all;
}

ReportData replay_of(const ReportData& data, const std::vector<ReplayedCalls>& replayed, const ReportData& times) {
  ReportData cases = ReportData::array();
  std::size_t at = 0;
  for (const ReplayedCalls& one : replayed) {
    ReportData told = {{"call", one.calls[0]}, {"calls", one.calls}};
    if (one.work.is_null()) {
      told["why"] = one.why;
    } else {
      told.update(times["cases"][at++]);
    }
    if (!told.contains("why")) {
      auto& list = told["times"];
      // Of other calls it is not known how much of their time the program's own work hides.
      const bool waits = data["calls"][one.calls[0]]["form"] == "blocking";
      for (std::size_t i = 1; i < list.size(); ++i) {
        const auto& before = list[i == 1 ? 0 : 1];  // what it would take the place of
        const auto& ratio = list[i][i == 1 ? "to_mpi" : "to_default"];
        const double less = before["microseconds"].get<double>() * (1 - ratio[1].get<double>());
        list[i]["saved"] = ratio[2].get<double>() < 0.97 && waits ? seconds_in_run(data, one, less) : 0.0;
      }
    }
    cases.push_back(std::move(told));
  }
  ReportData replay = {{"cases", std::move(cases)}, {"without", times.value("without", ReportData::array())}};
  for (const char* const name : {"quiet", "library"}) {
    if (times.contains(name)) replay[name] = times[name];
  }
  return replay;
}

}  // namespace quadrille::tools
