#include "tool/machine/info_devices.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/device_support.hpp"
#include "team/config.hpp"
#include "tool/launch/process.hpp"

namespace quadrille::tools {
namespace {

using nlohmann::ordered_json;

void print(const ordered_json& json) {
  std::fputs(json.dump(-1, ' ', false, ordered_json::error_handler_t::replace).c_str(), stdout);
  std::fflush(stdout);
}

ordered_json of_child(const char* option, const std::string& word) {
  return ordered_json::parse(output_of({own_program(), "info", option, word}, 10), nullptr, false);
}

void* open_first(const std::vector<const char*>& names, std::string& why) {
  for (const char* name : names) {
    void* const library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library != nullptr) return library;
    if (why.empty()) why = dlerror();
  }
  return nullptr;
}

template <class Function>
Function* find(void* library, const std::string& name) {
  return reinterpret_cast<Function*>(dlsym(library, name.c_str()));
}

// What is wrong with a driver, or nothing; what it has comes into `json`.
std::string ask_driver(void* library, const std::string& kind, ordered_json& json) {
  const bool cuda = kind == "cuda";
  const std::string prefix = cuda ? "cu" : "hip";
  auto* const start = find<int(unsigned)>(library, prefix + "Init");
  auto* const version = find<int(int*)>(library, prefix + "DriverGetVersion");
  auto* const count = find<int(int*)>(library, cuda ? "cuDeviceGetCount" : "hipGetDeviceCount");
  auto* const name = find<int(char*, int, int)>(library, prefix + "DeviceGetName");
  if (start == nullptr || count == nullptr || name == nullptr) return "not a driver";
  if (Dl_info info{}; dladdr(reinterpret_cast<void*>(start), &info) != 0) json["library"] = info.dli_fname;
  if (const int error = start(0); error != 0) return fmt::format("it does not start: error {}", error);
  int number = 0;
  if (version != nullptr && version(&number) == 0) json["version"] = number;
  int devices = 0;
  if (const int error = count(&devices); error != 0) return fmt::format("it cannot count devices: error {}", error);
  for (int device = 0; device < devices; ++device) {
    char text[256] = {};
    json["devices"].push_back(name(text, sizeof text, device) == 0 ? text : "unknown");
  }
  return {};
}

const char* name_of(DeviceUse use) {
  return use == DeviceUse::all ? "on" : use == DeviceUse::messages ? "messages" : "off";
}

// A child of a rank must not take part in the rank's job.
void leave_job() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    for (const std::string_view of_job : {"PMI_", "PMIX_", "PMI2_", "OMPI_COMM_", "OMPI_UNIVERSE_", "OMPI_MCA_ess",
                                          "OMPI_MCA_orte_", "OMPI_MCA_pmix", "PRTE_", "SLURM_"}) {
      if (text.substr(0, of_job.size()) == of_job) names.emplace_back(text.substr(0, text.find('=')));
    }
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

// The key of MPI 4.1. Handles are pointers in Open MPI, numbers elsewhere; both are passed alike.
bool kinds_have_devices(void* library) {
  using Handle = std::uintptr_t;
  auto* const get_info = find<int(Handle, Handle*)>(library, "MPI_Comm_get_info");
  auto* const get = find<int(Handle, const char*, int, char*, int*)>(library, "MPI_Info_get");
  if (get_info == nullptr || get == nullptr) return false;
  constexpr Handle world_of_mpich = 0x44000000;
  void* const world = dlsym(library, "ompi_mpi_comm_world");
  Handle info = 0;
  if (get_info(world != nullptr ? reinterpret_cast<Handle>(world) : world_of_mpich, &info) != 0) return false;
  char kinds[1024] = {};
  int found = 0;
  get(info, "mpi_memory_alloc_kinds", sizeof kinds - 1, kinds, &found);
  return found != 0 && names_devices(kinds);
}

}  // namespace

void describe_driver(const std::string& kind) {
  ordered_json json = {{"driver", kind}, {"devices", ordered_json::array()}};
  std::string problem;
  void* const library =
      open_first(kind == "cuda" ? std::vector<const char*>{"libcuda.so.1"}
                                : std::vector<const char*>{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"},
                 problem);
  if (library != nullptr) problem = ask_driver(library, kind, json);
  if (!problem.empty()) json["problem"] = problem;
  print(json);
}

void describe_support(const std::string& path) {
  leave_job();
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  if (library == nullptr) return;
  auto* const start = find<int(int*, char***)>(library, "MPI_Init");
  if (start == nullptr || start(nullptr, nullptr) != 0) return;
  ordered_json json = {{"takes_devices", false}};
  const auto yes = [&](const char* name) { json = {{"takes_devices", true}, {"takes_devices_said_by", name}}; };
  // Kinds of memory by MPICH's header.
  for (const int kind : {0, 2}) {
    const char* const name = "MPIX_GPU_query_support";
    auto* const ask = find<int(int, int*)>(library, name);
    int supported = 0;
    if (ask != nullptr && ask(kind, &supported) == 0 && supported != 0) yes(name);
  }
  for (const char* name : {"MPIX_Query_hip_support", "MPIX_Query_rocm_support", "MPIX_Query_cuda_support"}) {
    auto* const ask = find<int()>(library, name);
    if (ask != nullptr && ask() == 1) yes(name);
  }
  if (kinds_have_devices(library)) {
    json = {{"takes_devices", true}, {"takes_devices_said_by", "mpi_memory_alloc_kinds"}};
  }
  if (auto* const end = find<int()>(library, "MPI_Finalize"); end != nullptr) end();
  print(json);
}

ordered_json describe_devices() {
  ordered_json json = {{"drivers", ordered_json::array()}};
  for (const char* kind : {"cuda", "hip"}) {
    ordered_json driver = of_child("--describe-driver", kind);
    if (!driver.is_object()) {
      driver = {{"driver", kind}, {"devices", ordered_json::array()}, {"problem", "its library ends the program"}};
    }
    json["drivers"].push_back(driver);
  }
  const std::optional<DeviceUse> set = team::config().mpi_device;
  json["QUADRILLE_MPI_DEVICE"] = set.has_value() ? ordered_json(name_of(*set)) : ordered_json(nullptr);
  return json;
}

std::string devices_text(const ordered_json& devices) {
  std::string text = "Devices\n";
  for (const ordered_json& driver : devices["drivers"]) {
    std::string line;
    if (driver.contains("problem")) {
      line = driver.contains("library") ? driver["library"].get<std::string>() + ": " : "no driver: ";
      line += driver["problem"].get<std::string>();
    } else {
      const auto names = driver["devices"].get<std::vector<std::string>>();
      line = fmt::format("{} device{}", names.size(), names.size() == 1 ? "" : "s");
      for (std::size_t i = 0; i < names.size(); ++i) line += (i == 0 ? ": " : ", ") + names[i];
      line += fmt::format("; {}", driver["library"].get<std::string>());
      if (driver.contains("version")) line += fmt::format(", version {}", driver["version"].get<int>());
    }
    text += fmt::format("  {:<14} {}\n", driver["driver"].get<std::string>(), line);
  }
  const ordered_json& set = devices["QUADRILLE_MPI_DEVICE"];
  text += "  QUADRILLE_MPI_DEVICE ";
  if (set.is_null()) {
    text += "is not set: the support that the MPI reports applies\n";
  } else if (set == name_of(DeviceUse::messages)) {
    text += "messages: the MPI receives device memory in messages, not in collectives\n";
  } else {
    text += fmt::format("{}: the MPI receives {}device memory\n", set.get<std::string>(),
                        set == name_of(DeviceUse::all) ? "" : "no ");
  }
  return text;
}

ordered_json support_of(const std::string& library) {
  const ordered_json json = of_child("--describe-support", library);
  return json.is_object() ? json : ordered_json::object();
}

std::string support_text(const ordered_json& library) {
  if (!library.contains("takes_devices")) return "does not start alone; support for device memory unknown";
  if (!library["takes_devices"].get<bool>()) return "reports no support for device memory";
  return "supports device memory, reported by " + library["takes_devices_said_by"].get<std::string>();
}

}  // namespace quadrille::tools
