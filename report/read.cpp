#include "report/read.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "collective/collective.hpp"
#include "report/matrix.hpp"
#include "report/places.hpp"
#include "team/record_file.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

namespace record = quadrille::record;

constexpr int most_ranks_of_samples = 128;
constexpr std::size_t samples_told = 2;
constexpr std::size_t most_edges = 1 << 16;  // of a communicator whose neighbours are told

// The file of one rank.
struct RankFile {
  std::string bytes;
  const record::File& file() const { return *reinterpret_cast<const record::File*>(bytes.data()); }
  const record::Header& header() const { return file().header; }
  // Null: there is none, or it is cut off.
  template <class Number>
  const Number* array(std::uint64_t offset, int numbers) const {
    const auto size = static_cast<std::uint64_t>(numbers) * sizeof(Number);
    if (offset == 0 || offset > bytes.size() || size > bytes.size() - offset) return nullptr;
    return reinterpret_cast<const Number*>(bytes.data() + offset);
  }
};

bool is_whole(const RankFile& one) {
  if (one.bytes.size() < sizeof(record::File)) return false;
  const record::Header& header = one.header();
  return header.magic == record::magic && header.rank >= 0 && header.rank < header.ranks &&
         header.communicators <= record::most_communicators && header.sites <= record::most_sites &&
         header.names <= record::most_names && header.entries <= record::most_entries;
}

// As they are, whole or not.
std::vector<RankFile> all_files(const std::string& folder) {
  std::vector<RankFile> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (!entry.path().filename().string().starts_with("rank-")) continue;
    RankFile one;
    if (read_whole(entry.path().string(), one.bytes).empty()) files.push_back(std::move(one));
  }
  return files;
}

std::vector<RankFile> read_files(const std::string& folder) {
  std::vector<RankFile> files = all_files(folder);
  std::erase_if(files, [](const RankFile& one) { return !is_whole(one); });
  std::sort(files.begin(), files.end(),
            [](const RankFile& a, const RankFile& b) { return a.header().rank < b.header().rank; });
  return files;
}

template <std::size_t size>
std::string text_of(const char (&text)[size]) {
  return {text, strnlen(text, size)};
}

double mean_of_samples(const record::Times& times) {
  if (times.sampled == 0) return 0;
  return static_cast<double>(times.sampled_nanoseconds) * 1e-9 / static_cast<double>(times.sampled);
}

// Standard deviation of a sample. Of a single one it is unknown: as much as the sample.
double spread_of_samples(const record::Times& times) {
  if (times.sampled < 2) return mean_of_samples(times);
  const auto count = static_cast<double>(times.sampled);
  const double mean = mean_of_samples(times), squares = times.sampled_squares * 1e-18;
  return std::sqrt(std::max(squares - count * mean * mean, 0.0) / (count - 1));
}

// Seconds of calls: of those that were timed, and of the rest, each of which is taken to last as long as the mean of
// the samples, with the standard error of that.
struct Seconds {
  double timed = 0, rest = 0, error = 0;
  double all() const { return timed + rest; }
};

Seconds seconds_of(const record::Times& times, std::uint64_t calls, const record::Times& samples) {
  Seconds seconds;
  seconds.timed = static_cast<double>(times.nanoseconds + times.sampled_nanoseconds) * 1e-9;
  const double rest = static_cast<double>(calls) - static_cast<double>(times.timed + times.sampled);
  if (rest <= 0 || samples.sampled == 0) return seconds;
  seconds.rest = rest * mean_of_samples(samples);
  seconds.error = rest * spread_of_samples(samples) * std::sqrt(1 / static_cast<double>(samples.sampled) + 1 / rest);
  return seconds;
}

Seconds seconds_of(const record::Entry& entry) { return seconds_of(entry.times, entry.calls, entry.times); }

// What is estimated on a rank is multiplied by this: a call cannot last longer than the run, but a few samples that
// were interrupted may stand for more. Where what was timed is longer, several threads were in calls at a time; how
// much there is room for is unknown then.
double scale_of(const record::File& file, double run) {
  Seconds sum;
  for (std::uint32_t e = 0; e < file.header.entries; ++e) {
    const Seconds one = seconds_of(file.entries[e]);
    sum.timed += one.timed, sum.rest += one.rest;
  }
  const bool fits = sum.all() <= run || sum.timed >= run;
  return fits ? 1 : (run - sum.timed) / sum.rest;
}

std::uint64_t calls_of(const record::File& file) {
  std::uint64_t calls = 0;
  for (std::uint32_t e = 0; e < file.header.entries; ++e) calls += file.entries[e].calls;
  return calls;
}

bool is_of_another_version(const RankFile& one) {
  std::uint64_t magic = 0;
  if (one.bytes.size() < sizeof magic) return false;
  std::memcpy(&magic, one.bytes.data(), sizeof magic);
  return magic != record::magic && (magic & record::mask_of_all) == (record::magic & record::mask_of_all);
}

// The edges of one rank.
struct Around {
  std::vector<int> sources, destinations;
};

// One communicator, as all of its ranks know it.
struct MergedCommunicator {
  std::string name;
  int ranks = 0, told = 0;
  unsigned made = 0;
  bool inter = false, has_matrix = true;
  std::vector<int> world_ranks;
  Matrix matrix;
  std::map<int, Around> around;  // by rank; of a communicator with neighbour calls
  bool around_differs = false;   // of communicators after each other
};

struct MergedWay {
  double calls = 0, seconds = 0;
};

struct MergedCall {
  std::vector<double> seconds;  // of the ranks that told
  double error = 0;             // the sum of theirs
  std::uint64_t calls = 0, timed = 0, bytes = 0, least = UINT64_MAX, most = 0, longest = 0;
  std::map<std::string, MergedWay> ways;
  std::map<std::uint64_t, std::map<int, std::vector<std::uint64_t>>> samples;  // by call and rank of the communicator
};

// What is the same on all ranks of calls that are alike.
struct CallKey {
  int communicator;
  std::uint8_t collective;
  record::Form form;
  std::uint8_t size_class;
  std::string object, symbol;
  std::uint64_t address, behind;
  std::uint32_t line;
  auto operator<=>(const CallKey&) const = default;
};

class Merger {
 public:
  explicit Merger(int ranks) : ranks_(ranks), traffic_(ranks, ranks <= record::most_ranks_with_matrix) {
    for (auto* list : {&seconds_, &in_calls_, &errors_, &recording_}) list->assign(static_cast<std::size_t>(ranks), 0);
    scales_.assign(static_cast<std::size_t>(ranks), 1);
    hosts_.assign(static_cast<std::size_t>(ranks), "");
    nodes_.assign(static_cast<std::size_t>(ranks), -1);
  }

  // Of all ranks before anything is added: a rank that had no room for who is in a communicator has that from another.
  void know_communicators(const RankFile& one) {
    for (std::uint32_t c = 0; c < one.header().communicators; ++c) know(one, one.file().communicators[c]);
  }

  void add(const RankFile& one) {
    const record::File& file = one.file();
    const auto rank = static_cast<std::size_t>(file.header.rank);
    hosts_[rank] = text_of(file.header.host);
    nodes_[rank] = file.header.node;
    const std::uint64_t end = file.header.end != 0 ? file.header.end : std::max(file.header.latest, file.header.begin);
    seconds_[rank] = static_cast<double>(end - file.header.begin) * 1e-9;
    finished_ += file.header.end != 0 ? 1 : 0;
    ++told_;
    recording_[rank] = seconds_of(file.header.own, calls_of(file), file.header.own).all();
    scales_[rank] = scale_of(file, seconds_[rank]);
    numbers_.clear();
    for (std::uint32_t c = 0; c < file.header.communicators; ++c) {
      numbers_.push_back(add_communicator(one, file.communicators[c]));
    }
    for (std::uint32_t e = 0; e < file.header.entries; ++e) {
      if (file.entries[e].calls > 0) add_entry(one, file.entries[e]);
    }
    errors_[rank] = std::sqrt(errors_[rank]);
    left_out_.communicators += file.header.communicators_lost;
    left_out_.sites += file.header.sites_lost;
    left_out_.entries += file.header.entries_lost;
    left_out_.names += file.header.names_lost;
    left_out_.bytes += file.header.unplaced;
  }

  bool is_empty() const { return calls_.empty(); }

  ReportData take() {
    ReportData data = {
        {"ranks", ranks_},   {"told", told_},          {"finished", finished_}, {"hosts", hosts_},
        {"node_of", nodes_}, {"seconds", seconds_},    {"in_calls", in_calls_}, {"in_calls_error", errors_},
        {"scale", scales_},  {"recording", recording_}};
    data["communicators"] = ReportData::array();
    for (const MergedCommunicator& one : communicators_) data["communicators"].push_back(told_of(one));
    data["traffic"] = traffic_.json();
    data["calls"] = calls();
    data["left_out"] = {{"communicators", left_out_.communicators},
                        {"sites", left_out_.sites},
                        {"entries", left_out_.entries},
                        {"names", left_out_.names},
                        {"bytes", left_out_.bytes}};
    return data;
  }

 private:
  int know(const RankFile& one, const record::Communicator& told) {
    const std::pair key(told.group, told.turn);
    const auto [at, is_new] = by_group_.try_emplace(key, static_cast<int>(communicators_.size()));
    if (is_new) {
      MergedCommunicator& made = communicators_.emplace_back();
      made.ranks = told.ranks;
      made.inter = told.is_inter != 0;
      made.matrix = Matrix(told.ranks, false);
    }
    MergedCommunicator& merged = communicators_[static_cast<std::size_t>(at->second)];
    const auto* const world = one.array<std::int32_t>(told.world_ranks, told.ranks);
    if (merged.world_ranks.empty() && world != nullptr && told.ranks == merged.ranks) {
      merged.world_ranks.assign(world, world + told.ranks);
      merged.matrix = Matrix(told.ranks, true);
    }
    return at->second;
  }

  int add_communicator(const RankFile& one, const record::Communicator& told) {
    const int number = know(one, told);
    MergedCommunicator& merged = communicators_[static_cast<std::size_t>(number)];
    ++merged.told;
    merged.made = std::max(merged.made, told.made);
    if (merged.name.empty()) merged.name = text_of(told.name);
    if (const auto* sent = one.array<std::uint64_t>(told.sent, told.ranks)) {
      for (int to = 0; to < told.ranks; ++to) add_bytes(merged, told.rank, to, sent[to]);
    }
    add_neighbors(one, told, merged);
    return number;
  }

  static void add_neighbors(const RankFile& one, const record::Communicator& told, MergedCommunicator& merged) {
    merged.around_differs = merged.around_differs || told.neighbors_differ != 0;
    const int sources = std::max(told.sources, 0), destinations = std::max(told.destinations, 0);
    if (const auto* list = one.array<std::int32_t>(told.neighbors, sources + destinations)) {
      merged.around[told.rank] = {{list, list + sources}, {list + sources, list + sources + destinations}};
    }
  }

  void add_bytes(MergedCommunicator& merged, int from, int to, std::uint64_t bytes) {
    if (bytes == 0 || merged.world_ranks.empty()) return;
    merged.matrix.add(from, to, bytes);
    const int world_from = merged.world_ranks[static_cast<std::size_t>(from)];
    const int world_to = merged.world_ranks[static_cast<std::size_t>(to)];
    const auto is_known = [&](int rank) { return rank >= 0 && rank < ranks_; };
    if (is_known(world_from) && is_known(world_to)) traffic_.add(world_from, world_to, bytes);
  }

  void add_entry(const RankFile& one, const record::Entry& entry) {
    const record::File& file = one.file();
    const bool known = entry.communicator >= 0 && static_cast<std::size_t>(entry.communicator) < numbers_.size();
    const int number = known ? numbers_[static_cast<std::size_t>(entry.communicator)] : -1;
    CallKey key{number, entry.collective, entry.form, entry.size_class, {}, {}, 0, 0, 0};
    if (entry.site >= 0 && static_cast<std::uint32_t>(entry.site) < file.header.sites) {
      const record::Site& site = file.sites[entry.site];
      key.object = text_of(site.object), key.symbol = text_of(site.symbol);
      key.address = site.address, key.behind = site.behind, key.line = site.line;
    }
    MergedCall& call = calls_[key];
    const auto from = static_cast<std::size_t>(file.header.rank);
    const Seconds seconds = seconds_of(entry);
    const double scale = scales_[from], all = seconds.timed + scale * seconds.rest, error = scale * seconds.error;
    in_calls_[from] += all, errors_[from] += error * error;
    call.seconds.push_back(all), call.error += error;
    call.calls += entry.calls, call.timed += entry.times.timed + entry.times.sampled, call.bytes += entry.bytes;
    call.least = std::min(call.least, entry.least_block), call.most = std::max(call.most, entry.most_block);
    call.longest = std::max(call.longest, entry.longest);
    add_ways(file, entry, scale * seconds.rest, call);
    if (!known) return;
    MergedCommunicator& communicator = communicators_[static_cast<std::size_t>(key.communicator)];
    const int rank = file.communicators[entry.communicator].rank;
    const CollectiveRow& row = row_of(static_cast<Collective>(entry.collective));
    // Blocks of one size to all were not added up for each rank.
    if (row.partners == Partners::all && !has_arrays(row.send) && communicator.ranks > 0) {
      const std::uint64_t each = entry.bytes / static_cast<std::uint64_t>(communicator.ranks);
      for (int to = 0; to < communicator.ranks; ++to) add_bytes(communicator, rank, to, each);
    }
    int blocks = communicator.ranks;
    if (row.partners == Partners::neighbors) {
      const auto around = communicator.around.find(rank);
      if (around == communicator.around.end()) return;
      blocks = static_cast<int>(around->second.destinations.size());
    }
    for (const record::Sample& sample : entry.samples) {
      const auto* bytes = sample.call > 0 ? one.array<std::uint64_t>(sample.bytes, blocks) : nullptr;
      if (bytes != nullptr) call.samples[sample.call][rank].assign(bytes, bytes + blocks);
    }
  }

  // `rest` is what was estimated of the entry: those of its algorithms together are not more.
  static void add_ways(const record::File& file, const record::Entry& entry, double rest, MergedCall& call) {
    const std::size_t count = std::min<std::size_t>(entry.ways_used, record::most_ways);
    std::vector<Seconds> seconds;
    double sum = 0;
    for (std::size_t w = 0; w < count; ++w) {
      const record::Way& way = entry.ways[w];
      seconds.push_back(seconds_of(way.times, way.calls, way.times.sampled > 0 ? way.times : entry.times));
      sum += seconds.back().rest;
    }
    const double scale = sum > rest ? rest / sum : 1;
    for (std::size_t w = 0; w < count; ++w) {
      MergedWay& merged = call.ways[text_of(file.names[entry.ways[w].name].text)];
      merged.calls += static_cast<double>(entry.ways[w].calls);
      merged.seconds += seconds[w].timed + scale * seconds[w].rest;
    }
  }

  ReportData told_of(const MergedCommunicator& one) const {
    ReportData told = {{"name", one.name},   {"ranks", one.ranks}, {"made", one.made},
                       {"inter", one.inter}, {"told", one.told},   {"world_ranks", one.world_ranks}};
    told.update(one.matrix.json());
    if (!one.around.empty()) told["neighbors"] = told_around(one);
    return told;
  }

  // Those of all ranks, or why not.
  static ReportData told_around(const MergedCommunicator& one) {
    if (one.around_differs) return {{"why", "communicators with different neighbours, one after the other"}};
    if (static_cast<int>(one.around.size()) != one.ranks) {
      return {{"why", "not all ranks have left their neighbours"}};
    }
    ReportData sources = ReportData::array(), destinations = ReportData::array();
    std::size_t edges = 0;
    for (const auto& [rank, around] : one.around) {
      edges += around.destinations.size();
      sources.push_back(around.sources);
      destinations.push_back(around.destinations);
    }
    if (edges > most_edges) return {{"why", fmt::format("more than {} edges between neighbours", most_edges)}};
    return {{"sources", std::move(sources)}, {"destinations", std::move(destinations)}};
  }

  // Those calls whose blocks all ranks have told, the latest first.
  ReportData samples_of(const CallKey& key, const MergedCall& call) const {
    ReportData all = ReportData::array();
    if (key.communicator < 0) return all;
    const int ranks = communicators_[static_cast<std::size_t>(key.communicator)].ranks;
    // Between neighbours there are fewer blocks.
    const bool dense = is_dense(static_cast<Collective>(key.collective));
    if (ranks > (dense ? most_ranks_of_samples : record::most_ranks_with_matrix)) return all;
    for (auto sample = call.samples.rbegin(); sample != call.samples.rend() && all.size() < samples_told; ++sample) {
      if (static_cast<int>(sample->second.size()) != ranks) continue;
      ReportData rows = ReportData::array();
      for (const auto& [rank, bytes] : sample->second) rows.push_back(bytes);
      all.push_back({{"call", sample->first}, {"bytes", std::move(rows)}});
    }
    return all;
  }

  ReportData calls() {
    std::vector<CodeAddress> addresses;
    for (const auto& [key, call] : calls_)
      addresses.push_back({key.object, key.symbol, key.address, key.behind, key.line});
    const std::vector<ReportData> places = describe_places(addresses);
    ReportData all = ReportData::array();
    std::size_t at = 0;
    for (const auto& [key, call] : calls_) {
      const auto told = static_cast<double>(call.seconds.size());
      double sum = 0;
      for (const double seconds : call.seconds) sum += seconds;
      ReportData by = ReportData::array();
      for (const auto& [name, way] : call.ways) {
        by.push_back({{"name", name}, {"calls", way.calls / told}, {"seconds", way.seconds / told}});
      }
      std::stable_sort(by.begin(), by.end(), [](const auto& a, const auto& b) { return a["calls"] > b["calls"]; });
      const char* const forms[] = {"blocking", "nonblocking", "persistent", "started", "enqueued"};
      all.push_back({{"collective", name_of(static_cast<Collective>(key.collective))},
                     {"form", forms[static_cast<int>(key.form)]},
                     {"communicator", key.communicator},
                     {"where", places[at++]},
                     {"told", call.seconds.size()},
                     {"calls", static_cast<double>(call.calls) / told},
                     {"bytes", call.bytes},
                     {"least", call.least == UINT64_MAX ? 0 : call.least},
                     {"most", call.most},
                     {"seconds",
                      {*std::min_element(call.seconds.begin(), call.seconds.end()), sum / told,
                       *std::max_element(call.seconds.begin(), call.seconds.end())}},
                     {"error", call.error / told},
                     {"longest", static_cast<double>(call.longest) * 1e-9},
                     {"timed", static_cast<double>(call.timed) / static_cast<double>(call.calls)},
                     {"by", std::move(by)},
                     {"samples", samples_of(key, call)}});
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a["seconds"][1] > b["seconds"][1]; });
    return all;
  }

  struct LeftOut {
    std::uint64_t communicators = 0, sites = 0, entries = 0, names = 0, bytes = 0;
  };
  int ranks_, told_ = 0, finished_ = 0;
  std::vector<std::string> hosts_;
  std::vector<int> nodes_;
  std::vector<double> seconds_, in_calls_, errors_, scales_, recording_;
  std::vector<MergedCommunicator> communicators_;
  std::map<std::pair<std::uint64_t, std::int32_t>, int> by_group_;
  std::vector<int> numbers_;  // of the communicators of the rank that is added
  std::map<CallKey, MergedCall> calls_;
  Matrix traffic_;
  LeftOut left_out_;
};

}  // namespace

bool has_records_of_another_version(const std::string& folder) {
  const std::vector<RankFile> files = all_files(folder);
  return std::any_of(files.begin(), files.end(), is_of_another_version);
}

ReportData read_recorded(const std::string& folder) {
  const std::vector<RankFile> files = read_files(folder);
  if (files.empty()) return nullptr;
  Merger merger(files.front().header().ranks);
  const auto is_of_the_program = [&](const RankFile& one) {
    return one.header().ranks == files.front().header().ranks;
  };
  for (const RankFile& one : files) {
    if (is_of_the_program(one)) merger.know_communicators(one);
  }
  for (const RankFile& one : files) {
    if (is_of_the_program(one)) merger.add(one);
  }
  return merger.is_empty() ? ReportData(nullptr) : merger.take();
}

}  // namespace quadrille::tools
