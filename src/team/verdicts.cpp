#include "team/verdicts.hpp"

#include <mutex>
#include <utility>

namespace quadrille::team {
namespace {

struct Kept {
  std::mutex mutex;
  choose::Verdicts verdicts;
};
Kept& kept() {
  static auto* own = new Kept;  // outlives all destructors
  return *own;
}

}  // namespace

std::optional<choose::Verdict> verdict_of(const choose::Case& of) {
  const std::lock_guard lock(kept().mutex);
  const auto found = kept().verdicts.find(of);
  return found == kept().verdicts.end() ? std::nullopt : std::optional(found->second);
}

void keep_verdict(const choose::Case& of, choose::Verdict verdict) {
  const std::lock_guard lock(kept().mutex);
  choose::keep_verdict(kept().verdicts, of, std::move(verdict));
}

choose::Verdicts all_verdicts() {
  const std::lock_guard lock(kept().mutex);
  return kept().verdicts;
}

}  // namespace quadrille::team
