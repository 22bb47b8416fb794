#include "ptx.hpp"

#include <algorithm>
#include <cstring>

#include "driver.hpp"

namespace quadrille::standin::ptx {
namespace {

constexpr int illegal_address = 700, misaligned_address = 716, launch_timeout = 702;
constexpr std::size_t most_steps = 100000000;  // of one thread: it hangs

const char* const special_names[] = {"%tid.x", "%ntid.x", "%ctaid.x", "%nctaid.x", "%ctaid.y", "%nctaid.y"};

// Without their types.
const std::map<std::string, Op>& known_names() {
  static const std::map<std::string, Op> names = {{"ld.param", Op::load_parameter},
                                                  {"ld.global", Op::load},
                                                  {"st.global", Op::store},
                                                  {"mov", Op::move},
                                                  {"cvt.u64", Op::widen},
                                                  {"add", Op::add},
                                                  {"sub", Op::subtract},
                                                  {"mul.lo", Op::multiply},
                                                  {"mul.wide", Op::multiply_wide},
                                                  {"div", Op::divide},
                                                  {"rem", Op::remainder},
                                                  {"and", Op::both},
                                                  {"or", Op::either},
                                                  {"shl", Op::shift_left},
                                                  {"setp.ge", Op::is_at_least},
                                                  {"setp.eq", Op::is_equal},
                                                  {"setp.lt", Op::is_less},
                                                  {"setp.ne", Op::is_other},
                                                  {"bra", Op::branch},
                                                  {"bra.uni", Op::branch},
                                                  {"ret", Op::end}};
  return names;
}

std::string trimmed(const std::string& text) {
  const std::size_t from = text.find_first_not_of(" \t\r\n"), to = text.find_last_not_of(" \t\r\n");
  return from == std::string::npos ? "" : text.substr(from, to - from + 1);
}

std::string without_comments(const std::string& text) {
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t comment = std::min(text.find("//", at), text.size());
    kept += text.substr(at, comment - at);
    at = std::min(text.find('\n', comment), text.size());
  }
  return kept;
}

// Reads one body.
class Reader {
 public:
  Reader(const std::vector<std::string>& parameters, Kernel& kernel, std::string& problem)
      : parameters_(parameters), kernel_(kernel), problem_(problem) {}

  bool read(const std::string& body) {
    std::string text = without_comments(body);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find_first_of(";:", at), text.size());
      const std::string part = trimmed(text.substr(at, end - at));
      const bool label = end < text.size() && text[end] == ':';
      at = end + 1;
      if (part.empty() || part.starts_with(".reg")) continue;
      if (label) {
        labels_[part] = kernel_.instructions.size();
      } else if (!read_instruction(part)) {
        return false;
      }
    }
    kernel_.registers = registers_.size();
    return resolve();
  }

 private:
  bool fail(const std::string& what) {
    problem_ = what;
    return false;
  }

  std::size_t index_of(const std::string& name) {
    return registers_.try_emplace(name, registers_.size()).first->second;
  }

  bool read_instruction(std::string part) {
    Instruction instruction;
    if (part[0] == '@') {
      instruction.guard_is_not = part[1] == '!';
      const std::size_t from = instruction.guard_is_not ? 2 : 1, blank = part.find_first_of(" \t", from);
      if (blank == std::string::npos) return fail(part);
      instruction.guard = static_cast<int>(index_of(part.substr(from, blank - from)));
      part = trimmed(part.substr(blank));
    }
    const std::size_t blank = std::min(part.find_first_of(" \t"), part.size());
    if (!read_name(part.substr(0, blank), instruction)) return fail(part);
    std::string rest = part.substr(blank);
    std::erase_if(rest, [](char c) { return std::strchr(" \t\r\n{}", c) != nullptr; });
    for (std::size_t at = 0; at < rest.size();) {
      const std::size_t comma = std::min(rest.find(',', at), rest.size());
      Operand operand;
      if (!read_operand(rest.substr(at, comma - at), operand)) return fail(part);
      instruction.operands.push_back(operand);
      at = comma + 1;
    }
    kernel_.instructions.push_back(std::move(instruction));
    return true;
  }

  // "ld.global.v4.u32" is "ld.global" of four times four bytes.
  static bool read_name(std::string name, Instruction& instruction) {
    const std::size_t dot = name.rfind('.');
    static const std::map<std::string, unsigned> types = {
        {".u8", 1}, {".u32", 4}, {".b32", 4}, {".u64", 8}, {".b64", 8}};
    if (dot != std::string::npos && types.contains(name.substr(dot))) {
      instruction.bytes = types.at(name.substr(dot));
      name.erase(dot);
    }
    if (name.ends_with(".v4")) {
      instruction.elements = 4;
      name.erase(name.size() - 3);
    }
    const auto known = known_names().find(name);
    if (known == known_names().end()) return false;
    instruction.op = known->second;
    return true;
  }

  bool read_operand(std::string text, Operand& operand) {
    if (text.empty()) return false;
    if (text[0] == '[') {
      if (text.back() != ']') return false;
      text = text.substr(1, text.size() - 2);
      if (const std::size_t plus = text.find('+'); plus != std::string::npos) {
        operand.offset = std::strtoll(text.c_str() + plus + 1, nullptr, 10);
        text.erase(plus);
      }
    }
    if (text.find_first_of("[]") != std::string::npos) return false;
    const auto special = std::find(std::begin(special_names), std::end(special_names), text);
    const auto parameter = std::find(parameters_.begin(), parameters_.end(), text);
    if (special != std::end(special_names)) {
      operand = {Operand::Kind::special, static_cast<std::uint64_t>(special - special_names), 0};
    } else if (text[0] == '%') {
      operand.kind = Operand::Kind::reg;
      operand.value = index_of(text);
    } else if (parameter != parameters_.end()) {
      operand.kind = Operand::Kind::parameter;
      operand.value = static_cast<std::uint64_t>(parameter - parameters_.begin());
    } else if (text[0] >= '0' && text[0] <= '9') {
      operand.value = std::strtoull(text.c_str(), nullptr, 0);
    } else {
      operand.kind = Operand::Kind::label;
      operand.value = wanted_.size();
      wanted_.push_back(text);
    }
    return true;
  }

  bool resolve() {
    for (Instruction& instruction : kernel_.instructions) {
      for (Operand& operand : instruction.operands) {
        if (operand.kind != Operand::Kind::label) continue;
        const auto found = labels_.find(wanted_[operand.value]);
        if (found == labels_.end()) return fail(wanted_[operand.value]);
        operand.value = found->second;
      }
    }
    return true;
  }

  const std::vector<std::string>& parameters_;
  Kernel& kernel_;
  std::string& problem_;
  std::map<std::string, std::size_t> registers_, labels_;
  std::vector<std::string> wanted_;
};

// One thread of a kernel.
class Thread {
 public:
  Thread(const Kernel& kernel, const std::vector<std::vector<char>>& parameters, const std::uint64_t (&special)[6],
         std::vector<std::uint64_t>& registers)
      : kernel_(kernel), parameters_(parameters), special_(special), registers_(registers) {
    // What a kernel reads before it has written it is not zero by chance.
    registers_.assign(kernel.registers, 0xa5a5a5a5a5a5a5a5U);
  }

  int run() {
    for (std::size_t steps = 0; at_ < kernel_.instructions.size(); ++steps) {
      if (steps > most_steps) return launch_timeout;
      const Instruction& now = kernel_.instructions[at_++];
      if (now.guard >= 0 && (registers_[static_cast<std::size_t>(now.guard)] != 0) == now.guard_is_not) continue;
      if (now.op == Op::end) break;
      if (const int error = step(now); error != success) return error;
    }
    return success;
  }

 private:
  std::uint64_t value(const Operand& operand) const {
    if (operand.kind == Operand::Kind::reg) return registers_[operand.value];
    return operand.kind == Operand::Kind::special ? special_[operand.value] : operand.value;
  }

  int step(const Instruction& now) {
    switch (now.op) {
      case Op::branch:
        at_ = now.operands[0].value;
        return success;
      case Op::load_parameter: {
        std::uint64_t read = 0;
        std::memcpy(&read, parameters_[now.operands[1].value].data(), now.bytes);
        registers_[now.operands[0].value] = read;
        return success;
      }
      case Op::load:
      case Op::store:
        return touch(now);
      default:
        return calculate(now);
    }
  }

  int calculate(const Instruction& now) {
    constexpr std::uint64_t all = ~std::uint64_t{0}, low = 0xffffffffU;
    // cvt.u64.u32 and mul.wide.u32 write eight bytes of what they read as four.
    const bool wide = now.bytes == 8 || now.op == Op::multiply_wide || now.op == Op::widen;
    const std::uint64_t read = now.bytes == 4 ? low : all;
    const std::uint64_t a = value(now.operands[1]) & read;
    const std::uint64_t b = now.operands.size() > 2 ? value(now.operands[2]) & read : 0;
    if ((now.op == Op::divide || now.op == Op::remainder) && b == 0) return illegal_address;
    registers_[now.operands[0].value] = compute(now.op, a, b) & (wide ? all : low);
    return success;
  }

  static std::uint64_t compute(Op op, std::uint64_t a, std::uint64_t b) {
    switch (op) {
      case Op::add:
        return a + b;
      case Op::subtract:
        return a - b;
      case Op::multiply:
      case Op::multiply_wide:
        return a * b;
      case Op::divide:
        return a / b;
      case Op::remainder:
        return a % b;
      case Op::both:
        return a & b;
      case Op::either:
        return a | b;
      case Op::shift_left:
        return b > 63 ? 0 : a << b;
      case Op::is_at_least:
        return a >= b ? 1 : 0;
      case Op::is_equal:
        return a == b ? 1 : 0;
      case Op::is_less:
        return a < b ? 1 : 0;
      case Op::is_other:
        return a != b ? 1 : 0;
      default:  // mov, cvt
        return a;
    }
  }

  int touch(const Instruction& now) {
    const bool load = now.op == Op::load;
    const Operand& where = load ? now.operands.back() : now.operands.front();
    const Address address = registers_[where.value] + static_cast<Address>(where.offset);
    const std::size_t bytes = std::size_t{now.bytes} * now.elements;
    if (address % bytes != 0) return misaligned_address;
    char* const memory = find(address) == nullptr ? nullptr : reach(address, bytes);
    if (memory == nullptr) return illegal_address;
    for (unsigned e = 0; e < now.elements; ++e) {
      std::uint64_t& element = registers_[now.operands[load ? e : e + 1].value];
      char* const at = memory + e * now.bytes;
      if (load) element = 0;
      load ? std::memcpy(&element, at, now.bytes) : std::memcpy(at, &element, now.bytes);
    }
    return success;
  }

  const Kernel& kernel_;
  const std::vector<std::vector<char>>& parameters_;
  const std::uint64_t (&special_)[6];
  std::vector<std::uint64_t>& registers_;
  std::size_t at_ = 0;
};

}  // namespace

bool read(const std::string& body, const std::vector<std::string>& parameters, Kernel& kernel, std::string& problem) {
  return Reader(parameters, kernel, problem).read(body);
}

int run(const Kernel& kernel, const Launch& launch, const std::vector<std::vector<char>>& parameters) {
  const unsigned blocks = launch.grid[0] * launch.grid[1];
  std::vector<std::uint64_t> registers;
  for (unsigned block = 0; block < blocks; ++block) {
    for (unsigned thread = 0; thread < launch.block[0]; ++thread) {
      const std::uint64_t special[6] = {thread,         launch.block[0],        block % launch.grid[0],
                                        launch.grid[0], block / launch.grid[0], launch.grid[1]};
      if (const int error = Thread(kernel, parameters, special, registers).run(); error != success) return error;
    }
  }
  return success;
}

}  // namespace quadrille::standin::ptx
