// On what and how a figure was measured: what somebody needs who wants to repeat it.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace quadrille::tools {

struct RunFacts {
  std::string commit;                  // of the sources, "+" behind it if they were changed; empty: unknown
  std::string kernel, clock;           // "Linux 6.1.0", "tsc"
  std::size_t l1 = 0, l2 = 0, l3 = 0;  // bytes of the data caches; 0: unknown
  int numa_nodes = 0;                  // 0: unknown
  std::vector<std::string> binding{};  // [rank]: processors that it may run on, "0-3,8"
  std::vector<int> domains{};          // [rank]: its NUMA domain
  int runs = 1;                        // whole runs
};

// Collective: every rank learns all of it.
RunFacts collect_facts();
// How the launcher was started, without folders; empty if that cannot be seen.
std::string launcher_line();

nlohmann::ordered_json to_json(const RunFacts& facts);
RunFacts facts_from(const nlohmann::ordered_json& json);
// One line for the page; empty if nothing is known.
std::string facts_line(const RunFacts& facts);

}  // namespace quadrille::tools
