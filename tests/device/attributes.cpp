// What the driver says of a pointer.
#include <cstring>

#include "driver.hpp"

namespace quadrille::standin {
namespace {

enum Attribute : int {
  context = 1,
  memory_type = 2,
  device_pointer = 3,
  host_pointer = 4,
  sync_memops = 6,
  buffer_id = 7,
  is_managed = 8,
  device_ordinal = 9,
  is_ipc_capable = 10,
  range_start = 11,
  range_bytes = 12,
  is_mapped = 13,
  allowed_handles = 14,
  is_rdma_capable = 15,
  access_flags = 16,
  pool = 17,
  mapping_bytes = 18,
  mapping_begin = 19,
  block_id = 20,
};

template <class Value>
int give(void* data, Value value) {
  std::memcpy(data, &value, sizeof value);
  return success;
}

// CUDA's numbers; HIP's have one more kind, for managed memory.
unsigned type_of(const Allocation& allocation) {
  const bool on_device = allocation.is_device() || allocation.kind == Kind::managed;
  if (starts_by_itself && allocation.kind == Kind::managed) return 3;
  return on_device ? 2U : 1U;
}

int give_attribute(void* data, int attribute, const Allocation& of, Address address) {
  switch (attribute) {
    case context:
      return give(data, static_cast<Handle>(of.context));
    case memory_type:
      return give(data, type_of(of));
    case device_pointer:
      return give(data, address);
    case host_pointer:
      return of.is_device() ? static_cast<int>(invalid_value) : give(data, reinterpret_cast<void*>(address));
    case sync_memops:
      return give(data, of.sync_memops ? 1 : 0);
    case buffer_id:
    case block_id:
      return give(data, of.id);
    case is_managed:
      return give(data, of.kind == Kind::managed ? 1 : 0);
    case device_ordinal:
      return give(data, of.device);
    case is_ipc_capable:
      return give(data, of.kind == Kind::device && !driver().settings.no_ipc ? 1 : 0);
    case range_start:
    case mapping_begin:
      return give(data, of.base);
    case range_bytes:
    case mapping_bytes:
      return give(data, of.bytes);
    case is_mapped:
      return give(data, 1);
    case allowed_handles:
      return give(data, 0ULL);
    case is_rdma_capable:
      return give(data, 0);
    case access_flags:
      return give(data, 3);
    case pool:  // a number that stands for the device's only one
      return give(data, of.kind == Kind::pool ? static_cast<Handle>(driver().primary.data() + of.device) : nullptr);
    default:
      return invalid_value;
  }
}

// How many bytes an attribute has. What is true or false has four, which Intel MPI reads without setting them before.
std::size_t bytes_of(int attribute) {
  switch (attribute) {
    case memory_type:
    case sync_memops:
    case device_ordinal:
    case access_flags:
    case is_managed:
    case is_ipc_capable:
    case is_mapped:
    case is_rdma_capable:
      return 4;
    default:
      return attribute >= context && attribute <= block_id && attribute != 5 ? 8 : 0;
  }
}

}  // namespace

int pointer_attribute(void* data, int attribute, Address address) {
  const Allocation* const allocation = find(address);
  if (data == nullptr || allocation == nullptr) return invalid_value;
  return give_attribute(data, attribute, *allocation, address);
}

// Of memory that the driver does not know, and where one alone would be an error, it says null.
int pointer_attributes(unsigned count, const int* attributes, void** data, Address address) {
  if (count == 0 || attributes == nullptr || data == nullptr) return invalid_value;
  for (unsigned i = 0; i < count; ++i) {
    if (bytes_of(attributes[i]) == 0 || data[i] == nullptr) return invalid_value;
  }
  const Allocation* const allocation = find(address);
  for (unsigned i = 0; i < count; ++i) {
    if (allocation != nullptr && give_attribute(data[i], attributes[i], *allocation, address) == success) continue;
    std::memset(data[i], 0, bytes_of(attributes[i]));
    // No device has this number.
    if (attributes[i] == device_ordinal) give(data[i], -2);
  }
  return success;
}

int set_pointer_attribute(const void* value, int attribute, Address address) {
  Allocation* const allocation = find(address);
  if (value == nullptr || allocation == nullptr || attribute != sync_memops) return invalid_value;
  if (allocation->kind != Kind::device && allocation->kind != Kind::opened) return not_supported;
  unsigned on = 0;
  std::memcpy(&on, value, sizeof on);
  allocation->sync_memops = on != 0;
  return success;
}

}  // namespace quadrille::standin
