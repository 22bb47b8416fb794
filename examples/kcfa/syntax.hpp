// The source language: a small Scheme of lambda terms, and the parser of it. No MPI here.
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

// Parsing and conversion recurse over the program; this keeps them inside any usual stack.
constexpr int kMostExpressions = 2000;

// Throws std::runtime_error with one line that names the line of the trouble.
Expression parse(std::string_view text);

}  // namespace kcfa
