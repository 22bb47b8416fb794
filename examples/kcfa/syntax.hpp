// The source language, a small Scheme of lambda terms, and its parser. Without MPI.
//
//   expression = name | #t | #f
//              | (lambda (name ...) expression)
//              | (let ((name expression)) expression)
//              | (expression expression ...)          application
//
// A semicolon begins a comment that ends with the line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kcfa {

struct Expression {
  enum class Kind { variable, constant, lambda, let, application };
  Kind kind;
  std::vector<std::string> names = {};  // variable: its own; lambda: parameters; let: what it binds
  std::vector<Expression> parts = {};   // lambda: body; let: bound, body; application: all parts
  bool truth = false;                   // constant: #t or #f
};

// A limit, because parsing and conversion recurse over the program.
constexpr int kMostExpressions = 2000;

// Throws std::runtime_error with one line, which has the number of the wrong line.
Expression parse(std::string_view text);

}  // namespace kcfa
