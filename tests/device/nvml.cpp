// As much of NVML as UCX and hwloc call to find out what the devices are and how they are connected. Devices are
// numbered here as in the machine, whatever CUDA_VISIBLE_DEVICES says.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define QUADRILLE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

enum Error : int { success = 0, uninitialized = 1, invalid_argument = 2, not_supported = 3, insufficient_size = 7 };
constexpr int most = 64;
int users = 0;
char devices[most];  // a handle is an address in it

// As nvml.h has it.
struct BusInfo {
  char legacy_id[16];
  unsigned domain, bus, device, pci_device, pci_subsystem;
  char id[32];
};

unsigned device_count() {
  const char* const value = std::getenv("QUADRILLE_STANDIN_DEVICES");
  const int count = value == nullptr ? 1 : std::atoi(value);
  return count < 0 || count > most ? 0U : static_cast<unsigned>(count);
}

bool index_of(const void* handle, unsigned& index) {
  for (index = 0; index < device_count(); ++index) {
    if (handle == &devices[index]) return true;
  }
  return false;
}

// The UUID that the driver says (contexts.cpp).
void print_uuid(unsigned index, char* text, std::size_t bytes) {
  unsigned char uuid[16] = {};
  std::memcpy(uuid, "Quadrille", 9);
  uuid[15] = static_cast<unsigned char>(index + 1);
  char digits[33];
  for (int i = 0; i < 16; ++i) std::snprintf(digits + 2 * i, 3, "%02x", static_cast<unsigned>(uuid[i]));
  std::snprintf(text, bytes, "GPU-%.8s-%.4s-%.4s-%.4s-%.12s", digits, digits + 8, digits + 12, digits + 16,
                digits + 20);
}

}  // namespace

QUADRILLE_EXPORT int nvmlInit_v2() {
  ++users;
  return success;
}

QUADRILLE_EXPORT int nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }

QUADRILLE_EXPORT int nvmlShutdown() {
  if (users == 0) return uninitialized;
  --users;
  return success;
}

QUADRILLE_EXPORT const char* nvmlErrorString(int error) {
  return error == success ? "success" : "an error of the stand-in of NVML";
}

QUADRILLE_EXPORT int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  if (text == nullptr) return invalid_argument;
  std::snprintf(text, bytes, "580.00");
  return success;
}

QUADRILLE_EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  if (users == 0) return uninitialized;
  if (count == nullptr) return invalid_argument;
  *count = device_count();
  return success;
}

QUADRILLE_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  if (users == 0) return uninitialized;
  if (handle == nullptr || index >= device_count()) return invalid_argument;
  *handle = &devices[index];
  return success;
}

QUADRILLE_EXPORT int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) {
  if (users == 0) return uninitialized;
  for (unsigned index = 0; uuid != nullptr && handle != nullptr && index < device_count(); ++index) {
    char text[64];
    print_uuid(index, text, sizeof text);
    if (std::strcmp(text, uuid) != 0) continue;
    *handle = &devices[index];
    return success;
  }
  return invalid_argument;
}

QUADRILLE_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** handle) {
  if (users == 0) return uninitialized;
  unsigned domain = 0, bus = 0, slot = 0;
  if (id == nullptr || handle == nullptr || std::sscanf(id, "%x:%x:%x", &domain, &bus, &slot) != 3) {
    return invalid_argument;
  }
  return bus == 0 ? static_cast<int>(invalid_argument) : nvmlDeviceGetHandleByIndex_v2(bus - 1, handle);
}

QUADRILLE_EXPORT int nvmlDeviceGetIndex(void* handle, unsigned* found) {
  unsigned index = 0;
  if (found == nullptr || !index_of(handle, index)) return invalid_argument;
  *found = index;
  return success;
}

QUADRILLE_EXPORT int nvmlDeviceGetUUID(void* handle, char* text, unsigned bytes) {
  unsigned index = 0;
  if (text == nullptr || !index_of(handle, index)) return invalid_argument;
  if (bytes < 41) return insufficient_size;
  print_uuid(index, text, bytes);
  return success;
}

QUADRILLE_EXPORT int nvmlDeviceGetName(void* handle, char* text, unsigned bytes) {
  unsigned index = 0;
  if (text == nullptr || !index_of(handle, index)) return invalid_argument;
  std::snprintf(text, bytes, "Stand-in %u", index);
  return success;
}

QUADRILLE_EXPORT int nvmlDeviceGetPciInfo_v3(void* handle, BusInfo* info) {
  unsigned index = 0;
  if (info == nullptr || !index_of(handle, index)) return invalid_argument;
  *info = {};
  info->bus = index + 1;
  std::snprintf(info->legacy_id, sizeof info->legacy_id, "0000:%02X:00.0", info->bus);
  std::snprintf(info->id, sizeof info->id, "00000000:%02X:00.0", info->bus);
  return success;
}

// No links between devices, no fabric of several machines.
QUADRILLE_EXPORT int nvmlDeviceGetNvLinkState(void*, unsigned, unsigned* active) {
  if (active != nullptr) *active = 0;
  return not_supported;
}

QUADRILLE_EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, BusInfo*) { return not_supported; }
QUADRILLE_EXPORT int nvmlDeviceGetNvLinkCapability(void*, unsigned, int, unsigned*) { return not_supported; }
QUADRILLE_EXPORT int nvmlDeviceGetFieldValues(void*, int, void*) { return not_supported; }
QUADRILLE_EXPORT int nvmlDeviceGetGpuFabricInfo(void*, void*) { return not_supported; }
QUADRILLE_EXPORT int nvmlDeviceGetGpuFabricInfoV(void*, void*) { return not_supported; }
