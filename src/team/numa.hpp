// In which domain of the machine this rank runs: a NUMA domain, or an L3 cache that is smaller. The orders of copies
// inside a node use it.
//
// hwloc says it. It is looked for at run time (libhwloc.so.15) and never linked, because a library
// that is loaded into every program must not bring others along.
#pragma once

#include <string>
#include <vector>

namespace quadrille::team {

// Where a rank is at home: the smallest of an L3 cache, a NUMA domain, a package and the whole machine that has all
// processors the calling thread may run on.
//   >= 0                   the number of the NUMA domain, as hwloc numbers them
//   >= first_cache_label   that of the L3 cache (cache_label), if its NUMA domain has more processors (AMD EPYC)
//   any_domain             several packages: it is not bound, or bound to processors far apart
//   below that             several domains of one package (package_label)
// Ranks with the same label are one domain of the orders, whatever the label: those that may run anywhere are together,
// and so are those of a package. Without hwloc, and on a machine of one domain: 0.
//
// Example, two NUMA domains of two L3 caches with four processors each: a rank that may run on processors 4-7 has
// cache_label(1), one on 0-7 or 3-4 has 0, one on 0-15 any_domain.
//
// `synthetic` describes another machine in hwloc's words, for example "package:2 numa:1 core:4
// pu:1"; then rank `rank_on_node` (>= 0) counts as bound to processing unit rank_on_node modulo
// their number; with "bind:numa", "bind:package" or "bind:none" as the last word, to the domain or package of that
// unit, or to nothing. It may come from the user: what hwloc does not understand gives 0. Empty: the real machine,
// where `rank_on_node` does not matter.
//
// Not collective, and not a value that all ranks know: agree on it before anything is chosen by it.
inline constexpr int any_domain = -1;
inline constexpr int first_cache_label = 1 << 20;  // no machine has so many NUMA domains
constexpr int package_label(int package) { return -2 - package; }
constexpr int cache_label(int cache) { return first_cache_label + cache; }
int numa_domain(int rank_on_node, const std::string& synthetic);

// The label of a rank at each processing unit of the machine that `synthetic` describes; empty if hwloc does not
// understand it.
std::vector<int> domains_of_units(const std::string& synthetic);

// The label of a thread that may run on `processors` ("0-3,8") of that machine. any_domain if that is no list of them.
int domain_of_processors(const std::string& synthetic, const std::string& processors);

// Empty if hwloc understands the description of another machine, else why not.
std::string check_topology(const std::string& synthetic);

// "2 NUMA domains: domain 0 has 2 ranks (0-1), domain 1 has 2 ranks (2-3)": of the ranks `members`, in order, by the
// labels of all ranks. With L3 caches among them "2 domains: L3 cache 0 has ...".
std::string describe_domains(const std::vector<int>& labels, const std::vector<int>& members);

}  // namespace quadrille::team
