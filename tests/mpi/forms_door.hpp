// A door of calls in all forms: blocking, nonblocking and persistent, whichever is set.
#pragma once

#include <functional>

#include "forms.hpp"

namespace quadrille::test {

inline CallForm call_form = CallForm::blocking;
constexpr const char* name_of(CallForm form) {
  constexpr const char* names[] = {"Blocking", "Nonblocking", "Persistent"};
  return names[static_cast<int>(form)];
}

// Called before a persistent request is started the last time, and when that is complete. All of the starts before it
// had other data.
inline std::function<void()> before_last_start, after_last_start;

}  // namespace quadrille::test
