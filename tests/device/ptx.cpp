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
    return resolve();
  }

 private:
  bool fail(const std::string& what) {
    problem_ = what;
    return false;
  }

  std::uint32_t add_register(std::uint64_t value) {
    kernel_.registers.push_back(value);
    return static_cast<std::uint32_t>(kernel_.registers.size() - 1);
  }

  // What a kernel reads before it has written it is not zero by chance.
  std::uint32_t index_of(const std::string& name) {
    const auto known = registers_.find(name);
    if (known != registers_.end()) return known->second;
    return registers_[name] = add_register(0xa5a5a5a5a5a5a5a5U);
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
      if (instruction.count == instruction.operands.size()) return fail(part);
      if (!read_operand(rest.substr(at, comma - at), instruction)) return fail(part);
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

  bool read_operand(std::string text, Instruction& instruction) {
    if (text.empty()) return false;
    if (text[0] == '[') {
      if (text.back() != ']') return false;
      text = text.substr(1, text.size() - 2);
      if (const std::size_t plus = text.find('+'); plus != std::string::npos) {
        instruction.offset = std::strtoll(text.c_str() + plus + 1, nullptr, 10);
        text.erase(plus);
      }
    }
    if (text.find_first_of("[]") != std::string::npos) return false;
    std::uint32_t& operand = instruction.operands[instruction.count++];
    const auto special = std::find(std::begin(special_names), std::end(special_names), text);
    const auto parameter = std::find(parameters_.begin(), parameters_.end(), text);
    if (special != std::end(special_names)) {
      int& found = kernel_.special[static_cast<std::size_t>(special - special_names)];
      if (found < 0) found = static_cast<int>(add_register(0));
      operand = static_cast<std::uint32_t>(found);
    } else if (text[0] == '%') {
      operand = index_of(text);
    } else if (parameter != parameters_.end()) {
      operand = static_cast<std::uint32_t>(parameter - parameters_.begin());
    } else if (text[0] >= '0' && text[0] <= '9') {
      operand = add_register(std::strtoull(text.c_str(), nullptr, 0));
    } else {
      wanted_.push_back({kernel_.instructions.size(), text});
    }
    return true;
  }

  // Labels, which branches alone have.
  bool resolve() {
    for (const auto& [instruction, label] : wanted_) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) return fail(label);
      kernel_.instructions[instruction].operands[0] = static_cast<std::uint32_t>(found->second);
    }
    return true;
  }

  const std::vector<std::string>& parameters_;
  Kernel& kernel_;
  std::string& problem_;
  std::map<std::string, std::uint32_t> registers_;
  std::map<std::string, std::size_t> labels_;
  std::vector<std::pair<std::size_t, std::string>> wanted_;  // the instruction that has this label
};

// One thread of a kernel.
class Thread {
 public:
  Thread(const Kernel& kernel, const std::vector<std::vector<char>>& parameters,
         const std::array<std::uint64_t, 6>& special, std::vector<std::uint64_t>& registers,
         std::vector<Allocation*>& touched)
      : kernel_(kernel), parameters_(parameters), registers_(registers), touched_(touched) {
    registers_ = kernel.registers;
    for (std::size_t i = 0; i < special.size(); ++i) {
      if (kernel.special[i] >= 0) registers_[static_cast<std::size_t>(kernel.special[i])] = special[i];
    }
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
  int step(const Instruction& now) {
    switch (now.op) {
      case Op::branch:
        at_ = now.operands[0];
        return success;
      case Op::load_parameter: {
        std::uint64_t read = 0;
        std::memcpy(&read, parameters_[now.operands[1]].data(), now.bytes);
        registers_[now.operands[0]] = read;
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
    const std::uint64_t a = registers_[now.operands[1]] & read;
    const std::uint64_t b = now.count > 2 ? registers_[now.operands[2]] & read : 0;
    if ((now.op == Op::divide || now.op == Op::remainder) && b == 0) return illegal_address;
    registers_[now.operands[0]] = compute(now.op, a, b) & (wide ? all : low);
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
    const Address address = registers_[now.operands[load ? now.count - 1 : 0]] + static_cast<Address>(now.offset);
    const std::size_t bytes = std::size_t{now.bytes} * now.elements;
    if (address % bytes != 0) return misaligned_address;
    Allocation*& allocation = touched_[at_ - 1];
    if (allocation == nullptr || address - allocation->base >= allocation->bytes) allocation = find(address);
    char* const memory = allocation == nullptr ? nullptr : reach(*allocation, address, bytes);
    if (memory == nullptr) return illegal_address;
    for (unsigned e = 0; e < now.elements; ++e) {
      std::uint64_t& element = registers_[now.operands[load ? e : e + 1]];
      char* const at = memory + e * now.bytes;
      if (load) element = 0;
      load ? std::memcpy(&element, at, now.bytes) : std::memcpy(at, &element, now.bytes);
    }
    return success;
  }

  const Kernel& kernel_;
  const std::vector<std::vector<char>>& parameters_;
  std::vector<std::uint64_t>& registers_;
  std::vector<Allocation*>& touched_;  // by each instruction last, also in threads before
  std::size_t at_ = 0;
};

}  // namespace

bool read(const std::string& body, const std::vector<std::string>& parameters, Kernel& kernel, std::string& problem) {
  return Reader(parameters, kernel, problem).read(body);
}

int run(const Kernel& kernel, const Launch& launch, const std::vector<std::vector<char>>& parameters) {
  const unsigned blocks = launch.grid[0] * launch.grid[1];
  std::vector<std::uint64_t> registers;
  std::vector<Allocation*> touched(kernel.instructions.size(), nullptr);
  for (unsigned block = 0; block < blocks; ++block) {
    for (unsigned thread = 0; thread < launch.block[0]; ++thread) {
      const std::array<std::uint64_t, 6> special = {thread,         launch.block[0],        block % launch.grid[0],
                                                    launch.grid[0], block / launch.grid[0], launch.grid[1]};
      if (const int error = Thread(kernel, parameters, special, registers, touched).run(); error != success)
        return error;
    }
  }
  return success;
}

}  // namespace quadrille::standin::ptx
