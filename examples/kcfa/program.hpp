// A program in continuation-passing style (CPS), and the conversion to it. Without MPI.
//
// In CPS no call returns: every function has one more argument, the continuation, which it calls with its
// value. So a program consists of calls, and all operators and operands are atoms: variables, lambdas or
// constants. The analysis needs only the rule of a call.
//
// Example: ((lambda (x) x) #t) becomes ((lambda (x k) (k x)) #t halt), which is two call sites.
#pragma once

#include <string>
#include <vector>

#include "syntax.hpp"

namespace kcfa {

struct Atom {
  enum class Kind { variable, lambda, constant };
  Kind kind;
  int id;  // of the variable or the lambda, or a Constant
};

enum Constant { kTrue, kFalse, kHalt };  // kHalt: the continuation of the whole program
constexpr int kConstants = 3;

struct Call {
  Atom function;
  std::vector<Atom> arguments;
  std::vector<int> free;  // variables that occur free in it, ascending
};

struct Lambda {
  std::vector<int> parameters;  // every variable of a program is bound in one place only
  int body;                     // a call
  std::vector<int> free;        // ascending
};

struct Program {
  std::vector<std::string> variables;  // their names in the source
  std::vector<Lambda> lambdas;
  std::vector<Call> calls;
  int start = 0;  // the first call
};

// Throws std::runtime_error if a variable is not bound.
Program to_cps(const Expression& expression);

// The largest number of free variables of a call or a lambda.
int most_free(const Program& program);

// The term of Van Horn and Mairson for which k-CFA, k >= 1, takes exponential time ("Deciding kCFA
// is complete for EXPTIME", ICFP 2008). With two levels:
//
//   ((lambda (f1) (let ((_ (f1 #t))) (f1 #f)))
//    (lambda (x1)
//     ((lambda (f2) (let ((_ (f2 #t))) (f2 #f)))
//      (lambda (x2)
//       ((lambda (v) (v (lambda (y1 y2) y2)))
//        (lambda (w) (w x1 x2)))))))
//
// Every x is bound at two call sites, so the closures of (lambda (w) ...) have 2^levels
// environments, and all of them flow to v. For k = 0 there is one environment only.
constexpr int kMostTerms = 64;
std::string worst_case(int levels);

}  // namespace kcfa
