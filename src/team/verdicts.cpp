#include "team/verdicts.hpp"

#include <mutex>
#include <utility>

#include "sys/sys.hpp"

namespace quadrille::team {
namespace {

constinit std::mutex mutex;  // has nothing to destroy
choose::Verdicts& kept() { return sys::immortal<choose::Verdicts>(); }

}  // namespace

std::optional<choose::Verdict> verdict_of(const choose::Case& of) {
  const std::lock_guard lock(mutex);
  const auto found = kept().find(of);
  return found == kept().end() ? std::nullopt : std::optional(found->second);
}

void keep_verdict(const choose::Case& of, choose::Verdict verdict) {
  const std::lock_guard lock(mutex);
  choose::keep_verdict(kept(), of, std::move(verdict));
}

choose::Verdicts all_verdicts() {
  const std::lock_guard lock(mutex);
  return kept();
}

}  // namespace quadrille::team
