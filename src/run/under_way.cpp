#include "run/under_way.hpp"

#include <utility>

#include "sys/sys.hpp"

namespace quadrille::run {

UnderWay& UnderWay::here() { return sys::immortal<UnderWay>(); }

void UnderWay::add(Pending& call) {
  calls_.push_back(&call);
  any_.store(true, std::memory_order_release);
}

template <class HasEnded>
void UnderWay::look_at_all(HasEnded has_ended) {
  struct Looking {
    UnderWay& all;
    explicit Looking(UnderWay& all) : all(all) { ++all.looks_; }
    ~Looking() {
      if (--all.looks_ > 0) return;
      std::erase(all.calls_, nullptr);
      if (all.calls_.empty()) all.any_.store(false, std::memory_order_relaxed);
    }
  } const looking(*this);
  // Back in its place unless it has ended, also if an error handler of the program throws.
  struct Taken {
    UnderWay& all;
    std::size_t place;
    Pending* call;
    ~Taken() { all.calls_[place] = call; }
  };
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    Taken taken{*this, i, std::exchange(calls_[i], nullptr)};
    if (taken.call != nullptr && has_ended(*taken.call)) taken.call = nullptr;
  }
}

void UnderWay::advance() {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (threads_ && !lock.try_lock()) return;
  const Held held(*this);
  look_at_all([](Pending& call) { return call.go_on(With::mpi); });
}

UnderWay::Helped UnderWay::help(With with) {
  if (!any_.load(std::memory_order_relaxed)) return Helped::nothing;
  std::unique_lock lock(mutex_, std::defer_lock);
  if (threads_ && !lock.try_lock()) return Helped::some;
  if (holds_ > 0) return Helped::some;  // by this thread
  const Held held(*this);
  Helped helped = Helped::nothing;
  look_at_all([&](Pending& call) {
    const bool ended = call.go_on(with);
    if (ended) {
      helped = Helped::ended;
    } else if (helped == Helped::nothing && call.can_go_on(with)) {
      helped = Helped::some;
    }
    return ended;
  });
  return helped;
}

}  // namespace quadrille::run
