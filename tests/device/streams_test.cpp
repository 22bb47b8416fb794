// That the stand-in does nothing earlier than CUDA promises, and keeps the order that it promises.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "loaded.hpp"

namespace quadrille::standin {
namespace {

class StandinCopies : public CudaTest {};
class StandinStreams : public CudaTest {};
class StandinKernels : public CudaTest {};

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

// -- Copies: which the host waits for

TEST_F(StandinCopies, BetweenDevicesDoNotWait) {
  use("lazy");
  const Address from = allocate(100), to = allocate(100);
  fill(from, 100, 3);
  fill(to, 100, 4);
  ASSERT_EQ(cuda().cuMemcpyDtoD_v2(to, from, 100), success);
  EXPECT_EQ(at(to, 99), 4);
  ASSERT_EQ(cuda().cuMemcpy(to, from, 100), success);
  EXPECT_EQ(at(to, 99), 4);
  EXPECT_EQ(cuda().cuStreamSynchronize(nullptr), success);
  EXPECT_EQ(at(to, 99), 3);
}

TEST_F(StandinCopies, BetweenDevicesWaitWhereAPointerSaysSo) {
  use("lazy");
  const Address from = allocate(100), to = allocate(100);
  const unsigned on = 1;
  unsigned is = 0;
  ASSERT_EQ(cuda().cuPointerSetAttribute(&on, 6, to), success);
  ASSERT_EQ(cuda().cuPointerGetAttribute(&is, 6, to), success);
  EXPECT_EQ(is, 1U);
  fill(from, 100, 3);
  fill(to, 100, 4);
  ASSERT_EQ(cuda().cuMemcpyDtoD_v2(to, from, 100), success);
  EXPECT_EQ(at(to, 99), 3);
}

TEST_F(StandinCopies, ToTheHostWait) {
  use("lazy");
  const Address from = allocate(100), between = allocate(100);
  fill(from, 100, 3);
  fill(between, 100, 4);
  std::vector<unsigned char> host(100);
  ASSERT_EQ(cuda().cuMemcpyDtoD_v2(between, from, 100), success);
  ASSERT_EQ(cuda().cuMemcpyDtoH_v2(host.data(), between, 100), success);
  EXPECT_EQ(host[99], 3);
  // Also where the call says that it does not, if the memory is not pinned.
  std::fill(host.begin(), host.end(), static_cast<unsigned char>(0));
  const Handle own = stream();
  ASSERT_EQ(cuda().cuMemcpyDtoHAsync_v2(host.data(), between, 100, own), success);
  EXPECT_EQ(host[99], 3);
  unsigned char* const pinned = pin(100);
  pinned[99] = 9;
  ASSERT_EQ(cuda().cuMemcpyDtoHAsync_v2(pinned, between, 100, own), success);
  EXPECT_EQ(pinned[99], 9);
  EXPECT_EQ(cuda().cuStreamSynchronize(own), success);
  EXPECT_EQ(pinned[99], 3);
}

TEST_F(StandinCopies, FromTheHostTakeTheBytesButMayArriveLater) {
  use("lazy");
  const Address to = allocate(100);
  fill(to, 100, 4);
  std::vector<unsigned char> host(100, 3);
  ASSERT_EQ(cuda().cuMemcpyHtoD_v2(to, host.data(), 100), success);
  std::fill(host.begin(), host.end(), static_cast<unsigned char>(5));
  EXPECT_EQ(at(to, 99), 4);
  EXPECT_EQ(cuda().cuStreamSynchronize(nullptr), success);
  EXPECT_EQ(at(to, 99), 3);
  // Pinned memory is read when the copy runs, unless the call waits.
  unsigned char* const pinned = pin(100);
  std::memset(pinned, 6, 100);
  const Handle own = stream();
  ASSERT_EQ(cuda().cuMemcpyHtoDAsync_v2(to, pinned, 100, own), success);
  std::memset(pinned, 7, 100);
  EXPECT_EQ(cuda().cuStreamSynchronize(own), success);
  EXPECT_EQ(at(to, 99), 7);
  std::memset(pinned, 8, 100);
  ASSERT_EQ(cuda().cuMemcpyHtoD_v2(to, pinned, 100), success);
  EXPECT_EQ(at(to, 99), 8);
}

TEST_F(StandinCopies, HaveTheirDirection) {
  const Address device = allocate(100), other = allocate(100);
  std::vector<unsigned char> host(100);
  EXPECT_EQ(cuda().cuMemcpyHtoD_v2(number(host.data()), host.data(), 100), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyHtoD_v2(device, reinterpret_cast<void*>(other), 100), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(reinterpret_cast<void*>(device), other, 100), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(host.data(), number(host.data()), 100), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyDtoD_v2(device, number(host.data()), 100), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyHtoDAsync_v2(number(host.data()), host.data(), 100, nullptr), invalid_value);
}

TEST_F(StandinCopies, InBatches) {
  const Address device = allocate(100);
  fill(device, 100, 9);
  unsigned char* const pinned = pin(100);
  for (int i = 0; i < 100; ++i) pinned[i] = static_cast<unsigned char>(i);
  Address to[] = {device, device + 50}, from[] = {number(pinned + 10), number(pinned)};
  std::size_t bytes[] = {10, 20}, begins[] = {0, 1}, failed = 5;
  CopyAttributes attributes[2] = {};
  attributes[0].from_order = attributes[1].from_order = 1;
  const Handle own = stream();
  for (const char* mode : {"eager", "lazy", "random:1", "random:2"}) {
    use(mode);
    fill(device, 100, 9);
    EXPECT_EQ(cuda().cuMemcpyBatchAsync(to, from, bytes, 2, attributes, begins, 2, &failed, own), success);
    EXPECT_EQ(failed, SIZE_MAX);
    EXPECT_EQ(cuda().cuMemcpyBatchAsync_v2(to, from, bytes, 2, attributes, begins, 1, own), success);
    EXPECT_EQ(cuda().cuStreamSynchronize(own), success);
    EXPECT_EQ(at(device, 9), 19);
    EXPECT_EQ(at(device, 10), 9);
    EXPECT_EQ(at(device, 69), 19);
    EXPECT_EQ(at(device, 70), 9);
  }
  EXPECT_EQ(cuda().cuMemcpyBatchAsync(to, from, bytes, 2, attributes, begins, 2, &failed, nullptr), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyBatchAsync_v2(to, from, bytes, 2, attributes, begins, 2, legacy_stream), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyBatchAsync_v2(to, from, bytes, 2, attributes, begins, 2, per_thread_stream), success);
  bytes[1] = 51;
  EXPECT_EQ(cuda().cuMemcpyBatchAsync(to, from, bytes, 2, attributes, begins, 2, &failed, own), invalid_value);
  EXPECT_EQ(failed, 1U);
}

TEST_F(StandinCopies, InTwoDimensions) {
  const Address device = allocate(100);
  fill(device, 100, 9);
  std::vector<unsigned char> host(12);
  for (std::size_t i = 0; i < 12; ++i) host[i] = static_cast<unsigned char>(i);
  Copy2D copy{};
  copy.from_type = 1;
  copy.from_host = host.data();
  copy.from_pitch = 4;
  copy.to_type = 2;
  copy.to_device = device;
  copy.to_pitch = 10;
  copy.to_x = 2;
  copy.to_y = 1;
  copy.width = 3;
  copy.height = 3;
  EXPECT_EQ(cuda().cuMemcpy2DAsync_v2(&copy, nullptr), success);
  EXPECT_EQ(at(device, 11), 9);
  EXPECT_EQ(at(device, 12), 0);
  EXPECT_EQ(at(device, 34), 10);
  EXPECT_EQ(at(device, 35), 9);
  copy.height = 10;
  EXPECT_EQ(cuda().cuMemcpy2DAsync_v2(&copy, nullptr), invalid_value);
}

TEST_F(StandinCopies, OfOneValue) {
  use("lazy");
  const Address device = allocate(100);
  fill(device, 100, 9);
  ASSERT_EQ(cuda().cuMemsetD8_v2(device, 1, 50), success);
  EXPECT_EQ(at(device), 9);
  ASSERT_EQ(cuda().cuMemsetD32Async(device + 4, 0x02020202, 1, nullptr), success);
  EXPECT_EQ(cuda().cuCtxSynchronize(), success);
  EXPECT_EQ(at(device, 3), 1);
  EXPECT_EQ(at(device, 7), 2);
  EXPECT_EQ(at(device, 8), 1);
  EXPECT_EQ(at(device, 50), 9);
}

// -- Streams

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

// -- Kernels

const char* const module_text = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry add_one(
  .param .u64 add_one_param_0,
  .param .u32 add_one_param_1,
  .param .align 8 .b8 add_one_param_2[16]
)
.maxntid 128, 1, 1
{ ret; }
.visible .entry nothing()
{ ret; }
.visible .entry without_twin(.param .u64 p) { ret; }
)";

struct Pair {
  std::uint64_t first, second;
};

void add_one(const Launch* launch, void** parameters) {
  Address address = 0;
  unsigned count = 0;
  Pair pair{};
  std::memcpy(&address, parameters[0], sizeof address);
  std::memcpy(&count, parameters[1], sizeof count);
  std::memcpy(&pair, parameters[2], sizeof pair);
  auto* const bytes = static_cast<unsigned char*>(cuda().host(address, count));
  for (unsigned i = 0; i < count; ++i) {
    bytes[i] = static_cast<unsigned char>(bytes[i] + launch->grid[0] * launch->block[1] + pair.second);
  }
}

TEST_F(StandinKernels, AreTheirTwins) {
  cuda().kernel("add_one", add_one);
  cuda().kernel("nothing", [](const Launch*, void**) {});
  Handle module = nullptr, function = nullptr;
  EXPECT_EQ(cuda().cuModuleLoadData(&module, "this is no module"), invalid_image);
  ASSERT_EQ(cuda().cuModuleLoadData(&module, module_text), success);
  EXPECT_EQ(cuda().cuModuleGetFunction(&function, module, "another"), not_found);
  EXPECT_EQ(cuda().cuModuleGetFunction(&function, module, "without_twin"), not_found);
  EXPECT_EQ(cuda().cuModuleGetFunction(&function, module, "nothing"), success);
  ASSERT_EQ(cuda().cuModuleGetFunction(&function, module, "add_one"), success);
  use("lazy");
  Address device = allocate(10);
  fill(device, 10, 1);
  const Address memory = device;
  unsigned count = 5;
  Pair pair{0, 100};
  void* parameters[] = {&device, &count, &pair};
  ASSERT_EQ(cuda().cuLaunchKernel(function, 3, 1, 1, 1, 4, 1, 0, nullptr, parameters, nullptr), success);
  device = count = 0;  // they were read
  pair = {};
  EXPECT_EQ(at(memory), 1);
  ASSERT_EQ(cuda().cuStreamSynchronize(nullptr), success);
  EXPECT_EQ(at(memory, 4), 113);
  EXPECT_EQ(at(memory, 5), 1);
  EXPECT_EQ(cuda().cuLaunchKernel(function, 0, 1, 1, 1, 4, 1, 0, nullptr, parameters, nullptr), invalid_value);
  EXPECT_EQ(cuda().cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, nullptr, parameters, nullptr), invalid_value);
  // A stream of another context.
  const Handle own = stream();
  Handle other = nullptr;
  ASSERT_EQ(cuda().cuCtxCreate_v2(&other, 0, 0), success);
  EXPECT_EQ(cuda().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, own, parameters, nullptr), invalid_handle);
  EXPECT_EQ(cuda().cuCtxDestroy_v2(other), success);
  EXPECT_EQ(cuda().cuModuleUnload(module), success);
  EXPECT_EQ(cuda().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, own, parameters, nullptr), invalid_handle);
}

}  // namespace
}  // namespace quadrille::standin
