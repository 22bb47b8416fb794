// The verdicts of this process (choose/verdicts.hpp). Threads may have trials on communicators of their own.
#pragma once

#include <optional>

#include "choose/verdicts.hpp"

namespace quadrille::team {

// Of this rank alone: others may have none, or another one.
std::optional<choose::Verdict> verdict_of(const choose::Case& of);
void keep_verdict(const choose::Case& of, choose::Verdict verdict);
choose::Verdicts all_verdicts();

}  // namespace quadrille::team
