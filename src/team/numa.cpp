#include "team/numa.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <hwloc.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "sys/code.hpp"

namespace quadrille::team {
namespace {

// What follows "hwloc_" in the names of the functions that are needed. In a list that clang-format would spoil.
// clang-format off
#define QUADRILLE_HWLOC_FUNCTIONS(X) \
  X(topology_init) X(topology_set_synthetic) X(topology_load) X(topology_destroy) X(get_type_depth)                   \
  X(get_nbobjs_by_depth) X(get_obj_by_depth) X(get_cpubind) X(bitmap_alloc) X(bitmap_free) X(bitmap_and)              \
  X(bitmap_list_sscanf) X(bitmap_iszero) X(bitmap_isincluded)
// clang-format on

// These functions, as the library has them. Types and constants come from its header; nothing of it is linked.
struct Hwloc {
  void* library = dlopen("libhwloc.so.15", RTLD_LAZY | RTLD_LOCAL);
  bool usable = library != nullptr;
  sys::Symbol look_up(const char* name) {
    void* const address = usable ? dlsym(library, name) : nullptr;
    usable = address != nullptr;
    return {address};
  }
#define QUADRILLE_FUNCTION(name) decltype(&hwloc_##name) name = look_up("hwloc_" #name);
  QUADRILLE_HWLOC_FUNCTIONS(QUADRILLE_FUNCTION)
#undef QUADRILLE_FUNCTION
};

// The library stays loaded: the program or its MPI may use it too, and to unload it gains nothing.
const Hwloc& hwloc() {
  static const Hwloc loaded;
  return loaded;
}

// What hwloc made, freed with it; null if there is no memory.
template <auto free>
struct Free {
  template <class Made>
  void operator()(Made* made) const {
    (hwloc().*free)(made);
  }
};
using Set = std::unique_ptr<hwloc_bitmap_s, Free<&Hwloc::bitmap_free>>;
Set make_set() { return Set(hwloc().bitmap_alloc()); }
using Topology = std::unique_ptr<hwloc_topology, Free<&Hwloc::topology_destroy>>;
Topology make_topology() {
  hwloc_topology_t made = nullptr;
  return Topology(hwloc().topology_init(&made) == 0 ? made : nullptr);
}

// A machine, the real one or one that is described; not usable if hwloc does not understand it.
class Machine {
 public:
  explicit Machine(const std::string& synthetic) : h_(hwloc()) {
    if (h_.usable) topology_ = make_topology();
    usable_ = topology_ != nullptr &&
              (synthetic.empty() || h_.topology_set_synthetic(topology_.get(), synthetic.c_str()) == 0) &&
              h_.topology_load(topology_.get()) == 0;
  }
  bool usable() const { return usable_; }

  unsigned count(hwloc_obj_type_t type) const {
    return h_.get_nbobjs_by_depth(topology_.get(), h_.get_type_depth(topology_.get(), type));
  }
  // The processors of object `i` of a type; null if there are none.
  hwloc_const_bitmap_t processors(hwloc_obj_type_t type, unsigned i) const {
    const hwloc_obj_t object = h_.get_obj_by_depth(topology_.get(), h_.get_type_depth(topology_.get(), type), i);
    if (object == nullptr || object->cpuset == nullptr || h_.bitmap_iszero(object->cpuset) != 0) return nullptr;
    return object->cpuset;
  }
  // The first object of a type that has all of `set`; -1 if none has. Domains of memory alone may have the processors
  // of another one: the first of them counts.
  int first_with(hwloc_obj_type_t type, hwloc_const_bitmap_t set) const {
    for (unsigned i = 0; i < count(type); ++i) {
      const hwloc_const_bitmap_t all = processors(type, i);
      if (all != nullptr && h_.bitmap_isincluded(set, all) != 0) return static_cast<int>(i);
    }
    return -1;
  }
  // Whether the domain has all processors of the cache, and others. -1: no cache.
  bool is_part(int cache, int domain) const {
    if (cache < 0) return false;
    const hwloc_const_bitmap_t inner = processors(HWLOC_OBJ_L3CACHE, static_cast<unsigned>(cache)),
                               outer = processors(HWLOC_OBJ_NUMANODE, static_cast<unsigned>(domain));
    return h_.bitmap_isincluded(inner, outer) != 0 && h_.bitmap_isincluded(outer, inner) == 0;
  }
  // Of a thread that may run on `set`. A process may be allowed processors that hwloc does not count: they are left
  // out.
  int label_of(hwloc_const_bitmap_t set) const {
    const hwloc_const_bitmap_t all = processors(HWLOC_OBJ_MACHINE, 0);
    const Set there = make_set();
    if (all == nullptr || there == nullptr || h_.bitmap_and(there.get(), set, all) != 0) return 0;
    if (h_.bitmap_iszero(there.get()) != 0) return label_of(all);
    if (const int domain = first_with(HWLOC_OBJ_NUMANODE, there.get()); domain >= 0) {
      const int cache = first_with(HWLOC_OBJ_L3CACHE, there.get());
      return is_part(cache, domain) ? cache_label(cache) : domain;
    }
    const int package = first_with(HWLOC_OBJ_PACKAGE, there.get());
    // The only package is the whole machine.
    return package < 0 || count(HWLOC_OBJ_PACKAGE) == 1 ? any_domain : package_label(package);
  }
  // Of this thread alone: threads of the MPI may run anywhere.
  int label_of_thread() const {
    const Set bound = make_set();
    if (bound == nullptr || h_.get_cpubind(topology_.get(), bound.get(), HWLOC_CPUBIND_THREAD) != 0) {
      return label_of(processors(HWLOC_OBJ_MACHINE, 0));
    }
    return label_of(bound.get());
  }

 private:
  const Hwloc& h_;
  Topology topology_;
  bool usable_;
};

// What ranks of a described machine are bound to; nothing if the last word names no such type. Splits that word off.
std::optional<hwloc_obj_type_t> take_binding(std::string& synthetic) {
  const std::size_t at = synthetic.rfind("bind:");
  if (at == std::string::npos) return HWLOC_OBJ_PU;
  const std::string word = synthetic.substr(at + 5);
  synthetic.resize(at);
  while (synthetic.ends_with(' ')) synthetic.pop_back();
  if (word == "numa") return HWLOC_OBJ_NUMANODE;
  if (word == "package") return HWLOC_OBJ_PACKAGE;
  if (word == "none") return HWLOC_OBJ_MACHINE;
  return std::nullopt;
}

int label_when_bound(const Machine& machine, hwloc_const_bitmap_t unit, hwloc_obj_type_t to) {
  const int object = machine.first_with(to, unit);
  return machine.label_of(object < 0 ? machine.processors(HWLOC_OBJ_MACHINE, 0)
                                     : machine.processors(to, static_cast<unsigned>(object)));
}

std::string name_of_label(int label) {
  if (label >= first_cache_label) return fmt::format("L3 cache {} has", label - first_cache_label);
  if (label >= 0) return fmt::format("domain {} has", label);
  if (label == any_domain) return "bound to no package are";
  return fmt::format("bound to all of package {} are", -2 - label);
}

// "0-3,8" of ascending numbers.
std::string ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t first = 0, last = 0; first < numbers.size(); first = last + 1) {
    last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[first]);
    if (last > first) text += fmt::format("-{}", numbers[last]);
  }
  return text;
}

}  // namespace

std::vector<int> domains_of_units(const std::string& synthetic) {
  std::string described = synthetic;
  const std::optional<hwloc_obj_type_t> bound = take_binding(described);
  const Machine machine(described.empty() ? " " : described);  // none at hand stands in for one that is described
  std::vector<int> labels;
  if (!machine.usable() || !bound) return labels;
  for (unsigned i = 0; i < machine.count(HWLOC_OBJ_PU); ++i) {
    labels.push_back(label_when_bound(machine, machine.processors(HWLOC_OBJ_PU, i), *bound));
  }
  return labels;
}

int domain_of_processors(const std::string& synthetic, const std::string& processors) {
  const Machine machine(synthetic);
  if (!machine.usable()) return 0;
  const Set set = make_set();
  if (set == nullptr || hwloc().bitmap_list_sscanf(set.get(), processors.c_str()) != 0) return any_domain;
  return machine.label_of(set.get());
}

int numa_domain(int rank_on_node, const std::string& synthetic) {
  if (!synthetic.empty()) {
    const std::vector<int> units = domains_of_units(synthetic);
    if (units.empty() || rank_on_node < 0) return 0;
    return units[static_cast<std::size_t>(rank_on_node) % units.size()];
  }
  const Machine machine("");
  return machine.usable() ? machine.label_of_thread() : 0;
}

std::string check_topology(const std::string& synthetic) {
  const Hwloc& h = hwloc();
  if (!h.usable) return "libhwloc.so.15 not found";
  std::string described = synthetic;
  if (!take_binding(described)) return "expected bind:numa, bind:package or bind:none as the last word";
  const Topology topology = make_topology();
  const bool understood = topology == nullptr || h.topology_set_synthetic(topology.get(), described.c_str()) == 0;
  return understood ? "" : "expected a synthetic topology of hwloc, such as \"package:2 numa:1 core:4 pu:1\"";
}

std::string describe_domains(const std::vector<int>& labels, const std::vector<int>& members) {
  // NUMA domains first, then caches, packages, and what is bound to none.
  const auto place = [](int label) {
    return label >= 0 ? std::pair(0, label) : std::pair(label == any_domain ? 2 : 1, -label);
  };
  auto before = [place](int a, int b) { return place(a) < place(b); };
  std::map<int, std::vector<int>, decltype(before)> groups(before);  // the ranks of each label
  for (const int rank : members) groups[labels[static_cast<std::size_t>(rank)]].push_back(rank);
  const bool caches = std::ranges::any_of(groups, [](const auto& group) { return group.first >= first_cache_label; });
  std::string text =
      fmt::format("{} {}domain{}: ", groups.size(), caches ? "" : "NUMA ", groups.size() == 1 ? "" : "s");
  const char* between = "";
  for (const auto& [label, ranks] : groups) {
    text += fmt::format("{}{} {} rank{} ({})", between, name_of_label(label), ranks.size(),
                        ranks.size() == 1 ? "" : "s", ranges(ranks));
    between = ", ";
  }
  return text;
}

}  // namespace quadrille::team
