#include "run/under_way.hpp"

namespace quadrille::run {

UnderWay& UnderWay::here() {
  static auto* list = new UnderWay;  // outlives all destructors
  return *list;
}

int& UnderWay::holds_of_thread() {
  static thread_local int number = 0;
  return number;
}

void UnderWay::add(Pending& call) {
  calls_.push_back(&call);
  any_.store(true, std::memory_order_release);
}

void UnderWay::advance() {
  std::erase_if(calls_, [](Pending* call) { return call->go_on(With::mpi); });
  if (calls_.empty()) any_.store(false, std::memory_order_relaxed);
}

UnderWay::Helped UnderWay::help(With with) {
  if (!any_.load(std::memory_order_relaxed)) return Helped::nothing;
  if (holds() > 0) return Helped::some;
  std::unique_lock lock(mutex_, std::defer_lock);
  if (threads_ && !lock.try_lock()) return Helped::some;
  struct Holding {
    explicit Holding(int& number) : number(number) { ++number; }
    ~Holding() { --number; }
    int& number;
  } const holding(holds());
  Helped helped = Helped::nothing;
  std::erase_if(calls_, [&](Pending* call) {
    const bool ended = call->go_on(with);
    if (ended) {
      helped = Helped::ended;
    } else if (helped == Helped::nothing && call->can_go_on(with)) {
      helped = Helped::some;
    }
    return ended;
  });
  if (calls_.empty()) any_.store(false, std::memory_order_relaxed);
  return helped;
}

}  // namespace quadrille::run
