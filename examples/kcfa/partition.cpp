#include "partition.hpp"

#include <algorithm>

namespace kcfa {
namespace {

// The environment of the variables `wanted`, out of one of the variables `free`; both ascend. A
// variable that is not among these gets the contour `otherwise`.
void select(const std::vector<int>& wanted, const std::vector<int>& free, const Word* environment, Word otherwise,
            Word* result) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    while (at < free.size() && free[at] < wanted[i]) ++at;
    const bool found = at < free.size() && free[at] == wanted[i];
    result[i] = found ? environment[at] : otherwise;
  }
}

}  // namespace

Partition::Partition(const Machine& machine, int rank, int ranks)
    : machine_(machine),
      rank_(rank),
      ranks_(ranks),
      facts_(machine.width),
      outbox_(machine.width, ranks),
      draft_(machine.width),
      captured_(machine.width) {}

void Partition::begin() {
  blank()[0] = head(Kind::state, machine_.program->start);
  send();
}

bool Partition::accepts(const Word* tuple) const {
  return is_fact(machine_, tuple) && owner_of(machine_, tuple, ranks_) == rank_;
}

bool Partition::add(const Word* fact, Word hash) {
  const auto [number, is_new] = facts_.insert(fact, hash);
  if (!is_new) return false;
  count(kind_of(fact), hash);
  Address key;
  if (key_of(machine_, fact, key)) {
    join(number, groups_[key]);
    return true;
  }
  const Word* state = facts_[number];
  const Call& call = machine_.program->calls[id_of(state)];
  if (call.function.kind == Atom::Kind::lambda) {
    const Lambda& lambda = machine_.program->lambdas[call.function.id];
    capture(state, lambda.free, captured_.data());
    call_lambda(state, lambda, captured_.data());
  }
  return true;
}

void Partition::count(Kind kind, Word hash) {
  if (kind == Kind::flow) {
    ++summary_.flows;
    return;
  }
  ++(kind == Kind::state ? summary_.states : summary_.values);
  summary_.hash += hash;
}

// Adds the new fact to its group and joins it with the others.
void Partition::join(std::uint32_t number, Group& group) {
  const Word* fact = facts_[number];
  switch (kind_of(fact)) {
    case Kind::state:
      group.states.push_back(number);
      for (const std::uint32_t value : group.values) state_meets_value(fact, facts_[value]);
      break;
    case Kind::flow:
      group.flows.push_back(number);
      for (const std::uint32_t value : group.values) flow_meets_value(fact, facts_[value]);
      break;
    case Kind::value:
      group.values.push_back(number);
      for (const std::uint32_t state : group.states) state_meets_value(facts_[state], fact);
      for (const std::uint32_t flow : group.flows) flow_meets_value(facts_[flow], fact);
      break;
  }
}

// A constant cannot be called: the path ends here.
void Partition::state_meets_value(const Word* state, const Word* value) {
  if (!is_lambda(*machine_.program, value[2])) return;
  call_lambda(state, machine_.program->lambdas[value[2]], value + kValueEnvironment);
}

void Partition::flow_meets_value(const Word* flow, const Word* value) {
  std::copy_n(value, machine_.width, draft_.data());
  draft_[0] = head(Kind::value, static_cast<int>(flow[2]));
  draft_[1] = flow[3];
  send();
}

void Partition::call_lambda(const Word* state, const Lambda& lambda, const Word* environment) {
  const Program& program = *machine_.program;
  const Call& call = program.calls[id_of(state)];
  if (call.arguments.size() != lambda.parameters.size()) return;  // an error of the analysed program
  const Word contour = push(machine_, id_of(state), state[1]);
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    bind(state, call.arguments[i], lambda.parameters[i], contour);
  }
  Word* next = blank();
  next[0] = head(Kind::state, lambda.body);
  next[1] = contour;
  // A variable that is free in the body but not in the lambda is a parameter.
  select(program.calls[lambda.body].free, lambda.free, environment, contour, next + kStateEnvironment);
  send();
}

void Partition::bind(const Word* state, const Atom& argument, int parameter, Word contour) {
  const Program& program = *machine_.program;
  Word* fact = blank();
  if (argument.kind == Atom::Kind::variable) {
    const std::vector<int>& free = program.calls[id_of(state)].free;
    fact[0] = head(Kind::flow, argument.id);
    fact[1] = lookup(free, state + kStateEnvironment, argument.id);
    fact[2] = static_cast<Word>(parameter);
    fact[3] = contour;
  } else {
    fact[0] = head(Kind::value, parameter);
    fact[1] = contour;
    fact[2] = code_of(program, argument);
    if (argument.kind == Atom::Kind::lambda) {
      capture(state, program.lambdas[argument.id].free, fact + kValueEnvironment);
    }
  }
  send();
}

// The environment of a lambda inside the state's call.
void Partition::capture(const Word* state, const std::vector<int>& free, Word* environment) const {
  const Call& call = machine_.program->calls[id_of(state)];
  select(free, call.free, state + kStateEnvironment, 0, environment);
}

Word* Partition::blank() {
  std::fill(draft_.begin(), draft_.end(), 0);
  return draft_.data();
}

void Partition::send() { outbox_.add(draft_.data(), owner_of(machine_, draft_.data(), ranks_)); }

}  // namespace kcfa
