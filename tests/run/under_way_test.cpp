// The list of calls that were started and are not complete: an error handler of the program may call our doors while a
// thread goes through it.
#include "run/under_way.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace quadrille::test {
namespace {

using run::UnderWay;
using run::With;

// Ends after so many looks; in each it does what an error handler might.
struct Call final : run::Pending {
  int looks_left;
  std::function<void()> handler;
  explicit Call(
      int looks, std::function<void()> does = [] {})
      : looks_left(looks), handler(std::move(does)) {}
  bool go_on(With) override {
    handler();
    return --looks_left <= 0;
  }
  bool can_go_on(With) const override { return true; }
};

void add(UnderWay& calls, Call& call) {
  const UnderWay::Held held(calls);
  calls.make_room();
  calls.add(call);
}

TEST(CallsUnderWay, AHandlerMayStartCallsAndGoOnWithAll) {
  UnderWay& calls = UnderWay::here();
  std::vector<Call> others(40, Call(1));
  int handled = 0;
  Call calling(2, [&] {
    if (handled++ != 0) return;
    for (Call& other : others) add(calls, other);  // more than there is room for
    calls.advance();                               // goes on with all but the one whose handler this is
    for (const Call& other : others) EXPECT_EQ(other.looks_left, 0);
    EXPECT_EQ(calls.help(), UnderWay::Helped::some);
  });
  add(calls, calling);
  calls.advance();
  EXPECT_TRUE(calls.any());
  calls.advance();
  EXPECT_FALSE(calls.any());
  EXPECT_EQ(handled, 2);
  for (const Call& other : others) EXPECT_EQ(other.looks_left, 0) << "each is looked at once";
}

TEST(CallsUnderWay, AHandlerMayThrow) {
  UnderWay& calls = UnderWay::here();
  Call before(1), after(1);
  bool throws = true;
  Call throwing(1, [&] {
    if (std::exchange(throws, false)) throw std::runtime_error("of the program");
  });
  for (Call* call : {&before, &throwing, &after}) add(calls, *call);
  EXPECT_THROW(calls.help(), std::runtime_error);
  EXPECT_EQ(after.looks_left, 1);
  EXPECT_EQ(calls.help(), UnderWay::Helped::ended);
  EXPECT_EQ(before.looks_left, 0) << "what has ended is not looked at again";
  EXPECT_EQ(after.looks_left, 0);
  EXPECT_FALSE(calls.any());
}

TEST(CallsUnderWay, AreHeldByOneThread) {
  UnderWay& calls = UnderWay::here();
  const auto helped_elsewhere = [&] {
    UnderWay::Helped helped = UnderWay::Helped::nothing;
    std::thread([&] { helped = calls.help(); }).join();
    return helped;
  };
  Call call(1);
  add(calls, call);
  {
    const UnderWay::Held outer(calls);
    { const UnderWay::Held inner(calls); }
    EXPECT_EQ(helped_elsewhere(), UnderWay::Helped::some);
    std::thread([&] { calls.advance(); }).join();  // does not wait for this one
    EXPECT_EQ(calls.help(), UnderWay::Helped::some);
    EXPECT_EQ(call.looks_left, 1);
  }
  EXPECT_EQ(helped_elsewhere(), UnderWay::Helped::ended);
  EXPECT_FALSE(calls.any());
}

}  // namespace
}  // namespace quadrille::test
