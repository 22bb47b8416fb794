// The facts of the analysis as tuples of words, all of one width. Without MPI.
//
// k-CFA after Shivers, on CPS: the contour of a call is the string of the last k call sites on the path
// to it. A variable is bound in the contour of its binding, so an environment maps variables to contours,
// and the store maps (variable, contour) to possible values. An environment holds only the free variables
// of its call or lambda, in ascending order.
//
//   state   state | call, contour, environment ...
//             the call is reached in that contour and environment
//   value   value | variable, contour, code, environment ...
//             the store holds that value for the variable in the contour
//   flow    flow | variable, contour, variable, contour
//             all values of the first are values of the second, too
//
// The words after a tuple's own are 0. `code` is a lambda, or the number of lambdas plus a
// Constant.
//
// The rules. t' is the last k of (t, call); the value of a lambda is the lambda with its environment.
//   1. state (call f a ...) in t, and f has the value (lambda (p ...) body): the state body in t',
//      and for each a and its p: a flow from a to (p, t') if a is a variable, else a's value there
//   2. a flow from s to d, and s has a value: d has it, too
// Both join a fact with the values of one address: that of the variable f, or s. This address is the
// fact's key, and the owner of a key has all facts to join.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "program.hpp"

namespace kcfa {

using Word = std::uint64_t;

enum class Kind { state, value, flow };

// A place of the store.
struct Address {
  Word variable;
  Word contour;
  bool operator==(const Address&) const = default;
};

// A program and k, with derived sizes. Must not outlive the program.
struct Machine {
  const Program* program;
  int k;
  int label_bits;     // of a call site in a contour
  std::size_t width;  // words of a tuple
};

constexpr int kMostK = 8;

// Throws std::runtime_error if k call sites do not fit into a word.
Machine make_machine(const Program& program, int k);

// The contour after `call`. The latest call site is in the lowest bits; 0 means none.
Word push(const Machine& machine, int call, Word contour);

inline Word head(Kind kind, int id) { return static_cast<Word>(kind) << 32 | static_cast<Word>(id); }
inline Kind kind_of(const Word* tuple) { return static_cast<Kind>(tuple[0] >> 32); }
inline int id_of(const Word* tuple) { return static_cast<int>(tuple[0] & 0xffffffff); }

// Where the environment begins.
constexpr std::size_t kStateEnvironment = 2;
constexpr std::size_t kValueEnvironment = 3;

// The number of a lambda or a constant among the codes.
Word code_of(const Program& program, const Atom& atom);
bool is_lambda(const Program& program, Word code);

// The contour of `variable` in an environment of the variables `free`, of which it must be one.
Word lookup(std::span<const int> free, const Word* environment, int variable);

// Whether the tuple can be a fact; false only after a wrong exchange.
bool is_fact(const Machine& machine, const Word* tuple);

// Whether the fact has a key, and the key. A state whose function is a lambda needs no join.
bool key_of(const Machine& machine, const Word* fact, Address& key);

Word hash_of(std::span<const Word> words);

// The owner of the fact: by its key, or by the whole fact without a key.
int owner_of(const Machine& machine, const Word* fact, int ranks);

// The result of an analysis. The hash is the sum of the hashes of all states and values. It depends neither
// on their order nor on their owners, so every rank can add its own. Flows belong to this formulation, not
// to the result.
struct Summary {
  std::uint64_t states = 0;
  std::uint64_t values = 0;
  std::uint64_t flows = 0;
  std::uint64_t hash = 0;
};

inline std::uint64_t facts_of(const Summary& summary) { return summary.states + summary.values + summary.flows; }

inline bool same_result(const Summary& a, const Summary& b) {
  return a.states == b.states && a.values == b.values && a.hash == b.hash;
}

}  // namespace kcfa
