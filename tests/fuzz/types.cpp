#include "types.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace quadrille::fuzz {
namespace {

void require(int error, const char* what) {
  if (error != MPI_SUCCESS) throw std::runtime_error(std::string(what) + " failed");
}

void append(std::vector<Run>& runs, Run run) {
  if (!runs.empty() && runs.back().at + static_cast<std::ptrdiff_t>(runs.back().length) == run.at) {
    runs.back().length += run.length;
  } else if (run.length > 0) {
    runs.push_back(run);
  }
}

void find_footprint(Type& type) {
  if (type.runs.empty()) {
    type.first = type.last = 0;
    return;
  }
  type.first = type.runs.front().at, type.last = type.first;
  for (const Run& run : type.runs) {
    type.first = std::min(type.first, run.at);
    type.last = std::max(type.last, run.at + static_cast<std::ptrdiff_t>(run.length));
  }
}

// What the MPI says of bounds is the truth: an MPI may round the extent of a struct up.
Type commit(Type type, std::string name) {
  require(MPI_Type_commit(&type.handle), "MPI_Type_commit");
  type.name = std::move(name);
  type.owned = true;
  MPI_Aint lower = 0, extent = 0;
  int size = 0;
  require(MPI_Type_get_extent(type.handle, &lower, &extent), "MPI_Type_get_extent");
  require(MPI_Type_size(type.handle, &size), "MPI_Type_size");
  if (static_cast<std::size_t>(size) != type.size) throw std::runtime_error("the size of " + type.name);
  type.lower = lower, type.extent = extent;
  find_footprint(type);
  return type;
}

// Elements of the inner type at these offsets in bytes; the handle is still to be made.
Type placed(const Type& inner, const std::vector<std::ptrdiff_t>& offsets) {
  Type type;
  type.units = inner.units * offsets.size();
  type.size = inner.size * offsets.size();
  for (const std::ptrdiff_t offset : offsets) {
    for (const Run& run : inner.runs) append(type.runs, {run.at + offset, run.length});
  }
  return type;
}

Type basic(const char* name, MPI_Datatype handle, std::vector<Run> runs, std::ptrdiff_t extent) {
  Type type;
  type.handle = handle;
  type.name = name;
  type.runs = std::move(runs);
  for (const Run& run : type.runs) type.size += run.length;
  type.extent = extent;
  find_footprint(type);
  return type;
}

std::size_t divisor(Draw& draw, std::size_t of) {
  std::vector<std::size_t> all;
  for (std::size_t d = 1; d <= 64 && d <= of; ++d) {
    if (of % d == 0) all.push_back(d);
  }
  return draw.pick(all);
}

Type contiguous(const Type& inner, std::size_t count) {
  Type type;
  type.units = inner.units * count;
  type.size = inner.size * count;
  if (inner.dense()) {
    type.runs = {{0, type.size}};
  } else {
    std::vector<std::ptrdiff_t> offsets;
    for (std::size_t i = 0; i < count; ++i) offsets.push_back(static_cast<std::ptrdiff_t>(i) * inner.extent);
    type = placed(inner, offsets);
  }
  require(MPI_Type_contiguous(static_cast<int>(count), inner.handle, &type.handle), "MPI_Type_contiguous");
  return commit(std::move(type), "contiguous " + std::to_string(count) + " x " + inner.name);
}

// Blocks of `length` elements, `stride` elements apart; downwards if the stride is negative.
Type vector(const Type& inner, std::size_t blocks, std::size_t length, std::ptrdiff_t stride, bool in_bytes) {
  std::vector<std::ptrdiff_t> offsets;
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t i = 0; i < length; ++i) {
      offsets.push_back((static_cast<std::ptrdiff_t>(b) * stride + static_cast<std::ptrdiff_t>(i)) * inner.extent);
    }
  }
  Type type = placed(inner, offsets);
  const int b = static_cast<int>(blocks), l = static_cast<int>(length);
  require(in_bytes ? MPI_Type_create_hvector(b, l, stride * inner.extent, inner.handle, &type.handle)
                   : MPI_Type_vector(b, l, static_cast<int>(stride), inner.handle, &type.handle),
          "MPI_Type_vector");
  return commit(std::move(type), (in_bytes ? "hvector " : "vector ") + std::to_string(blocks) + "," +
                                     std::to_string(length) + "," + std::to_string(stride) + " of " + inner.name);
}

enum class Index { elements, bytes, parts };

// Blocks of random lengths in a random order, with gaps between them, some before the address.
Type indexed(Draw& draw, const Type& inner, std::size_t units, Index how, bool slim) {
  std::vector<int> lengths;
  for (std::size_t left = units; left > 0;) {
    const std::size_t now = lengths.size() > 40 ? left : draw.between(1, std::min<std::size_t>(left, 1 + units / 2));
    lengths.push_back(static_cast<int>(now));
    left -= now;
    if (how == Index::parts && draw.one_in(6)) lengths.push_back(0);
  }
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  draw.shuffle(order);
  std::vector<int> at(lengths.size());
  int cursor = draw.one_in(3) ? -static_cast<int>(draw.below(8)) : 0;
  for (const std::size_t block : order) {
    if (!slim || draw.one_in(4)) cursor += static_cast<int>(draw.below(3));
    at[block] = cursor;
    cursor += lengths[block];
  }
  std::vector<std::ptrdiff_t> offsets;
  std::vector<MPI_Aint> bytes;
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    bytes.push_back(at[b] * inner.extent);
    for (int i = 0; i < lengths[b]; ++i) offsets.push_back((at[b] + i) * inner.extent);
  }
  Type type = placed(inner, offsets);
  const int blocks = static_cast<int>(lengths.size());
  const std::vector<MPI_Datatype> parts(lengths.size(), inner.handle);
  switch (how) {
    case Index::elements:
      require(MPI_Type_indexed(blocks, lengths.data(), at.data(), inner.handle, &type.handle), "MPI_Type_indexed");
      break;
    case Index::bytes:
      require(MPI_Type_create_hindexed(blocks, lengths.data(), bytes.data(), inner.handle, &type.handle), "hindexed");
      break;
    case Index::parts:
      require(MPI_Type_create_struct(blocks, lengths.data(), bytes.data(), parts.data(), &type.handle), "struct");
  }
  const char* name = how == Index::elements ? "indexed " : how == Index::bytes ? "hindexed " : "struct ";
  return commit(std::move(type), name + std::to_string(blocks) + " blocks of " + inner.name);
}

Type subarray(Draw& draw, const Type& inner, std::size_t rows, std::size_t columns) {
  const std::size_t above = draw.below(2), left = draw.below(3);
  const int sizes[] = {static_cast<int>(rows + above + draw.below(2)),
                       static_cast<int>(columns + left + draw.below(2))};
  const int parts[] = {static_cast<int>(rows), static_cast<int>(columns)};
  const int starts[] = {static_cast<int>(above), static_cast<int>(left)};
  std::vector<std::ptrdiff_t> offsets;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      offsets.push_back(static_cast<std::ptrdiff_t>((above + r) * static_cast<std::size_t>(sizes[1]) + left + c) *
                        inner.extent);
    }
  }
  Type type = placed(inner, offsets);
  require(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, inner.handle, &type.handle), "subarray");
  return commit(std::move(type), "subarray of " + inner.name);
}

Type resized(const Type& inner, std::ptrdiff_t lower, std::ptrdiff_t extent) {
  Type type = placed(inner, {0});
  require(MPI_Type_create_resized(inner.handle, lower, extent, &type.handle), "MPI_Type_create_resized");
  return commit(std::move(type),
                "resized (" + std::to_string(lower) + "," + std::to_string(extent) + ") " + inner.name);
}

// The new type lives on without the one it was made of.
Type instead(Type old, Type type) {
  free_type(old);
  return type;
}

Type draw_shape(Draw& draw, const Type& base, std::size_t units, bool slim) {
  const std::size_t length = divisor(draw, units), blocks = units / length;
  const auto room = static_cast<std::ptrdiff_t>(length + (slim ? 0 : draw.below(length + 3)));
  // Lists of many blocks cost more than they find.
  if (units > 4096)
    return draw.one_in(2) ? contiguous(base, units)
                          : vector(base, length, blocks, static_cast<std::ptrdiff_t>(blocks + 1), false);
  switch (draw.below(9)) {
    case 0:
      return vector(base, blocks, length, room, false);
    case 1:
      return vector(base, blocks, length, draw.one_in(2) ? -room : room, true);
    case 2:
      return indexed(draw, base, units, Index::elements, slim);
    case 3:
      return indexed(draw, base, units, Index::bytes, slim);
    case 4:
      return indexed(draw, base, units, Index::parts, slim);
    case 5:
      return subarray(draw, base, blocks, length);
    case 6: {
      Type inner = draw_shape(draw, base, length, true);
      Type outer = contiguous(inner, blocks);
      return instead(std::move(inner), std::move(outer));
    }
    default:
      return contiguous(base, units);
  }
}

}  // namespace

const std::vector<Type>& bases() {
  static const std::vector<Type> all = {
      basic("byte", MPI_BYTE, {{0, 1}}, 1),
      basic("int", MPI_INT, {{0, 4}}, 4),
      basic("double", MPI_DOUBLE, {{0, 8}}, 8),
      basic("char", MPI_CHAR, {{0, 1}}, 1),
      basic("short", MPI_SHORT, {{0, 2}}, 2),
      basic("int64", MPI_INT64_T, {{0, 8}}, 8),
      basic("double complex", MPI_C_DOUBLE_COMPLEX, {{0, 16}}, 16),
      basic("2int", MPI_2INT, {{0, 8}}, 8),
      basic("double-int", MPI_DOUBLE_INT, {{0, 12}}, 16),
      basic("short-int", MPI_SHORT_INT, {{0, 2}, {4, 4}}, 8),
  };
  return all;
}

Type draw_type(Draw& draw, const Type& base, std::size_t units, bool slim) {
  Type type = base;
  if (units > 1 || draw.one_in(12)) type = draw_shape(draw, base, units, slim);
  if (draw.one_in(6)) {
    MPI_Datatype copy = MPI_DATATYPE_NULL;
    require(MPI_Type_dup(type.handle, &copy), "MPI_Type_dup");
    Type same = type;
    same.handle = copy;
    type = instead(std::move(type), commit(std::move(same), "dup of " + type.name));
  }
  if (draw.one_in(slim ? 12 : 4)) {
    const auto align = base.extent;
    const std::ptrdiff_t before = static_cast<std::ptrdiff_t>(draw.below(3)) * align;
    const std::ptrdiff_t behind = static_cast<std::ptrdiff_t>(draw.below(4)) * align;
    const std::ptrdiff_t low =
        type.first >= 0 ? type.first / align * align : -((-type.first + align - 1) / align * align);
    const std::ptrdiff_t span = (type.last - low + align - 1) / align * align;
    type = instead(type, resized(type, low - before, before + span + behind));
  }
  return type;
}

Type column_type(const Type& base, std::size_t units, std::size_t stride) {
  Type column = vector(base, units, 1, static_cast<std::ptrdiff_t>(stride), false);
  Type thin = resized(column, 0, base.extent);
  return instead(std::move(column), std::move(thin));
}

bool is_right(const Type& type, std::size_t count) {
  if (type.units == 0 || count == 0) return true;
  const std::ptrdiff_t low = std::min<std::ptrdiff_t>(type.first, 0);
  const std::ptrdiff_t high =
      std::max<std::ptrdiff_t>(type.last, 0) + static_cast<std::ptrdiff_t>(count - 1) * type.extent;
  std::vector<unsigned char> memory(static_cast<std::size_t>(high - low) + 32), other(memory.size(), 0xa5), packed,
      expected;
  test::fill({1, 2, 3}, 0, memory.size(), memory.data());
  std::vector<unsigned char> back = other;
  for (std::size_t e = 0; e < count; ++e) {
    for (const Run& run : type.runs) {
      const auto at = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(e) * type.extent + run.at - low);
      expected.insert(expected.end(), memory.data() + at, memory.data() + at + run.length);
      std::copy_n(memory.data() + at, run.length, other.data() + at);
    }
  }
  packed.resize(expected.size() + 64);
  int at = 0;
  const auto elements = static_cast<int>(count), room = static_cast<int>(packed.size());
  if (MPI_Pack(memory.data() - low, elements, type.handle, packed.data(), room, &at, MPI_COMM_SELF) != MPI_SUCCESS)
    return false;
  if (!std::equal(expected.begin(), expected.end(), packed.begin())) return false;
  at = 0;
  const int bytes = static_cast<int>(expected.size());
  if (MPI_Unpack(expected.data(), bytes, &at, back.data() - low, elements, type.handle, MPI_COMM_SELF) != MPI_SUCCESS)
    return false;
  return back == other;
}

Type empty_type(Draw& draw) {
  Type type;
  type.units = 0;
  if (draw.one_in(2)) {
    require(MPI_Type_contiguous(0, MPI_INT, &type.handle), "MPI_Type_contiguous");
  } else {
    MPI_Datatype none = MPI_DATATYPE_NULL;
    require(MPI_Type_contiguous(0, MPI_DOUBLE, &none), "MPI_Type_contiguous");
    require(MPI_Type_create_resized(none, -8, 24, &type.handle), "MPI_Type_create_resized");
    MPI_Type_free(&none);
  }
  return commit(std::move(type), "empty");
}

Type moved(const Type& type, MPI_Aint by) {
  Type result = placed(type, {static_cast<std::ptrdiff_t>(by)});
  const int one = 1;
  require(MPI_Type_create_hindexed(1, &one, &by, type.handle, &result.handle), "MPI_Type_create_hindexed");
  return commit(std::move(result), "moved " + type.name);
}

void free_type(Type& type) {
  if (type.owned) MPI_Type_free(&type.handle);
  type.owned = false;
}

}  // namespace quadrille::fuzz
