#include "tool/doctor/limits.hpp"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>

namespace quadrille::tools {
namespace {

constexpr std::uint64_t enough_descriptors = 256, little_memory = std::uint64_t{1} << 30,
                        enough_addresses = std::uint64_t{64} << 30;

std::uint64_t limit_of(int resource) {
  rlimit limit{};
  return getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY
             ? no_limit
             : limit.rlim_cur;
}

// Of a control group: a number, or "max".
std::uint64_t number_or_none(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // Version 1 writes a number of about 2^63 for none.
  return error == std::errc{} && end == text.data() + text.size() && number < (std::uint64_t{1} << 60) ? number
                                                                                                       : no_limit;
}

std::string amount(std::uint64_t bytes) {
  return bytes >= (std::uint64_t{10} << 30) ? fmt::format("{} GiB", bytes >> 30) : fmt::format("{} MiB", bytes >> 20);
}

std::string how_to_allow_copies(const std::string& container) {
  if (container == "Docker" || container == "Podman") return "start the container with --cap-add=SYS_PTRACE";
  if (!container.empty()) return "ask for the right to use process_vm_readv (CAP_SYS_PTRACE)";
  return "ask your administrator for /proc/sys/kernel/yama/ptrace_scope 0";
}

}  // namespace

Limits read_limits(const System& system) {
  Limits limits;
  limits.address_space = limit_of(RLIMIT_AS);
  limits.descriptors = limit_of(RLIMIT_NOFILE);
  limits.file_bytes = limit_of(RLIMIT_FSIZE);
  limits.memory = std::min(number_or_none(system.first_line("/sys/fs/cgroup/memory.max")),
                           number_or_none(system.first_line("/sys/fs/cgroup/memory/memory.limit_in_bytes")));
  limits.overcommit = system.first_line("/proc/sys/vm/overcommit_memory");
  if (system.exists("/.dockerenv")) limits.container = "Docker";
  if (system.exists("/run/.containerenv")) limits.container = "Podman";
  for (const char* name : {"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"}) {
    if (!system.environment(name).empty()) limits.container = "Apptainer";
  }
  return limits;
}

Findings judge_limits(const Limits& limits) {
  Findings findings;
  const auto note = [&](const char* of, std::string what, std::string advice) {
    findings.push_back({Level::note, of, std::move(what), std::move(advice)});
  };
  if (limits.address_space < enough_addresses) {
    note("address space", fmt::format("limited to {} for each process", amount(limits.address_space)),
         "ulimit -v unlimited: the shared heap maps the memory of the node's other ranks");
  }
  if (limits.descriptors < enough_descriptors) {
    note("descriptors", fmt::format("at most {} for each process", limits.descriptors), "ulimit -n 1024");
  }
  if (limits.file_bytes != no_limit) {
    note("file size", fmt::format("limited to {}, and so are segments of shared memory", amount(limits.file_bytes)),
         "ulimit -f unlimited");
  }
  if (limits.memory < little_memory) {
    note("memory", fmt::format("the job's control group has {}", amount(limits.memory)),
         "ask the batch system for more memory (Slurm: --mem): the shared heap counts like any memory");
  }
  if (limits.overcommit == "2") {
    note("memory", "the system does not overcommit memory (vm.overcommit_memory 2)",
         "QUADRILLE_HEAP_BYTES=1G keeps the shared heap's segments small");
  }
  if (findings.empty()) findings.push_back({Level::good, "limits", "sufficient", ""});
  if (!limits.container.empty()) {
    findings.push_back({Level::good, "container",
                        fmt::format("{}: all ranks of a node must be in one container, or share its "
                                    "network and process namespaces",
                                    limits.container),
                        ""});
  }
  return findings;
}

Findings judge_ways(const std::vector<Reach>& ways, const Limits& limits) {
  Findings findings;
  const auto is_there = [&](std::string_view name) {
    return std::any_of(ways.begin(), ways.end(), [&](const Reach& way) { return way.name == name && way.available; });
  };
  std::string names;
  for (const Reach& way : ways) {
    if (way.available) names += (names.empty() ? "" : ", ") + way.name;
  }
  if (names.empty()) {
    findings.push_back(
        {Level::bad, "node",
         "ranks of this machine cannot access each other's memory: all but small blocks are forwarded to the MPI",
         "'quadrille info' shows the reasons"});
    return findings;
  }
  findings.push_back({Level::good, "node", fmt::format("ranks reach each other's memory by {}", names), ""});
  for (const Reach& way : ways) {
    if (way.available || way.name == "xpmem") continue;  // hardly any machine has it
    const bool copies = way.name.starts_with("cma");
    // With the heap and rings there is a way for all blocks; the kernel's copy is one faster for memory that is not in
    // the heap.
    findings.push_back({Level::note, way.name, way.detail, copies ? how_to_allow_copies(limits.container) : ""});
    if (way.name == "cma-write" && !is_there("cma-read")) findings.pop_back();  // for the same reason
  }
  return findings;
}

Findings judge_settings(const std::vector<std::string>& names,
                        const std::function<std::string(const std::string&)>& guess,
                        const std::vector<std::string>& warnings, bool is_off) {
  Findings findings;
  std::string all;
  for (const std::string& name : names) {
    all += (all.empty() ? "" : ", ") + name;
    if (const std::string meant = guess(name); !meant.empty()) {
      findings.push_back(
          {Level::note, "setting", fmt::format("unknown variable {}", name), fmt::format("did you mean {}?", meant)});
    }
  }
  for (const std::string& warning : warnings) findings.push_back({Level::note, "setting", warning, ""});
  if (is_off) {
    findings.push_back({Level::bad, "setting", "QUADRILLE=off: nothing is served", "unset QUADRILLE"});
  }
  if (findings.empty() && !all.empty()) findings.push_back({Level::good, "settings", all, ""});
  return findings;
}

}  // namespace quadrille::tools
