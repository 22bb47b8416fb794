// Memory of another process. A handle names the file that holds it; it is gone with its process.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "driver.hpp"

namespace quadrille::standin {
namespace {

struct Name {
  std::uint64_t magic;
  std::int32_t process, file, device, unused;
  std::uint64_t inode, bytes, mapped;
};
static_assert(sizeof(Name) <= sizeof(IpcHandle));
constexpr std::uint64_t magic = 0x656C6C6972647551;

Allocation* opened_before(const Context& context, std::uint64_t inode) {
  for (auto& [base, allocation] : driver().allocations) {
    if (allocation.kind == Kind::opened && allocation.inode == inode && allocation.context == &context) {
      return &allocation;
    }
  }
  return nullptr;
}

// The device that has this number in all processes.
int device_of(int wanted) {
  for (int device = 0; device < device_count(); ++device) {
    if (physical(device) == wanted) return device;
  }
  return -1;
}

// Numbers of files are given again: is it still the one that was named?
bool is_named(int file, const Name& name) {
  struct stat status {};
  return fstat(file, &status) == 0 && status.st_ino == name.inode &&
         static_cast<std::uint64_t>(status.st_size) == name.mapped;
}

}  // namespace

int export_memory(IpcHandle* handle, Address address) {
  const Allocation* const allocation = find(address);
  if (handle == nullptr || allocation == nullptr) return invalid_value;
  if (driver().settings.no_ipc) return not_supported;
  if (allocation->kind != Kind::device) return invalid_value;
  Name name{};
  name.magic = magic;
  name.process = getpid();
  name.file = allocation->file;
  name.device = physical(allocation->device);
  name.inode = allocation->inode;
  name.bytes = allocation->bytes;
  name.mapped = allocation->mapped;
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &name, sizeof name);
  return success;
}

int open_memory(Context& context, Address* address, const IpcHandle& handle) {
  Name name;
  std::memcpy(&name, &handle, sizeof name);
  if (address == nullptr || name.magic != magic) return invalid_value;
  if (driver().settings.no_ipc) return not_supported;
  if (name.process == getpid()) return invalid_context;  // as CUDA says it
  if (device_of(name.device) < 0) return invalid_device;
  const std::string path = "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return invalid_value;
  Allocation* allocation = is_named(file, name) ? opened_before(context, name.inode) : nullptr;
  const bool is_new = allocation == nullptr;
  if (is_new &&
      (!is_named(file, name) || map_file(Kind::opened, file, name.bytes, name.mapped, allocation) != success)) {
    close(file);
    return map_failed;
  }
  if (!is_new) close(file);
  ++allocation->opened;
  allocation->context = &context;
  allocation->device = device_of(name.device);
  *address = allocation->base;
  return success;
}

int close_memory(Address address) {
  Allocation* allocation = find(address);
  if (allocation == nullptr || allocation->kind != Kind::opened || allocation->base != address) return invalid_value;
  if (--allocation->opened > 0) return success;
  wait_for_all(*allocation->context);
  allocation = find(address);
  if (allocation != nullptr) release(*allocation);
  return success;
}

}  // namespace quadrille::standin
