// The facts of one rank, and the consequences of a new fact. Without MPI.
//
// Semi-naive evaluation: a known fact has no consequences. A new fact is joined with all earlier facts of the
// same key, so that every pair is joined exactly once. All consequences go to the outbox, even those that this
// rank owns: the owner decides whether a fact is new.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "facts.hpp"
#include "outbox.hpp"
#include "tuple_set.hpp"

namespace kcfa {

class Partition {
 public:
  Partition(const Machine& machine, int rank, int ranks);

  // Puts the first state of the program into the outbox. One rank calls this.
  void begin();

  // Whether this is a fact that this rank owns. If not, the exchange was wrong.
  bool accepts(const Word* tuple) const;

  // Adds a fact. Returns whether it is new; if so, the outbox has its consequences.
  bool add(const Word* fact, Word hash);

  Outbox& outbox() { return outbox_; }

  const Summary& summary() const { return summary_; }

 private:
  // The facts of one key, by their numbers.
  struct Group {
    std::vector<std::uint32_t> values, states, flows;
  };
  struct AddressHash {
    std::size_t operator()(const Address& address) const {
      const Word words[] = {address.variable, address.contour};
      return hash_of(words);
    }
  };

  void count(Kind kind, Word hash);
  void join(std::uint32_t number, Group& group);
  void state_meets_value(const Word* state, const Word* value);
  void flow_meets_value(const Word* flow, const Word* value);
  void call_lambda(const Word* state, const Lambda& lambda, const Word* environment);
  void bind(const Word* state, const Atom& argument, int parameter, Word contour);
  void capture(const Word* state, const std::vector<int>& free, Word* environment) const;
  Word* blank();
  void send();

  Machine machine_;
  int rank_, ranks_;
  TupleSet facts_;
  std::unordered_map<Address, Group, AddressHash> groups_;
  Outbox outbox_;
  std::vector<Word> draft_;     // the tuple being made
  std::vector<Word> captured_;  // the environment of a lambda that is called in place
  Summary summary_;
};

}  // namespace kcfa
