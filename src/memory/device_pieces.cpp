#include "memory/device_pieces.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <list>
#include <mutex>
#include <utility>

#include "memory/copy_pieces.hpp"
#include "memory/device_driver.hpp"
#include "sys/sys.hpp"

namespace quadrille::memory {

// ---- Regions ----

namespace {

// Drivers take no larger distance of rows.
constexpr std::intptr_t most_pitch = std::numeric_limits<std::int32_t>::max();

std::intptr_t row_behind(const Region& region) {
  return region.begin + static_cast<std::intptr_t>(region.rows * region.pitch);
}

// Two pieces of one row each.
bool join_single(Region& a, const Region& b) {
  if (b.begin <= a.end() && a.begin <= b.end()) {
    const std::intptr_t begin = std::min(a.begin, b.begin), end = std::max(a.end(), b.end());
    a = {begin, static_cast<std::size_t>(end - begin), 1, 0};
    return true;
  }
  const std::intptr_t distance = b.begin - a.begin;
  if (a.bytes != b.bytes || distance < 0 || distance > most_pitch) return false;
  a.rows = 2;
  a.pitch = static_cast<std::size_t>(distance);
  return true;
}

// The rows of one continue those of the other.
bool join_below(Region& a, const Region& b) {
  if (a.bytes != b.bytes || (a.rows > 1 && b.rows > 1 && a.pitch != b.pitch)) return false;
  const std::size_t pitch = a.rows > 1 ? a.pitch : b.pitch;
  Region rows = a;
  rows.pitch = pitch;
  if (b.begin != row_behind(rows)) return false;
  a = {a.begin, a.bytes, a.rows + b.rows, pitch};
  return true;
}

// Each row of one continues the same row of the other.
bool join_beside(Region& a, const Region& b) {
  if (a.rows != b.rows || a.pitch != b.pitch || a.bytes + b.bytes > a.pitch) return false;
  if (b.begin != a.begin + static_cast<std::intptr_t>(a.bytes)) return false;
  a.bytes += b.bytes;
  if (a.bytes == a.pitch) a = {a.begin, a.rows * a.pitch, 1, 0};
  return true;
}

// Makes both one, if their bytes are one region.
bool join(Region& a, const Region& b) {
  if (a.rows == 1 && b.rows == 1) return join_single(a, b);
  return join_below(a, b) || join_beside(a, b);
}

}  // namespace

void Regions::add(std::intptr_t begin, std::size_t bytes, std::size_t rows, std::ptrdiff_t stride) {
  if (bytes == 0 || rows == 0) return;
  if (stride < 0) begin += static_cast<std::intptr_t>(rows - 1) * stride;
  const auto pitch = static_cast<std::size_t>(stride < 0 ? -stride : stride);
  if (rows == 1 || pitch <= bytes) {
    push({begin, (rows - 1) * pitch + bytes, 1, 0});
  } else if (pitch <= static_cast<std::size_t>(most_pitch)) {
    push({begin, bytes, rows, pitch});
  } else {
    for (std::size_t row = 0; row < rows; ++row) push({begin + static_cast<std::intptr_t>(row * pitch), bytes, 1, 0});
  }
}

void Regions::push(Region region) {
  while (!list_.empty()) {
    Region joined = list_.back();
    if (!join(joined, region)) break;
    list_.pop_back();
    region = joined;
  }
  list_.push_back(region);
}

void Regions::put_in_order() {
  if (std::ranges::is_sorted(list_, {}, &Region::begin)) return;
  std::vector<Region> all = std::exchange(list_, {});
  std::ranges::sort(all, {}, &Region::begin);
  for (const Region& region : all) push(region);
}

std::intptr_t Regions::first() const { return std::ranges::min(list_, {}, &Region::begin).begin; }

std::intptr_t Regions::last() const { return std::ranges::max(list_, {}, &Region::end).end(); }

std::size_t Regions::bytes() const {
  std::size_t sum = 0;
  for (const Region& region : list_) sum += region.bytes * region.rows;
  return sum;
}

// ---- Pieces of them ----

namespace {

constexpr std::size_t KiB = 1024;
constexpr std::size_t most_of_rows = 64 * KiB;  // of a piece of several rows
// A copy that is submitted costs about as much as 32 KiB on the bus.
constexpr std::size_t least_rows = 16, large_row = 32 * KiB;
constexpr std::size_t least_copies = 4, large_copy = 32 * KiB;
// Threads of a block; blocks of a launch; units that a thread reads before it writes. So many blocks fill the device
// twice.
constexpr unsigned least_threads = 32, most_threads = 256, most_blocks = 4224, at_once = 4;

std::size_t unit_of(std::uint64_t together) {
  return together % 16 == 0 ? 16 : together % 8 == 0 ? 8 : together % 4 == 0 ? 4 : 1;
}

void add_rows(std::vector<Piece>& pieces, std::uint64_t to, std::uint64_t from, std::size_t bytes, std::size_t rows,
              std::size_t pitch) {
  const std::size_t unit = unit_of(to | from | bytes | (rows > 1 ? pitch : 0));
  const std::size_t together = std::max<std::size_t>(1, most_of_rows / bytes);
  for (std::size_t row = 0; row < rows; row += together) {
    const std::size_t now = std::min(together, rows - row);
    pieces.push_back({to + row * pitch, from + row * pitch, pitch, static_cast<std::uint32_t>(bytes / unit),
                      static_cast<std::uint32_t>(bytes / unit * now), static_cast<std::uint32_t>(unit), 0});
  }
}

// The kernel in one context.
struct Loaded {
  ContextToken token;
  void* module = nullptr;
  void* function = nullptr;  // null: unavailable, or its check failed
};

struct Kernels {
  std::mutex mutex;
  std::list<Loaded> loaded;
  bool ended = false;
};
Kernels& kernels() { return sys::immortal<Kernels>(); }

// `largest`: units of a piece. A column of blocks for each piece, or for each of so many, with as many blocks as have
// something to do. Blocks begin row by row, those of all pieces by turns: on an H100 16 pieces of 1 MiB take 28 us so,
// and 50 if the blocks of one piece begin together.
bool launch(void* function, const void* list, std::uint32_t count, std::uint32_t largest, void* stream) {
  auto address = reinterpret_cast<std::uint64_t>(list);
  void* parameters[] = {&address, &count};
  const unsigned wanted = std::min(largest / at_once + (largest % at_once != 0 ? 1 : 0), most_threads);
  const unsigned threads = std::clamp(std::bit_ceil(wanted), least_threads, most_threads);
  const unsigned useful = largest / (threads * at_once) + (largest % (threads * at_once) != 0 ? 1 : 0);
  const unsigned columns = std::clamp(count, 1U, most_blocks);
  const unsigned rows = std::clamp(useful, 1U, most_blocks / columns);
  return driver().launch(function, columns, rows, 1, threads, 1, 1, 0, stream, parameters, nullptr) == 0;
}

std::uint32_t largest_of(const std::vector<Piece>& pieces) { return std::ranges::max(pieces, {}, &Piece::count).count; }

// ---- The pattern that the kernel has to move ----

constexpr std::size_t half = 180 * KiB, list_bytes = 2048, probe_bytes = 2 * half + list_bytes;
constexpr unsigned char untouched = 0xee;

// All units, rows, and ends that are not aligned. More threads than units, and more units than threads.
std::vector<Piece> pattern(std::uint64_t to, std::uint64_t from) {
  std::vector<Piece> pieces;
  add_pieces(pieces, to + 3, from + 3, 1000);
  add_pieces(pieces, to + 1040, from + 1041, 77);
  add_pieces(pieces, to + 1200, from + 1200, 4);
  add_rows(pieces, to + 1232, from + 1232, 16, 5, 48);
  add_rows(pieces, to + 1536, from + 1540, 4, 200, 12);
  add_rows(pieces, to + 4001, from + 4000, 3, 7, 5);
  add_pieces(pieces, to + 4096, from + 4096, 4000);
  for (const std::uint64_t apart : {4, 8})
    add_pieces(pieces, to + 8192 + 10'000 * apart, from + 8192 + 10'000 * apart + apart, 30'000);
  add_pieces(pieces, to + 120'000, from + 120'000, 60'000);
  return pieces;
}

// What the bytes are there afterwards, by the same list on the host.
void move_on_host(const std::vector<Piece>& pieces, std::ptrdiff_t elsewhere) {
  for (const Piece& piece : pieces) {
    for (std::uint32_t u = 0; u < piece.count; ++u) {
      const std::uint64_t at = u / piece.units * piece.pitch + std::uint64_t{u % piece.units} * piece.unit;
      std::memcpy(reinterpret_cast<std::byte*>(piece.to + at) + elsewhere,
                  reinterpret_cast<const void*>(piece.from + at), piece.unit);
    }
  }
}

bool moves_the_pattern(void* function, std::byte* memory) {
  std::byte *const from = memory, *const to = memory + half, *const list = memory + 2 * half;
  for (std::size_t i = 0; i < half; ++i) from[i] = static_cast<std::byte>(i * 7 + i / 251);
  std::memset(to, untouched, half);
  const std::vector<Piece> pieces = pattern(reinterpret_cast<std::uint64_t>(to), reinterpret_cast<std::uint64_t>(from));
  if (pieces.size() * sizeof(Piece) > list_bytes) return false;
  std::memcpy(list, pieces.data(), pieces.size() * sizeof(Piece));
  std::vector<std::byte> expected(half, std::byte{untouched});
  move_on_host(pieces, expected.data() - to);
  void* stream = nullptr;
  if (driver().create_stream(&stream, independent) != 0) return false;
  const bool done = launch(function, list, static_cast<std::uint32_t>(pieces.size()), largest_of(pieces), stream) &&
                    driver().synchronize(stream) == 0;
  driver().destroy_stream(stream);
  return done && std::memcmp(expected.data(), to, half) == 0;
}

// Of several names of one context: null stands for that which is current.
void load_kernel(const DevicePlace& place, Loaded& loaded) {
  if (!loaded.token.take(place, probe_bytes)) return;
  if (driver().load_module(&loaded.module, copy_pieces_text) != 0) loaded.module = nullptr;
  void* function = nullptr;
  if (loaded.module != nullptr && driver().find_function(&function, loaded.module, copy_pieces_name) == 0 &&
      moves_the_pattern(function, static_cast<std::byte*>(loaded.token.pinned()))) {
    loaded.function = function;
  }
}

// Null if the copies have to serve.
void* kernel_at(const DevicePlace& place, DevicePieces::When when) {
  Kernels& list = kernels();
  const bool may_load = when == DevicePieces::When::now && may_wait_for_devices();
  std::unique_lock lock(list.mutex, std::defer_lock);
  // Who loads one waits for the device with this lock.
  if (!may_load && !lock.try_lock()) return nullptr;
  if (may_load) lock.lock();
  if (list.ended) return nullptr;
  const auto known = std::ranges::find_if(list.loaded, [&](const Loaded& one) { return one.token.place() == place; });
  if (known != list.loaded.end()) {
    if (known->token.is_alive()) return known->function;
    list.loaded.erase(known);  // it went with its context
  }
  if (!may_load) return nullptr;
  std::list<Loaded> made(1);
  load_kernel(place, made.front());
  list.loaded.splice(list.loaded.end(), made);
  return list.loaded.back().function;
}

}  // namespace

std::vector<Piece> pieces_of(const Regions& regions, std::ptrdiff_t moved, bool to_host) {
  std::vector<Piece> pieces;
  const std::size_t most = bytes_of_piece(regions.bytes());
  for (const Region& region : regions) {
    const auto device = static_cast<std::uint64_t>(region.begin),
               host = static_cast<std::uint64_t>(region.begin + moved);
    const std::uint64_t to = to_host ? host : device, from = to_host ? device : host;
    if (region.rows > 1 && region.bytes <= most_of_rows) {
      add_rows(pieces, to, from, region.bytes, region.rows, region.pitch);
    } else {
      for (std::size_t row = 0; row < region.rows; ++row) {
        add_pieces(pieces, to + row * region.pitch, from + row * region.pitch, region.bytes, most);
      }
    }
  }
  return pieces;
}

bool are_many(const Regions& regions) {
  std::size_t rows = 0;
  for (const Region& region : regions) rows += region.rows;
  return rows >= least_rows && regions.bytes() / rows < large_row;
}

std::size_t unit_between(std::uint64_t to, std::uint64_t from) { return unit_of(to - from); }

namespace {

// Bytes in a microsecond, and microseconds, on an H100: docs/results/gpu.md.
double kernel_time(const CopiesTogether& together) {
  const double rate = together.unit == 16 ? 1.41e6 : together.unit == 8 ? 1.0e6 : together.unit == 4 ? 0.84e6 : 0.33e6;
  return 11.7 + static_cast<double>(together.bytes) / rate;
}

// The driver makes a graph's copies while it goes on with the next ones, and a batch's it does not.
double driver_time(const CopiesTogether& together) {
  const double bytes = static_cast<double>(together.bytes) / (together.unit == 16 ? 1.48e6 : 1.19e6);
  const auto copies = static_cast<double>(together.copies);
  return together.many_times ? std::max(6 + 0.85 * copies, 9 + bytes) : 5 + 4.1 * copies + bytes;
}

}  // namespace

bool is_for_kernel(const CopiesTogether& together) {
  if (!together.in_one_device) return together.copies >= least_copies && together.bytes / together.copies < large_copy;
  return together.copies > 1 && kernel_time(together) < driver_time(together);
}

// Its ends byte by byte, if what lies between them can be moved in larger units.
void add_pieces(std::vector<Piece>& pieces, std::uint64_t to, std::uint64_t from, std::size_t bytes, std::size_t most) {
  const auto add = [&](std::size_t part) {
    if (part != 0) add_rows(pieces, to, from, part, 1, 0);
    to += part, from += part, bytes -= part;
  };
  const std::size_t unit = unit_between(to, from);
  if (bytes > 2 * unit) {
    add((unit - to % unit) % unit);
    while (bytes >= unit) add(std::min(most, bytes / unit * unit));
  }
  while (bytes != 0) add(std::min(most, bytes));
}

// What one block of threads moves at once. Blocks that share a piece wait for each other where it is read: 16 copies of
// 512 KiB took 15 us in such pieces on an H100, and 31 as a piece each. More pieces than blocks gain nothing.
std::size_t bytes_of_piece(std::size_t total) {
  constexpr std::size_t at_a_time = std::size_t{most_threads} * at_once * 16, most_pieces = most_blocks;
  const std::size_t needed = total / most_pieces + (total % most_pieces != 0 ? 1 : 0);
  return std::max(at_a_time, (needed + at_a_time - 1) / at_a_time * at_a_time);
}

void DevicePieces::take(const DevicePlace& place, const Regions& regions, std::ptrdiff_t moved, bool to_host,
                        When when) {
  function_ = nullptr;
  if (driver().launch != nullptr && are_many(regions)) take(place, pieces_of(regions, moved, to_host), when);
}

void DevicePieces::take(const DevicePlace& place, const std::vector<Piece>& pieces, When when) {
  function_ = nullptr;
  if (driver().launch == nullptr || pieces.empty()) return;
  void* const function = kernel_at(place, when);
  if (function == nullptr) return;
  list_.take(place, pieces.size() * sizeof(Piece), Staging::Kind::kept);
  if (!list_.is_pinned()) return;
  std::memcpy(list_.data(), pieces.data(), pieces.size() * sizeof(Piece));
  count_ = static_cast<std::uint32_t>(pieces.size());
  largest_ = largest_of(pieces);
  function_ = function;
}

bool DevicePieces::are_good(const DevicePlace& place) const { return kernel_at(place, When::if_there) == function_; }

bool DevicePieces::submit(void* stream) const { return launch(function_, list_.data(), count_, largest_, stream); }

void free_kernels() {
  Kernels& list = kernels();
  const std::lock_guard lock(list.mutex);
  list.ended = true;
  for (Loaded& loaded : list.loaded) {
    loaded.token.give_back([&] {
      if (loaded.module != nullptr) driver().unload_module(loaded.module);
    });
  }
  list.loaded.clear();
}

}  // namespace quadrille::memory
