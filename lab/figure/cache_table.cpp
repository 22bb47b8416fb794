#include "lab/figure/cache_table.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/cache/equations.hpp"
#include "lab/cache/misses.hpp"
#include "lab/figure/claims.hpp"

namespace quadrille::tools {
namespace counted_caches {
namespace {

using lab::Start;
using nlohmann::ordered_json;

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;
// Four Xeon E7-8890 v3 of 18 cores.
constexpr int ranks = 72, sockets = 4;
constexpr std::size_t line_bytes = 64, fetched_together = 256;
constexpr std::array<std::size_t, 6> sizes = {8, 64, 512, 4 * KiB, 32 * KiB, 2 * MiB};
constexpr std::array<const char*, 3> lines = {"SH-Naive", "SH-CO", "SH-NUMA-CO"};
constexpr std::array<const char*, 3> algorithms = {"sh-naive", "sh-co", "sh-numa-co"};

struct Level {
  const char* name;
  std::size_t bytes;
  bool of_socket;
};
constexpr std::array<Level, 3> levels = {{{"L1", 32 * KiB, false}, {"L2", 256 * KiB, false}, {"L3", 45 * MiB, true}}};

// What the paper counted, a process: [level][size][line].
using Counted = std::array<std::array<std::array<int, 3>, 6>, 3>;

struct Table {
  const char* name;
  const char* title;
  const char* reading;  // what the numbers say
  Collective collective;
  Counted paper;
};

constexpr Table allgather = {
    "co-table-1",
    "Cache-oblivious paper, table 1: cache misses of MPI_Allgather",
    "With a rank's own buffers in its caches at the start, as the paper measured (figure 9), Morton order brings in "
    "1.4 to "
    "2.3 times fewer lines where blocks are smaller than a line, or the buffers do not fit the cache and blocks are of "
    "such "
    "sizes that a send block can be used again; none for the largest. Where the buffers fit and a block is a line or "
    "more "
    "(64 bytes, in the L2 also 512), the counts say the opposite of the paper's counters: rows write nothing but what "
    "is "
    "there. Empty caches, as the paper's equations take them, would agree with more of its numbers, but they are not "
    "what it "
    "measured: these tables are not judged.",
    Collective::allgather,
    {{{{{292, 149, 204},
        {385, 239, 301},
        {1557, 967, 1077},
        {9644, 6667, 7254},
        {75052, 75152, 75010},
        {4736648, 4735659, 4736010}}},
      {{{250, 86, 141},
        {323, 133, 208},
        {925, 543, 840},
        {8134, 4260, 4888},
        {56759, 36232, 37314},
        {4684743, 4708920, 4692626}}},
      {{{12, 14, 12}, {15, 33, 17}, {43, 163, 42}, {108, 1078, 111}, {3317, 5951, 2931}, {682473, 1039694, 705242}}}}}};

constexpr Table alltoall = {"co-table-2",
                            "Cache-oblivious paper, table 2: cache misses of MPI_Alltoall",
                            "Each block of an all-to-all is read once and written once. So Morton order can only gain "
                            "where several blocks lie in what "
                            "comes together: with lines of 64 bytes none from blocks of 64 bytes on, with 256 bytes at "
                            "a time as much as the paper saw at "
                            "64. The paper's gain at 512 bytes and 4 KiB needs prefetching over the ends of blocks, as "
                            "its authors say. That is so with empty caches. With a rank's own buffers in its "
                            "caches, as the paper measured (figure 9), and as is judged, rows come off better where "
                            "these fit, but for the smallest blocks.",
                            Collective::alltoall,
                            {{{{{296, 189, 228},
                                {437, 313, 341},
                                {1681, 1279, 1338},
                                {10508, 9228, 9302},
                                {75209, 75184, 75351},
                                {4724670, 4728056, 4699975}}},
                              {{{274, 111, 148},
                                {354, 210, 259},
                                {1109, 846, 886},
                                {8419, 7076, 7221},
                                {60318, 58944, 57524},
                                {4644480, 4625977, 4450142}}},
                              {{{18, 31, 18},
                                {64, 70, 59},
                                {446, 482, 349},
                                {1565, 1739, 1256},
                                {17620, 19899, 15693},
                                {1391704, 1452379, 1399442}}}}}};

// So that other processors, which round sums otherwise, come to the same data.
double four_places(double number) { return std::round(number * 1e4) / 1e4; }

const char* name_of(Start start) { return start == Start::empty ? "empty" : "own buffers"; }

// ---- Counting ----

using Orders = std::array<lab::CopiesOfRanks, 3>;

std::vector<int> domains_of_ranks() {
  std::vector<int> domains;
  for (int rank = 0; rank < ranks; ++rank) domains.push_back(rank * sockets / ranks);
  return domains;
}

ordered_json count_row(const Table& table, const Orders& orders, std::size_t level, std::size_t line, std::size_t size,
                       Start start) {
  lab::Cache cache{levels[level].bytes, line, {}};
  if (levels[level].of_socket) cache.sharing = domains_of_ranks();
  const lab::Buffers buffers = lab::buffers_of(table.collective, ranks, sizes[size]);
  ordered_json row = {
      {"cache", levels[level].name}, {"line_bytes", line}, {"start", name_of(start)}, {"bytes", sizes[size]}};
  std::array<double, 3> here{};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    here[i] = static_cast<double>(lab::count_misses_in_pieces(orders[i], buffers, cache, start)) / ranks;
    row["misses"][lines[i]] = four_places(here[i]);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) row["paper"][lines[i]] = table.paper[level][size][i];
  for (std::size_t i = 1; i < lines.size(); ++i) {
    row["naive_over"][lines[i]] = here[i] > 0 ? four_places(here[0] / here[i]) : 1;
    row["paper_naive_over"][lines[i]] = four_places(static_cast<double>(table.paper[level][size][0]) /
                                                    static_cast<double>(table.paper[level][size][i]));
  }
  return row;
}

// Caches of a core are counted empty, as the equations do, and as figure 9 leaves them; that of a socket as figure 9
// does: of an empty one nothing can be read but that each line has to come once.
ordered_json count_all(const Table& table) {
  Orders orders;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    orders[i] = lab::copies_of(table.collective, algorithms[i], ranks, domains_of_ranks());
  }
  ordered_json rows = ordered_json::array();
  const auto add = [&](std::size_t level, std::size_t line, Start start) {
    for (std::size_t size = 0; size < sizes.size(); ++size) {
      rows.push_back(count_row(table, orders, level, line, size, start));
    }
  };
  for (const std::size_t level : {0, 1}) add(level, line_bytes, Start::empty);
  add(1, fetched_together, Start::empty);
  for (const std::size_t level : {0, 1, 2}) add(level, line_bytes, Start::own_buffers);
  return rows;
}

// ---- The equations ----

ordered_json equation_row(const Table& table, const Level& level, std::size_t bytes) {
  const lab::IdealCache c{ranks, static_cast<double>(bytes), static_cast<double>(level.bytes), line_bytes, line_bytes};
  const lab::Case which = lab::case_of(c);
  const bool gathers = table.collective == Collective::allgather;
  return {{"cache", level.name},
          {"bytes", bytes},
          {"naive", four_places((gathers ? lab::allgather_naive(c) : lab::alltoall_naive(c)) / ranks)},
          {"naive_equation", gathers ? 4 : 1},
          {"co", four_places((gathers ? lab::allgather_co(c) : lab::alltoall_co(c)) / ranks)},
          {"co_equation", gathers ? lab::equation_of_allgather_co(which) : 2},
          {"bound", four_places((gathers ? lab::allgather_co_bound(c) : lab::alltoall_co_bound(c)) / ranks)},
          {"bound_equation", gathers ? lab::equation_of_allgather_co_bound(which) : 3}};
}

ordered_json equations_of(const Table& table) {
  ordered_json rows = ordered_json::array();
  for (const Level& level : levels) {
    if (level.of_socket) continue;
    for (const std::size_t bytes : sizes) rows.push_back(equation_row(table, level, bytes));
  }
  return rows;
}

ordered_json compute_table(const Table& table) {
  ordered_json json;
  json["figure"] = table.name;
  json["command"] = fmt::format("quadrille-lab bench --figure {}", table.name);
  json["ranks"] = ranks;
  json["sockets"] = sockets;
  for (const Level& level : levels) {
    json["caches"].push_back(
        {{"name", level.name}, {"bytes", level.bytes}, {"ranks", level.of_socket ? ranks / sockets : 1}});
  }
  json["counts"] = count_all(table);
  json["equations"] = equations_of(table);
  return json;
}

// ---- Verdicts ----

bool is_counted(const ordered_json& row, Start start) {
  return row.at("start") == name_of(start) && row.at("line_bytes") == line_bytes;
}

// Which counts the paper's are compared with: its tables were measured "using the benchmark in Figure 9".
bool is_judged(const ordered_json& row) { return is_counted(row, Start::own_buffers); }

// Blocks as large as the cache: whatever the order, no line is there when it is wanted again.
std::string why_no_other_way(const ordered_json& json, const ordered_json& row) {
  for (const ordered_json& cache : json.at("caches")) {
    if (cache.at("name") != row.at("cache") || row.at("bytes") < cache.at("bytes")) continue;
    return because(no_other_way, "a block fills the cache");
  }
  return "";
}

ordered_json claims_of_table(const ordered_json& json) {
  ordered_json claims = ordered_json::array();
  for (const ordered_json& row : json.at("counts")) {
    if (!is_judged(row)) continue;
    for (std::size_t i = 1; i < lines.size(); ++i) {
      claims.push_back(claim_of_number(
          fmt::format("{}, {} bytes: fewer misses", row["cache"].get<std::string>(), row["bytes"].get<std::size_t>()),
          lines[i], lines[0], fmt::format("{:.2f}", row.at("paper_naive_over").at(lines[i]).get<double>()),
          row.at("naive_over").at(lines[i]), why_no_other_way(json, row)));
    }
  }
  return claims;
}

// ---- The page ----

std::string counts_text(const ordered_json& counts, const char* cache, Start start, std::size_t line) {
  std::string text = fmt::format("{:>8}", "bytes");
  for (const char* one : lines) text += fmt::format(" {:>12} {:>8}", one, "paper");
  text += fmt::format(" {:>10} {:>6} {:>10} {:>6}\n", "naive/CO", "paper", "naive/NUMA", "paper");
  for (const ordered_json& row : counts) {
    if (row.at("cache") != cache || row.at("start") != name_of(start) || row.at("line_bytes") != line) continue;
    text += fmt::format("{:>8}", row.at("bytes").get<std::size_t>());
    for (const char* one : lines) {
      text +=
          fmt::format(" {:>12.0f} {:>8}", row.at("misses").at(one).get<double>(), row.at("paper").at(one).get<int>());
    }
    for (std::size_t i = 1; i < lines.size(); ++i) {
      text += fmt::format(" {:>10.2f} {:>6.2f}", row.at("naive_over").at(lines[i]).get<double>(),
                          row.at("paper_naive_over").at(lines[i]).get<double>());
    }
    text += '\n';
  }
  return "```\n" + text + "```\n\n";
}

// As the equations take it.
double counted(const ordered_json& json, const ordered_json& equation, const char* line) {
  for (const ordered_json& row : json.at("counts")) {
    if (row.at("cache") == equation.at("cache") && row.at("bytes") == equation.at("bytes") &&
        is_counted(row, Start::empty)) {
      return row.at("misses").at(line);
    }
  }
  return 0;
}

std::string equations_text(const ordered_json& json) {
  std::string text = fmt::format("{:>8} {:>6} {:>11} {:>11} {:>15} {:>11} {:>16}\n", "bytes", "cache", "naive, (eq)",
                                 "counted", "SH-CO, (eq)", "counted", "bound, (eq)");
  for (const ordered_json& row : json.at("equations")) {
    const auto with_number = [&](const char* name) {
      return fmt::format("{:.0f} ({})", row.at(name).get<double>(), row.at(std::string(name) + "_equation").get<int>());
    };
    text += fmt::format("{:>8} {:>6} {:>11} {:>11.0f} {:>15} {:>11.0f} {:>16}\n", row.at("bytes").get<std::size_t>(),
                        row.at("cache").get<std::string>(), with_number("naive"), counted(json, row, lines[0]),
                        with_number("co"), counted(json, row, lines[1]), with_number("bound"));
  }
  return "```\n" + text + "```\n\n";
}

std::string table_page(const Table& table, const ordered_json& json) {
  std::string text = fmt::format("# {}\n\n", table.title);
  text += fmt::format(
      "Counted, not measured: `{}` runs the copies of the three orders' own schedules, of {} ranks on {} sockets, "
      "through caches "
      "that are fully associative and let the line go that was used least recently. The paper read the counters of "
      "four Xeon "
      "E7-8890 v3 with {} ranks. Numbers are lines a rank, mean over the ranks; lines have {} bytes. Left out are "
      "instructions, "
      "other data, what caches do to each other's lines, and prefetching.\n\n",
      json.at("command").get<std::string>(), ranks, sockets, ranks, line_bytes);
  text += std::string(table.reading) + "\n\n";
  const ordered_json& counts = json.at("counts");
  for (const char* cache : {"L1", "L2"}) {
    text += fmt::format("{} of a rank, empty at the start, as the paper's equations take it; not judged:\n\n", cache);
    text += counts_text(counts, cache, Start::empty, line_bytes);
  }
  text += fmt::format("L2 of a rank, empty, if {} bytes always come together, as with prefetching; not judged:\n\n",
                      fetched_together);
  text += counts_text(counts, "L2", Start::empty, fetched_together);
  for (const char* cache : {"L1", "L2"}) {
    text += fmt::format("{} of a rank that has walked through its own two buffers, as figure 9 of the paper says:\n\n",
                        cache);
    text += counts_text(counts, cache, Start::own_buffers, line_bytes);
  }
  text += "L3 that the ranks of a socket share, copy by copy in turn, after figure 9:\n\n";
  text += counts_text(counts, "L3", Start::own_buffers, line_bytes);
  text +=
      "The paper's equations with these caches and lines, a rank; a bound is the term inside its O(). They take no "
      "account of "
      "what an order cuts off at its ends:\n\n";
  text += equations_text(json);
  text +=
      "How many times as many lines SH-Naive brings in. Judged are the tables after figure 9, as the paper's tables "
      "were "
      "measured so; a number agrees if it is 0.8 to 1.25 times the paper's, and more than 1 where the paper has 1.1 or "
      "more:\n\n";
  text += claims_table(claims_of_table(json));
  return text;
}

ComputedFigure figure_of(const Table& table) {
  return {table.name, [table] { return compute_table(table); }, claims_of_table,
          [table](const ordered_json& json) { return table_page(table, json); }};
}

}  // namespace
}  // namespace counted_caches

std::vector<ComputedFigure> cache_tables() {
  return {counted_caches::figure_of(counted_caches::allgather), counted_caches::figure_of(counted_caches::alltoall)};
}

}  // namespace quadrille::tools
