// Which NUMA domain this rank lives on. The orders of copies inside a node use it.
//
// hwloc says it. It is looked for at run time (libhwloc.so.15) and never linked, because a library
// that is loaded into every program must not bring others along.
#pragma once

#include <string>
#include <vector>

namespace quadrille::team {

// The number of the NUMA domain, from 0 on, that the calling thread is bound to, as hwloc numbers
// them. Without hwloc, on any failure, and if the thread is bound to no single domain: 0.
//
// `synthetic` describes another machine in hwloc's words, for example "package:2 numa:1 core:4
// pu:1"; then rank `rank_on_node` (>= 0) counts as bound to processing unit rank_on_node modulo
// their number. It may come from the user: what hwloc does not understand gives 0. Empty: the real
// machine, where `rank_on_node` does not matter.
//
// Not collective, and not a value that all ranks know: agree on it before anything is chosen by it.
int numa_domain(int rank_on_node, const std::string& synthetic);

// The NUMA domain of each processing unit of the machine that `synthetic` describes; empty if hwloc does not understand
// it.
std::vector<int> domains_of_units(const std::string& synthetic);

// Empty if hwloc understands the description of another machine, else why not.
std::string check_topology(const std::string& synthetic);

}  // namespace quadrille::team
