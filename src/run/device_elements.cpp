#include "run/device_elements.hpp"

#include <vector>

namespace quadrille::run {
namespace {

using memory::DeviceCopies;

// Equal runs of an element at equal distances.
struct Rows {
  std::ptrdiff_t at = 0, pitch = 0;
  std::size_t bytes = 0, rows = 0;
};

std::vector<Rows> rows_of(const std::vector<TypeRun>& runs) {
  std::vector<Rows> all;
  for (const TypeRun& run : runs) {
    if (!all.empty() && all.back().bytes == run.bytes) {
      Rows& last = all.back();
      const std::ptrdiff_t from_first = run.at - last.at;
      if (last.rows == 1 || from_first == last.pitch * static_cast<std::ptrdiff_t>(last.rows)) {
        if (last.rows == 1) last.pitch = from_first;
        ++last.rows;
        continue;
      }
    }
    all.push_back({run.at, 0, run.bytes, 1});
  }
  return all;
}

// Rows of a block, to or from consecutive bytes.
void copy_rows(std::byte* at, const Rows& rows, std::uintptr_t packed, std::ptrdiff_t packed_pitch, bool packs,
               DeviceCopies& copies) {
  if (packs) {
    copies.copy(memory::DeviceRows{pointer(packed), at, rows.bytes, rows.rows, packed_pitch, rows.pitch});
  } else {
    copies.copy(memory::DeviceRows{at, pointer(packed), rows.bytes, rows.rows, rows.pitch, packed_pitch});
  }
}

}  // namespace

bool settle(const DeviceEnd& sent, const DeviceEnd& received) {
  const auto wait_at = [&](const memory::DevicePlace& place) {
    const memory::AtDevice at(place);
    return memory::wait_for_stream(nullptr);
  };
  const bool is_other = received.on_device && !(sent.on_device && sent.place == received.place);
  return (!sent.on_device || wait_at(sent.place)) && (!is_other || wait_at(received.place));
}

void copy_elements(const Block& block, std::size_t count, std::uintptr_t packed, bool packs, DeviceCopies& copies) {
  const std::vector<TypeRun>& runs = *block.info.runs;
  const std::vector<Rows> element = rows_of(runs);
  std::uintptr_t at = packed;
  if (element.size() * count > runs.size()) {
    for (const TypeRun& run : runs) {
      copy_rows(block.address + run.at, {0, block.info.extent, run.bytes, count}, at,
                static_cast<std::ptrdiff_t>(block.info.size), packs, copies);
      at += run.bytes;
    }
    return;
  }
  for (std::size_t e = 0; e < count; ++e) {
    std::byte* const begin = block.address + static_cast<std::ptrdiff_t>(e) * block.info.extent;
    for (const Rows& rows : element) {
      copy_rows(begin + rows.at, rows, at, static_cast<std::ptrdiff_t>(rows.bytes), packs, copies);
      at += rows.bytes * rows.rows;
    }
  }
}

void add_elements(const Block& block, std::size_t count, std::uintptr_t packed, bool packs,
                  memory::DeviceBatch& batch) {
  for (std::size_t e = 0; e < count; ++e) {
    const std::uintptr_t element =
        number(block.address) + static_cast<std::uintptr_t>(static_cast<std::ptrdiff_t>(e) * block.info.extent);
    for (const TypeRun& run : *block.info.runs) {
      const std::uintptr_t at = element + static_cast<std::uintptr_t>(run.at);
      batch.add(packs ? packed : at, packs ? at : packed, run.bytes);
      packed += run.bytes;
    }
  }
}

}  // namespace quadrille::run
