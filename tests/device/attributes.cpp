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

unsigned type_of(const Allocation& allocation) {
  return allocation.is_device() || allocation.kind == Kind::managed ? 2U : 1U;
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

// As ROCm 6 and 7 have it: of memory that HIP does not know there is an error, and what it would say of none; of
// managed memory that it is the host's; and no word of whether others can open it before 7.11, nor of pools.
int hip_pointer_attribute(void* data, int attribute, Address address) {
  const Allocation* const allocation = find(address);
  if (data == nullptr || address == 0) return invalid_value;
  const int error = allocation == nullptr ? invalid_value : success;
  const bool is_host = allocation != nullptr && !allocation->is_device();
  switch (attribute) {
    case context:
      return error != success ? error : give(data, static_cast<Handle>(allocation->context));
    case memory_type:
      give(data, allocation == nullptr ? 0U : is_host ? 1U : 2U);
      return error;
    case device_pointer:
      give(data, allocation == nullptr ? Address{0} : address);
      return error;
    case host_pointer:
      give(data, is_host ? address : Address{0});
      return is_host ? success : invalid_value;
    case buffer_id:
      give(data, allocation == nullptr ? 0U : static_cast<std::uint32_t>(allocation->id));
      return error;
    case sync_memops:
    case is_managed:
    case is_mapped: {
      const bool is_so = allocation != nullptr && (attribute == is_managed    ? allocation->kind == Kind::managed
                                                   : attribute == sync_memops ? allocation->sync_memops
                                                                              : true);
      give(data, static_cast<unsigned char>(is_so));
      return error;
    }
    case device_ordinal:
      give(data, allocation == nullptr ? -2 : allocation->device);
      return error;
    case is_ipc_capable:
      if (!driver().settings.has_ipc_attribute) return not_supported;
      give(data, allocation != nullptr && allocation->kind == Kind::device && !driver().settings.no_ipc ? 1 : 0);
      return error;
    case range_start:
      give(data, allocation == nullptr ? Address{0} : allocation->base);
      return error;
    case range_bytes:
      give(data, allocation == nullptr ? 0U : static_cast<std::uint32_t>(allocation->bytes));
      return error;
    case access_flags:
      give(data, 0U);
      return success;
    case allowed_handles:
    case is_rdma_capable:
    case pool:
      return not_supported;
    default:
      return invalid_value;
  }
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
