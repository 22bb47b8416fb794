// The part of PTX that kernels without a twin on the host are made of, run instruction by instruction: so what is
// tested is the text that a GPU would get. Threads run one after the other; there is no shared memory and nothing to
// wait for.
//
// A thread that reads or writes what no allocation of a device and no pinned memory holds, or that is not aligned as
// its instruction needs, ends the kernel with the error that a GPU has for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "standin.hpp"

namespace quadrille::standin::ptx {

enum class Op : std::uint8_t {
  load_parameter,
  load,
  store,
  move,
  widen,
  add,
  subtract,
  multiply,
  multiply_wide,
  divide,
  remainder,
  both,
  either,
  shift_left,
  is_at_least,
  is_equal,
  is_less,
  is_other,
  branch,
  end
};

struct Instruction {
  Op op = Op::end;
  unsigned bytes = 0;
  unsigned elements = 1;  // of a vector
  int guard = -1;         // the register that predicates the instruction
  bool guard_is_not = false;
  // Registers, but for the parameter that is loaded and the instruction that is next.
  std::array<std::uint32_t, 5> operands{};
  unsigned count = 0;       // of operands
  std::int64_t offset = 0;  // [register + offset]
};

// Numbers, and what a thread knows of itself, are in registers, too.
struct Kernel {
  std::vector<Instruction> instructions;
  std::vector<std::uint64_t> registers;  // as a thread finds them
  std::array<int, 6> special = {-1, -1, -1, -1, -1, -1};
};

// The kernel whose body, between its braces, is `body`. False if it uses anything else than is known here; `problem`
// says what.
bool read(const std::string& body, const std::vector<std::string>& parameters, Kernel& kernel, std::string& problem);

// Runs all threads. Returns an error of the driver.
int run(const Kernel& kernel, const Launch& launch, const std::vector<std::vector<char>>& parameters);

}  // namespace quadrille::standin::ptx
