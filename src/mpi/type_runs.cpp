#include "mpi/type_runs.hpp"

#include <climits>
#include <cstdint>
#include <cstring>
#include <new>

#include "memory/copy.hpp"

namespace quadrille {
namespace {

constexpr std::size_t most_runs = 4096;
constexpr std::ptrdiff_t most_extent = 1 << 20;  // below 2^24: positions are told by three bytes

// Addresses are numbers here: with MPI_BOTTOM the element's address is null, and the runs are addresses.

// Packs one element whose byte at position i is digit(i). Types of absolute addresses work too: no byte
// is read but those of `memory`.
template <class Digit>
bool pack_pattern(MpiType type, std::ptrdiff_t true_lower, std::vector<unsigned char>& memory,
                  std::vector<unsigned char>& packed, Digit digit) {
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = digit(i);
  int position = 0;
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data()) - static_cast<std::uintptr_t>(true_lower);
  return mpi().Pack(reinterpret_cast<void*>(address), 1, type, packed.data(), static_cast<int>(packed.size()),
                    &position, own_comm()) == mpi_success &&
         static_cast<std::size_t>(position) == packed.size();
}

}  // namespace

bool find_runs(MpiType type, std::size_t size, std::ptrdiff_t true_lower, std::ptrdiff_t true_extent,
               std::vector<TypeRun>& runs) {
  runs.clear();
  if (size == 0 || true_extent <= 0 || true_extent > most_extent) return false;
  std::vector<unsigned char> memory(static_cast<std::size_t>(true_extent)), packed(size);
  std::vector<std::uint32_t> source(size, 0);
  for (int shift = 0; shift < 24; shift += 8) {
    const auto digit = [=](std::size_t i) { return static_cast<unsigned char>(i >> shift); };
    if (!pack_pattern(type, true_lower, memory, packed, digit)) return false;
    for (std::size_t j = 0; j < size; ++j) source[j] |= std::uint32_t{packed[j]} << shift;
  }
  // Once more with another pattern: bytes that are changed by packing, or come from nowhere, show.
  const auto check = [](std::size_t i) { return static_cast<unsigned char>(i * 167 + 91); };
  if (!pack_pattern(type, true_lower, memory, packed, check)) return false;
  for (std::size_t j = 0; j < size; ++j) {
    if (source[j] >= memory.size() || packed[j] != check(source[j])) return false;
  }
  for (std::size_t j = 0; j < size; ++j) {
    const std::ptrdiff_t at = true_lower + static_cast<std::ptrdiff_t>(source[j]);
    if (!runs.empty() && runs.back().at + static_cast<std::ptrdiff_t>(runs.back().bytes) == at) {
      ++runs.back().bytes;
    } else if (runs.size() == most_runs) {
      runs.clear();
      return false;
    } else {
      runs.push_back({at, 1});
    }
  }
  return true;
}

bool find_bytes(MpiType type, std::size_t size, std::ptrdiff_t true_lower, std::ptrdiff_t true_extent,
                std::vector<TypeRun>& runs) {
  runs.clear();
  if (size == 0 || size > INT_MAX || true_extent <= 0) return false;
  const auto extent = static_cast<std::size_t>(true_extent);
  // Ones are unpacked into zeros.
  constexpr unsigned char one = 0xFF;
  std::vector<unsigned char> memory, packed;
  try {
    memory.resize(extent);
    packed.resize(size, one);
  } catch (const std::bad_alloc&) {
    return false;
  }
  int position = 0;
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data()) - static_cast<std::uintptr_t>(true_lower);
  if (mpi().Unpack(packed.data(), static_cast<int>(size), &position, reinterpret_cast<void*>(address), 1, type,
                   mpi().comm_self) != mpi_success) {
    return false;
  }
  const auto next = [&](std::size_t from, int byte) {
    const void* const found = std::memchr(memory.data() + from, byte, extent - from);
    if (found == nullptr) return extent;
    return static_cast<std::size_t>(static_cast<const unsigned char*>(found) - memory.data());
  };
  for (std::size_t begin = next(0, one); begin < extent;) {
    const std::size_t end = next(begin, 0);
    runs.push_back({true_lower + static_cast<std::ptrdiff_t>(begin), end - begin});
    begin = next(end, one);
  }
  return !runs.empty();
}

void pack_runs(const void* from, std::size_t count, const TypeInfo& info, std::byte* bytes) {
  auto element = reinterpret_cast<std::intptr_t>(from);
  for (std::size_t e = 0; e < count; ++e, element += info.extent) {
    for (const TypeRun& run : *info.runs) {
      memory::copy_bytes(bytes, reinterpret_cast<const std::byte*>(element + run.at), run.bytes);
      bytes += run.bytes;
    }
  }
}

void unpack_runs(const std::byte* bytes, void* to, std::size_t count, const TypeInfo& info) {
  auto element = reinterpret_cast<std::intptr_t>(to);
  for (std::size_t e = 0; e < count; ++e, element += info.extent) {
    for (const TypeRun& run : *info.runs) {
      memory::copy_bytes(reinterpret_cast<std::byte*>(element + run.at), bytes, run.bytes);
      bytes += run.bytes;
    }
  }
}

}  // namespace quadrille
