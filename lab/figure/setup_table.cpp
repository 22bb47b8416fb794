#include "lab/figure/setup_table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "abi/functions.hpp"
#include "lab/figure/claims.hpp"
#include "lab/figure/results.hpp"
#include "mpi/mpi.hpp"
#include "tool/bench/named_neighborhoods.hpp"
#include "tool/bench/neighbors.hpp"
#include "tool/bench/statistics.hpp"
#include "tool/bench/turns.hpp"

namespace quadrille::tools {
namespace {

constexpr std::size_t most_repetitions = 400;  // the paper's
constexpr std::size_t least_repetitions = 5;   // a median of fewer says little
constexpr double seconds_a_case = 2;

// What the functions of a case work on.
struct Place {
  MpiComm all, cart;
  const BenchNeighbors& neighbors;
  std::vector<double> send, recv;
};

// Seconds of the slowest rank.
template <class Work>
double time_of_slowest(MpiComm all, const Work& work) {
  mpi().Barrier(all);
  const double begin = mpi().Wtime();
  work();
  double mine = mpi().Wtime() - begin, most = mine;
  mpi().Allreduce(&mine, &most, 1, mpi().double_type, mpi().op_max, all);
  return most;
}

MpiComm make_setup_comm(const Place& place, std::size_t function) {
  if (function == 0) return make_graph_comm(place.all, place.neighbors);
  if (function == 1) return make_graph_comm_around(place.cart, place.neighbors);
  if (function == 2) return make_general_graph_comm(place.all, place.neighbors);
  return make_around(place.cart, place.neighbors, mpi().info_null);
}

// Each request has a new communicator: a second one would find what the first has prepared.
double time_request(Place& place, std::size_t function) {
  MpiComm comm = make_setup_comm(place, function);
  Quadrille_Set_algorithm(comm, "neighbor_alltoall", setup_functions()[function].algorithm);
  Quadrille_Request request = QUADRILLE_REQUEST_NULL;
  const double seconds = time_of_slowest(place.all, [&] {
    Quadrille_Neighbor_alltoall_init(place.send.data(), 1, mpi().double_type, place.recv.data(), 1, mpi().double_type,
                                     comm, mpi().info_null, &request);
  });
  Quadrille_Request_free(&request);
  mpi().Comm_free(&comm);
  return seconds;
}

double time_function(Place& place, std::size_t function) {
  if (*setup_functions()[function].algorithm != '\0') return time_request(place, function);
  MpiComm comm = mpi().comm_null;
  const double seconds = time_of_slowest(place.all, [&] { comm = make_setup_comm(place, function); });
  mpi().Comm_free(&comm);
  return seconds;
}

// Only the rank's own clock is read, so the ranks have to agree.
bool time_is_up(MpiComm all, double begin) {
  double mine = mpi().Wtime() - begin, most = mine;
  mpi().Allreduce(&mine, &most, 1, mpi().double_type, mpi().op_max, all);
  return most > seconds_a_case;
}

bool is_enough(MpiComm all, std::size_t done, long iterations, double begin) {
  if (iterations > 0) return done >= static_cast<std::size_t>(iterations);
  return done >= most_repetitions || (done >= least_repetitions && time_is_up(all, begin));
}

double paper_of(const SetupFunction& function, const SetupCase& one) {
  return function.paper == nullptr ? 0 : one.*function.paper * 1000;
}

std::string setup_lines(const std::vector<SetupRow>& rows) {
  std::string text = fmt::format("{:>4} {:>6} {:>10}  {:<47} {:>12} {:>12}\n", "dims", "radius", "neighbours",
                                 "function", "here", "paper");
  for (const SetupRow& row : rows) {
    for (std::size_t i = 0; i < setup_count; ++i) {
      const SetupFunction& function = setup_functions()[i];
      const double paper = paper_of(function, row.measured);
      text += fmt::format("{:>4} {:>6} {:>10}  {:<47} {:>12.2f} {:>12}\n", row.measured.dimensions, row.measured.radius,
                          row.neighbors, function.name, row.microseconds[i],
                          paper > 0 ? fmt::format("{:.0f}", paper) : "-");
    }
  }
  return text;
}

// What the paper says of two functions, by their places in setup_functions(); "-": it says nothing.
struct SetupClaim {
  const char* text;
  std::size_t fast, slow;
  const char* paper;
};
// "Significantly more" is more than what counts as no difference elsewhere, a quarter; "in the same ballpark" is at
// most that.
constexpr SetupClaim setup_claim_list[] = {
    {"MPI_Dist_graph_create is significantly more expensive than the more specific function", 0, 2, "above 1.25"},
    {"Iso_neighborhood_create is faster than MPI_Dist_graph_create_adjacent, or in the same ballpark", 3, 0,
     "above 0.8"},
    {"(not in the paper) the same beside a program that finds the ranks itself", 3, 1, "-"},
    {"(not in the paper) the request beside the communicator of the MPI", 5, 0, "-"},
    {"(not in the paper) the request of torus-direct beside that of torus", 6, 5, "-"}};

// How many times as fast, geometric mean over the table; of the paper, of its own numbers, if it has them.
struct SetupRatios {
  double here = 0, paper = 0;
};

SetupRatios ratios_of(const SetupClaim& claim, const std::vector<SetupRow>& rows) {
  std::vector<double> here, paper;
  for (const SetupRow& row : rows) {
    if (row.microseconds[claim.fast] > 0) here.push_back(row.microseconds[claim.slow] / row.microseconds[claim.fast]);
    const double paper_fast = paper_of(setup_functions()[claim.fast], row.measured);
    const double paper_slow = paper_of(setup_functions()[claim.slow], row.measured);
    if (paper_fast > 0 && paper_slow > 0) paper.push_back(paper_slow / paper_fast);
  }
  return {geometric_mean(here), paper.empty() ? 0 : geometric_mean(paper)};
}

// "agrees"; empty where the paper says nothing.
std::string status_of(const SetupClaim& claim, double here) {
  const auto bounds = bounds_of(claim.paper);
  if (!bounds) return "";
  return std::string(to_text(word_of(*bounds, here, here)));
}

std::string setup_claim_line(const SetupClaim& claim, const std::string& scale, const std::vector<SetupRow>& rows) {
  const SetupRatios ratios = ratios_of(claim, rows);
  const std::string status = status_of(claim, ratios.here);
  std::string verdict = status.empty() ? "no number to compare with" : status;
  if (!status.empty() && !scale.empty()) verdict += " at this scale: " + scale;
  return fmt::format("| {} | {} over {} | {} | {} | {:.2f} | {} |\n", claim.text, setup_functions()[claim.fast].name,
                     setup_functions()[claim.slow].name, claim.paper,
                     ratios.paper > 0 ? fmt::format("{:.2f}", ratios.paper) : "-", ratios.here, verdict);
}

std::string repetitions_of(const std::vector<SetupRow>& rows) {
  std::size_t least = SIZE_MAX, most = 0;
  for (const SetupRow& row : rows) {
    least = std::min(least, row.repetitions);
    most = std::max(most, row.repetitions);
  }
  return least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most);
}

}  // namespace

const std::array<SetupFunction, setup_count>& setup_functions() {
  static const std::array<SetupFunction, setup_count> functions = {
      {{"MPI_Dist_graph_create_adjacent", "", &SetupCase::adjacent},
       {"MPI_Cart_rank, MPI_Dist_graph_create_adjacent", ""},
       {"MPI_Dist_graph_create", "", &SetupCase::general},
       {"Quadrille_Iso_neighborhood_create", "", &SetupCase::create},
       {"Quadrille_Neighbor_alltoall_init, direct", "direct"},
       {"Quadrille_Neighbor_alltoall_init, torus", "torus", &SetupCase::init},
       {"Quadrille_Neighbor_alltoall_init, torus-direct", "torus-direct"}}};
  return functions;
}

SetupRow measure_setups(MpiComm all, const SetupCase& one, long iterations) {
  int ranks = 1, me = 0;
  mpi().Comm_size(all, &ranks);
  mpi().Comm_rank(all, &me);
  const auto neighbors = make_neighbors(plan::moore(one.dimensions, one.radius), {}, ranks, me, false);
  const auto blocks = static_cast<std::size_t>(neighbors->size());
  Place place{all, make_cart(all, *neighbors), *neighbors, std::vector<double>(blocks), std::vector<double>(blocks)};
  std::array<std::vector<double>, setup_count> seconds;
  const double begin = mpi().Wtime();
  std::size_t done = 0;
  for (; !is_enough(all, done, iterations, begin); ++done) {
    for (const std::size_t i : order_of_round(done, setup_count)) seconds[i].push_back(time_function(place, i));
  }
  mpi().Comm_free(&place.cart);
  SetupRow row{one, neighbors->size(), done, {}};
  for (std::size_t i = 0; i < setup_count; ++i) row.microseconds[i] = quantile(seconds[i], 0.5) * 1e6;
  return row;
}

nlohmann::ordered_json to_json(const SetupRow& row) {
  nlohmann::ordered_json json = {{"dimensions", row.measured.dimensions},
                                 {"radius", row.measured.radius},
                                 {"neighbors", row.neighbors},
                                 {"repetitions", row.repetitions}};
  for (std::size_t i = 0; i < setup_count; ++i)
    json["us"][setup_functions()[i].name] = four_digits(row.microseconds[i]);
  return json;
}

nlohmann::ordered_json setup_claims(const Figure& figure, const FigureRun& run, const std::vector<SetupRow>& rows) {
  const std::string scale = other_scale(figure.least_ranks, figure.most_ranks, run.ranks);
  nlohmann::ordered_json claims = nlohmann::ordered_json::array();
  for (const SetupClaim& claim : setup_claim_list) {
    const double here = ratios_of(claim, rows).here;
    const std::string status = status_of(claim, here);
    claims.push_back({{"text", claim.text},
                      {"fast", setup_functions()[claim.fast].name},
                      {"slow", setup_functions()[claim.slow].name},
                      {"paper", claim.paper},
                      {"here", here},
                      {"verdict", status.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(status)}});
    if (!status.empty() && !scale.empty()) claims.back()["scale"] = scale;
  }
  return claims;
}

std::string setup_page(const Figure& figure, const FigureRun& run, const std::vector<SetupRow>& rows) {
  std::string text = page_head(figure, run);
  text +=
      fmt::format("Microseconds, median; repetitions: {}.\n\n```\n{}```\n\n", repetitions_of(rows), setup_lines(rows));
  text +=
      "How many times as fast, geometric mean over the table; of the paper, what its words are taken for, and its own "
      "numbers:\n\n"
      "| the paper says | compared | paper | its numbers | here | verdict |\n|---|---|---|---|---|---|\n";
  const std::string scale = other_scale(figure.least_ranks, figure.most_ranks, run.ranks);
  for (const SetupClaim& claim : setup_claim_list) text += setup_claim_line(claim, scale, rows);
  return text + fmt::format("\nMeasured at {}.\n", run.header.date);
}

}  // namespace quadrille::tools
