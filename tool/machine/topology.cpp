#include "tool/machine/topology.hpp"

#include <fmt/core.h>

#include "sys/sys.hpp"
#include "team/numa.hpp"

namespace quadrille::tools {

std::string read_topology(std::vector<int>& unit_domains) {
  unit_domains.clear();
  const std::string text = sys::environment("QUADRILLE_TOPOLOGY");
  if (text.empty()) return "";
  unit_domains = team::domains_of_units(text);
  if (!unit_domains.empty()) return "";
  const std::string why = team::check_topology(text);
  return fmt::format("QUADRILLE_TOPOLOGY=\"{}\": {}", text, why.empty() ? "hwloc makes no machine of it" : why);
}

}  // namespace quadrille::tools
