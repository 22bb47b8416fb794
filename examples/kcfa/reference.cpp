#include "reference.hpp"

#include <algorithm>
#include <deque>

namespace kcfa::reference {
namespace {

Environment restrict(const Environment& environment, const std::vector<int>& free) {
  Environment result;
  for (const int variable : free) result[variable] = environment.at(variable);
  return result;
}

class Worklist {
 public:
  Worklist(const Program& program, int k) : program_(program), k_(k) {}

  Result run() {
    reach({program_.start, {}, {}});
    while (!work_.empty()) {
      const State state = work_.front();
      work_.pop_front();
      waiting_.erase(state);
      step(state);
    }
    return std::move(result_);
  }

 private:
  void reach(const State& state) {
    if (result_.states.insert(state).second) look_at(state);
  }

  void look_at(const State& state) {
    if (waiting_.insert(state).second) work_.push_back(state);
  }

  // The possible values of the atom in the state. When the set grows, the state is visited again.
  std::set<Value> values_of(const Atom& atom, const State& state) {
    if (atom.kind == Atom::Kind::constant) return {{atom.kind, atom.id, {}}};
    if (atom.kind == Atom::Kind::lambda) {
      const std::vector<int>& free = program_.lambdas[atom.id].free;
      return {{atom.kind, atom.id, restrict(state.environment, free)}};
    }
    const Place place{atom.id, state.environment.at(atom.id)};
    readers_[place].insert(state);
    return result_.store[place];
  }

  void add(const Place& place, const std::set<Value>& values) {
    std::set<Value>& there = result_.store[place];
    const std::size_t before = there.size();
    there.insert(values.begin(), values.end());
    if (there.size() == before) return;
    for (const State& reader : readers_[place]) look_at(reader);
  }

  void step(const State& state) {
    const Call& call = program_.calls[state.call];
    for (const Value& value : values_of(call.function, state)) {
      if (value.kind != Atom::Kind::lambda) continue;
      const Lambda& lambda = program_.lambdas[value.id];
      if (lambda.parameters.size() == call.arguments.size()) apply(state, lambda, value);
    }
  }

  void apply(const State& state, const Lambda& lambda, const Value& value) {
    Contour contour = state.contour;
    contour.insert(contour.begin(), state.call);
    if (contour.size() > static_cast<std::size_t>(k_)) contour.resize(k_);
    Environment inside = value.environment;
    for (std::size_t i = 0; i < lambda.parameters.size(); ++i) {
      const int parameter = lambda.parameters[i];
      inside[parameter] = contour;
      add({parameter, contour}, values_of(program_.calls[state.call].arguments[i], state));
    }
    reach({lambda.body, contour, restrict(inside, program_.calls[lambda.body].free)});
  }

  const Program& program_;
  const int k_;
  Result result_;
  std::map<Place, std::set<State>> readers_;
  std::deque<State> work_;
  std::set<State> waiting_;  // the same
};

Word to_word(const Machine& machine, const Contour& contour) {
  Word word = 0;
  for (auto label = contour.rbegin(); label != contour.rend(); ++label) {
    word = word << machine.label_bits | static_cast<Word>(*label + 1);
  }
  return word;
}

// The hash of the tuple that consists of `words` and the environment.
Word tuple_hash(const Machine& machine, std::vector<Word> words, const Environment& environment) {
  for (const auto& [variable, contour] : environment) words.push_back(to_word(machine, contour));
  words.resize(machine.width, 0);
  return hash_of(words);
}

}  // namespace

Result analyse(const Program& program, int k) { return Worklist(program, k).run(); }

Summary summarise(const Machine& machine, const Result& result) {
  Summary summary;
  for (const State& state : result.states) {
    ++summary.states;
    summary.hash +=
        tuple_hash(machine, {head(Kind::state, state.call), to_word(machine, state.contour)}, state.environment);
  }
  for (const auto& [place, values] : result.store) {
    for (const Value& value : values) {
      ++summary.values;
      summary.hash += tuple_hash(machine,
                                 {head(Kind::value, place.first), to_word(machine, place.second),
                                  code_of(*machine.program, {value.kind, value.id})},
                                 value.environment);
    }
  }
  return summary;
}

}  // namespace kcfa::reference
