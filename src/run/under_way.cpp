#include "run/under_way.hpp"

namespace quadrille::run {

UnderWay& UnderWay::here() {
  static auto* list = new UnderWay;  // outlives all destructors
  return *list;
}

void UnderWay::add(Pending& call) {
  calls_.push_back(&call);
  any_.store(true, std::memory_order_relaxed);
}

void UnderWay::advance() {
  std::erase_if(calls_, [](Pending* call) { return call->go_on(); });
  any_.store(!calls_.empty(), std::memory_order_relaxed);
}

void UnderWay::help() {
  if (!any_.load(std::memory_order_relaxed)) return;
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (lock.owns_lock()) advance();
}

}  // namespace quadrille::run
