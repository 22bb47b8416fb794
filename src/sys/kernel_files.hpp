// Files of the kernel, and how much memory they say is left. They are read without malloc, so also inside fork() and
// where there is no memory left.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace quadrille::sys {

// The beginning of a file; empty if it cannot be read, or has too long a path.
class KernelFile {
 public:
  // The parts of its path.
  using Path = std::initializer_list<std::string_view>;
  explicit KernelFile(Path path);
  std::string_view text() const { return {text_.data(), used_}; }
  // The number that it begins with; `without` if that is none, such as "max".
  std::size_t number(std::size_t without) const;
  // The number behind `name` at the beginning of a line; 0 without such a line.
  std::size_t number_behind(std::string_view name) const;

 private:
  std::array<char, 4096> text_;
  std::size_t used_ = 0;
};

struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  bool accessible = false;             // may be read, written or run
  std::uint64_t device = 0, file = 0;  // as in FileIdentity; 0 for anonymous memory
};

// Reads the mappings of this process, in the order of addresses.
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

// Bytes that can be written to before somebody is ended for want of memory, by the system or a control group of this
// process, what the kernel can take back or swap out included; SIZE_MAX if unknown. `root`: of other files than the
// kernel's, for tests.
std::size_t memory_left(const char* root = "");

}  // namespace quadrille::sys
