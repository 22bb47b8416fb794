// Copies and values in the order of a stream, and which of them the host waits for: as CUDA's documentation has it in
// "API synchronization behavior", and never longer.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "driver.hpp"

namespace quadrille::standin {
namespace {

enum class Place { pageable, pinned, device, nowhere };

Place place_of(Address address, std::size_t bytes) {
  const Allocation* const allocation = find(address);
  if (allocation == nullptr) return address == 0 || is_in_arena(address) ? Place::nowhere : Place::pageable;
  if (bytes > bytes_from(*allocation, address)) return Place::nowhere;
  return allocation->is_device() || allocation->kind == Kind::managed ? Place::device : Place::pinned;
}

bool fits(Direction direction, Place to, Place from) {
  if (to == Place::nowhere || from == Place::nowhere) return false;
  const bool to_device = to == Place::device, from_device = from == Place::device;
  switch (direction) {
    case Direction::to_device:
      return to != Place::pageable && !from_device;
    case Direction::to_host:
      return !to_device && from != Place::pageable;
    case Direction::on_device:
      return to != Place::pageable && from != Place::pageable;
    case Direction::any:
      break;
  }
  return true;
}

// The memory types of copies in two dimensions.
enum MemoryType : unsigned { host_type = 1, device_type = 2, array_type = 3, unified_type = 4 };

bool fits(unsigned type, Place place) {
  if (type == host_type) return place != Place::device;
  return type == unified_type || (type == device_type && place != Place::pageable);
}

// May work of this context use it? HIP knows devices alone. One of two sides is enough: copies between devices are
// allowed.
bool belongs(const Context& context, Address address) {
  const Allocation* const allocation = find(address);
  if (allocation == nullptr || !allocation->is_device() || starts_by_itself) return true;
  return allocation->is_of_a_device_alone() ? allocation->device == context.device : allocation->context == &context;
}

bool is_synchronous(Address address) {
  const Allocation* const allocation = find(address);
  return allocation != nullptr && allocation->sync_memops;
}

int check(const Context& context, Address to, Address from, std::size_t bytes, Direction direction) {
  const Place to_place = place_of(to, bytes), from_place = place_of(from, bytes);
  if (!fits(direction, to_place, from_place)) return invalid_value;
  const bool to_ours = belongs(context, to), from_ours = belongs(context, from);
  if (to_ours && from_ours) return success;
  const bool both = to_place == Place::device && from_place == Place::device;
  return both && (to_ours || from_ours) ? success : invalid_context;
}

// Whether the memory is still there is seen when the work is done.
int move(Address to, Address from, std::size_t bytes) {
  char* const target = reach(to, bytes);
  const char* const source = reach(from, bytes);
  if (target == nullptr || source == nullptr) return illegal_address;
  std::memmove(target, source, bytes);
  return success;
}

std::function<int()> keep_and_move(Address to, Address from, std::size_t bytes) {
  const char* const source = reach(from, bytes);
  if (source == nullptr) return [] { return static_cast<int>(illegal_address); };
  auto kept = std::make_shared<std::vector<char>>(source, source + bytes);
  return [to, kept] {
    char* const target = reach(to, kept->size());
    if (target == nullptr) return static_cast<int>(illegal_address);
    std::memcpy(target, kept->data(), kept->size());
    return static_cast<int>(success);
  };
}

int finish(const Stream& stream, const MarkRef& mark, bool waits) {
  if (!waits) return success;
  wait_for(mark);
  return stream.context->error;
}

int move_row(const Copy2D& copy, Address to, Address from, std::size_t row) {
  return move(to + (copy.to_y + row) * copy.to_pitch + copy.to_x,
              from + (copy.from_y + row) * copy.from_pitch + copy.from_x, copy.width);
}

}  // namespace

int check_copy(const Context& context, Address to, Address from, std::size_t bytes) {
  return check(context, to, from, bytes, Direction::any);
}
int move_now(Address to, Address from, std::size_t bytes) { return move(to, from, bytes); }

int copy(Stream& stream, Address to, Address from, std::size_t bytes, Direction direction, bool waits) {
  if (bytes == 0) return success;
  const int error = check(*stream.context, to, from, bytes, direction);
  if (error != success) return error;
  const Place to_place = place_of(to, bytes), from_place = place_of(from, bytes);
  if (from_place == Place::pageable && to_place == Place::device) {
    // What is to be copied is put aside before the call returns; when it arrives is another matter.
    if (waits) wait_for(stream.last);
    const MarkRef mark = submit(stream, keep_and_move(to, from, bytes));
    return finish(stream, mark, is_synchronous(to));
  }
  const MarkRef mark = submit(stream, [=] { return move(to, from, bytes); });
  const bool on_device = to_place == Place::device && from_place == Place::device;
  const bool on_host = to_place != Place::device && from_place != Place::device;
  const bool must_wait = on_host || to_place == Place::pageable || is_synchronous(to) || is_synchronous(from);
  return finish(stream, mark, must_wait || (waits && !on_device));
}

int copy_2d(Stream& stream, const Copy2D& copy, bool waits) {
  if (copy.from_type == array_type || copy.to_type == array_type) return not_supported;
  if (copy.width == 0 || copy.height == 0) return success;
  const Address from = copy.from_type == host_type ? reinterpret_cast<Address>(copy.from_host) : copy.from_device;
  const Address to = copy.to_type == host_type ? reinterpret_cast<Address>(copy.to_host) : copy.to_device;
  if ((copy.from_pitch < copy.width || copy.to_pitch < copy.width) && copy.height > 1) return invalid_value;
  bool on_device = true, pageable = false;
  for (const std::size_t row : {std::size_t{0}, copy.height - 1}) {
    const Address row_to = to + (copy.to_y + row) * copy.to_pitch + copy.to_x;
    const Address row_from = from + (copy.from_y + row) * copy.from_pitch + copy.from_x;
    const int error = check(*stream.context, row_to, row_from, copy.width, Direction::any);
    if (error != success) return error;
    for (const auto& [side, type] : {std::pair(row_to, copy.to_type), std::pair(row_from, copy.from_type)}) {
      const Place place = place_of(side, copy.width);
      if (!fits(type, place)) return invalid_value;
      on_device = on_device && place == Place::device;
      pageable = pageable || place == Place::pageable;
    }
  }
  const MarkRef mark = submit(stream, [copy, to, from] {
    for (std::size_t row = 0; row < copy.height; ++row) {
      const int error = move_row(copy, to, from, row);
      if (error != success) return error;
    }
    return static_cast<int>(success);
  });
  return finish(stream, mark, pageable || (waits && !on_device));
}

int copy_batch(Stream& stream, const Address* to, const Address* from, const std::size_t* bytes, std::size_t count,
               const CopyAttributes* attributes, const std::size_t* begins, std::size_t attribute_count,
               std::size_t* failed) {
  if (failed != nullptr) *failed = SIZE_MAX;
  if (count == 0 || to == nullptr || from == nullptr || bytes == nullptr || attributes == nullptr ||
      begins == nullptr || attribute_count == 0 || attribute_count > count || begins[0] != 0) {
    return invalid_value;
  }
  constexpr int in_order = 1, during_call = 2, any = 3;
  std::vector<std::function<int()>> moves;
  std::size_t attribute = 0;
  for (std::size_t i = 0; i < count; ++i) {
    while (attribute + 1 < attribute_count && begins[attribute + 1] <= i) ++attribute;
    const int order = attributes[attribute].from_order;
    int error = order < in_order || order > any ? static_cast<int>(invalid_value) : success;
    if (error == success) error = check(*stream.context, to[i], from[i], bytes[i], Direction::any);
    if (error != success) {
      if (failed != nullptr) *failed = i;
      return error;
    }
    const bool early = order == during_call ||
                       (order == any && driver().settings.mode == Mode::random && driver().settings.random() % 2);
    const Address target = to[i], source = from[i];
    const std::size_t size = bytes[i];
    moves.push_back(early ? keep_and_move(target, source, size)
                          : std::function<int()>([=] { return move(target, source, size); }));
  }
  // In which order is not said.
  if (driver().settings.mode == Mode::random) std::shuffle(moves.begin(), moves.end(), driver().settings.random);
  if (driver().settings.mode == Mode::lazy) std::reverse(moves.begin(), moves.end());
  submit(stream, [moves = std::move(moves)] {
    for (const auto& move_one : moves) {
      const int error = move_one();
      if (error != success) return error;
    }
    return static_cast<int>(success);
  });
  return success;
}

int fill(Stream& stream, Address to, unsigned value, std::size_t value_bytes, std::size_t count, bool waits) {
  if (count == 0) return success;
  const std::size_t bytes = count * value_bytes;
  const Place place = place_of(to, bytes);
  if (place == Place::pageable || place == Place::nowhere || to % value_bytes != 0) return invalid_value;
  if (!belongs(*stream.context, to)) return invalid_context;
  const MarkRef mark = submit(stream, [=] {
    char* const target = reach(to, bytes);
    if (target == nullptr) return static_cast<int>(illegal_address);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(target + i * value_bytes, &value, value_bytes);
    return static_cast<int>(success);
  });
  return finish(stream, mark, is_synchronous(to) || (waits && place == Place::pinned));
}

int wait_for_value(Stream& stream, Address address, std::uint32_t value, unsigned flags) {
  constexpr unsigned flush = 1U << 30;
  const unsigned how = flags & ~flush;
  const Place place = place_of(address, 4);
  if (how > 3 || address % 4 != 0 || place == Place::pageable || place == Place::nowhere) return invalid_value;
  if ((flags & flush) != 0) return not_supported;
  if (!belongs(*stream.context, address)) return invalid_context;
  Operation operation;
  operation.seen_by_host = true;
  operation.ready = [=] {
    const char* const at = reach(address, 4);
    if (at == nullptr) return true;  // an error, when it is run
    const std::uint32_t found = __atomic_load_n(reinterpret_cast<const std::uint32_t*>(at), __ATOMIC_ACQUIRE);
    if (how == 0) return static_cast<std::int32_t>(found - value) >= 0;
    if (how == 1) return found == value;
    return how == 2 ? (found & value) != 0 : ~(found | value) != 0;
  };
  operation.run = [=] { return reach(address, 4) == nullptr ? illegal_address : success; };
  submit(stream, std::move(operation));
  return success;
}

int write_value(Stream& stream, Address address, std::uint32_t value, unsigned flags) {
  const Place place = place_of(address, 4);
  if (address % 4 != 0 || place == Place::pageable || place == Place::nowhere) return invalid_value;
  if (flags != 0) return not_supported;
  if (!belongs(*stream.context, address)) return invalid_context;
  Operation operation;
  operation.seen_by_host = true;
  operation.run = [=] {
    char* const at = reach(address, 4);
    if (at == nullptr) return illegal_address;
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(at), value, __ATOMIC_RELEASE);
    return success;
  };
  submit(stream, std::move(operation));
  return success;
}

int call_host(Stream& stream, std::function<void()> function) {
  Operation operation;
  operation.calls_host = operation.seen_by_host = true;
  operation.run = [function = std::move(function)] {
    function();
    return success;
  };
  submit(stream, std::move(operation));
  return success;
}

int allocate_in_order(Stream& stream, std::size_t bytes, Address* made) {
  return allocate(*stream.context, Kind::pool, bytes, made);
}

int free_in_order(Stream& stream, Address address) {
  const Allocation* const allocation = find(address);
  if (allocation == nullptr || allocation->base != address || !allocation->is_device()) return invalid_value;
  if (allocation->kind == Kind::opened) return invalid_value;
  if (!belongs(*stream.context, address)) return invalid_context;
  submit(stream, [=] {
    Allocation* const gone = find(address);
    if (gone == nullptr) return illegal_address;
    release(*gone);
    return success;
  });
  return success;
}

}  // namespace quadrille::standin
