// cuGetProcAddress: functions by the name without an ending, as a version of CUDA had them.
#include <cstring>

#include "cuda_calls.hpp"

using namespace quadrille::standin;

namespace {

constexpr int driver_version = 13000;
struct Entry {
  const char* name;
  void* address;
};

#define QUADRILLE_ENTRY(name, ...) Entry{#name, reinterpret_cast<void*>(&name)},
#define QUADRILLE_ENTRY_PTDS(name, ...) Entry{#name "_ptds", reinterpret_cast<void*>(&name##_ptds)},
#define QUADRILLE_ENTRY_PTSZ(name, ...) Entry{#name "_ptsz", reinterpret_cast<void*>(&name##_ptsz)},

const Entry entries[] = {QUADRILLE_CUDA_CALLS(QUADRILLE_ENTRY) QUADRILLE_CUDA_BLOCKING_CALLS(QUADRILLE_ENTRY_PTDS)
                             QUADRILLE_CUDA_STREAM_CALLS(QUADRILLE_ENTRY_PTSZ)};

// Since when there are those whose form has changed, or that came late.
struct Since {
  const char* name;
  int version;
};
const Since since[] = {
    {"cuMemcpyBatchAsync", 12080},     {"cuMemcpyBatchAsync_v2", 13000},  {"cuCtxCreate_v4", 12050},
    {"cuEventElapsedTime_v2", 12080},  {"cuDeviceGetUuid", 9020},         {"cuDeviceGetUuid_v2", 11040},
    {"cuIpcOpenMemHandle_v2", 11000},  {"cuStreamWaitValue32_v2", 11070}, {"cuStreamWriteValue32_v2", 11070},
    {"cuMemAllocAsync", 11020},        {"cuMemFreeAsync", 11020},         {"cuDeviceGetDefaultMemPool", 11020},
    {"cuEventRecordWithFlags", 11010}, {"cuLaunchHostFunc", 10000},       {"cuCtxGetId", 12000},
    {"cuStreamGetId", 12000},          {"cuGetProcAddress_v2", 12000},    {"cuStreamBeginCapture_v2", 10010},
    {"cuGraphCreate", 10000},          {"cuGraphAddMemcpyNode", 10000},   {"cuGraphInstantiateWithFlags", 11040},
    {"cuGraphLaunch", 10000},          {"cuGraphExecDestroy", 10000},     {"cuGraphDestroy", 10000},
};

int since_of(const std::string& name) {
  for (const Since& entry : since) {
    if (name == entry.name) return entry.version;
  }
  return 0;
}

void* address_of(const std::string& name) {
  for (const Entry& entry : entries) {
    if (name == entry.name) return entry.address;
  }
  return nullptr;
}

// The newest form that the version has; `known` says whether there is any.
std::string form_of(const std::string& symbol, int version, bool& known) {
  std::string best;
  for (const char* ending : {"", "_v2", "_v3", "_v4"}) {
    const std::string name = symbol + ending;
    if (address_of(name) == nullptr) continue;
    known = true;
    if (since_of(name) <= version) best = name;
  }
  return best;
}

}  // namespace

QUADRILLE_EXPORT int cuGetProcAddress_v2(const char* symbol, void** function, int version, std::uint64_t flags,
                                         int* status) {
  return enter_uninitialized(QUADRILLE_HERE, [&] {
    constexpr std::uint64_t per_thread = 2;
    constexpr int found = 0, not_there = 1, too_old = 2;
    if (symbol == nullptr || function == nullptr || flags > 3 || version > driver_version) return invalid_value;
    bool known = false;
    const std::string name = form_of(symbol, version, known);
    *function = nullptr;
    if (!name.empty() && (flags & per_thread) != 0) {
      *function = address_of(name + "_ptsz");
      if (*function == nullptr) *function = address_of(name + "_ptds");
    }
    if (!name.empty() && *function == nullptr) *function = address_of(name);
    if (status != nullptr) *status = *function != nullptr ? found : known ? too_old : not_there;
    return success;
  });
}
