// CUDA's names for memory that is mapped by hand.
#include "cuda_calls.hpp"

using namespace quadrille::standin;

QUADRILLE_EXPORT int cuMemAddressReserve(Address* at, std::size_t bytes, std::size_t alignment, Address wish,
                                         unsigned long long flags) {
  return enter(QUADRILLE_HERE, [&] {
    const bool aligned = alignment <= mapping_granularity && (alignment & (alignment - 1)) == 0;
    return !aligned || wish != 0 || flags != 0 ? static_cast<int>(invalid_value) : reserve(at, bytes);
  });
}

QUADRILLE_EXPORT int cuMemAddressFree(Address at, std::size_t bytes) {
  return call(QUADRILLE_HERE, give_back, at, bytes);
}

QUADRILLE_EXPORT int cuMemGetAllocationGranularity(std::size_t* bytes, const MemoryProperties* properties, int option) {
  return enter(QUADRILLE_HERE, [&] {
    if (bytes == nullptr || properties == nullptr || (option != 0 && option != 1)) return invalid_value;
    *bytes = mapping_granularity;
    return success;
  });
}

QUADRILLE_EXPORT int cuMemCreate(std::uint64_t* handle, std::size_t bytes, const MemoryProperties* properties,
                                 unsigned long long flags) {
  return enter(QUADRILLE_HERE,
               [&] { return flags != 0 ? static_cast<int>(invalid_value) : make_memory(handle, bytes, properties); });
}

QUADRILLE_EXPORT int cuMemRelease(std::uint64_t handle) { return call(QUADRILLE_HERE, let_go, handle); }

QUADRILLE_EXPORT int cuMemMap(Address at, std::size_t bytes, std::size_t offset, std::uint64_t handle,
                              unsigned long long flags) {
  return enter(QUADRILLE_HERE,
               [&] { return flags != 0 ? static_cast<int>(invalid_value) : map_memory(at, bytes, offset, handle); });
}

QUADRILLE_EXPORT int cuMemUnmap(Address at, std::size_t bytes) { return call(QUADRILLE_HERE, unmap, at, bytes); }

QUADRILLE_EXPORT int cuMemSetAccess(Address at, std::size_t bytes, const Access* access, std::size_t count) {
  return call(QUADRILLE_HERE, give_access, at, bytes, access, count);
}

QUADRILLE_EXPORT int cuMemRetainAllocationHandle(std::uint64_t* handle, void* at) {
  return call(QUADRILLE_HERE, hold_again, handle, reinterpret_cast<Address>(at));
}

QUADRILLE_EXPORT int cuMemGetAllocationPropertiesFromHandle(MemoryProperties* properties, std::uint64_t handle) {
  return call(QUADRILLE_HERE, properties_of, properties, handle);
}
