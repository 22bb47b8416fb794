#include "oracle.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace quadrille::test {

namespace {

constexpr std::uint64_t step = 0x9e3779b97f4a7c15U;

// 8 bytes of a message. Cheaper than mix(): much of the tests' time is spent here.
std::uint64_t word_of(std::uint64_t seed_and_place) {
  const std::uint64_t word = (seed_and_place ^ (seed_and_place >> 32)) * 0xbf58476d1ce4e5b9U;
  return word ^ (word >> 29);
}

}  // namespace

void fill(Key key, std::size_t first, std::size_t count, unsigned char* out) {
  const std::uint64_t ranks = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.source)) << 32) |
                              static_cast<std::uint32_t>(key.destination);
  const std::uint64_t seed = mix(mix(ranks + 1) ^ key.call);
  // Up to the next word, then whole words, then what is left.
  for (std::size_t done = 0; done < count;) {
    const std::size_t offset = first + done, inside = offset % 8;
    std::uint64_t place = seed + step * (offset / 8);
    for (; inside == 0 && count - done >= 8; done += 8, place += step) {
      const std::uint64_t word = word_of(place);
      std::memcpy(out + done, &word, 8);
    }
    if (done == count) return;
    const std::uint64_t word = word_of(place);
    const std::size_t now = std::min(count - done, 8 - inside);
    std::memcpy(out + done, reinterpret_cast<const unsigned char*>(&word) + inside, now);
    done += now;
  }
}

namespace {

constexpr std::size_t guard = 256;
constexpr std::ptrdiff_t int_bytes = sizeof(int);

Type predefined(const char* name, MPI_Datatype handle, Base base, std::vector<Run> runs, std::ptrdiff_t extent) {
  std::size_t size = 0;
  for (const Run& run : runs) size += run.length;
  return {name, handle, base, 1, size, 0, extent, std::move(runs), true};
}

Type derived(const char* name, MPI_Datatype handle, Base base, int units, std::ptrdiff_t lower, std::ptrdiff_t extent,
             std::vector<Run> runs) {
  MPI_Type_commit(&handle);
  std::size_t size = 0;
  for (const Run& run : runs) size += run.length;
  return {name, handle, base, units, size, lower, extent, std::move(runs), false};
}

MPI_Datatype resized(MPI_Datatype from, MPI_Aint lower, MPI_Aint extent) {
  MPI_Datatype to;
  MPI_Type_create_resized(from, lower, extent, &to);
  MPI_Type_free(&from);
  return to;
}

// Ints at the given displacements (in ints), one run each.
std::vector<Run> ints_at(const std::vector<int>& displacements) {
  std::vector<Run> runs;
  for (int at : displacements) runs.push_back({at * int_bytes, sizeof(int)});
  return runs;
}

Type contiguous_ints(const char* name, int count) {
  MPI_Datatype handle;
  MPI_Type_contiguous(count, MPI_INT, &handle);
  const std::ptrdiff_t extent = count * int_bytes;
  return derived(name, handle, Base::integer, count, 0, extent, {{0, static_cast<std::size_t>(extent)}});
}

// Three pairs of ints, four ints apart: 0 1 . . 4 5 . . 8 9
Type vector_with_gaps() {
  MPI_Datatype handle;
  MPI_Type_vector(3, 2, 4, MPI_INT, &handle);
  return derived("vector", handle, Base::integer, 6, 0, 10 * int_bytes,
                 {{0, 8}, {4 * int_bytes, 8}, {8 * int_bytes, 8}});
}

// An int and two ints with a hole between them and another at the end: 0 . 2 3 . .
Type struct_with_gaps() {
  const int lengths[] = {1, 2};
  const MPI_Aint at[] = {0, 2 * int_bytes};
  const MPI_Datatype parts[] = {MPI_INT, MPI_INT};
  MPI_Datatype handle;
  MPI_Type_create_struct(2, lengths, at, parts, &handle);
  return derived("resized-struct", resized(handle, 0, 6 * int_bytes), Base::integer, 3, 0, 6 * int_bytes,
                 {{0, 4}, {2 * int_bytes, 8}});
}

// Three ints whose lower bound lies two ints before the first of them.
Type lower_bound_before_data() {
  MPI_Datatype handle;
  MPI_Type_contiguous(3, MPI_INT, &handle);
  return derived("negative-bound", resized(handle, -2 * int_bytes, 7 * int_bytes), Base::integer, 3, -2 * int_bytes,
                 7 * int_bytes, {{0, 12}});
}

// Two ints before the address that is given to MPI, the second one first.
Type data_before_address() {
  const int lengths[] = {1, 1};
  const int at[] = {-1, -3};
  MPI_Datatype handle;
  MPI_Type_indexed(2, lengths, at, MPI_INT, &handle);
  return derived("negative-data", handle, Base::integer, 2, -3 * int_bytes, 3 * int_bytes, ints_at({-1, -3}));
}

// Four ints without a gap, but not in the order of memory: size and extent are equal.
Type permuted() {
  const int at[] = {2, 0, 3, 1};
  MPI_Datatype handle;
  MPI_Type_create_indexed_block(4, 1, at, MPI_INT, &handle);
  return derived("permuted", handle, Base::integer, 4, 0, 4 * int_bytes, ints_at({2, 0, 3, 1}));
}

// An int of which only the extent is large.
Type sparse_int() {
  MPI_Datatype handle;
  MPI_Type_dup(MPI_INT, &handle);
  return derived("sparse", resized(handle, 0, 5 * int_bytes), Base::integer, 1, 0, 5 * int_bytes, {{0, 4}});
}

// A record of different basic types with the compiler's padding: char, double, short.
Type record() {
  struct Layout {
    char letter;
    double value;
    short number;
  };
  const int lengths[] = {1, 1, 1};
  const MPI_Aint at[] = {offsetof(Layout, letter), offsetof(Layout, value), offsetof(Layout, number)};
  const MPI_Datatype parts[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
  MPI_Datatype handle;
  MPI_Type_create_struct(3, lengths, at, parts, &handle);
  return derived("record", resized(handle, 0, sizeof(Layout)), Base::record, 1, 0, sizeof(Layout),
                 {{at[0], 1}, {at[1], 8}, {at[2], 2}});
}

// The same signature as two records.
Type two_records(const Type& one) {
  MPI_Datatype handle;
  MPI_Type_contiguous(2, one.handle, &handle);
  std::vector<Run> runs = one.runs;
  for (const Run& run : one.runs) runs.push_back({run.at + one.extent, run.length});
  return derived("two-records", handle, Base::record, 2, 0, 2 * one.extent, std::move(runs));
}

Type vector_of_doubles() {
  MPI_Datatype handle;
  MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &handle);
  return derived("vector-of-doubles", handle, Base::real, 2, 0, 32, {{0, 8}, {24, 8}});
}

std::vector<Type> make_types() {
  std::vector<Type> all;
  all.push_back(predefined("byte", MPI_BYTE, Base::byte, {{0, 1}}, 1));
  all.push_back(predefined("int", MPI_INT, Base::integer, {{0, 4}}, 4));
  all.push_back(predefined("double", MPI_DOUBLE, Base::real, {{0, 8}}, 8));
  all.push_back(predefined("double-int", MPI_DOUBLE_INT, Base::pair, {{0, 12}}, 16));
  all.push_back(contiguous_ints("contiguous", 3));
  all.push_back(vector_with_gaps());
  all.push_back(struct_with_gaps());
  all.push_back(lower_bound_before_data());
  all.push_back(data_before_address());
  all.push_back(permuted());
  all.push_back(sparse_int());
  all.push_back(vector_of_doubles());
  all.push_back(record());
  all.push_back(two_records(all.back()));
  return all;
}

std::vector<Type>& all_types() {
  static std::vector<Type> all = make_types();
  return all;
}

}  // namespace

const std::vector<Type>& types() { return all_types(); }

const Type& type_named(const std::string& name) {
  for (const Type& type : types()) {
    if (type.name == name) return type;
  }
  throw std::invalid_argument("no datatype is called " + name);
}

std::vector<const Type*> types_of(Base base) {
  std::vector<const Type*> found;
  for (const Type& type : types()) {
    if (type.base == base) found.push_back(&type);
  }
  return found;
}

void free_types() {
  for (Type& type : all_types()) {
    if (!type.predefined) MPI_Type_free(&type.handle);
  }
}

Image::Image(const std::vector<Block>& blocks, std::uint64_t seed, std::size_t shift) {
  std::ptrdiff_t least = 0;
  std::ptrdiff_t most = 0;
  for (const Block& block : blocks) {
    if (block.count == 0) continue;
    const std::ptrdiff_t last = block.at + static_cast<std::ptrdiff_t>(block.count - 1) * block.type->extent;
    for (const Run& run : block.type->runs) {
      least = std::min({least, block.at + run.at, last + run.at});
      most = std::max({most, block.at + run.at + static_cast<std::ptrdiff_t>(run.length),
                       last + run.at + static_cast<std::ptrdiff_t>(run.length)});
    }
  }
  // Vectors start at a multiple of 16, so the address that MPI gets is aligned unless shifted.
  const std::size_t before = (static_cast<std::size_t>(-least) + guard + 15) / 16 * 16;
  origin_ = before + shift;
  bytes_.resize(origin_ + static_cast<std::size_t>(most) + guard);
  fill({-1, -1, seed}, 0, bytes_.size(), bytes_.data());
}

void Image::write(const Block& block, Key key) {
  if (block.count == 0) return;
  const Type& type = *block.type;
  unsigned char* start = bytes_.data() + static_cast<std::ptrdiff_t>(origin_) + block.at;
  const bool dense = type.runs.size() == 1 && static_cast<std::ptrdiff_t>(type.runs[0].length) == type.extent;
  if (dense) {
    fill(key, 0, block.bytes(), start + type.runs[0].at);
    return;
  }
  std::size_t offset = 0;
  for (std::size_t i = 0; i < block.count; ++i, start += type.extent) {
    for (const Run& run : type.runs) {
      fill(key, offset, run.length, start + run.at);
      offset += run.length;
    }
  }
}

std::vector<bool> Image::described(const std::vector<Block>& blocks) const {
  std::vector<bool> found(bytes_.size(), false);
  for (const Block& block : blocks) {
    std::ptrdiff_t at = static_cast<std::ptrdiff_t>(origin_) + block.at;
    for (std::size_t i = 0; i < block.count; ++i, at += block.type->extent) {
      for (const Run& run : block.type->runs) std::fill_n(found.begin() + at + run.at, run.length, true);
    }
  }
  return found;
}

std::string Image::difference(const Image& expected) const {
  if (bytes_ == expected.bytes_) return {};
  std::size_t wrong = 0;
  std::size_t first = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    if (bytes_[i] == expected.bytes_[i]) continue;
    if (wrong++ == 0) first = i;
    last = i;
  }
  const auto from_address = [this](std::size_t at) {
    return static_cast<std::ptrdiff_t>(at) - static_cast<std::ptrdiff_t>(origin_);
  };
  std::ostringstream line;
  line << wrong << " wrong bytes, the first at " << from_address(first) << ", the last at " << from_address(last)
       << " of a buffer that ends at " << from_address(bytes_.size() - guard);
  return line.str();
}

}  // namespace quadrille::test
