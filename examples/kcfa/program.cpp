#include "program.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>

namespace kcfa {
namespace {

using Scope = std::map<std::string, int>;  // the variable of a name

bool is_atom(const Expression& expression) {
  return expression.kind == Expression::Kind::variable || expression.kind == Expression::Kind::constant ||
         expression.kind == Expression::Kind::lambda;
}

void sort_out_duplicates(std::vector<int>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

class Converter {
 public:
  Program whole(const Expression& expression) {
    program_.start = convert(expression, {}, {Atom::Kind::constant, kHalt});
    return std::move(program_);
  }

 private:
  int new_variable(const std::string& name) {
    program_.variables.push_back(name);
    return static_cast<int>(program_.variables.size()) - 1;
  }

  // Inner calls and lambdas are created before the outer ones, so their free variables are known.
  void add_free(const Atom& atom, std::vector<int>& free) const {
    if (atom.kind == Atom::Kind::variable) free.push_back(atom.id);
    if (atom.kind != Atom::Kind::lambda) return;
    const std::vector<int>& inner = program_.lambdas[atom.id].free;
    free.insert(free.end(), inner.begin(), inner.end());
  }

  int new_call(Atom function, std::vector<Atom> arguments) {
    Call call{function, std::move(arguments), {}};
    add_free(call.function, call.free);
    for (const Atom& argument : call.arguments) add_free(argument, call.free);
    sort_out_duplicates(call.free);
    program_.calls.push_back(std::move(call));
    return static_cast<int>(program_.calls.size()) - 1;
  }

  Atom new_lambda(std::vector<int> parameters, int body) {
    Lambda lambda{std::move(parameters), body, {}};
    std::vector<int> bound = lambda.parameters;
    std::sort(bound.begin(), bound.end());
    const std::vector<int>& used = program_.calls[body].free;
    std::set_difference(used.begin(), used.end(), bound.begin(), bound.end(), std::back_inserter(lambda.free));
    program_.lambdas.push_back(std::move(lambda));
    return {Atom::Kind::lambda, static_cast<int>(program_.lambdas.size()) - 1};
  }

  Atom atom(const Expression& expression, const Scope& scope) {
    if (expression.kind == Expression::Kind::constant) {
      return {Atom::Kind::constant, expression.truth ? kTrue : kFalse};
    }
    if (expression.kind == Expression::Kind::lambda) return function(expression, scope);
    const auto found = scope.find(expression.names[0]);
    if (found == scope.end()) {
      throw std::runtime_error("'" + expression.names[0] + "' is not bound");
    }
    return {Atom::Kind::variable, found->second};
  }

  Atom function(const Expression& expression, Scope scope) {
    std::vector<int> parameters;
    for (const std::string& name : expression.names) {
      scope[name] = new_variable(name);
      parameters.push_back(scope[name]);
    }
    parameters.push_back(new_variable("continuation"));
    const Atom continuation{Atom::Kind::variable, parameters.back()};
    const int body = convert(expression.parts[0], scope, continuation);
    return new_lambda(std::move(parameters), body);
  }

  // The call that evaluates the expression and passes its value to `continuation`.
  int convert(const Expression& expression, const Scope& scope, Atom continuation) {
    if (is_atom(expression)) return new_call(continuation, {atom(expression, scope)});
    if (expression.kind == Expression::Kind::let) return let(expression, scope, continuation);
    return apply(expression, scope, continuation, {});
  }

  int let(const Expression& expression, const Scope& scope, Atom continuation) {
    const Expression& bound = expression.parts[0];
    const int variable = new_variable(expression.names[0]);
    Scope inner = scope;
    inner[expression.names[0]] = variable;
    const int body = convert(expression.parts[1], inner, continuation);
    return convert(bound, scope, new_lambda({variable}, body));
  }

  // `atoms` stand for the first parts. The others follow, from left to right; one that is itself an
  // application gets a name.
  int apply(const Expression& expression, const Scope& scope, Atom continuation, std::vector<Atom> atoms) {
    while (atoms.size() < expression.parts.size()) {
      const Expression& part = expression.parts[atoms.size()];
      if (!is_atom(part)) {
        const int value = new_variable("value");
        atoms.push_back({Atom::Kind::variable, value});
        const int rest = apply(expression, scope, continuation, std::move(atoms));
        return convert(part, scope, new_lambda({value}, rest));
      }
      atoms.push_back(atom(part, scope));
    }
    atoms.push_back(continuation);
    return new_call(atoms[0], {atoms.begin() + 1, atoms.end()});
  }

  Program program_;
};

// "x1 x2 x3"
std::string numbered(char letter, int count) {
  std::string names;
  for (int i = 1; i <= count; ++i) {
    names += (i > 1 ? " " : "") + std::string(1, letter) + std::to_string(i);
  }
  return names;
}

}  // namespace

Program to_cps(const Expression& expression) { return Converter().whole(expression); }

int most_free(const Program& program) {
  std::size_t most = 0;
  for (const Call& call : program.calls) most = std::max(most, call.free.size());
  for (const Lambda& lambda : program.lambdas) most = std::max(most, lambda.free.size());
  return static_cast<int>(most);
}

std::string worst_case(int levels) {
  const std::string last = std::to_string(levels);
  std::string term = "((lambda (v) (v (lambda (" + numbered('y', levels) + ") y" + last + "))) (lambda (w) (w " +
                     numbered('x', levels) + ")))";
  for (int level = levels; level >= 1; --level) {
    const std::string f = "f" + std::to_string(level);
    term = "((lambda (" + f + ") (let ((_ (" + f + " #t))) (" + f + " #f))) (lambda (x" + std::to_string(level) + ") " +
           term + "))";
  }
  return term;
}

}  // namespace kcfa
