#include "facts.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

namespace kcfa {
namespace {

constexpr std::size_t kFlowWords = 4;

// The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
Word mix(Word x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  return x ^ x >> 31;
}

}  // namespace

Machine make_machine(const Program& program, int k) {
  const int bits = std::bit_width(program.calls.size());
  if (k * bits > 64) {
    throw std::runtime_error(
        "a contour of " + std::to_string(k) + " call sites out of " + std::to_string(program.calls.size()) +
        " does not fit into 64 bits; the most for this program is k = " + std::to_string(64 / bits));
  }
  const std::size_t free = static_cast<std::size_t>(most_free(program));
  return {&program, k, bits, std::max(kFlowWords, kValueEnvironment + free)};
}

Word push(const Machine& machine, int call, Word contour) {
  const int bits = machine.k * machine.label_bits;
  if (bits == 0) return 0;
  const Word longer = contour << machine.label_bits | static_cast<Word>(call + 1);
  return bits == 64 ? longer : longer & ((Word{1} << bits) - 1);
}

Word code_of(const Program& program, const Atom& atom) {
  const Word first = atom.kind == Atom::Kind::constant ? program.lambdas.size() : 0;
  return first + static_cast<Word>(atom.id);
}

bool is_lambda(const Program& program, Word code) { return code < program.lambdas.size(); }

Word lookup(std::span<const int> free, const Word* environment, int variable) {
  return environment[std::lower_bound(free.begin(), free.end(), variable) - free.begin()];
}

bool is_fact(const Machine& machine, const Word* tuple) {
  const Program& program = *machine.program;
  const Word id = tuple[0] & 0xffffffff;
  switch (tuple[0] >> 32) {
    case static_cast<Word>(Kind::state):
      return id < program.calls.size();
    case static_cast<Word>(Kind::value):
      return id < program.variables.size() && tuple[2] < program.lambdas.size() + kConstants;
    case static_cast<Word>(Kind::flow):
      return id < program.variables.size() && tuple[2] < program.variables.size();
    default:
      return false;
  }
}

bool key_of(const Machine& machine, const Word* fact, Address& key) {
  if (kind_of(fact) != Kind::state) {
    key = {static_cast<Word>(id_of(fact)), fact[1]};
    return true;
  }
  const Call& call = machine.program->calls[id_of(fact)];
  if (call.function.kind != Atom::Kind::variable) return false;
  const int variable = call.function.id;
  key = {static_cast<Word>(variable), lookup(call.free, fact + kStateEnvironment, variable)};
  return true;
}

Word hash_of(std::span<const Word> words) {
  Word hash = words.size();
  for (const Word word : words) hash = mix(hash + 0x9e3779b97f4a7c15 + word);
  return hash;
}

int owner_of(const Machine& machine, const Word* fact, int ranks) {
  Address key;
  Word hash;
  if (key_of(machine, fact, key)) {
    const Word words[] = {key.variable, key.contour};
    hash = hash_of(words);
  } else {
    hash = hash_of({fact, machine.width});
  }
  // The upper bits; the hash tables of a rank use the lower ones.
  return static_cast<int>((hash >> 32) * static_cast<Word>(ranks) >> 32);
}

}  // namespace kcfa
