#include "syntax.hpp"

#include <cctype>
#include <stdexcept>

namespace kcfa {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { advance(); }

  Expression whole() {
    Expression result = expression();
    if (!token_.empty()) fail("nothing may follow the program, but there is '" + token_ + "'");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("line " + std::to_string(line_) + ": " + what);
  }

  void skip_blanks() {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == ';') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      }
      if (at_ == text_.size()) return;
      if (text_[at_] == '\n') ++line_;
      if (!std::isspace(static_cast<unsigned char>(text_[at_]))) return;
    }
  }

  static bool ends_name(char c) {
    return c == '(' || c == ')' || c == ';' || std::isspace(static_cast<unsigned char>(c));
  }

  // Reads the next token; an empty one is the end of the text.
  void advance() {
    skip_blanks();
    const std::size_t start = at_;
    if (at_ < text_.size() && (text_[at_] == '(' || text_[at_] == ')')) {
      ++at_;
    } else {
      while (at_ < text_.size() && !ends_name(text_[at_])) ++at_;
    }
    token_ = text_.substr(start, at_ - start);
  }

  void expect(const char* token) {
    if (token_ != token) {
      fail(std::string("'") + token + "' expected, but there is " + (token_.empty() ? "the end" : "'" + token_ + "'"));
    }
    advance();
  }

  std::string name() {
    if (token_.empty() || token_ == "(" || token_ == ")" || token_[0] == '#') {
      fail("a name expected, but there is " + (token_.empty() ? "the end" : "'" + token_ + "'"));
    }
    std::string result = token_;
    advance();
    return result;
  }

  Expression expression() {
    if (++expressions_ > kMostExpressions) {
      fail("more than " + std::to_string(kMostExpressions) + " expressions");
    }
    if (token_ == "(") {
      advance();
      Expression result = form();
      expect(")");
      return result;
    }
    if (token_ == "#t" || token_ == "#f") {
      const bool truth = token_ == "#t";
      advance();
      return {Expression::Kind::constant, {}, {}, truth};
    }
    return {Expression::Kind::variable, {name()}};
  }

  // What stands between two parentheses.
  Expression form() {
    if (token_ == "lambda") return lambda();
    if (token_ == "let") return let();
    if (token_ == ")") fail("an application needs a function");
    Expression result{Expression::Kind::application};
    while (token_ != ")" && !token_.empty()) result.parts.push_back(expression());
    return result;
  }

  Expression lambda() {
    Expression result{Expression::Kind::lambda};
    advance();
    expect("(");
    while (token_ != ")") result.names.push_back(name());
    expect(")");
    result.parts.push_back(expression());
    return result;
  }

  Expression let() {
    Expression result{Expression::Kind::let};
    advance();
    expect("(");
    expect("(");
    result.names.push_back(name());
    result.parts.push_back(expression());
    expect(")");
    expect(")");
    result.parts.push_back(expression());
    return result;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  int expressions_ = 0;
  std::string token_;
};

}  // namespace

Expression parse(std::string_view text) { return Parser(text).whole(); }

}  // namespace kcfa
