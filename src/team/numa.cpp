#include "team/numa.hpp"

#include <dlfcn.h>
#include <hwloc.h>

namespace quadrille::team {
namespace {

// The functions of hwloc that are needed, as the library has them. Types and constants come from
// its header; nothing of it is linked.
struct Hwloc {
  decltype(&hwloc_topology_init) topology_init;
  decltype(&hwloc_topology_set_synthetic) topology_set_synthetic;
  decltype(&hwloc_topology_load) topology_load;
  decltype(&hwloc_topology_destroy) topology_destroy;
  decltype(&hwloc_get_type_depth) get_type_depth;
  decltype(&hwloc_get_nbobjs_by_depth) get_nbobjs_by_depth;
  decltype(&hwloc_get_obj_by_depth) get_obj_by_depth;
  decltype(&hwloc_get_cpubind) get_cpubind;
  decltype(&hwloc_bitmap_alloc) bitmap_alloc;
  decltype(&hwloc_bitmap_free) bitmap_free;
  decltype(&hwloc_bitmap_iszero) bitmap_iszero;
  decltype(&hwloc_bitmap_isincluded) bitmap_isincluded;
  bool usable = false;
};

template <class Function>
bool look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Hwloc load_hwloc() {
  Hwloc h{};
  void* library = dlopen("libhwloc.so.15", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return h;
  h.usable = look_up(library, "hwloc_topology_init", h.topology_init) &&
             look_up(library, "hwloc_topology_set_synthetic", h.topology_set_synthetic) &&
             look_up(library, "hwloc_topology_load", h.topology_load) &&
             look_up(library, "hwloc_topology_destroy", h.topology_destroy) &&
             look_up(library, "hwloc_get_type_depth", h.get_type_depth) &&
             look_up(library, "hwloc_get_nbobjs_by_depth", h.get_nbobjs_by_depth) &&
             look_up(library, "hwloc_get_obj_by_depth", h.get_obj_by_depth) &&
             look_up(library, "hwloc_get_cpubind", h.get_cpubind) &&
             look_up(library, "hwloc_bitmap_alloc", h.bitmap_alloc) &&
             look_up(library, "hwloc_bitmap_free", h.bitmap_free) &&
             look_up(library, "hwloc_bitmap_iszero", h.bitmap_iszero) &&
             look_up(library, "hwloc_bitmap_isincluded", h.bitmap_isincluded);
  return h;
}

// The library stays loaded: the program or its MPI may use it too, and to unload it gains nothing.
const Hwloc& hwloc() {
  static const Hwloc loaded = load_hwloc();
  return loaded;
}

// The first NUMA domain that holds all of `set`; 0 if none does. Domains of memory alone may have
// the processors of another one: the first of them counts.
int domain_of(const Hwloc& h, hwloc_topology_t topology, hwloc_const_bitmap_t set) {
  if (set == nullptr || h.bitmap_iszero(set) != 0) return 0;
  const int depth = h.get_type_depth(topology, HWLOC_OBJ_NUMANODE);
  const unsigned domains = h.get_nbobjs_by_depth(topology, depth);
  for (unsigned i = 0; i < domains; ++i) {
    const hwloc_obj_t domain = h.get_obj_by_depth(topology, depth, i);
    if (domain == nullptr || domain->cpuset == nullptr) continue;
    if (h.bitmap_isincluded(set, domain->cpuset) != 0) return static_cast<int>(i);
  }
  return 0;
}

// Of this thread alone: threads of the MPI may run anywhere.
int domain_of_thread(const Hwloc& h, hwloc_topology_t topology) {
  const hwloc_bitmap_t bound = h.bitmap_alloc();
  if (bound == nullptr) return 0;
  const bool known = h.get_cpubind(topology, bound, HWLOC_CPUBIND_THREAD) == 0;
  const int domain = known ? domain_of(h, topology, bound) : 0;
  h.bitmap_free(bound);
  return domain;
}

}  // namespace

std::vector<int> domains_of_units(const std::string& synthetic) {
  std::vector<int> domains;
  const Hwloc& h = hwloc();
  hwloc_topology_t topology;
  if (!h.usable || h.topology_init(&topology) != 0) return domains;
  if (h.topology_set_synthetic(topology, synthetic.c_str()) == 0 && h.topology_load(topology) == 0) {
    const int depth = h.get_type_depth(topology, HWLOC_OBJ_PU);
    const unsigned units = h.get_nbobjs_by_depth(topology, depth);
    for (unsigned i = 0; i < units; ++i) {
      const hwloc_obj_t unit = h.get_obj_by_depth(topology, depth, i);
      domains.push_back(unit == nullptr ? 0 : domain_of(h, topology, unit->cpuset));
    }
  }
  h.topology_destroy(topology);
  return domains;
}

int numa_domain(int rank_on_node, const std::string& synthetic) {
  if (!synthetic.empty()) {
    const std::vector<int> units = domains_of_units(synthetic);
    if (units.empty() || rank_on_node < 0) return 0;
    return units[static_cast<std::size_t>(rank_on_node) % units.size()];
  }
  const Hwloc& h = hwloc();
  hwloc_topology_t topology;
  if (!h.usable || h.topology_init(&topology) != 0) return 0;
  const int domain = h.topology_load(topology) == 0 ? domain_of_thread(h, topology) : 0;
  h.topology_destroy(topology);
  return domain;
}

std::string check_topology(const std::string& synthetic) {
  const Hwloc& h = hwloc();
  if (!h.usable) return "libhwloc.so.15 is not on this machine";
  hwloc_topology_t topology;
  if (h.topology_init(&topology) != 0) return {};
  const bool understood = h.topology_set_synthetic(topology, synthetic.c_str()) == 0;
  h.topology_destroy(topology);
  return understood ? "" : "it must describe a machine in hwloc's words, such as \"package:2 numa:1 core:4 pu:1\"";
}

}  // namespace quadrille::team
