// The mappings of this process, as the kernel tells them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quadrille::sys {

struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  bool accessible = false;             // may be read, written or run
  std::uint64_t device = 0, file = 0;  // as in FileIdentity; 0 for anonymous memory
};

// Reads the mappings, in the order of addresses. Does so without malloc, so that it serves inside fork().
class Mappings {
 public:
  Mappings();
  Mappings& operator=(Mappings&&) = delete;
  ~Mappings();
  // False behind the last one, or if the list cannot be read.
  bool next(Mapping& mapping);
  // Whether the list could be read so far.
  bool good() const { return good_; }

 private:
  // Longer than any line: addresses and a path. On the stack: a mapping of our own could come to lie where the program
  // has just unmapped something, and be taken for the program's.
  static constexpr std::size_t buffer_bytes = std::size_t{8} << 10;
  const int descriptor_;
  bool good_;
  char buffer_[buffer_bytes] = {};
  const char* line_ = buffer_;  // what is read next, up to a zero
};

}  // namespace quadrille::sys
