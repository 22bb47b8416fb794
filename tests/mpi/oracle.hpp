// The oracle of the tests with real ranks: what every byte of every buffer must be after a call.
//
// A byte of data is a hash of (source, destination, offset in the message, call). All other bytes
// of a buffer, which are guard zones, gaps of datatypes and gaps between blocks, hold poison that is
// a hash too. A test builds the whole image of a buffer that must come out and compares all of it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::test {

// Spreads the bits of a number over all 64 bits.
inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// A small generator that gives the same numbers on every rank.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15U); }
  // A number of [0, end).
  int below(int end) { return static_cast<int>(next() % static_cast<std::uint64_t>(end)); }

 private:
  std::uint64_t state_;
};

// Names one message. Ranks are those of MPI_COMM_WORLD, so that data which strays between two
// communicators shows.
struct Key {
  int source;
  int destination;
  std::uint64_t call;
};

// Bytes [first, first + count) of the message `key`.
void fill(Key key, std::size_t first, std::size_t count, unsigned char* out);

// What an element is made of. Two types can stand on the two sides of a message if their base is
// the same: their signatures then are n times the signature of the base.
enum class Base { byte, integer, real, pair, record };

// Consecutive bytes of data of one element.
struct Run {
  std::ptrdiff_t at;
  std::size_t length;
};

// A datatype and, apart from any MPI, where its data lies.
struct Type {
  std::string name;
  MPI_Datatype handle;
  Base base;
  int units;             // elements of the base in one element of this type
  std::size_t size;      // bytes of data in one element
  std::ptrdiff_t lower;  // lower bound
  std::ptrdiff_t extent;
  std::vector<Run> runs;  // in the order in which the data travels
  bool predefined = false;
};

// All datatypes of the tests; made at the first call.
const std::vector<Type>& types();
const Type& type_named(const std::string& name);
// The types of one base.
std::vector<const Type*> types_of(Base base);
// Frees what types() made; before MPI_Finalize.
void free_types();

// `count` elements of a type, `at` bytes after the start of a buffer.
struct Block {
  const Type* type = nullptr;
  std::size_t count = 0;
  std::ptrdiff_t at = 0;
  std::size_t bytes() const { return type->size * count; }
};

// A buffer of one rank with guard zones before and behind all of its blocks, filled with poison.
class Image {
 public:
  // `shift` moves the start of the buffer away from an aligned address.
  Image(const std::vector<Block>& blocks, std::uint64_t seed, std::size_t shift);
  // The address that is given to MPI.
  void* address() { return bytes_.data() + origin_; }
  // Writes the data of message `key` into the block.
  void write(const Block& block, Key key);
  // Empty if all bytes are equal, else one line about the first that differ.
  std::string difference(const Image& expected) const;

  std::vector<unsigned char>& bytes() { return bytes_; }
  // Where the address is among the bytes.
  std::size_t origin() const { return origin_; }
  // Which of the bytes are data of a block.
  std::vector<bool> described(const std::vector<Block>& blocks) const;

 private:
  std::vector<unsigned char> bytes_;
  std::size_t origin_ = 0;
};

}  // namespace quadrille::test
