// That the stand-in does nothing earlier than CUDA promises, and keeps the order that it promises.
#include <atomic>
#include <chrono>
#include <thread>

#include "loaded.hpp"

namespace quadrille::standin {
namespace {

class StandinStreams : public CudaTest {};

Address number(const void* pointer) { return reinterpret_cast<Address>(pointer); }

template <class Condition>
bool comes_true(Condition&& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST_F(StandinStreams, DoWorkWhenTheyAreTold) {
  const Address device = allocate(100);
  const Handle own = stream();
  fill(device, 100, 9);
  ASSERT_EQ(cuda().cuMemsetD8Async(device, 1, 100, own), success);
  EXPECT_EQ(at(device), 1);
  use("lazy");
  ASSERT_EQ(cuda().cuMemsetD8Async(device, 2, 100, own), success);
  ASSERT_EQ(cuda().cuMemsetD8Async(device, 3, 100, own), success);
  EXPECT_EQ(at(device), 1);
  EXPECT_EQ(cuda().count("pending", nullptr), 2U);
  EXPECT_EQ(cuda().cuStreamQuery(own), not_ready);  // which does one of them
  EXPECT_EQ(at(device), 2);
  EXPECT_EQ(cuda().cuStreamQuery(own), not_ready);
  EXPECT_EQ(at(device), 3);
  EXPECT_EQ(cuda().cuStreamQuery(own), success);
  EXPECT_EQ(cuda().count("pending", nullptr), 0U);
}

// One stream makes what another one takes. How often it is wrong.
int takes_wrong(bool waits, Address from, Address to, Handle first, Handle second, Handle done) {
  cuda().cuMemsetD8Async(to, 0, 1, second);
  cuda().cuMemsetD8Async(from, 1, 1, first);
  cuda().cuCtxSynchronize();
  cuda().cuMemsetD8Async(from, 2, 1, first);
  cuda().cuEventRecord(done, first);
  if (waits) cuda().cuStreamWaitEvent(second, done, 0);
  cuda().cuMemcpyAsync(to, from, 1, second);
  cuda().cuStreamSynchronize(second);
  const int wrong = *static_cast<unsigned char*>(cuda().host(to, 1)) == 2 ? 0 : 1;
  cuda().cuStreamSynchronize(first);
  return wrong;
}

TEST_F(StandinStreams, KeepTheOrderOfEventsAndNoOther) {
  const Address from = allocate(1), to = allocate(1);
  const Handle first = stream(), second = stream(), done = event();
  for (const bool waits : {true, false}) {
    use("eager");
    EXPECT_EQ(takes_wrong(waits, from, to, first, second, done), 0);
    use("lazy");
    EXPECT_EQ(takes_wrong(waits, from, to, first, second, done), waits ? 0 : 1);
    int wrong = 0;
    for (int seed = 0; seed < 200; ++seed) {
      use("random:" + std::to_string(seed));
      wrong += takes_wrong(waits, from, to, first, second, done);
    }
    if (waits) {
      EXPECT_EQ(wrong, 0);
    } else {
      EXPECT_GT(wrong, 10);
      EXPECT_LT(wrong, 190);
    }
  }
}

TEST_F(StandinStreams, MayWorkBetweenCallsWhenTheyDraw) {
  const Address memory = allocate(1);
  const Handle own = stream();
  int done = 0;
  for (int seed = 0; seed < 200; ++seed) {
    use("eager");
    ASSERT_EQ(cuda().cuMemsetD8Async(memory, 1, 1, own), success);
    use("random:" + std::to_string(seed));
    ASSERT_EQ(cuda().cuMemsetD8Async(memory, 2, 1, own), success);
    EXPECT_EQ(at(memory), 1) << "not before the call returns";
    Handle current = nullptr;
    ASSERT_EQ(cuda().cuCtxGetCurrent(&current), success);
    done += at(memory) == 2 ? 1 : 0;
    ASSERT_EQ(cuda().cuStreamSynchronize(own), success);
    EXPECT_EQ(at(memory), 2);
  }
  EXPECT_GT(done, 10);
  EXPECT_LT(done, 190);
}

TEST_F(StandinStreams, WaitForTheLastRecordBeforeTheWait) {
  use("lazy");
  const Address from = allocate(1), to = allocate(1);
  const Handle first = stream(), second = stream(), done = event();
  fill(from, 1, 1);
  // Never recorded: nothing to wait for.
  ASSERT_EQ(cuda().cuMemsetD8Async(from, 2, 1, first), success);
  ASSERT_EQ(cuda().cuStreamWaitEvent(second, done, 0), success);
  ASSERT_EQ(cuda().cuMemcpyAsync(to, from, 1, second), success);
  ASSERT_EQ(cuda().cuStreamSynchronize(second), success);
  EXPECT_EQ(at(to), 1);
  ASSERT_EQ(cuda().cuEventRecord(done, first), success);
  ASSERT_EQ(cuda().cuStreamWaitEvent(second, done, 0), success);
  ASSERT_EQ(cuda().cuMemsetD8Async(from, 3, 1, first), success);
  ASSERT_EQ(cuda().cuEventRecord(done, first), success);
  ASSERT_EQ(cuda().cuMemcpyAsync(to, from, 1, second), success);
  ASSERT_EQ(cuda().cuStreamSynchronize(second), success);
  EXPECT_EQ(at(to), 2);
}

TEST_F(StandinStreams, EventsTellWhenTheyAreReached) {
  use("lazy");
  const Address device = allocate(1);
  const Handle own = stream(), begin = event(), end = event(), untimed = event(2);
  float milliseconds = -1;
  EXPECT_EQ(cuda().cuEventQuery(begin), success);
  EXPECT_EQ(cuda().cuEventElapsedTime(&milliseconds, begin, end), invalid_handle);
  ASSERT_EQ(cuda().cuEventRecord(begin, own), success);
  ASSERT_EQ(cuda().cuMemsetD8Async(device, 2, 1, own), success);
  ASSERT_EQ(cuda().cuEventRecord(end, own), success);
  ASSERT_EQ(cuda().cuEventRecord(untimed, own), success);
  EXPECT_EQ(cuda().cuEventElapsedTime(&milliseconds, begin, end), not_ready);
  EXPECT_EQ(cuda().cuEventQuery(end), not_ready);
  EXPECT_EQ(cuda().cuEventSynchronize(end), success);
  EXPECT_EQ(at(device), 2);
  EXPECT_EQ(cuda().cuEventElapsedTime(&milliseconds, begin, end), success);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(cuda().cuEventSynchronize(untimed), success);
  EXPECT_EQ(cuda().cuEventElapsedTime(&milliseconds, begin, untimed), invalid_handle);
  EXPECT_EQ(cuda().cuEventDestroy_v2(end), success);
  EXPECT_EQ(cuda().cuEventDestroy_v2(end), invalid_handle);
  EXPECT_EQ(cuda().cuEventRecord(end, own), invalid_handle);
  EXPECT_EQ(cuda().cuStreamDestroy_v2(own), success);
  EXPECT_EQ(cuda().cuStreamSynchronize(own), invalid_handle);
}

// What is last in the NULL stream, when a stream of this kind is waited for.
TEST_F(StandinStreams, TheNullStreamOrdersBlockingOnes) {
  use("lazy");
  const Address from = allocate(1), to = allocate(1);
  const Handle blocking = stream(0), free = stream(1);
  for (const Handle own : {blocking, free, per_thread_stream}) {
    const bool ordered = own != free;
    // It waits for the NULL stream ...
    fill(from, 1, 1);
    fill(to, 1, 0);
    ASSERT_EQ(cuda().cuMemsetD8Async(from, 2, 1, nullptr), success);
    ASSERT_EQ(cuda().cuMemcpyAsync(to, from, 1, own), success);
    ASSERT_EQ(cuda().cuStreamSynchronize(own), success);
    EXPECT_EQ(at(to), ordered ? 2 : 1);
    ASSERT_EQ(cuda().cuCtxSynchronize(), success);
    // ... and the NULL stream for it.
    fill(from, 1, 1);
    ASSERT_EQ(cuda().cuMemsetD8Async(from, 2, 1, own), success);
    ASSERT_EQ(cuda().cuMemcpyAsync(to, from, 1, legacy_stream), success);
    ASSERT_EQ(cuda().cuStreamSynchronize(nullptr), success);
    EXPECT_EQ(at(to), ordered ? 2 : 1);
    ASSERT_EQ(cuda().cuCtxSynchronize(), success);
  }
}

TEST_F(StandinStreams, AThreadHasAStreamOfItsOwn) {
  use("lazy");
  const Address one = allocate(1), other = allocate(1);
  fill(one, 1, 1);
  fill(other, 1, 1);
  const Handle context = context_;
  std::thread([one, context] {
    cuda().cuCtxPushCurrent_v2(context);
    cuda().cuMemsetD8Async_ptsz(one, 2, 1, nullptr);
  }).join();
  ASSERT_EQ(cuda().cuMemsetD8Async(other, 2, 1, per_thread_stream), success);
  ASSERT_EQ(cuda().cuStreamSynchronize_ptsz(nullptr), success);
  EXPECT_EQ(at(one), 1);
  EXPECT_EQ(at(other), 2);
  ASSERT_EQ(cuda().cuMemsetD8Async(other, 3, 1, nullptr), success);  // after both
  ASSERT_EQ(cuda().cuStreamSynchronize(nullptr), success);
  EXPECT_EQ(at(one), 2);
}

TEST_F(StandinStreams, WaitForValuesAndWriteThem) {
  for (const char* mode : {"eager", "lazy", "random:5"}) {
    use(mode);
    auto* const flags = reinterpret_cast<std::uint32_t*>(pin(8));
    std::atomic_ref<std::uint32_t> go(flags[0]), gone(flags[1]);
    go = gone = 0;
    const Address device = allocate(1);
    fill(device, 1, 1);
    const Handle own = stream();
    ASSERT_EQ(cuda().cuStreamWaitValue32_v2(own, number(&flags[0]), 7, 0), success);
    ASSERT_EQ(cuda().cuMemsetD8Async(device, 2, 1, own), success);
    ASSERT_EQ(cuda().cuStreamWriteValue32_v2(own, number(&flags[1]), 3, 0), success);
    EXPECT_EQ(cuda().cuStreamQuery(own), not_ready);
    go = 6;
    EXPECT_EQ(cuda().cuStreamQuery(own), not_ready);
    EXPECT_EQ(at(device), 1);
    go = 8;  // or more
    EXPECT_TRUE(comes_true([&] { return gone == 3; })) << mode << ": the host waits without a call of the driver";
    EXPECT_EQ(at(device), 2);
    EXPECT_EQ(cuda().cuStreamSynchronize(own), success);
  }
  EXPECT_EQ(cuda().cuStreamWriteValue32_v2(nullptr, number(pin(8)) + 1, 3, 0), invalid_value);
  int own = 0;
  EXPECT_EQ(cuda().cuStreamWaitValue32_v2(nullptr, number(&own), 3, 0), invalid_value) << "it is not registered";
}

// Who waits for a stream that waits for a value of another one must not keep that from being written.
TEST_F(StandinStreams, DoNotBlockEachOther) {
  // Nobody else does it.
  ASSERT_TRUE(cuda().set("PATIENCE", "1000000000"));
  for (const char* mode : {"eager", "lazy", "random:5"}) {
    use(mode);
    const Address flag = allocate(4), device = allocate(1);
    ASSERT_EQ(cuda().cuMemsetD32_v2(flag, 0, 1), success);
    ASSERT_EQ(cuda().cuCtxSynchronize(), success);
    const Handle first = stream(), second = stream();
    ASSERT_EQ(cuda().cuStreamWaitValue32_v2(first, flag, 1, 1), success);
    ASSERT_EQ(cuda().cuMemsetD8Async(device, 2, 1, second), success);
    ASSERT_EQ(cuda().cuStreamWriteValue32_v2(second, flag, 1, 0), success);
    ASSERT_EQ(cuda().cuStreamSynchronize(first), success);
    EXPECT_EQ(at(device), 2);
  }
}

struct Called {
  std::atomic<int> error{-1}, go{0};
  Address memory = 0;
  int seen = -1;
};

void call(void* data) {
  auto& called = *static_cast<Called*>(data);
  while (called.go == 0) std::this_thread::yield();  // the program goes on meanwhile
  called.seen = *static_cast<unsigned char*>(cuda().host(called.memory, 1));
  Address made = 0;
  called.error = cuda().cuMemAlloc_v2(&made, 100);
}

TEST_F(StandinStreams, FunctionsOfTheHostMayNotCallTheDriver) {
  for (const char* mode : {"eager", "lazy", "random:5"}) {
    use(mode);
    Called called;
    called.memory = allocate(1);
    const Handle own = stream();
    fill(called.memory, 1, 1);
    ASSERT_EQ(cuda().cuMemsetD8Async(called.memory, 2, 1, own), success);
    ASSERT_EQ(cuda().cuLaunchHostFunc(own, call, &called), success);
    ASSERT_EQ(cuda().cuMemsetD8Async(called.memory, 3, 1, own), success);
    EXPECT_EQ(cuda().cuStreamQuery(own), not_ready);
    called.go = 1;
    EXPECT_TRUE(comes_true([&] { return called.error != -1; }));
    EXPECT_EQ(called.error, not_permitted);
    EXPECT_EQ(called.seen, 2);
    EXPECT_EQ(cuda().cuStreamSynchronize(own), success);
    EXPECT_EQ(at(called.memory), 3);
  }
}

TEST_F(StandinStreams, MemoryIsFreedInTheirOrder) {
  use("lazy");
  Address pool = 0;
  const Handle own = stream(), other = stream();
  ASSERT_EQ(cuda().cuMemAllocAsync(&pool, 100, own), success);
  ASSERT_EQ(cuda().cuMemsetD8Async(pool, 2, 100, own), success);
  ASSERT_EQ(cuda().cuMemFreeAsync(pool, own), success);
  ASSERT_EQ(cuda().cuMemsetD8Async(pool, 3, 100, other), success);  // too late
  ASSERT_EQ(cuda().cuStreamSynchronize(own), success);
  EXPECT_EQ(cuda().cuStreamSynchronize(other), illegal_address);
}

}  // namespace
}  // namespace quadrille::standin
