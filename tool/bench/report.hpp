// What `quadrille bench` prints and writes.
#pragma once

#include <cstdint>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tool/bench/data.hpp"
#include "tool/bench/device/facts.hpp"
#include "tool/bench/late.hpp"
#include "tool/bench/overlap.hpp"
#include "tool/bench/statistics.hpp"
#include "tool/bench/timing.hpp"
#include "tool/machine/counters.hpp"
#include "tool/machine/quiet.hpp"

namespace quadrille::tools {

// Microseconds of a step: a call, with its buffers written before and read after it.
struct StepColumns {
  double mpi = 0, quadrille = 0;  // medians
  double ratio = 0, pair_ratio = 0;
};
// Each has a value a round.
StepColumns step_columns(std::span<const double> mpi, std::span<const double> quadrille);

// One size with one algorithm against the MPI. Times in microseconds.
struct BenchRow {
  BenchCase measured;
  int nodes = 1;
  std::string algorithm;  // as asked for
  std::string served_by;  // what carried the calls out
  std::string path{};     // of data in a GPU's memory: "straight" from and to it, "over host", or "in chunks" over it
  Summary mpi, quadrille;
  double ratio = 0;            // of the medians
  double pair_ratio = 0;       // median over the rounds
  std::size_t bytes_sent = 0;  // by a rank in a call, mean over the ranks
  double mean_bytes = 0;       // of a block, over all ranks
  std::size_t max_bytes = 0;   // of the largest block of all ranks
  std::uint64_t errors = 0;
  long batches = 0, calls_per_batch = 0, mpi_calls_per_batch = 0;
  bool cold = false;
  Ceiling ceiling;                                  // of plain copies, if it was measured for this row
  std::vector<Count> mpi_events, quadrille_events;  // a call and rank; empty: not asked for
  std::optional<LateColumns> late{};                // with --late
  std::optional<StepColumns> step{};                // with --touch; the other times are those of calls in the steps
  std::vector<double> mpi_samples{}, samples{};     // the times of the batches
  std::optional<OverlapColumns> overlap{};  // with --overlap; `mpi` and `quadrille` are then to start and wait alone
};

struct BenchHeader {
  std::string version, mpi, mpi_library, cpu, date;
  std::string no_counters{};            // why --counters counted nothing
  SetupTimes setup{};                   // of a neighbourhood
  std::optional<DeviceFacts> device{};  // of data in a GPU's memory
  std::optional<Quietness> quiet{};     // of the machines, before anything was measured
};

// The row with the names of the JSON and CSV columns, in their order.
nlohmann::ordered_json to_json(const BenchRow& row);
nlohmann::ordered_json to_json(const BenchHeader& header);

// Both return an empty string, or one line when the file cannot be written.
std::string write_json(const std::string& file, const BenchHeader& header, const std::vector<BenchRow>& rows);
std::string write_csv(const std::string& file, const std::vector<BenchRow>& rows);

std::string table_head(const BenchHeader& header, const BenchCase& measured, bool cold,
                       const std::optional<Late>& late = std::nullopt, bool touched = false);
std::string table_line(const BenchRow& row);
// The same with --overlap, with so many calls of Test.
std::string overlap_head(const BenchHeader& header, const BenchCase& measured, int tests);
std::string overlap_line(const BenchRow& row);

// A line about the set-up of a neighbourhood; empty if there is none.
std::string setup_line(const SetupTimes& setup);

// The part of the ceiling that the row reaches: 1 is all of it; 0 if there is none.
double part_of_ceiling(const BenchRow& row);

// A line about the counters of a row, or one about why there are none; empty if nobody asked.
std::string events_line(const BenchRow& row);
// One line if none of the events can be counted, else empty.
std::string why_no_events(const std::vector<Count>& counts);

// Megabytes (10^6 bytes) a second.
double bandwidth(std::size_t bytes, double microseconds);

}  // namespace quadrille::tools
