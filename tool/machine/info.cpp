#include "tool/machine/info.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <hwloc.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "abi/abi.hpp"
#include "tool/launch/abi.hpp"
#include "tool/launch/launcher.hpp"
#include "tool/launch/libraries.hpp"
#include "tool/launch/process.hpp"
#include "tool/machine/info_devices.hpp"
#include "tool/machine/info_node.hpp"
#include "tool/machine/machine.hpp"

namespace quadrille::tools {
namespace {

using nlohmann::ordered_json;

ordered_json machine() {
  ordered_json json;
  utsname system{};
  uname(&system);
  json["processor"] = processor_name();
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) == 0) {
    if (hwloc_topology_load(topology) == 0) {
      const auto count = [&](hwloc_obj_type_t type) { return hwloc_get_nbobjs_by_type(topology, type); };
      json["packages"] = count(HWLOC_OBJ_PACKAGE);
      json["cores"] = count(HWLOC_OBJ_CORE);
      json["hardware_threads"] = count(HWLOC_OBJ_PU);
      ordered_json caches = ordered_json::array();
      for (const hwloc_obj_type_t type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE}) {
        const hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
        if (cache == nullptr) continue;
        caches.push_back(
            {{"level", cache->attr->cache.depth}, {"bytes", cache->attr->cache.size}, {"count", count(type)}});
      }
      json["caches"] = caches;
      ordered_json nodes = ordered_json::array();
      for (hwloc_obj_t node = nullptr;
           (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
        char* set = nullptr;
        hwloc_bitmap_list_asprintf(&set, node->cpuset);
        nodes.push_back({{"node", node->os_index},
                         {"memory_bytes", node->attr->numanode.local_memory},
                         {"processors", set != nullptr ? set : ""}});
        std::free(set);
      }
      json["numa"] = nodes;
    }
    hwloc_topology_destroy(topology);
  }
  json["available_memory_bytes"] = available_memory();
  json["system"] = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  return json;
}

// Runs in a child process, because loading an MPI may do anything: its version, and what it offers.
void describe_library(const char* path) {
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    std::printf("%s", dlerror());
    return;
  }
  const auto get_version = reinterpret_cast<int (*)(int*, int*)>(dlsym(library, "MPI_Get_version"));
  const auto get_text = reinterpret_cast<int (*)(char*, int*)>(dlsym(library, "MPI_Get_library_version"));
  ordered_json json;
  if (get_version != nullptr && get_text != nullptr) {
    int major = 0, minor = 0, length = 0;
    std::vector<char> text(16384, '\0');
    get_version(&major, &minor);
    get_text(text.data(), &length);
    json["version"] = first_words_of_version(text.data());
    json["standard"] = fmt::format("{}.{}", major, minor);
  }
  json["large_counts"] = dlsym(library, "MPI_Alltoall_c") != nullptr;
  // Which function lets nonblocking calls go on while a program waits in the MPI (mpi/progress.hpp).
  for (const char* hook : {"opal_progress_register", "MPIX_Async_start"}) {
    if (dlsym(library, hook) != nullptr) json["progress_by"] = hook;
  }
  json["persistent_collectives"] = dlsym(library, "MPI_Alltoall_init") != nullptr;
  std::fputs(json.dump().c_str(), stdout);
  std::fflush(stdout);
}

ordered_json mpi_library(Abi abi, const std::string& path) {
  ordered_json json;
  json["abi"] = name_of(abi);
  json["library"] = path;
  const std::string text = output_of({own_program(), "info", "--describe-library", path}, 10);
  const ordered_json described = ordered_json::parse(text, nullptr, false);
  if (described.is_object()) {
    json.update(described);
    json.update(support_of(path));
  } else {
    json["problem"] = text.empty() ? "it does not load" : text;
  }
  return json;
}

// Libraries that the loader finds, and those beside launchers in PATH.
ordered_json mpi_libraries() {
  const LoaderPaths paths = loader_paths();
  ordered_json found = ordered_json::array();
  std::set<std::string> seen;
  const auto add = [&](Abi abi, const std::string& path) {
    std::error_code error;
    const auto real = std::filesystem::canonical(path, error);
    if (!error && seen.insert(real.string()).second) found.push_back(mpi_library(abi, path));
  };
  std::vector<std::filesystem::path> folders;
  for (const char* launcher : {"mpirun", "mpiexec"}) {
    std::error_code error;
    const auto real = std::filesystem::canonical(resolve_executable(launcher, ""), error);
    if (!error) folders.push_back(real.parent_path().parent_path() / "lib");
  }
  for (const Abi abi : all_abis) {
    for (const char* name : libraries_of(abi)) {
      add(abi, find_library(name, paths));
      for (const auto& folder : folders) add(abi, (folder / name).string());
    }
  }
  return found;
}

ordered_json launchers() {
  ordered_json found = ordered_json::array();
  std::set<std::string> seen;
  for (const char* name : {"mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich", "mpiexec.hydra", "srun"}) {
    const std::string path = resolve_executable(name, "");
    if (path.empty()) continue;
    const auto real = std::filesystem::canonical(path);
    if (!seen.insert(real.string()).second) continue;
    const std::string text = name == std::string_view("srun") ? "" : output_of({path, "--version"}, 10);
    found.push_back({{"launcher", path}, {"abi", name_of(abi_of_launcher(path))}, {"version", version_in(text)}});
  }
  return found;
}

ordered_json collect() {
  ordered_json json;
  json["quadrille"] = {{"version", abi::version_text()}, {"abis", ordered_json::array()}, {"preload", nullptr}};
  if (const std::string preload = find_preload(); !preload.empty()) json["quadrille"]["preload"] = preload;
  for (const Abi abi : all_abis) {
    if (knows(abi)) json["quadrille"]["abis"].push_back(name_of(abi));
  }
  json["machine"] = machine();
  json["reach"] = ordered_json::array();
  for (const Reach& reach : reachable()) {
    json["reach"].push_back({{"name", reach.name}, {"available", reach.available}, {"detail", reach.detail}});
  }
  json["inside_a_node"] = describe_node();
  // Another machine may have been put in its place.
  if (json["machine"].contains("numa") && !json["inside_a_node"].contains("domains_by")) {
    json["inside_a_node"]["numa_domains"] = json["machine"]["numa"].size();
  }
  json["devices"] = describe_devices();
  json["mpi"] = {{"launchers", launchers()}, {"libraries", mpi_libraries()}};
  return json;
}

std::string text_or(const ordered_json& value, const char* otherwise) {
  return value.is_string() && !value.get<std::string>().empty() ? value.get<std::string>() : otherwise;
}

void print_machine(const ordered_json& machine) {
  fmt::print("Machine\n  processor      {}\n", text_or(machine["processor"], "unknown"));
  if (machine.contains("cores")) {
    fmt::print("  cores          {} ({} packages, {} hardware threads)\n", machine["cores"].get<int>(),
               machine["packages"].get<int>(), machine["hardware_threads"].get<int>());
    for (const ordered_json& cache : machine["caches"]) {
      fmt::print("  L{} cache       {} x {} KiB\n", cache["level"].get<int>(), cache["count"].get<int>(),
                 cache["bytes"].get<std::size_t>() >> 10);
    }
    for (const ordered_json& node : machine["numa"]) {
      fmt::print("  NUMA node {}    {} MiB, processors {}\n", node["node"].get<int>(),
                 node["memory_bytes"].get<std::size_t>() >> 20, node["processors"].get<std::string>());
    }
  }
  fmt::print("  free memory    {} MiB\n  system         {}\n",
             machine["available_memory_bytes"].get<std::size_t>() >> 20, machine["system"].get<std::string>());
}

void print_mpi(const ordered_json& mpi) {
  fmt::print("MPI\n");
  for (const ordered_json& launcher : mpi["launchers"]) {
    fmt::print("  {:<28} {:<8} {}\n", launcher["launcher"].get<std::string>(), launcher["abi"].get<std::string>(),
               text_or(launcher["version"], ""));
  }
  for (const ordered_json& library : mpi["libraries"]) {
    fmt::print("  {:<28} {:<8} ", library["library"].get<std::string>(), library["abi"].get<std::string>());
    if (library.contains("problem")) {
      fmt::print("{}\n", library["problem"].get<std::string>());
    } else {
      fmt::print("{}, MPI {}, {}, nonblocking calls {}, {}\n", library.value("version", "unknown"),
                 library.value("standard", "unknown"),
                 library["large_counts"].get<bool>() ? "large counts" : "no large counts",
                 library.contains("progress_by") ? "make progress by " + library["progress_by"].get<std::string>()
                                                 : "make progress in its own functions only",
                 support_text(library));
    }
  }
  if (mpi["launchers"].empty() && mpi["libraries"].empty()) fmt::print("  none found\n");
}

void print_text(const ordered_json& json) {
  const ordered_json& quadrille = json["quadrille"];
  fmt::print("Quadrille {}\n  ABIs            {}\n  preload library {}\n", quadrille["version"].get<std::string>(),
             fmt::join(quadrille["abis"].get<std::vector<std::string>>(), ", "),
             text_or(quadrille["preload"], "not found"));
  print_machine(json["machine"]);
  fmt::print("What the system gives\n");
  for (const ordered_json& reach : json["reach"]) {
    fmt::print("  {:<14} {:<4} {}\n", reach["name"].get<std::string>(), reach["available"].get<bool>() ? "yes" : "no",
               reach["detail"].get<std::string>());
  }
  fmt::print("{}{}", node_text(json["inside_a_node"]), devices_text(json["devices"]));
  print_mpi(json["mpi"]);
}

}  // namespace

int info_command(const InfoOptions& options) {
  if (!options.describe_library.empty()) {
    describe_library(options.describe_library.c_str());
    return 0;
  }
  if (!options.describe_support.empty()) {
    describe_support(options.describe_support);
    return 0;
  }
  if (!options.describe_driver.empty()) {
    describe_driver(options.describe_driver);
    return 0;
  }
  const ordered_json json = collect();
  if (options.json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    print_text(json);
  }
  return 0;
}

}  // namespace quadrille::tools
