#include "lab/figure/facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "lab/commit.hpp"
#include "mpi/mpi.hpp"
#include "sys/sys.hpp"
#include "team/numa.hpp"
#include "tool/launch/launcher.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t binding_length = 64;

// "0-3,8"
std::string list_of(const sys::ProcessorSet& set) {
  std::string text;
  const auto has = [&](int p) { return p < sys::max_processors && set[static_cast<std::size_t>(p)]; };
  for (int p = 0; p < sys::max_processors; ++p) {
    if (!has(p)) continue;
    const int first = p;
    while (has(p + 1)) ++p;
    text += (text.empty() ? "" : ",") + (first == p ? fmt::format("{}", p) : fmt::format("{}-{}", first, p));
  }
  return text;
}

// "Linux 6.1.0": what a distribution adds says nothing of times.
std::string kernel_name() {
  utsname names{};
  if (uname(&names) != 0) return "";
  const std::string release = names.release;
  return fmt::format("{} {}", names.sysname, release.substr(0, release.find('-')));
}

int count_numa_nodes() {
  std::error_code error;
  int nodes = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/node", error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("node") && name.size() > 4 && name[4] >= '0' && name[4] <= '9') ++nodes;
  }
  return nodes;
}

struct Told {
  std::array<char, binding_length> binding{};
  int domain = 0;
};

// The same on all ranks.
std::vector<Told> tell_all(const Told& mine) {
  int ranks = 0;
  mpi().Comm_size(mpi().comm_world, &ranks);
  std::vector<Told> all(static_cast<std::size_t>(ranks));
  const int bytes = static_cast<int>(sizeof(Told));
  mpi().Gather(&mine, bytes, mpi().byte, all.data(), bytes, mpi().byte, 0, mpi().comm_world);
  mpi().Bcast(all.data(), bytes * ranks, mpi().byte, 0, mpi().comm_world);
  return all;
}

std::vector<std::string> words_of_process(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

std::string parent_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("PPid:")) return line.substr(line.find_first_not_of(" \t", 5));
  }
  return "";
}

std::string without_folders(const std::string& word) {
  const std::size_t slash = word.rfind('/');
  return slash == std::string::npos ? word : word.substr(slash + 1);
}

bool is_launcher(const std::vector<std::string>& words) {
  if (words.empty()) return false;
  const std::string name = without_folders(words[0]);
  for (const char* known : {"mpirun", "mpiexec", "orterun", "prterun", "srun"}) {
    if (name.starts_with(known)) return true;
  }
  return false;
}

// What the page says of where results go changes nothing in them, and local folders are nobody's business.
std::string line_of(const std::vector<std::string>& words) {
  std::string line;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with("--results=")) continue;
    if (words[i] == "--results") {
      ++i;
      continue;
    }
    line += (line.empty() ? "" : " ") + without_folders(words[i]);
  }
  return line;
}

// "32 KiB"
std::string size_text(std::size_t bytes) {
  if (bytes == 0) return "?";
  return bytes % 1024 == 0 ? fmt::format("{} KiB", bytes / 1024) : fmt::format("{} B", bytes);
}

template <class Value>
void get(const ordered_json& json, const char* name, Value& value) {
  if (json.contains(name)) json.at(name).get_to(value);
}

}  // namespace

RunFacts collect_facts() {
  RunFacts facts;
  facts.commit = QUADRILLE_COMMIT;
  facts.kernel = kernel_name();
  facts.clock = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  facts.l1 = sys::cache_bytes(1);
  facts.l2 = sys::cache_bytes(2);
  facts.l3 = sys::cache_bytes(3);
  facts.numa_nodes = count_numa_nodes();
  Told mine;
  list_of(sys::allowed_processors()).copy(mine.binding.data(), binding_length - 1);
  mine.domain = team::numa_domain(std::max(local_rank_of_launcher(), 0), sys::environment("QUADRILLE_TOPOLOGY"));
  for (const Told& one : tell_all(mine)) {
    facts.binding.emplace_back(one.binding.data());
    facts.domains.push_back(one.domain);
  }
  return facts;
}

std::string launcher_line() {
  std::string pid = fmt::format("{}", getppid());
  for (int generation = 0; generation < 5 && !pid.empty() && pid != "0"; ++generation) {
    const std::vector<std::string> words = words_of_process(pid);
    if (is_launcher(words)) return line_of(words);
    pid = parent_of(pid);
  }
  return "";
}

ordered_json to_json(const RunFacts& facts) {
  return {{"commit", facts.commit},         {"kernel", facts.kernel},
          {"clock", facts.clock},           {"l1_bytes", facts.l1},
          {"l2_bytes", facts.l2},           {"l3_bytes", facts.l3},
          {"numa_nodes", facts.numa_nodes}, {"binding", facts.binding},
          {"domains", facts.domains},       {"runs", facts.runs}};
}

RunFacts facts_from(const ordered_json& json) {
  RunFacts facts;
  get(json, "commit", facts.commit);
  get(json, "kernel", facts.kernel);
  get(json, "clock", facts.clock);
  get(json, "l1_bytes", facts.l1);
  get(json, "l2_bytes", facts.l2);
  get(json, "l3_bytes", facts.l3);
  get(json, "numa_nodes", facts.numa_nodes);
  get(json, "binding", facts.binding);
  get(json, "domains", facts.domains);
  get(json, "runs", facts.runs);
  return facts;
}

std::string facts_line(const RunFacts& facts) {
  if (facts.kernel.empty()) return "";
  const std::set<std::string> bindings(facts.binding.begin(), facts.binding.end());
  const std::string bound = bindings.size() == 1
                                ? "every rank may run on processors " + *bindings.begin()
                                : fmt::format("ranks bound to processors {}", fmt::join(facts.binding, "; "));
  const std::string commit = facts.commit.empty() ? "of unknown commit" : "at " + facts.commit;
  return fmt::format("Quadrille {}, {}, clock {}, caches {} / {} / {}, {} NUMA node{}, {}.", commit, facts.kernel,
                     facts.clock, size_text(facts.l1), size_text(facts.l2), size_text(facts.l3), facts.numa_nodes,
                     facts.numa_nodes == 1 ? "" : "s", bound);
}

}  // namespace quadrille::tools
